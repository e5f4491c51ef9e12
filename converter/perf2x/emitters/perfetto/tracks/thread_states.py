"""Thread states and thread names over time: scheduler tracks, and slices below the threads' tracks.

Readers draw context switches as scheduler tracks. They reject a thread that runs on two CPUs at the same time, and need
the CPU at both ends of a run. So states are completed where records are missing. Context switches without a CPU become
slices. So do names of renamed threads, because readers keep only a thread's last name.
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
from perf2x.emitters.encoding.protobuf import number_cells
from perf2x.emitters.perfetto.packets_and_clocks import packets_of_columns, sequence_start
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.trace_schema import GenericKernelTaskStateEvent, TaskState, TracePacket
from perf2x.emitters.perfetto.tracks.track_packets import TrackKind, thread_slices
from perf2x.emitters.timeline.tracks import UNKNOWN_ID
from perf2x.model.printable_text import printable
from perf2x.model.profile import Profile

_STATES_BY_BITS = (
    (0x30, TaskState.TASK_STATE_DEAD),
    (0x0C, TaskState.TASK_STATE_STOPPED),
    (0x82, TaskState.TASK_STATE_UNINTERRUPTIBLE_SLEEP),
)
"""Bits of prev_state (include/linux/sched.h), and the state that they stand for; the first match counts.

0x30: EXIT_DEAD, EXIT_ZOMBIE; 0x0C: stopped, traced; 0x82: uninterruptible, or an idle kernel thread.
"""
_NOT_RUNNABLE = 0x2FF
"""Bits of prev_state for threads that do not want to run; if none of them is set, the thread was preempted.

Preemption has a bit of its own: 0x100 since Linux 4.14, before that 0x400 or a higher one.
"""


class _CpuSwitches(Frozen):
    """Context switches: threads that leave (``is_out``) or enter a CPU."""

    time: U64
    thread: I64
    """Row of ThreadIds."""
    is_out: Bools
    cpu: I32
    """−1: unknown."""
    state: U8
    """The thread's TaskState from ``time`` on."""


def _all_switches(profile: Profile, ids: ThreadIds) -> _CpuSwitches:
    switches = profile.switches
    if switches is None:
        return no_rows(_CpuSwitches)
    inferred_state = np.where(
        switches.is_preempted, TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP
    )
    state_after_out = np.where(switches.state >= 0, task_states_of(switches.state), inferred_state)
    state = np.where(switches.is_out, state_after_out, TaskState.TASK_STATE_RUNNING).astype(np.uint8)
    thread = as_int64(ids.row_of_thread[switches.thread])
    return _CpuSwitches(switches.time, thread, switches.is_out, switches.cpu, state)


def task_states_of(prev_state: AnyArray) -> U8:
    """Return (n,) the TaskState of each prev_state (of the tracepoint sched_switch)."""
    bits = as_int64(prev_state)
    state = np.full(len(bits), TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP, np.uint8)
    for mask, task_state in _STATES_BY_BITS[::-1]:
        state[bits & mask > 0] = task_state
    state[bits & _NOT_RUNNABLE == 0] = TaskState.TASK_STATE_RUNNABLE
    return state


_STATE_NAMES = {
    TaskState.TASK_STATE_RUNNING: "Running",
    TaskState.TASK_STATE_RUNNABLE: "Runnable",
    TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP: "Sleeping",
    TaskState.TASK_STATE_UNINTERRUPTIBLE_SLEEP: "Uninterruptible sleep",
    TaskState.TASK_STATE_STOPPED: "Stopped",
    TaskState.TASK_STATE_DEAD: "Dead",
}


def state_slice_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a slice from each context switch on an unknown CPU to its thread's next switch."""
    ids = thread_ids(profile)
    switches = _switches_without_cpu(_all_switches(profile, ids), ids)
    rows, ends = _slices(switches, np.uint64(profile.meta.start_ns + profile.meta.duration_ns))
    if not len(rows):
        return
    state_iids = zeros(max(_STATE_NAMES) + 1)  # by TaskState
    state_iids[list(_STATE_NAMES)] = arange(1, len(_STATE_NAMES) + 1)
    bounds, names = np.stack([switches.time[rows], ends], axis=1), list(_STATE_NAMES.values())
    name_iids = state_iids[switches.state[rows]]
    yield sequence_start(profile.meta)
    yield from thread_slices(ids, switches.thread[rows], TrackKind.STATES, "state", names, bounds, name_iids)


