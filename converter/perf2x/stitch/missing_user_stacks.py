"""Why a sample's user stack is not in the file: the reason that the file itself shows.

A thread that has a later record came back to user space, so the record of the sample's stay was written, and is gone;
a thread without one exited, or was still inside the call when the recording stopped (or its file was closed).
"""

from collections import Counter
from enum import StrEnum

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I32, I64, U64, Bools
from perf2x.columnar.unique import group_rows, unique
from perf2x.stitch.deferred import DeferredJoin
from perf2x.stitch.history.keyed_times import FOREVER, KeyedTimes
from perf2x.tables.events import Losts, Sideband


class Reason(StrEnum):
    """The reasons, as ``info --json`` names them."""

    STOPPED = "recording_stopped"
    """The thread was still in the kernel when the recording ended."""
    EXITED = "task_exited"
    """Per-task events are gone before an exiting task's record would be written (do_exit in kernel/exit.c)."""
    LOST = "record_lost"
    """The ring buffer was full: PERF_RECORD_LOST stands behind the sample."""
    ELSEWHERE = "in_another_file"
    """The thread came back and nothing was lost: the record is in the file before or after this one."""
    INJECTED = "dropped_by_inject"
    """No record at all, though threads came back again and again: perf inject drops them."""


class Missing(Struct, frozen=True):
    """Samples without their record: one row per distinct (cookie, thread), with the number of samples."""

    cookie: U64
    pid: I32
    tid: I32
    cpu: I32
    """−1 where the samples do not say."""
    when: U64
    """Of the last such sample."""
    count: I64


def gather(cookie: U64, pid: I32, tid: I32, cpu: I32, when: U64, count: I64) -> Missing:
    """Sum up rows of one stay in the kernel."""
    first, inverse = group_rows([cookie, tid.astype(np.int64)])
    last = np.zeros(len(first), np.uint64)
    np.maximum.at(last, inverse, when)
    total = np.zeros(len(first), np.int64)
    np.add.at(total, inverse, count)
    return Missing(cookie[first], pid[first], tid[first], cpu[first], last, total)


def reasons(missing: Missing, sideband: Sideband, join: DeferredJoin, timed: bool) -> dict[str, int]:
    """Samples by reason, in the order of Reason; their sum is the number of missing samples."""
    if not len(missing.count):
        return {}
    if not len(sideband.deferred) and len(missing.cookie) > len(unique(missing.tid)):
        return {str(Reason.INJECTED): int(missing.count.sum())}
    back = join.threads.after(missing.tid, missing.when)
    exits = sideband.exits
    exit_when = exits.time if timed else exits.position.view(np.uint64)
    exited = KeyedTimes(exits.tid, exit_when).after(missing.tid, missing.when) != FOREVER
    lost = _lost_after(sideband.losts, missing, timed)
    # A thread that another thread's exec ended loses its id to that thread: what comes under it later is not its own.
    replaced = join.execs.between(missing.pid, missing.when, back)
    came_back = (back != FOREVER) & ~replaced
    exited |= replaced
    chosen = np.select(
        [came_back & lost, came_back, exited, lost],
        [Reason.LOST, Reason.ELSEWHERE, Reason.EXITED, Reason.LOST],
        Reason.STOPPED,
    )
    found: Counter[str] = Counter()
    for reason, count in zip(chosen.tolist(), missing.count.tolist(), strict=True):
        found[reason] += count
    return {str(reason): found[reason] for reason in Reason if found[reason]}


def _lost_after(losts: Losts, missing: Missing, timed: bool) -> Bools:
    """Whether something was lost after the sample, on its CPU where both are known.

    The kernel writes LOST when there is room again, so it stands behind what was lost.
    """
    rows = np.flatnonzero(~losts.samples_only & (losts.lost > 0))
    when = (losts.time if timed else losts.position.view(np.uint64))[rows]
    cpu = losts.cpu[rows]
    anywhere = KeyedTimes(np.zeros(len(rows), np.int32), when).after(np.zeros_like(missing.cpu), missing.when)
    found: Bools = anywhere != FOREVER
    if bool(np.all(cpu >= 0)):
        known = np.flatnonzero(missing.cpu >= 0)
        found[known] = KeyedTimes(cpu, when).after(missing.cpu[known], missing.when[known]) != FOREVER
    return found
