"""The join by cookie: against a scalar definition, and the cases that real recordings show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.base.columnar.interner import ListInterner
from perf2x.base.columnar.list_array import SharedRows
from perf2x.model.recording.sideband import Comms, DeferredChains
from perf2x.stitcher.deferred.cookie_matching import COOKIE_REUSE_NS, DeferredRecords, JoinOutcome
from tests.support.ragged_rows import ragged_of

Record = tuple[int, int, int, int]
"""cookie, pid, tid, time"""


def deferred(records: list[Record]) -> DeferredChains:
    rows = sorted(records, key=lambda row: (row[0], row[2], row[3]))
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    table = ListInterner()
    numbers = table.number_rows(ragged_of([[7]] * len(rows)))
    return DeferredChains(
        time=np.array(columns[3], np.uint64), position=np.arange(len(rows), dtype=np.int64),
        pid=np.array(columns[1], np.int32),
        tid=np.array(columns[2], np.int32), cpu=np.full(len(rows), -1, np.int32),
        cookie=np.array(columns[0], np.uint64), chain=SharedRows(numbers.astype(np.int32), table.table()),
    )  # fmt: skip


def execs(times: list[tuple[int, int]]) -> Comms:
    count = len(times)
    return Comms(
        time=np.array([time for _, time in times], np.uint64), position=np.arange(count, dtype=np.int64),
        pid=np.array([pid for pid, _ in times], np.int32), tid=np.array([pid for pid, _ in times], np.int32),
        comm=DictionaryColumn.of(["new"] * count), is_exec=np.ones(count, np.bool_),
    )  # fmt: skip


def join(
    records: list[Record], samples: list[Record], programs: list[tuple[int, int]]
) -> list[tuple[int, JoinOutcome]]:
    """(time of the record or −1, outcome) of each sample."""
    table = deferred(records)
    cookie, pid, tid, time = (list(column) for column in zip(*samples, strict=True))
    row, outcome = DeferredRecords(table, execs(programs), True).match(
        np.array(cookie, np.uint64), np.array(pid, np.int32), np.array(tid, np.int32), np.array(time, np.uint64)
    )
    assert row.min() >= -1
    return [
        (int(table.time[r]) if r >= 0 else -1, JoinOutcome(f))
        for r, f in zip(row.tolist(), outcome.tolist(), strict=True)
    ]


def expected(records: list[Record], sample: Record, programs: list[tuple[int, int]]) -> tuple[int, JoinOutcome]:
    """The rule of deferred_records.py, sample by sample; later records win ties."""
    cookie, pid, tid, when = sample
    same = [row for row in records if row[0] == cookie]
    if not same:
        return -1, JoinOutcome.MISSING

    def nearest(thread: int) -> int | None:
        times = [row[3] for row in same if row[2] == thread]
        return min(times, key=lambda time: (abs(time - when), -time)) if times else None

    own = nearest(tid)
    if own is not None:
        return own, JoinOutcome.JOINED_EARLY_RECORD if own < when else JoinOutcome.JOINED
    leader = nearest(pid)
    records_of_leader = [row for row in same if row[2] == pid and row[3] == leader]
    low, high = sorted((when, leader if leader is not None else when))
    exec_between = any(owner == pid and low <= time <= high for owner, time in programs)
    if leader is not None and exec_between and all(row[1] == pid for row in records_of_leader):
        return leader, JoinOutcome.JOINED_ACROSS_EXEC
    return -1, JoinOutcome.REFUSED


RECORDS = st.lists(st.tuples(st.integers(1, 3), st.just(10), st.integers(10, 12), st.integers(0, 50)), max_size=12)
SAMPLES = st.lists(
    st.tuples(st.integers(1, 4), st.just(10), st.integers(10, 13), st.integers(0, 50)), min_size=1, max_size=12
)


@given(RECORDS, SAMPLES, st.lists(st.tuples(st.integers(10, 11), st.integers(0, 50)), max_size=2))
def test_matches_agree_with_a_scalar_definition(
    records: list[Record], samples: list[Record], programs: list[tuple[int, int]]
) -> None:
    assert join(records, samples, programs) == [expected(records, sample, programs) for sample in samples]


def test_a_record_before_its_sample_completes_it() -> None:
    assert join([(5, 1, 1, 90)], [(5, 1, 1, 100)], []) == [(90, JoinOutcome.JOINED_EARLY_RECORD)]


def test_a_record_of_the_same_time_is_not_early() -> None:
    assert join([(5, 1, 1, 100)], [(5, 1, 1, 100)], []) == [(100, JoinOutcome.JOINED)]


def test_a_record_of_another_thread_needs_an_exec() -> None:
    assert join([(5, 1, 1, 100)], [(5, 1, 2, 90)], []) == [(-1, JoinOutcome.REFUSED)]
    assert join([(5, 1, 1, 100)], [(5, 1, 2, 90)], [(1, 95)]) == [(100, JoinOutcome.JOINED_ACROSS_EXEC)]


def test_a_cookie_may_recur_after_hours() -> None:
    """The nearest record of the thread is taken; one of another age is not, when the thread ran in between."""
    hours = 100 * COOKIE_REUSE_NS
    assert join([(5, 1, 1, 100), (5, 1, 1, hours)], [(5, 1, 1, 90), (5, 1, 1, hours - 9)], []) == [
        (100, JoinOutcome.JOINED), (hours, JoinOutcome.JOINED),
    ]  # fmt: skip
    assert join([(5, 1, 1, hours), (7, 1, 1, 200)], [(5, 1, 1, 90)], []) == [(-1, JoinOutcome.REFUSED)]


@pytest.mark.parametrize(
    ("seconds", "outcome"), [(99, JoinOutcome.JOINED), (100, JoinOutcome.JOINED), (101, JoinOutcome.REFUSED)]
)
def test_a_cookie_may_recur_after_a_hundred_seconds(seconds: int, outcome: JoinOutcome) -> None:
    """2³¹ kernel entries on one CPU take 100 s, at 46 ns each; the thread was in user space in between."""
    late = 90 + seconds * 1_000_000_000
    ((_, found),) = join([(5, 1, 1, late), (7, 1, 1, 200)], [(5, 1, 1, 90)], [])
    assert found is outcome


def test_a_sleep_of_hours_is_one_stay_in_the_kernel() -> None:
    hours = 100 * COOKIE_REUSE_NS
    assert join([(5, 1, 1, hours), (3, 1, 1, 80)], [(5, 1, 1, 90)], []) == [(hours, JoinOutcome.JOINED)]


@pytest.mark.parametrize(("record_tid", "sample_tid"), [(-1, 4), (4, -1)])
def test_a_record_matches_where_a_thread_is_unknown(record_tid: int, sample_tid: int) -> None:
    assert join([(5, 1, record_tid, 100)], [(5, 1, sample_tid, 90)], []) == [(100, JoinOutcome.JOINED)]


def test_duplicates_and_orphans_are_counted() -> None:
    table = deferred([(5, 1, 1, 100), (5, 1, 1, 100), (6, 1, 1, 120)])
    records = DeferredRecords(table, execs([]), True)
    assert (records.duplicates, records.orphans(np.array([True, False, False]))) == (1, 1)


def test_a_copy_of_any_record_is_a_duplicate() -> None:
    """Not only of the first, and only where cookie, thread and time are all alike."""
    alike = [(4, 1, 1, 100), (5, 1, 1, 100), (5, 1, 1, 100), (5, 1, 2, 100), (5, 1, 2, 101), (6, 1, 2, 101)]
    assert DeferredRecords(deferred(alike), execs([]), True).duplicates == 1
    empty = DeferredRecords(deferred([]), execs([]), True)
    assert (empty.duplicates, empty.orphans(np.zeros(0, np.bool_))) == (0, 0)


def test_the_first_of_equal_records_is_used() -> None:
    joined = DeferredRecords(deferred([(5, 1, 1, 100)] * 3), execs([]), True)
    one = np.ones(1, np.int32)
    assert joined.match(np.array([5], np.uint64), one, one, np.array([100], np.uint64))[0].tolist() == [0]


def test_the_idle_thread_is_not_an_unknown_thread() -> None:
    assert join([(5, 1, 4, 100)], [(5, 1, 0, 90)], []) == [(-1, JoinOutcome.REFUSED)]


LATE = 100 * COOKIE_REUSE_NS


@pytest.mark.parametrize(
    ("other", "outcome"),
    [
        (89, JoinOutcome.JOINED),
        (91, JoinOutcome.REFUSED),
        (LATE - 1, JoinOutcome.REFUSED),
        (LATE + 1, JoinOutcome.JOINED),
    ],
)
def test_one_nanosecond_in_user_space_begins_another_round(other: int, outcome: JoinOutcome) -> None:
    """Another record of the thread lies just before the sample, just behind it, just before the record, behind it."""
    assert join([(5, 1, 1, LATE), (7, 1, 1, other)], [(5, 1, 1, 90)], [])[0][1] is outcome


def test_without_times_positions_are_used_and_no_exec_is_needed() -> None:
    """The leader's record is taken where it is of the same process, however far behind."""
    table = deferred([(5, 1, 1, 0), (6, 2, 1, 0)])
    joined = DeferredRecords(table, execs([]), False)
    time, position = np.array([7, 8], np.uint64), np.array([30, 40], np.int64)
    assert joined.time_keys(time, position).tolist() == [30, 40]
    assert joined.time_keys(None, position).tolist() == [30, 40]
    assert DeferredRecords(table, execs([]), True).time_keys(time, position).tolist() == [7, 8]
    cookie, pid, tid = np.array([5, 6], np.uint64), np.ones(2, np.int32), np.full(2, 2, np.int32)
    row, outcome = joined.match(cookie, pid, tid, joined.time_keys(time, position))
    assert (row.tolist(), outcome.tolist()) == ([0, -1], [JoinOutcome.JOINED_ACROSS_EXEC, JoinOutcome.REFUSED])
