"""Sample rows made one where nothing that an output shows tells them apart."""

from collections.abc import Sequence

import numpy as np

from perf2x.model.arrays import I64
from perf2x.model.ragged import order_of


def unique_rows(columns: Sequence[I64]) -> tuple[I64, I64]:
    """Rows equal in every column made one: the first row of each kind, and the kind of each row.

    Ordered by the columns' values, the first column leading.
    """
    order = order_of(columns)
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    kind = np.empty(len(order), np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind
