"""Explains missing deferred user stacks from the recording itself.

A thread with a later record returned to user space, so the record of the sample's stay was written and lost; a thread
without one exited, or was still in the kernel when the recording stopped (or its file was closed).
"""

from enum import StrEnum

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    ColumnTable,
    KeyedTimes,
    as_int64,
    flatnonzero,
    group_rows,
    sum_at,
    sum_of,
    take_rows_of,
    unique,
)
from perf2x.base.columnar.keyed_values import FOREVER
from perf2x.model.recording import Losts, Sideband
from perf2x.stitcher.deferred.cookie_matching import DeferredRecords


class MissingReason(StrEnum):
    """Reasons for missing stacks, by their names in ``info --json``."""

    STOPPED = "recording_stopped"
    """The thread was still in the kernel when the recording ended."""
    EXITED = "task_exited"
    """The task was exiting: per-task events are gone before its record would be written (do_exit in kernel/exit.c)."""
    LOST = "record_lost"
    """The ring buffer was full: a PERF_RECORD_LOST follows the sample."""
    ELSEWHERE = "in_another_file"
    """The thread returned and nothing was lost: the record is in the previous or the next file."""
    INJECTED = "dropped_by_inject"
    """No records at all, although threads returned repeatedly: perf inject drops them."""


class MissingUserStacks(ColumnTable):
    """Samples without their record: one row per distinct (cookie, thread), with the number of samples."""

    cookie: U64
    pid: I32
    tid: I32
    cpu: I32
    """−1 if the samples have no CPU."""
    when: U64
    """Time of the last of these samples."""
    count: I64


def sum_missing(missing: MissingUserStacks) -> MissingUserStacks:
    """Merge the rows of each stay in the kernel, identified by cookie and thread."""
    first, stay = group_rows([missing.cookie, as_int64(missing.tid)])
    last = np.zeros(len(first), np.uint64)
    np.maximum.at(last, stay, missing.when)
    return replace(take_rows_of(missing, first), when=last, count=sum_at(stay, missing.count, len(first)))


def missing_reasons(missing: MissingUserStacks, sideband: Sideband, records: DeferredRecords) -> dict[str, int]:
    """Return the number of samples by reason, in the order of MissingReason; all missing samples are counted."""
    if not len(missing):
        return {}
    if not len(sideband.deferred) and len(missing.cookie) > len(unique(missing.tid)):
        return {str(MissingReason.INJECTED): sum_of(missing.count)}
    back = records.threads.after(missing.tid, missing.when)
    exits = sideband.exits
    exit_when = records.time_keys(exits.time, exits.position)
    exited = KeyedTimes(exits.tid, exit_when).after(missing.tid, missing.when) != FOREVER
    lost = _lost_after(sideband.losts, missing, records)
    # a thread that another thread's exec ended loses its id to that thread: later records under the id are not its own
    replaced = records.execs.between(missing.pid, missing.when, back)
    came_back = (back != FOREVER) & ~replaced
    exited |= replaced
    chosen = np.select(
        [came_back & lost, came_back, exited, lost],
        [MissingReason.LOST, MissingReason.ELSEWHERE, MissingReason.EXITED, MissingReason.LOST],
        MissingReason.STOPPED,
    )
    counts = ((reason, sum_of(missing.count[chosen == reason])) for reason in MissingReason)
    return {str(reason): count for reason, count in counts if count}


def _lost_after(losts: Losts, missing: MissingUserStacks, records: DeferredRecords) -> Bools:
    """Return (n,) whether a record was lost after the sample, on its CPU if both CPUs are known.

    The kernel writes LOST after the loss, once there is room again.
    """
    rows = flatnonzero(~losts.samples_only & (losts.lost > 0))
    when = records.time_keys(losts.time, losts.position)[rows]
    cpu = losts.cpu[rows]
    anywhere = KeyedTimes(np.zeros(len(rows), np.int32), when).after(np.zeros_like(missing.cpu), missing.when)
    found: Bools = anywhere != FOREVER
    if bool(np.all(cpu >= 0)):
        known = flatnonzero(missing.cpu >= 0)
        found[known] = KeyedTimes(cpu, when).after(missing.cpu[known], missing.when[known]) != FOREVER
    return found
