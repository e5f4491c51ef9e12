"""Context switches with the states that Perfetto has words for, and states of threads as slices below their tracks.

Slices are for context switches without a CPU: scheduler tracks need one.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import (
    I32,
    I64,
    U8,
    U64,
    AnyArray,
    Bools,
    arange,
    begins_run,
    flatnonzero,
    no_rows,
    of_next,
    take_rows_of,
)
from perf2x.base.columnar.unique import argsort_rows
from perf2x.emitters.perfetto.clocks import sequence_start
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.track_schema import TaskState
from perf2x.emitters.perfetto.tracks.slice_packets import thread_slices
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind
from perf2x.emitters.timeline.tracks import UNKNOWN_ID
from perf2x.model.profile.profile import Profile

_STATES = (
    (0x30, TaskState.TASK_STATE_DEAD),
    (0x0C, TaskState.TASK_STATE_STOPPED),
    (0x82, TaskState.TASK_STATE_UNINTERRUPTIBLE_SLEEP),
)
"""Bits of prev_state (include/linux/sched.h), the later ones first: TASK_REPORT, and 0x80 for idle kernel threads."""
_ANY_STATE = 0x2FF
"""Without any of these bits a thread could have run on; those above say that it was preempted."""


class CpuSwitches(Struct, frozen=True):
    """(n,) columns in any order: threads that leave (``is_out``) or enter a CPU."""

    time: U64
    thread: I64
    """Row of ThreadIds."""
    is_out: Bools
    cpu: I32
    """−1: unknown."""
    state: U8
    """The TaskState that begins."""


def switches_of(profile: Profile, ids: ThreadIds) -> CpuSwitches:
    """Return all that a profile tells of context switches."""
    switches = profile.switches
    if switches is None:
        return no_rows(CpuSwitches)
    asleep = np.where(switches.is_preempted, TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP)
    told = np.where(switches.state >= 0, states_of(switches.state), asleep)
    state = np.where(switches.is_out, told, TaskState.TASK_STATE_RUNNING).astype(np.uint8)
    thread = ids.number[switches.thread].astype(np.int64)
    return CpuSwitches(switches.time, thread, switches.is_out, switches.cpu, state)


def states_of(prev_state: AnyArray) -> U8:
    """(n,) the TaskState that each prev_state means."""
    bits = prev_state.astype(np.int64)
    state = np.full(len(bits), TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP, np.uint8)
    for mask, meaning in _STATES[::-1]:
        state[bits & mask > 0] = meaning
    state[bits & _ANY_STATE == 0] = TaskState.TASK_STATE_RUNNABLE
    return state


_NAMES = {
    TaskState.TASK_STATE_RUNNING: "Running",
    TaskState.TASK_STATE_RUNNABLE: "Runnable",
    TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP: "Sleeping",
    TaskState.TASK_STATE_UNINTERRUPTIBLE_SLEEP: "Uninterruptible sleep",
    TaskState.TASK_STATE_STOPPED: "Stopped",
    TaskState.TASK_STATE_DEAD: "Dead",
}


def state_slice_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a slice from each context switch without a CPU to its thread's next one."""
    ids = thread_ids(profile)
    switches = _without_cpu(switches_of(profile, ids), ids)
    rows, ends = _slices(switches, np.uint64(profile.meta.start_ns + profile.meta.duration_ns))
    if not len(rows):
        return
    number = np.zeros(max(_NAMES) + 1, np.int64)
    number[list(_NAMES)] = arange(1, len(_NAMES) + 1)
    bounds, name = np.stack([switches.time[rows], ends], axis=1), number[switches.state[rows]]
    texts = list(_NAMES.values())
    yield sequence_start(profile.meta)
    yield from thread_slices(ids, switches.thread[rows], TrackKind.STATES, "state", texts, bounds, name)


def _without_cpu(switches: CpuSwitches, ids: ThreadIds) -> CpuSwitches:
    """Return switches of known threads on unknown CPUs, by thread and time."""
    tid = ids.tid[switches.thread]
    held = flatnonzero((switches.cpu < 0) & (tid > 0) & (tid != UNKNOWN_ID))
    return take_rows_of(switches, held[argsort_rows([switches.thread[held], switches.time[held]])])


def _slices(switches: CpuSwitches, end: np.uint64) -> tuple[I64, U64]:
    """Return the rows that a slice begins at, and where it ends.

    A second switch in or out in a row, between which one was lost, tells nothing new. A thread's last slice is drawn to
    the end of the recording if it ran; when it came back, nobody knows. ::

        switches   10 in   20 out   30 out   40 in        slices   10…20 Running   20…40 Sleeping   40…end Running
    """
    is_first = begins_run(switches.thread)
    rows = flatnonzero(is_first | begins_run(switches.is_out))
    is_last = of_next(is_first[rows], True)
    ends = of_next(switches.time[rows], end)
    ends[is_last] = np.maximum(switches.time[rows[is_last]], end)
    drawn = ~is_last | ~switches.is_out[rows]
    return rows[drawn], ends[drawn]
