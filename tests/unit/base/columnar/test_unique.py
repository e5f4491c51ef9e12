"""Orders and distinct rows by counting and by radix, against numpy's sorts and plain Python."""

from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perf2x.base.columnar.arrays import new_row_numbers, sum_at
from perf2x.base.columnar.unique import (
    argsort_rows,
    group_pairs,
    group_rows,
    group_rows_by_hash,
    map_distinct,
    number_keys,
    sorted_runs,
    sum_rows,
    sum_runs,
    unique,
    unique_inverse,
)
from perf2x.emitters.encoding.json_encoder import json_numbers

UNIQUE = import_module("perf2x.base.columnar.unique")  # the package has a function of that name
NUMBERS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 65535, 65536, 1 << 32]))
ROWS = st.lists(st.tuples(NUMBERS, st.integers(0, 2), NUMBERS), max_size=30)


@pytest.fixture(autouse=True, scope="module")
def no_rows_are_few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UNIQUE, "FEW_ROWS", 0)
        yield


def columns_of(rows: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array([row[place] for row in rows], np.int64) for place in range(3)]


@given(ROWS)
def test_rows_are_ordered_as_python_orders_tuples(rows: list[tuple[int, ...]]) -> None:
    assert argsort_rows(columns_of(rows)).tolist() == sorted(range(len(rows)), key=lambda row: rows[row])


@given(ROWS)
def test_a_group_of_rows_is_named_by_its_first_row(rows: list[tuple[int, ...]]) -> None:
    first, kind = group_rows(columns_of(rows))
    distinct = sorted(set(rows))
    assert first.tolist() == [rows.index(row) for row in distinct]
    assert kind.tolist() == [distinct.index(row) for row in rows]


@example([(0, 1 << 30), (1 << 30, 1 << 30)] * 2, 0)
@given(st.lists(st.tuples(*[st.integers(0, 2**63 - 1) | st.integers(0, 5)] * 2), max_size=30), st.integers(0, 3))
def test_pairs_are_grouped_as_rows_are(pairs: list[tuple[int, int]], more: int) -> None:
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    bits = int(second.max(initial=0)).bit_length() + more
    found = group_pairs(first, second, int(first.max(initial=-1)) + 1 + more, bits)
    assert [part.tolist() for part in found] == [part.tolist() for part in group_rows([first, second])]


@pytest.mark.parametrize("bits", [64, 1, 0])
@given(ROWS)
def test_rows_are_grouped_by_their_hashes_also_where_these_collide(bits: int, rows: list[tuple[int, ...]]) -> None:
    hashed = UNIQUE.hash_columns
    with pytest.MonkeyPatch.context() as patch:
        kept = np.uint64((1 << bits) - 1 << 64 - bits)
        patch.setattr(UNIQUE, "hash_columns", lambda *columns: hashed(*columns) & kept)
        found = group_rows_by_hash(columns_of(rows))
    assert [part.tolist() for part in found] == [part.tolist() for part in group_rows(columns_of(rows))]


@given(ROWS)
def test_runs_of_equal_rows_are_summed(rows: list[tuple[int, ...]]) -> None:
    order, begins = sorted_runs(columns_of(rows))
    distinct = sorted(set(rows))
    assert [rows[row] for row in order[begins].tolist()] == distinct
    values = np.arange(len(rows), dtype=np.int32) * 3
    expected = [sum(3 * at for at, row in enumerate(rows) if row == one) for one in distinct]
    assert sum_runs(values, order, begins).tolist() == expected