def _switches_without_cpu(switches: _CpuSwitches, ids: ThreadIds) -> _CpuSwitches:
    tid = ids.tid[switches.thread]
    kept_rows = flatnonzero((switches.cpu < 0) & (tid > 0) & (tid != UNKNOWN_ID))
    return take_rows_of(switches, kept_rows[argsort_rows([switches.thread[kept_rows], switches.time[kept_rows]])])


def _slices(switches: _CpuSwitches, end: np.uint64) -> tuple[I64, U64]:
    """Return rows at which slices begin, and the times at which these end.

    Where two switches of a kind follow each other, one between them was lost, and the second is ignored. A last sleep
    has no slice, because its end is unknown. ::

        switches   10 in   20 out   30 out   40 in        slices   10…20 Running   20…40 Sleeping   40…end Running
    """
    is_first = begins_run(switches.thread)
    rows = flatnonzero(is_first | begins_run(switches.is_out))
    is_last = of_next(is_first[rows], True)
    ends = of_next(switches.time[rows], end)
    ends[is_last] = np.maximum(switches.time[rows[is_last]], end)
    has_slice = ~is_last | ~switches.is_out[rows]
    return rows[has_slice], ends[has_slice]


class _TaskStates(ColumnTable):
    """Changes of threads' states in time order; at equal times, threads that stop running come first."""

    time: U64
    tid: I64
    cpu: I32
    state: U8
    """A TaskState."""


def task_state_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a packet for each change of a thread's state."""
    ids = thread_ids(profile)
    states = _task_states(_all_switches(profile, ids), ids)
    yield from packets_of_columns(
        TracePacket.GENERIC_KERNEL_TASK_STATE_EVENT,
        states.time,
        lambda rows: [
            number_cells(GenericKernelTaskStateEvent.CPU, states.cpu[rows]),
            number_cells(GenericKernelTaskStateEvent.TID, states.tid[rows]),
            number_cells(GenericKernelTaskStateEvent.STATE, states.state[rows]),
        ],
    )


def _task_states(switches: _CpuSwitches, ids: ThreadIds) -> _TaskStates:
    """Complete the states on known CPUs, without those of idle and unknown threads.

    In this example, numbers are CPUs. A switch out of CPU 0 is missing before the third record, and a switch into CPU 1
    before the last one. ::

        records of one thread   in 0        in 0   in 1                    out 1        out 1
        states                  Running 0          Runnable 0, Running 1   Sleeping 1   Running 1, Sleeping 1
    """
    switches = _with_cpus_of_exits(switches)
    tid = ids.tid[switches.thread]
    known_rows = flatnonzero((tid > 0) & (tid != UNKNOWN_ID) & (switches.cpu >= 0))
    columns = (switches.thread, switches.time, switches.is_out, switches.cpu)
    known_rows = known_rows[argsort_rows([column[known_rows] for column in columns])]
    switches, tid = take_rows_of(switches, known_rows), tid[known_rows]
    switches = _without_early_ends(switches, tid)
    continues_thread, cpu_before = ~begins_run(switches.thread), of_previous(switches.cpu, -1)
    is_repeated = continues_thread & ~begins_run(switches.is_out)
    # missing switch-out: adds Runnable at the row's time; missing switch-in: adds Running a nanosecond earlier, unless
    # the row before has the same time
    lacks_out = is_repeated & ~switches.is_out & (switches.cpu != cpu_before)
    lacks_in = is_repeated & switches.is_out & begins_run(switches.time)
    is_empty = _bounds_empty_run(switches, continues_thread)
    kept_rows = flatnonzero((~is_repeated | lacks_out | lacks_in) & ~is_empty)
    lost_out, lost_in = flatnonzero(lacks_out & ~is_empty), flatnonzero(lacks_in & ~is_empty)
    added_states = (TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_RUNNING)
    states = _TaskStates(
        time=np.concatenate([switches.time[kept_rows], switches.time[lost_out], switches.time[lost_in] - np.uint64(1)]),
        tid=tid[np.concatenate([kept_rows, lost_out, lost_in])],
        cpu=np.concatenate([switches.cpu[kept_rows], cpu_before[lost_out], switches.cpu[lost_in]]),
        state=np.append(
            switches.state[kept_rows], repeat(added_states, [len(lost_out), len(lost_in)]).astype(np.uint8)
        ),
    )
    enters_cpu = states.state == TaskState.TASK_STATE_RUNNING
    return take_rows_of(states, argsort_rows([states.time, enters_cpu, states.cpu, states.tid]))


