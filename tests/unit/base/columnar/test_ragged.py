"""ListArray rows against plain Python lists of lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.list_array import (
    ListArray,
    SharedRows,
    argsort_small,
    end_to_end,
    offsets_of,
    ranges,
    row_batches,
    row_numbers,
    side_by_side,
)
from tests.support.ragged_rows import ragged_of

WORDS = st.one_of(st.integers(0, 3), st.integers(2**64 - 3, 2**64 - 1))
ROWS = st.lists(st.lists(WORDS, max_size=5), max_size=30)
LENGTHS = st.lists(st.integers(0, 9), max_size=20)


def lists_of(rows: ListArray | SharedRows) -> list[list[int]]:
    table = rows.table[rows.indices] if isinstance(rows, SharedRows) else rows
    return [row.tolist() for row in table.rows()]


def lengths_of(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.int64)


@given(ROWS)
def test_rows_are_those_given(rows: list[list[int]]) -> None:
    ragged = ragged_of(rows)
    assert lists_of(ragged) == rows
    assert len(ragged) == len(rows)
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    assert (ragged.values.dtype, ragged.offsets.dtype) == (np.uint64, np.int64)
    assert [ragged.row(number).tolist() for number in range(len(rows))] == rows


@given(ROWS, st.data())
def test_rows_are_taken_in_any_order_and_more_than_once(rows: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    wanted = [rows[number] for number in chosen]
    taken = ragged_of(rows)[lengths_of(chosen)]
    assert lists_of(taken) == wanted
    shared = SharedRows(np.arange(len(rows), dtype=np.int32), ragged_of(rows))[lengths_of(chosen)]
    assert lists_of(shared) == wanted
    assert len(shared) == len(wanted)


def test_taken_shared_rows_keep_their_table() -> None:
    shared = SharedRows(np.array([1, 1, 0], np.int32), ragged_of([[1], [2, 3]]))
    assert shared[np.array([2, 0])].table is shared.table


@given(
    st.lists(st.binary(max_size=12), min_size=1, max_size=9),
    st.integers(0, 9),
    st.sampled_from([(order, sign, size) for order in "<>" for sign in "iu" for size in (1, 2, 4, 8)]),
    st.data(),
)
def test_numbers_in_rows_of_bytes(
    rows: list[bytes], offset: int, kind: tuple[str, str, int], data: st.DataObject
) -> None:
    order, sign, size = kind
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    raw = ListArray(offsets_of(lengths_of([len(row) for row in rows])), np.frombuffer(b"".join(rows), np.uint8))
    found = raw.numbers_at(offset, f"{order}{sign}{size}", np.array(chosen, np.int64))
    assert found.tolist() == [
        int.from_bytes(
            rows[row][offset:].ljust(size, b"\0")[:size], "little" if order == "<" else "big", signed=sign == "i"
        )
        for row in chosen
    ]
    assert raw.numbers_at(offset, f"{order}{sign}{size}").tolist() == [
        raw.numbers_at(offset, f"{order}{sign}{size}", np.array([row])).item() for row in range(len(rows))
    ]


@given(LENGTHS)
def test_offsets_are_running_sums_from_zero(lengths: list[int]) -> None:
    assert offsets_of(lengths_of(lengths)).tolist() == [sum(lengths[:row]) for row in range(len(lengths) + 1)]


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 9)), max_size=20))
def test_ranges_count_up_from_each_start(pairs: list[tuple[int, int]]) -> None:
    starts, lengths = (lengths_of([pair[part] for pair in pairs]) for part in (0, 1))
    assert ranges(starts, lengths).tolist() == [start + step for start, length in pairs for step in range(length)]


def test_ranges_longer_than_the_table_that_counts() -> None:
    """Up to 2¹⁸ entries come from a table, longer results from a new one."""
    for count in (1 << 18, (1 << 18) + 1):
        found = ranges(np.array([5, 100]), np.array([2, count - 2]))
        assert len(found) == count
        assert np.array_equal(found[:2], [5, 6])
        assert np.array_equal(found[2:], np.arange(100, 98 + count))


@given(ROWS, st.randoms(use_true_random=False))
def test_spans_are_laid_end_to_end_in_any_order(rows: list[list[int]], random) -> None:
    ragged, order = ragged_of(rows), list(range(len(rows)))
    random.shuffle(order)
    for chosen in (order, sorted(order)):
        starts, lengths = ragged.offsets[:-1][chosen], ragged.lengths[chosen]
        laid = end_to_end(ragged.values, starts, lengths)
        assert laid.tolist() == [word for number in chosen for word in rows[number]]


def test_spans_that_lie_end_to_end_are_not_copied() -> None:
    values = np.arange(9)
    assert np.shares_memory(end_to_end(values, np.array([2, 5]), np.array([3, 1])), values)


@given(LENGTHS)
def test_each_value_knows_its_row(lengths: list[int]) -> None:
    wanted = [row for row, length in enumerate(lengths) for _ in range(length)]
    assert row_numbers(lengths_of(lengths)).tolist() == wanted


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 30))
def test_batches_hold_every_row_once_and_little_more_than_the_limit(lengths: list[int], limit: int) -> None:
    batches = [batch.tolist() for batch in row_batches(lengths_of(lengths), limit)]
    assert [row for batch in batches for row in batch] == list(range(len(lengths)))
    assert all(sum(lengths[row] + 1 for row in batch[1:]) <= limit for batch in batches)


@pytest.mark.parametrize("largest", [3, 1 << 16, 1 << 40])
@given(st.data())
def test_small_numbers_are_ordered_stably(largest: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, largest), max_size=30))
    assert argsort_small(lengths_of(numbers)).tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)


@given(st.lists(ROWS, max_size=4))
def test_tables_one_behind_the_other(parts: list[list[list[int]]]) -> None:
    joined = ListArray.joined([ragged_of(rows) for rows in parts])
    assert lists_of(joined) == [row for rows in parts for row in rows]
    assert joined.values.dtype == np.uint64


@given(ROWS)
def test_tables_side_by_side(rows: list[list[int]]) -> None:
    backwards = [row[::-1] for row in rows]
    assert lists_of(side_by_side([ragged_of(rows), ragged_of(backwards)])) == [row + row[::-1] for row in rows]
    mixed = side_by_side([ragged_of([[1]], np.int32), ragged_of([[2]], np.int64)])
    assert (lists_of(mixed), mixed.values.dtype) == ([[1, 2]], np.int32)
