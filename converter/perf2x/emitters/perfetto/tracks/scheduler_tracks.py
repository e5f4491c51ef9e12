"""Context switches as states of threads, which readers draw as scheduler tracks of CPUs and threads.

Readers refuse a thread that runs twice at once, and demand the CPU of both ends of a run. Records are lost, or told by
the other thread of a switch, which nobody watched: a run without an end ends where its thread comes to another CPU, one
without a beginning is a nanosecond long, and what says nothing new is left out.
"""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    ColumnTable,
    arange,
    begins_run,
    flatnonzero,
    of_previous,
    repeat,
    take_rows_of,
)
from perf2x.base.columnar.unique import argsort_rows, unique_inverse
from perf2x.emitters.encoding.protobuf_cells import numbers
from perf2x.emitters.perfetto.message import packet_rows
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.trace_schema import TracePacket
from perf2x.emitters.perfetto.track_schema import GenericKernelTaskStateEvent, TaskState
from perf2x.emitters.perfetto.tracks.thread_states import CpuSwitches, switches_of
from perf2x.emitters.timeline.tracks import UNKNOWN_ID
from perf2x.model.profile.profile import Profile


class _TaskStates(ColumnTable):
    """(n,) columns in order of time, threads that leave a CPU before those that come."""

    time: U64
    tid: I64
    cpu: I32
    state: U8
    """A TaskState."""


def task_state_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a packet for each change of a thread's state."""
    ids = thread_ids(profile)
    states = _task_states(switches_of(profile, ids), ids)
    yield from packet_rows(
        TracePacket.GENERIC_KERNEL_TASK_STATE_EVENT,
        states.time,
        lambda rows: [
            numbers(GenericKernelTaskStateEvent.CPU, states.cpu[rows]),
            numbers(GenericKernelTaskStateEvent.TID, states.tid[rows]),
            numbers(GenericKernelTaskStateEvent.STATE, states.state[rows]),
        ],
    )


def _task_states(switches: CpuSwitches, ids: ThreadIds) -> _TaskStates:
    """Return the states that context switches tell; without idle and unknown threads, and without unknown CPUs.

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
    after = ~begins_run(switches.thread)
    before = np.maximum(arange(len(order)) - 1, 0)
    is_same = after & (switches.is_out == switches.is_out[before])
    moved = is_same & ~switches.is_out & (switches.cpu != switches.cpu[before])
    again = is_same & switches.is_out & (switches.time > switches.time[before])
    empty = _empty_runs(switches, after)
    kept = flatnonzero((~is_same | moved | again) & ~empty)
    ends, begins = flatnonzero(moved & ~empty), flatnonzero(again & ~empty)
    states = (TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_RUNNING)
    rows = _TaskStates(
        time=np.concatenate([switches.time[kept], switches.time[ends], switches.time[begins] - np.uint64(1)]),
        tid=tid[np.concatenate([kept, ends, begins])],
        cpu=np.concatenate([switches.cpu[kept], switches.cpu[before][ends], switches.cpu[begins]]),
        state=np.append(switches.state[kept], repeat(states, [len(ends), len(begins)]).astype(np.uint8)),
    )
    comes = rows.state == TaskState.TASK_STATE_RUNNING
    return take_rows_of(rows, argsort_rows([rows.time, comes, rows.cpu, rows.tid]))


def _with_cpus_of_exits(switches: CpuSwitches) -> CpuSwitches:
    """Let threads that leave no one knows where (exits) leave the CPU that they came to; rows change their order."""
    order = argsort_rows([switches.thread, switches.time, switches.is_out, switches.cpu])
    switches = take_rows_of(switches, order)
    before = np.maximum(arange(len(order)) - 1, 0)
    ran = ~begins_run(switches.thread) & switches.is_out & ~switches.is_out[before]
    return replace(switches, cpu=np.where(ran & (switches.cpu < 0), switches.cpu[before], switches.cpu))


def _without_returns(switches: CpuSwitches, tid: I64) -> CpuSwitches:
    """Let threads that are seen again after their end (their number is, or they were preempted on their way) sleep.

    Readers refuse whatever follows a thread's end.
    """
    tids, place = unique_inverse(tid)
    last = np.zeros(len(tids), np.uint64)
    np.maximum.at(last, place, switches.time)
    ended = (switches.state == TaskState.TASK_STATE_DEAD) & (switches.time < last[place])
    state = np.where(ended, np.uint8(TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP), switches.state)
    return replace(switches, state=state)


def _empty_runs(switches: CpuSwitches, after: Bools) -> Bools:
    """(n,) both rows of a run that ends when it begins."""
    ends = after & switches.is_out & ~of_previous(switches.is_out, True) & ~begins_run(switches.time)
    ends[:-1] |= ends[1:]
    return ends