@pytest.mark.parametrize("at_once", [1, 2, 7])
@given(ROWS)
def test_rows_are_packed_a_few_at_a_time(at_once: int, rows: list[tuple[int, ...]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UNIQUE, "_ROWS_AT_ONCE", at_once)
        assert argsort_rows(columns_of(rows)).tolist() == sorted(range(len(rows)), key=lambda row: rows[row])


@given(ROWS)
def test_few_rows_are_ordered_alike(rows: list[tuple[int, ...]]) -> None:
    columns = columns_of(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UNIQUE, "FEW_ROWS", len(rows))
        few = [argsort_rows(columns), *group_rows(columns)]
    for one, other in zip(few, [argsort_rows(columns), *group_rows(columns)], strict=True):
        assert one.tolist() == other.tolist()


@given(st.lists(NUMBERS, max_size=30))
def test_unique_numbers(numbers: list[int]) -> None:
    column = np.array(numbers, np.int64)
    assert unique(column).tolist() == sorted(set(numbers)) == unique(column.reshape(1, -1, 1)).tolist()
    assert unique(column.view(np.uint64)).tolist() == np.unique(column.view(np.uint64)).tolist()


@pytest.mark.parametrize("bits", [11, 14, 20, 40])
@given(ROWS)
def test_rows_that_no_word_holds_are_ordered_in_rounds(bits: int, rows: list[tuple[int, ...]]) -> None:
    """Narrow words stand for the many rows and wide columns that a test has not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UNIQUE, "_WORD_BITS", bits)
        assert argsort_rows(columns_of(rows)).tolist() == sorted(range(len(rows)), key=lambda row: rows[row])
        first, kind = group_rows(columns_of(rows))
    distinct = sorted(set(rows))
    assert [rows[row] for row in first.tolist()] == distinct
    assert kind.tolist() == [distinct.index(row) for row in rows]


@pytest.mark.slow
def test_times_of_many_rows_break_ties_behind_wide_columns() -> None:
    """A million rows and wide columns: the row's number and the run's leave too little for a whole column."""
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, high, 1 << 20) << 32 for high in (3, 500, 4)]
    columns.append(rng.integers(0, 1 << 34, 1 << 20))
    assert np.array_equal(argsort_rows(columns), np.lexsort(columns[::-1]))


@pytest.mark.parametrize("largest", [3, 1 << 40])
@given(st.data())
def test_distinct_numbers_and_their_places(largest: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, largest), max_size=30))
    distinct, place = unique_inverse(np.array(numbers, np.int64))
    wanted = sorted(set(numbers))
    assert (distinct.tolist(), place.tolist()) == (wanted, [wanted.index(number) for number in numbers])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9))
def test_numbers_as_json(numbers: list[int]) -> None:
    assert json_numbers(np.array(numbers, np.int64)) == ",".join(map(str, numbers)).encode()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9))))
def test_rows_of_equal_keys_are_summed(rows: list[tuple[int, int]]) -> None:
    place, number = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    expected = {key: sum(value for other, value in rows if other == key) for key in sorted({key for key, _ in rows})}
    (keys,), (sums,) = sum_rows([place], [number])
    assert dict(zip(keys.tolist(), sums.tolist(), strict=True)) == expected
    assert sum_at(place, number, 4).tolist() == [expected.get(key, 0) for key in range(4)]
    pairs = sum_at(place, np.stack([number, -number], axis=1), 4)
    assert pairs.tolist() == [[expected.get(key, 0), -expected.get(key, 0)] for key in range(4)]


@given(st.lists(st.booleans()))
def test_kept_rows_have_places(kept: list[bool]) -> None:
    rows = [row for row, is_kept in enumerate(kept) if is_kept]
    expected = [rows.index(row) if is_kept else -1 for row, is_kept in enumerate(kept)]
    assert new_row_numbers(np.array(kept, np.bool_)).tolist() == [*expected, -1]


@given(st.lists(st.sampled_from("abc")))
def test_keys_are_numbered_as_they_come(keys: list[str]) -> None:
    distinct, place = number_keys(keys)
    assert distinct == list(dict.fromkeys(keys))
    assert [distinct[row] for row in place.tolist()] == keys


def test_each_distinct_number_is_asked_for_once() -> None:
    asked: list[int] = []

    def number(value: int) -> int:
        asked.append(value)
        return 10 * value

    assert map_distinct(np.array([3, -1, 3, 2], np.int32), number).tolist() == [30, -10, 30, 20]
    assert asked == [-1, 2, 3]
