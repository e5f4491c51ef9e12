"""Builds a timeline's tables besides samples: context switches, lost records, and which process forked which."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    DictionaryColumn,
    StringTableBuilder,
    argsort_rows,
    as_int32,
    as_int64,
    as_uint64,
    falses,
    flatnonzero,
    group_rows,
    join_tables,
    lexsort,
    sum_of,
    take_rows_of,
    trues,
    unique_inverse,
)
from perf2x.model.profile import Losses, Threads, ThreadSwitches
from perf2x.model.recording import Event, Losts, Switches, Tasks, are_final_totals
from perf2x.stitcher.history.process_history import ProcessHistory

# bit of prev_state (include/linux/sched.h) for an exiting thread
_EXIT_DEAD = 0x10


def thread_switches(history: ProcessHistory, threads: Threads, strings: StringTableBuilder) -> ThreadSwitches | None:
    """Return switches and exits of threads with samples; None if no switches were recorded."""
    if not len(history.sideband.switches):
        return None
    switches = _with_exits(history.sideband.switches, history.sideband.exits)
    sequence = history.order.sequence(switches.time, switches.position)
    names = history.names.at(as_int64(switches.tid), sequence)
    distinct_strings = strings.table()
    row_of_thread = {
        (int(pid), int(tid), distinct_strings[comm]): row
        for row, (pid, tid, comm) in enumerate(zip(threads.pid, threads.tid, threads.comm.tolist(), strict=True))
    }
    # without samples under the name at the switch, the thread's last row counts
    row_of_ids = {(pid, tid): row for (pid, tid, _), row in row_of_thread.items()}
    columns = [as_int64(switches.pid), as_int64(switches.tid), names]
    first, group = group_rows(columns)
    pid, tid, name = (column[first] for column in columns)
    comm = thread_names(history.names.distinct_names, name, tid)
    row_of_group = as_int64([
        row_of_thread.get((*ids, display_name), row_of_ids.get(ids, -1))
        for ids, display_name in zip(zip(pid.tolist(), tid.tolist(), strict=True), comm, strict=True)
    ])  # fmt: skip
    thread = row_of_group[group]
    rows = flatnonzero(thread >= 0)
    rows = rows[lexsort([switches.is_out[rows], thread[rows], switches.time[rows]])]
    return ThreadSwitches(
        time=switches.time[rows],
        thread=as_int32(thread[rows]),
        is_out=switches.is_out[rows],
        cpu=switches.cpu[rows],
        is_preempted=switches.preempted[rows],
        # −1 (unknown) for the recorded switches, which come first in the joined table
        state=np.where(rows < len(history.sideband.switches), -1, _EXIT_DEAD),
    )


def _with_exits(switches: Switches, exits: Tasks) -> Switches:
    """Add exits as switches out: no switch is recorded when a thread leaves its CPU for the last time."""
    count = len(exits)
    last_switches = Switches(
        time=exits.time,
        position=exits.position,
        pid=exits.pid,
        tid=exits.tid,
        cpu=np.full(count, -1, np.int32),
        is_out=trues(count),
        preempted=falses(count),
    )
    return join_tables([switches, last_switches])


def losses(events: Sequence[Event], losts: Losts) -> Losses:
    """Return the recorded losses, sorted by time.

    Some recordings state losses twice: perf adds totals at the end. These become one row of the losses that the kernel
    did not report.
    """
    table = Losses(losts.time, as_int32(losts.cpu), losts.lost, losts.samples_only)
    is_final = are_final_totals(events, losts)
    if is_final.any():
        excess = max(sum_of(losts.lost[is_final]) - sum_of(losts.lost[~losts.samples_only]), 0)
        excess_row = replace(take_rows_of(table, flatnonzero(is_final)[:1]), lost=as_uint64([excess]))
        table = join_tables([take_rows_of(table, ~is_final), replace(excess_row, cpu=np.full(1, -1, np.int32))])
    rows = flatnonzero(table.lost > 0)
    order = argsort_rows([table.time[rows], table.cpu[rows], table.samples_only[rows], table.lost[rows]])
    return take_rows_of(table, rows[order])


def parents(forks: Tasks, threads: Threads) -> I32:
    """Return (threads,) the parent of each thread's process: its first row in ``threads``, −1 without samples.

    If a pid was reused, the last fork counts.
    """
    rows = flatnonzero(forks.pid != forks.ppid)  # other forks made threads
    rows = rows[argsort_rows([forks.time[rows], forks.position[rows]])]
    parent_pid = dict(zip(forks.pid[rows].tolist(), forks.ppid[rows].tolist(), strict=True))
    # backwards, so that a process's first row is entered last
    row_of_pid = dict(zip(threads.pid[::-1].tolist(), range(len(threads) - 1, -1, -1), strict=True))
    # -2 is no pid
    parent_rows = (row_of_pid.get(parent_pid.get(pid, -2), -1) for pid in threads.pid.tolist())
    return np.fromiter(parent_rows, np.int32, len(threads))


def thread_names(distinct_names: list[str], name: I64, tid: I64) -> DictionaryColumn[str]:
    """Return (n,) the display names of threads; ``name`` (n,) are indices in ``distinct_names``.

    Without a name (−1), ``:TID``, or ``swapper`` for tid 0 (thread__comm_str in tools/perf/util/thread.c).
    """

    # keys are index << 1 of a name, or tid << 1 | 1 of an unnamed thread
    def display_name(key: int) -> str:
        number = key >> 1
        if key & 1:
            return f":{number}" if number else "swapper"
        return distinct_names[number]

    keys, row = unique_inverse(np.where(name >= 0, name << 1, tid << 1 | 1))
    return DictionaryColumn.of(map(display_name, keys.tolist()))[row]
