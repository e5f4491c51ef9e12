"""Context switches, from records of their own (``--switch-events``) or else from samples of ``sched:sched_switch``."""

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I32, I64, U8, U64, AnyArray, Bools
from perf2x.columnar.columns import take_rows_of
from perf2x.emit.perfetto.threads import ThreadIds
from perf2x.emit.perfetto.track_schema import TaskState
from perf2x.emit.timeline.fields import field_tables
from perf2x.tables.profile import Profile

_SCHED_SWITCH = ["sched", "sched_switch"]
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
    return _of_samples(profile, ids) if profile.switches is None else _of_records(profile, ids)


def _of_records(profile: Profile, ids: ThreadIds) -> Switches:
    switches = profile.switches
    if switches is None:
        return _none()
    asleep = np.where(switches.is_preempted, TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP)
    told = np.where(switches.state >= 0, states_of(switches.state), asleep)
    state = np.where(switches.is_out, told, TaskState.TASK_STATE_RUNNING).astype(np.uint8)
    thread = ids.number[switches.thread].astype(np.int64)
    return Switches(switches.time, thread, switches.is_out, switches.cpu, state)


def _of_samples(profile: Profile, ids: ThreadIds) -> Switches:
    """Of each sample one thread leaves, and another comes if it has samples, too."""
    samples, parts = profile.samples, [_none()]
    events = [row for row, event in enumerate(profile.events) if event.name.split(":")[:2] == _SCHED_SWITCH]
    rows = np.flatnonzero(np.isin(samples.event, events))
    for entry, held, local in field_tables(profile, rows):
        columns = {column.name: column.values[local] for column in entry.columns if column.kind == "integer"}
        if samples.time is None or samples.cpu is None or not {"prev_state", "next_pid"} <= columns.keys():
            continue
        row = rows[held]
        time, cpu = samples.time[row], samples.cpu[row]
        left = ids.number[samples.thread[row]].astype(np.int64)
        parts.append(Switches(time, left, np.ones(len(row), np.bool_), cpu, states_of(columns["prev_state"])))
        came = _thread_of(ids, columns["next_pid"].astype(np.int64))
        running = np.full(len(row), TaskState.TASK_STATE_RUNNING, np.uint8)
        entered = Switches(time, came, np.zeros(len(row), np.bool_), cpu, running)
        parts.append(take_rows_of(entered, np.flatnonzero(came >= 0)))
    return Switches(*(np.concatenate([getattr(part, name) for part in parts]) for name in Switches.__struct_fields__))


def states_of(prev_state: AnyArray) -> U8:
    """(n,) the TaskState that each prev_state means."""
    bits = prev_state.astype(np.int64)
    state = np.full(len(bits), TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP, np.uint8)
    for mask, meaning in _STATES[::-1]:
        state[bits & mask > 0] = meaning
    state[bits & _ANY_STATE == 0] = TaskState.TASK_STATE_RUNNABLE
    return state


def _thread_of(ids: ThreadIds, tid: I64) -> I64:
    """(n,) the row of ThreadIds that has a tid, −1 for none."""
    order = np.argsort(ids.tid, kind="stable")
    known = ids.tid[order]
    place = np.minimum(np.searchsorted(known, tid), len(known) - 1)
    return np.where(known[place] == tid, order[place], -1)


def _none() -> Switches:
    none = np.zeros(0, np.int64)
    return Switches(none.astype(np.uint64), none, none.astype(np.bool_), none.astype(np.int32), none.astype(np.uint8))
