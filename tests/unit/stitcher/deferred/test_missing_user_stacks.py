"""Reasons for missing user stacks."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perf2x.model.recording.sideband import Losts
from perf2x.stitcher.deferred.cookie_matching import DeferredRecords
from perf2x.stitcher.deferred.deferred_join import MissingReason, MissingUserStacks, missing_reasons, sum_missing
from tests.unit.stitcher.deferred.test_cookie_matching import deferred, execs


def test_samples_of_one_stay_in_the_kernel_are_summed_up() -> None:
    """A cookie under two threads is two stays."""
    ids = np.array([1, 1, 2, 1], np.int32)
    cookie, when = np.array([5, 5, 5, 6], np.uint64), np.array([30, 20, 90, 7], np.uint64)
    found = sum_missing(MissingUserStacks(cookie, ids, ids, ids * 0, when, np.array([2, 3, 4, 1], np.int64)))
    rows = zip(found.cookie.tolist(), found.tid.tolist(), found.last_time.tolist(), found.count.tolist(), strict=True)
    assert sorted(rows) == [(5, 1, 30, 5), (5, 2, 90, 4), (6, 1, 7, 1)]


Lost = tuple[int, int, int, bool]
"""time, cpu, how many, of samples only"""


def told(
    rows: list[tuple[int, int, int, int]],
    records: list[tuple[int, int, int, int]] | None = None,
    exits: list[tuple[int, int]] | None = None,
    losts: list[Lost] | None = None,
    programs: list[tuple[int, int]] | None = None,
    timed: bool = True,
) -> dict[str, int]:
    """Reasons for missing samples (tid, cpu, when, count) of process 10, each with a cookie of its own."""
    tid, cpu, when, count = (np.array(column) for column in zip(*rows, strict=True))
    missing = MissingUserStacks(
        np.arange(len(rows), dtype=np.int64).astype(np.uint64), np.full(len(rows), 10, np.int32), tid.astype(np.int32),
        cpu.astype(np.int32), when.astype(np.uint64), count.astype(np.int64),
    )  # fmt: skip
    table = deferred(records or [])
    gone = np.array(exits or np.zeros((0, 2)), np.int64).reshape(-1, 2)
    lost = list(losts or [])
    none = np.full(len(lost), -1, np.int32)
    times = np.array([row[0] for row in lost], np.int64)
    nothing = np.zeros(len(lost), np.uint64)
    sideband: Any = SimpleNamespace(
        deferred=table,
        exits=SimpleNamespace(
            tid=gone[:, 0].astype(np.int32),
            time=gone[:, 1].astype(np.uint64) if timed else np.zeros(len(gone), np.uint64),
            position=gone[:, 1],
        ),
        losts=Losts(
            times.astype(np.uint64) if timed else nothing, times, none, np.array([row[1] for row in lost], np.int32),
            none, none, np.array([row[2] for row in lost], np.uint64), np.array([row[3] for row in lost], np.bool_),
        ),
    )  # fmt: skip
    return missing_reasons(missing, sideband, DeferredRecords(table, execs(programs or []), timed))


WHOLE: Lost = (60, 0, 1, False)


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, MissingReason.STOPPED),
        ({"exits": [(11, 60)]}, MissingReason.EXITED),
        ({"exits": [(11, 50)]}, MissingReason.STOPPED),  # not after the sample
        ({"exits": [(12, 60)]}, MissingReason.STOPPED),
        ({"losts": [WHOLE]}, MissingReason.LOST),
        ({"losts": [(50, 0, 1, False)]}, MissingReason.STOPPED),
        ({"losts": [(60, 0, 1, True)]}, MissingReason.STOPPED),  # samples were lost, no record
        ({"losts": [(60, 0, 0, False)]}, MissingReason.STOPPED),
        ({"losts": [(60, 1, 1, False)]}, MissingReason.STOPPED),  # on another CPU
        ({"losts": [(60, 1, 1, False), (40, 0, 1, False)]}, MissingReason.STOPPED),
        ({"losts": [(60, -1, 1, False)]}, MissingReason.LOST),  # on a CPU that is not known
        ({"losts": [(60, -1, 1, False), (40, 0, 1, False)]}, MissingReason.LOST),
        ({"losts": [WHOLE], "exits": [(11, 60)]}, MissingReason.EXITED),
    ],
)
def test_a_thread_that_never_came_back(facts: dict[str, Any], reason: MissingReason, timed: bool) -> None:
    """A record of another thread is there, so that nobody took all of them away."""
    assert told([(11, 0, 50, 3)], records=[(99, 10, 12, 70)], timed=timed, **facts) == {str(reason): 3}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, MissingReason.ELSEWHERE),
        ({"losts": [WHOLE]}, MissingReason.LOST),
        ({"exits": [(11, 80)]}, MissingReason.ELSEWHERE),
        ({"programs": [(10, 60)]}, MissingReason.EXITED),  # the id is that of another thread since
        ({"programs": [(10, 60)], "losts": [WHOLE]}, MissingReason.EXITED),
        ({"programs": [(10, 75)]}, MissingReason.ELSEWHERE),
        ({"programs": [(9, 60)]}, MissingReason.ELSEWHERE),
    ],
)
def test_a_thread_that_came_back_without_its_record(facts: dict[str, Any], reason: MissingReason) -> None:
    assert told([(11, 0, 50, 3)], records=[(99, 10, 11, 70)], **facts) == {str(reason): 3}


def test_without_a_cpu_a_record_may_be_lost_on_any() -> None:
    rows = [(11, -1, 50, 3), (12, 0, 50, 4), (13, 1, 50, 5)]
    assert told(rows, records=[(99, 10, 20, 70)], losts=[(60, 1, 1, False)]) == {
        str(MissingReason.STOPPED): 4, str(MissingReason.LOST): 8,
    }  # fmt: skip


def test_reasons_are_in_their_order() -> None:
    """Two threads that stopped, one that exited; the record of a third is there."""
    found = told([(11, 0, 50, 3), (12, 0, 50, 4), (13, 0, 50, 1)], [(99, 10, 20, 70)], exits=[(12, 60)])
    assert list(found.items()) == [(str(MissingReason.STOPPED), 4), (str(MissingReason.EXITED), 4)]
    assert told([(11, 0, 50, 0)], [(99, 10, 20, 70)]) == {}


def test_without_any_record_repeated_stays_show_that_inject_dropped_them() -> None:
    """Two cookies of one thread: it came back in between. One cookie of each proves nothing."""
    assert told([(11, 0, 50, 3), (11, 0, 70, 4)]) == {str(MissingReason.INJECTED): 7}
    assert told([(11, 0, 50, 3), (12, 0, 70, 4)]) == {str(MissingReason.STOPPED): 7}
    both = [(11, 0, 50, 3), (11, 0, 70, 4)]
    assert told(both, records=[(99, 10, 12, 10)]) == {str(MissingReason.STOPPED): 7}
