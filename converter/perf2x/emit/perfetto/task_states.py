"""Context switches as states of threads, which readers draw as scheduler tracks of CPUs and threads.

Readers refuse a thread that runs twice at once, and demand the CPU of both ends of a run. Records are lost, so a run
without an end ends where its thread comes to another CPU, and what says nothing new is left out.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I32, I64, U8, U64, Bools
from perf2x.columnar.columns import take_rows_of
from perf2x.columnar.unique import argsort_rows
from perf2x.emit.encoding.protobuf_cells import beside, nested, numbers
from perf2x.emit.perfetto.message import packet_rows
from perf2x.emit.perfetto.schema import GenericKernelTaskStateEvent, TaskState, TracePacket
from perf2x.emit.perfetto.threads import ThreadIds, thread_ids
from perf2x.emit.timeline.tracks import UNKNOWN_ID
from perf2x.tables.profile import Profile, ThreadSwitches

_ROWS_AT_ONCE = 1 << 14


class TaskStates(Struct, frozen=True):
    """(n,) columns in order of time, threads that leave a CPU before those that come."""

    time: U64
    tid: I64
    cpu: I32
    state: U8
    """A TaskState."""

    def __len__(self) -> int:
        return len(self.time)


def task_state_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a packet for each change of a thread's state."""
    if profile.switches is None:
        return
    states = task_states(profile.switches, thread_ids(profile))
    for start in range(0, len(states), _ROWS_AT_ONCE):
        part = take_rows_of(states, np.arange(start, min(start + _ROWS_AT_ONCE, len(states))))
        fields = [
            numbers(GenericKernelTaskStateEvent.CPU, part.cpu),
            numbers(GenericKernelTaskStateEvent.TID, part.tid),
            numbers(GenericKernelTaskStateEvent.STATE, part.state),
        ]
        yield packet_rows(part.time, nested(TracePacket.GENERIC_KERNEL_TASK_STATE_EVENT, beside(fields)))


def task_states(switches: ThreadSwitches, ids: ThreadIds) -> TaskStates:
    """Return the states that context switches tell; without idle and unknown threads, and without unknown CPUs.

    ::

        records of one thread   in 0   in 0   in 1   out 1   out 1
        states                  Running 0     out 0, Running 1   Sleeping 1
    """
    thread = ids.number[switches.thread]
    tid = ids.tid[thread]
    known = np.flatnonzero((tid > 0) & (tid != UNKNOWN_ID) & (switches.cpu >= 0))
    order = known[argsort_rows([thread[known], switches.time[known], switches.is_out[known]])]
    switches, thread, tid = take_rows_of(switches, order), thread[order], tid[order]
    after = _follows(thread)
    before = np.maximum(np.arange(len(order)) - 1, 0)
    is_same = after & (switches.is_out == switches.is_out[before])
    moved = is_same & ~switches.is_out & (switches.cpu != switches.cpu[before])
    empty = _empty_runs(switches, after)
    kept, lost = np.flatnonzero((~is_same | moved) & ~empty), np.flatnonzero(moved & ~empty)
    asleep = np.where(switches.is_preempted, TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP)
    state = np.where(switches.is_out, asleep, TaskState.TASK_STATE_RUNNING)[kept]
    rows = TaskStates(
        time=np.append(switches.time[kept], switches.time[lost]),
        tid=np.append(tid[kept], tid[lost]),
        cpu=np.append(switches.cpu[kept], switches.cpu[before][lost]),
        state=np.append(state, np.full(len(lost), TaskState.TASK_STATE_RUNNABLE)).astype(np.uint8),
    )
    comes = rows.state == TaskState.TASK_STATE_RUNNING
    return take_rows_of(rows, argsort_rows([rows.time, comes, rows.cpu, rows.tid]))


def _follows(thread: I32) -> Bools:
    """(n,) whether a row is of the same thread as the one before it."""
    return np.append(False, thread[1:] == thread[:-1])[: len(thread)]


def _empty_runs(switches: ThreadSwitches, after: Bools) -> Bools:
    """(n,) both rows of a run that ends when it begins."""
    ends: Bools = after & switches.is_out & np.append(False, ~switches.is_out[:-1])[: len(after)]
    ends &= np.append(False, switches.time[1:] == switches.time[:-1])[: len(after)]
    ends[:-1] |= ends[1:]
    return ends
