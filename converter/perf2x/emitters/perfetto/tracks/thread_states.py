"""Thread states and thread names over time: scheduler tracks, and slices below the threads' tracks.

Readers draw context switches as scheduler tracks of CPUs and threads. They reject a thread that runs twice at the same
time, and need the CPU at both ends of a run. But records may be lost, or come only from the other thread of a switch,
which was not recorded. So a run without an end ends when its thread reaches another CPU, a run without a start lasts a
nanosecond, and repeated states are omitted.

Context switches without a CPU become slices, and so do names, because readers keep only a thread's last name.
"""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    AnyArray,
    Bools,
    ColumnTable,
    Frozen,
    arange,
    argsort_rows,
    argsort_small,
    as_int64,
    begins_run,
    bincount,
    flatnonzero,
    no_rows,
    of_next,
    of_previous,
    repeat,
    take_rows_of,
    unique_inverse,
    zeros,
)
from perf2x.emitters.encoding.protobuf import numbers
from perf2x.emitters.perfetto.packets_and_clocks import packet_rows, sequence_start
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.trace_schema import GenericKernelTaskStateEvent, TaskState, TracePacket
from perf2x.emitters.perfetto.tracks.track_packets import TrackKind, thread_slices
from perf2x.emitters.timeline.tracks import UNKNOWN_ID
from perf2x.model.printable_text import printable
from perf2x.model.profile import Profile

_STATES = (
    (0x30, TaskState.TASK_STATE_DEAD),
    (0x0C, TaskState.TASK_STATE_STOPPED),
    (0x82, TaskState.TASK_STATE_UNINTERRUPTIBLE_SLEEP),
)
"""Bits of prev_state (include/linux/sched.h), highest first: TASK_REPORT, and 0x80 for idle kernel threads."""
_ANY_STATE = 0x2FF
"""Mask of states that are not runnable; higher bits mean that the thread was preempted."""


class _CpuSwitches(Frozen):
    """(n,) columns in any order: threads that leave (``is_out``) or enter a CPU."""

    time: U64
    thread: I64
    """Row of ThreadIds."""
    is_out: Bools
    cpu: I32
    """−1: unknown."""
    state: U8
    """The TaskState from then on."""


def _switches_of(profile: Profile, ids: ThreadIds) -> _CpuSwitches:
    """Return all context switches of a profile."""
    switches = profile.switches
    if switches is None:
        return no_rows(_CpuSwitches)
    asleep = np.where(switches.is_preempted, TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP)
    when_out = np.where(switches.state >= 0, states_of(switches.state), asleep)
    state = np.where(switches.is_out, when_out, TaskState.TASK_STATE_RUNNING).astype(np.uint8)
    thread = as_int64(ids.number[switches.thread])
    return _CpuSwitches(switches.time, thread, switches.is_out, switches.cpu, state)


def states_of(prev_state: AnyArray) -> U8:
    """Return (n,) the TaskState of each prev_state."""
    bits = as_int64(prev_state)
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
    """Yield a slice from each context switch without a CPU to its thread's next switch."""
    ids = thread_ids(profile)
    switches = _without_cpu(_switches_of(profile, ids), ids)
    rows, ends = _slices(switches, np.uint64(profile.meta.start_ns + profile.meta.duration_ns))
    if not len(rows):
        return
    number = zeros(max(_NAMES) + 1)
    number[list(_NAMES)] = arange(1, len(_NAMES) + 1)
    bounds, name = np.stack([switches.time[rows], ends], axis=1), number[switches.state[rows]]
    texts = list(_NAMES.values())
    yield sequence_start(profile.meta)
    yield from thread_slices(ids, switches.thread[rows], TrackKind.STATES, "state", texts, bounds, name)


def _without_cpu(switches: _CpuSwitches, ids: ThreadIds) -> _CpuSwitches:
    """Return switches of known threads on unknown CPUs, by thread and time."""
    tid = ids.tid[switches.thread]
    kept = flatnonzero((switches.cpu < 0) & (tid > 0) & (tid != UNKNOWN_ID))
    return take_rows_of(switches, kept[argsort_rows([switches.thread[kept], switches.time[kept]])])


def _slices(switches: _CpuSwitches, end: np.uint64) -> tuple[I64, U64]:
    """Return the rows at which a slice begins, and where it ends.

    A repeated switch in or out, between which one was lost, is ignored. A thread's last slice extends to the end of the
    recording if it ran; when a sleeping thread woke up is unknown. ::

        switches   10 in   20 out   30 out   40 in        slices   10…20 Running   20…40 Sleeping   40…end Running
    """
    is_first = begins_run(switches.thread)
    rows = flatnonzero(is_first | begins_run(switches.is_out))
    is_last = of_next(is_first[rows], True)
    ends = of_next(switches.time[rows], end)
    ends[is_last] = np.maximum(switches.time[rows[is_last]], end)
    drawn = ~is_last | ~switches.is_out[rows]
    return rows[drawn], ends[drawn]


class _TaskStates(ColumnTable):
    """(n,) columns in time order; at equal times, threads that leave a CPU come first."""

    time: U64
    tid: I64
    cpu: I32
    state: U8
    """A TaskState."""


