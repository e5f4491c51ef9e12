import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.columnar.growable import GrowableColumns
from perf2x.columnar.ragged import row_batches


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(-9, 9)), max_size=700), max_size=8))
def test_columns_keep_everything_in_order(batches: list[list[tuple[int, int]]]) -> None:
    table = GrowableColumns(np.int64, 3)
    for batch in batches:
        pairs = np.array(batch, np.int64).reshape(-1, 2)
        table.extend(pairs[:, 0], pairs[:, 1], 7)
    rows = [pair for batch in batches for pair in batch]
    assert len(table) == len(rows)
    assert list(zip(table[0].tolist(), table[1].tolist(), strict=True)) == rows
    assert table[2].tolist() == [7] * len(rows)


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 30))
def test_pieces_hold_every_row_once_and_little_more_than_asked(lengths: list[int], limit: int) -> None:
    runs = [run.tolist() for run in row_batches(np.array(lengths, np.int64), limit)]
    assert [row for run in runs for row in run] == list(range(len(lengths)))
    assert all(sum(lengths[row] + 1 for row in run[1:]) <= limit for run in runs)
