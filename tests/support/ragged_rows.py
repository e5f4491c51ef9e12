"""ListArray tables of rows that tests write as lists."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perf2x.base.columnar.list_array import ListArray, offsets_of


def ragged_of(rows: Sequence[Sequence[int]], dtype: Any = np.uint64) -> ListArray:
    """Return a table of the rows."""
    flat = [value for row in rows for value in row]
    return ListArray(offsets_of(np.array([len(row) for row in rows], np.int64)), np.array(flat, dtype))