def task_state_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a packet for each change of a thread's state."""
    ids = thread_ids(profile)
    states = _task_states(_switches_of(profile, ids), ids)
    yield from packet_rows(
        TracePacket.GENERIC_KERNEL_TASK_STATE_EVENT,
        states.time,
        lambda rows: [
            numbers(GenericKernelTaskStateEvent.CPU, states.cpu[rows]),
            numbers(GenericKernelTaskStateEvent.TID, states.tid[rows]),
            numbers(GenericKernelTaskStateEvent.STATE, states.state[rows]),
        ],
    )


def _task_states(switches: _CpuSwitches, ids: ThreadIds) -> _TaskStates:
    """Return the states from context switches, without idle and unknown threads and unknown CPUs.

    ::

        records of one thread   in 0        in 0   in 1                out 1        out 1
        states                  Running 0          out 0, Running 1   Sleeping 1   Running 1, Sleeping 1
    """
    switches = _with_cpus_of_exits(switches)
    tid = ids.tid[switches.thread]
    known = flatnonzero((tid > 0) & (tid != UNKNOWN_ID) & (switches.cpu >= 0))
    columns = (switches.thread, switches.time, switches.is_out, switches.cpu)
    order = known[argsort_rows([column[known] for column in columns])]
    switches, tid = take_rows_of(switches, order), tid[order]
    switches = _without_returns(switches, tid)
    after, cpu_before = ~begins_run(switches.thread), of_previous(switches.cpu, -1)
    is_same = after & ~begins_run(switches.is_out)
    moved = is_same & ~switches.is_out & (switches.cpu != cpu_before)
    again = is_same & switches.is_out & begins_run(switches.time)
    empty = _empty_runs(switches, after)
    kept = flatnonzero((~is_same | moved | again) & ~empty)
    ends, begins = flatnonzero(moved & ~empty), flatnonzero(again & ~empty)
    states = (TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_RUNNING)
    rows = _TaskStates(
        time=np.concatenate([switches.time[kept], switches.time[ends], switches.time[begins] - np.uint64(1)]),
        tid=tid[np.concatenate([kept, ends, begins])],
        cpu=np.concatenate([switches.cpu[kept], cpu_before[ends], switches.cpu[begins]]),
        state=np.append(switches.state[kept], repeat(states, [len(ends), len(begins)]).astype(np.uint8)),
    )
    comes = rows.state == TaskState.TASK_STATE_RUNNING
    return take_rows_of(rows, argsort_rows([rows.time, comes, rows.cpu, rows.tid]))


def _with_cpus_of_exits(switches: _CpuSwitches) -> _CpuSwitches:
    """Set the CPU of exits, which have none, to the CPU that the thread entered last; rows are reordered."""
    order = argsort_rows([switches.thread, switches.time, switches.is_out, switches.cpu])
    switches = take_rows_of(switches, order)
    ran = ~begins_run(switches.thread) & switches.is_out & ~of_previous(switches.is_out, True)
    return replace(switches, cpu=np.where(ran & (switches.cpu < 0), of_previous(switches.cpu, -1), switches.cpu))


def _without_returns(switches: _CpuSwitches, tid: I64) -> _CpuSwitches:
    """Change the state at a thread's end to sleeping if it is seen later: its tid was reused, or it was preempted.

    Readers reject whatever follows a thread's end.
    """
    tids, place = unique_inverse(tid)
    last = np.zeros(len(tids), np.uint64)
    np.maximum.at(last, place, switches.time)
    ended = (switches.state == TaskState.TASK_STATE_DEAD) & (switches.time < last[place])
    state = np.where(ended, np.uint8(TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP), switches.state)
    return replace(switches, state=state)


def _empty_runs(switches: _CpuSwitches, after: Bools) -> Bools:
    """Return (n,) True for both rows of a run of zero length."""
    ends = after & switches.is_out & ~of_previous(switches.is_out, True) & ~begins_run(switches.time)
    ends[:-1] |= ends[1:]
    return ends


def name_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a slice for each name of renamed threads, from its first sample to the first of the next name.

    ::

        samples of a thread   10 sh   20 sh   30 ls   40 ls        slices   sh 10…30   ls 30…40
    """
    ids = thread_ids(profile)
    several = (bincount(ids.number) > 1) & (ids.tid > 0)
    if profile.samples.time is None or not several.any():
        return
    thread = as_int64(ids.number[profile.samples.thread])
    order = flatnonzero(several[thread])
    order = order[argsort_small(thread[order])]
    thread, name = thread[order], as_int64(profile.threads.comm[profile.samples.thread[order]])
    runs = _runs_of_names(thread, name)
    thread, name = thread[runs[:, 0]], name[runs[:, 0]]
    if not len(runs):
        return
    names, number = unique_inverse(name)
    texts = [printable(profile.strings[row]) for row in names.tolist()]
    yield sequence_start(profile.meta)
    yield from thread_slices(ids, thread, TrackKind.NAMES, "name", texts, profile.samples.time[order][runs], number + 1)


def _runs_of_names(thread: I64, name: I64) -> I64:
    """Return (runs, 2) the first row of each run of a name, and of the next one, or the thread's last row.

    Rows are sorted by thread, then time; threads with one name have no runs.
    """
    is_new = begins_run(thread)
    begins = flatnonzero(is_new | begins_run(name))
    ends = of_next(begins, len(thread))
    goes_on = ~np.append(is_new, True)[ends]
    ends -= ~goes_on
    runs: I64 = np.stack([begins, ends], axis=1)[goes_on | of_previous(goes_on, False)]
    return runs
