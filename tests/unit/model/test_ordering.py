"""Orders and distinct rows by counting and by radix, against numpy's sorts and plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emit.jsontext import json_numbers
from perf2x.model.ordering import order_of, unique, unique_rows
from perf2x.model.ragged import distinct_small

NUMBERS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 65535, 65536, 1 << 32]))
ROWS = st.lists(st.tuples(NUMBERS, st.integers(0, 2), NUMBERS), max_size=30)


def columns_of(rows: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array([row[place] for row in rows], np.int64) for place in range(3)]


@given(ROWS)
def test_rows_are_ordered_as_python_orders_tuples(rows: list[tuple[int, ...]]) -> None:
    assert order_of(columns_of(rows)).tolist() == sorted(range(len(rows)), key=lambda row: rows[row])


@given(ROWS)
def test_unique_rows_keep_the_first_of_each_kind(rows: list[tuple[int, ...]]) -> None:
    first, kind = unique_rows(columns_of(rows))
    distinct = sorted(set(rows))
    assert first.tolist() == [rows.index(row) for row in distinct]
    assert kind.tolist() == [distinct.index(row) for row in rows]


@given(st.lists(NUMBERS, max_size=30))
def test_unique_numbers(numbers: list[int]) -> None:
    column = np.array(numbers, np.int64)
    assert unique(column).tolist() == sorted(set(numbers)) == unique(column.reshape(1, -1, 1)).tolist()
    assert unique(column.view(np.uint64)).tolist() == np.unique(column.view(np.uint64)).tolist()


@pytest.mark.parametrize("largest", [3, 1 << 40])
@given(st.data())
def test_distinct_small_numbers(largest: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, largest), max_size=30))
    distinct, place = distinct_small(np.array(numbers, np.int64))
    wanted = sorted(set(numbers))
    assert (distinct.tolist(), place.tolist()) == (wanted, [wanted.index(number) for number in numbers])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9))
def test_numbers_as_json(numbers: list[int]) -> None:
    assert json_numbers(np.array(numbers, np.int64)) == ",".join(map(str, numbers)).encode()
