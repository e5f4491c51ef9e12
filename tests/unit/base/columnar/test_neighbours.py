"""Rows beside their neighbours, runs of rows, and tables one behind the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.arrays import (
    I64,
    U64,
    ColumnTable,
    begins_run,
    ends_run,
    of_next,
    of_previous,
    row_slices,
)
from perf2x.base.columnar.list_array import join_tables

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=9)


class Table(ColumnTable, frozen=True):
    """Two columns."""

    number: I64
    address: U64


@given(ROWS)
def test_runs_begin_and_end_where_rows_differ(rows) -> None:
    one, other = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    begins = [at == 0 or row != rows[at - 1] for at, row in enumerate(rows)]
    ends = [at == len(rows) - 1 or row != rows[at + 1] for at, row in enumerate(rows)]
    assert begins_run(one, other).tolist() == begins
    assert ends_run(one, other).tolist() == ends


@given(st.lists(st.integers(0, 2**64 - 1), max_size=5))
def test_neighbours_keep_the_type_of_the_column(values) -> None:
    column = np.array(values, np.uint64)
    after, before = of_next(column, 7), of_previous(column, 2**64 - 1)
    assert after.tolist() == [*values[1:], 7][: len(values)]
    assert before.tolist() == [2**64 - 1, *values][: len(values)]
    assert after.dtype == before.dtype == np.uint64


@pytest.mark.parametrize("count", [0, 1, 4, 5, 8])
def test_slices_cover_each_row_once(count) -> None:
    rows = [row for part in row_slices(count, 4) for row in range(part.start, part.stop)]
    assert rows == list(range(count))


def test_tables_stand_one_behind_the_other() -> None:
    tables = [Table(np.arange(count), np.full(count, 2**63, np.uint64)) for count in (2, 0, 3)]
    whole = join_tables(tables)
    assert len(whole) == 5
    assert whole.number.tolist() == [0, 1, 0, 1, 2]
    assert whole.address.dtype == np.uint64