def _with_cpus_of_exits(switches: _CpuSwitches) -> _CpuSwitches:
    """Give switch-outs on unknown CPUs, such as a thread's exit, the CPU that the thread entered before.

    The returned rows are sorted by thread and time.
    """
    order = argsort_rows([switches.thread, switches.time, switches.is_out, switches.cpu])
    switches = take_rows_of(switches, order)
    is_out_after_in = ~begins_run(switches.thread) & switches.is_out & ~of_previous(switches.is_out, True)
    cpu_before = of_previous(switches.cpu, -1)
    return replace(switches, cpu=np.where(is_out_after_in & (switches.cpu < 0), cpu_before, switches.cpu))


def _without_early_ends(switches: _CpuSwitches, tid: I64) -> _CpuSwitches:
    """Replace TASK_STATE_DEAD where switches of the same tid follow, because readers reject these.

    The tid was reused, or the thread was preempted while it exited.
    """
    tids, tid_index = unique_inverse(tid)
    last_time = np.zeros(len(tids), np.uint64)
    np.maximum.at(last_time, tid_index, switches.time)
    is_early = (switches.state == TaskState.TASK_STATE_DEAD) & (switches.time < last_time[tid_index])
    state = np.where(is_early, np.uint8(TaskState.TASK_STATE_INTERRUPTIBLE_SLEEP), switches.state)
    return replace(switches, state=state)


def _bounds_empty_run(switches: _CpuSwitches, continues_thread: Bools) -> Bools:
    # the end of an empty run is a switch-out at the time of the switch-in before it
    is_empty = continues_thread & switches.is_out & ~of_previous(switches.is_out, True) & ~begins_run(switches.time)
    is_empty[:-1] |= is_empty[1:]
    return is_empty


def thread_name_packets(profile: Profile) -> Iterator[bytes]:
    """Yield slices for the names of renamed threads.

    A name lasts until the first sample with the next name, or until the thread's last sample. ::

        samples of a thread   10 sh   20 sh   30 ls   40 ls        slices   sh 10…30   ls 30…40
    """
    ids = thread_ids(profile)
    is_renamed = (bincount(ids.row_of_thread) > 1) & (ids.tid > 0)
    if profile.samples.time is None or not is_renamed.any():
        return
    thread = as_int64(ids.row_of_thread[profile.samples.thread])
    sample_rows = flatnonzero(is_renamed[thread])
    sample_rows = sample_rows[argsort_small(thread[sample_rows])]
    thread, comm = thread[sample_rows], as_int64(profile.threads.comm[profile.samples.thread[sample_rows]])
    spans = _name_spans(thread, comm)
    thread, comm = thread[spans[:, 0]], comm[spans[:, 0]]
    if not len(spans):
        return
    comms, name_index = unique_inverse(comm)
    names = [printable(profile.strings[row]) for row in comms.tolist()]
    bounds = profile.samples.time[sample_rows][spans]
    yield sequence_start(profile.meta)
    yield from thread_slices(ids, thread, TrackKind.NAMES, "name", names, bounds, name_index + 1)


def _name_spans(thread: I64, name: I64) -> I64:
    """Return (spans, 2) the first row of a name, and the first row of the next name or the thread's last row.

    Rows are sorted by thread, then time; threads with one name have no spans.
    """
    is_first_of_thread = begins_run(thread)
    begins = flatnonzero(is_first_of_thread | begins_run(name))
    ends = of_next(begins, len(thread))
    has_next_name = ~np.append(is_first_of_thread, True)[ends]
    ends -= ~has_next_name
    spans: I64 = np.stack([begins, ends], axis=1)[has_next_name | of_previous(has_next_name, False)]
    return spans
