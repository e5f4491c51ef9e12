import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.arrays import GrowableColumns


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
