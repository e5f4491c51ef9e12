"""Context switches with the states that Perfetto has words for."""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, U8, U64, AnyArray, Bools
from perf2x.emitters.perfetto.thread_ids import ThreadIds
from perf2x.emitters.perfetto.track_schema import TaskState
from perf2x.model.profile.profile import Profile

_STATES = (
    (0x30, TaskState.TASK_STATE_DEAD),
    (0x0C, TaskState.TASK_STATE_STOPPED),
    (0x82, TaskState.TASK_STATE_UNINTERRUPTIBLE_SLEEP),
)
"""Bits of prev_state (include/linux/sched.h), the later ones first: TASK_REPORT, and 0x80 for idle kernel threads."""
_ANY_STATE = 0x2FF
"""Without any of these bits a thread could have run on; those above say that it was preempted."""


class Switches(Struct, frozen=True):
    """(n,) columns in any order: threads that leave (``is_out``) or enter a CPU."""

    time: U64
    thread: I64
    """Row of ThreadIds."""
    is_out: Bools
    cpu: I32
    """−1: unknown."""
    state: U8
    """The TaskState that begins."""


def switches_of(profile: Profile, ids: ThreadIds) -> Switches:
    """Return all that a profile tells of context switches."""
    switches = profile.switches
    if switches is None:
        none = np.zeros(0, np.int64)
        cpu, state = none.astype(np.int32), none.astype(np.uint8)
        return Switches(none.astype(np.uint64), none, none.astype(np.bool_), cpu, state)
    asleep = np.where(switches.is_preempted, TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP)
    told = np.where(switches.state >= 0, states_of(switches.state), asleep)
    state = np.where(switches.is_out, told, TaskState.TASK_STATE_RUNNING).astype(np.uint8)
    thread = ids.number[switches.thread].astype(np.int64)
    return Switches(switches.time, thread, switches.is_out, switches.cpu, state)


def states_of(prev_state: AnyArray) -> U8:
    """(n,) the TaskState that each prev_state means."""
    bits = prev_state.astype(np.int64)
    state = np.full(len(bits), TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP, np.uint8)
    for mask, meaning in _STATES[::-1]:
        state[bits & mask > 0] = meaning
    state[bits & _ANY_STATE == 0] = TaskState.TASK_STATE_RUNNABLE
    return state
