"""Caches stacks by the words of their chains, because most samples repeat a recent stack.

On a machine that starts many programs, hardly any samples repeat a stack of an earlier batch: there, the cache is
emptied early.
"""

from collections.abc import Callable

import numpy as np

from perf2x.base.columnar import I32, I64, GrowableColumns, ListInterner, flatnonzero, take
from perf2x.stitcher.stacks.stack_rows import StackInputs

_MAX_ROWS = 1 << 17
_MAX_WORDS = 1 << 21
"""A table with more rows or words is emptied, because a larger one would have hardly more hits."""
# a table with more rows than the first number is emptied if fewer samples per row than the second were looked up in it
_EARLY_ROWS, _EARLY_USES = 1 << 15, 2.0


class RawStackCache:
    """Caches stack numbers by StackInputs; empties itself when it has grown large."""

    def __init__(self) -> None:
        self.clear()

    def stacks(self, inputs: StackInputs, build: Callable[[I64], I32]) -> I32:
        """Return (n,) the stack number of each sample; ``build(rows)`` makes those of new inputs."""
        self._samples += len(inputs)
        rows_before = len(self._table)
        number = self._table.number_rows(inputs.chain, *inputs.columns())
        new_samples = flatnonzero(number >= rows_before)
        if len(new_samples):
            sample = np.empty(len(self._table) - rows_before, np.int64)
            sample[number[new_samples] - rows_before] = new_samples  # for each new row, any one of the equal samples
            self._stack.extend(build(sample))
        stacks: I32 = take(self._stack[0], number)
        rows = len(self._table)
        is_full = rows > _MAX_ROWS or self._table.word_count > _MAX_WORDS
        if is_full or (rows > _EARLY_ROWS and self._samples < _EARLY_USES * rows):
            self.clear()
        return stacks

    def clear(self) -> None:
        """Forget all stacks."""
        self._samples = 0
        self._table = ListInterner(np.uint64, columns=3)
        self._stack = GrowableColumns(np.int32)
