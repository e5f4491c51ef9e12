"""Stacks as they were recorded, and what each came to: most samples repeat one that was there a moment ago.

To put a stack together takes several lookups for each frame; to see that it was put together before takes one
comparison of its words.
"""

from collections.abc import Callable

import numpy as np

from perf2x.columnar.arrays import I32
from perf2x.columnar.growable import GrowableColumns
from perf2x.columnar.interner import RaggedInterner
from perf2x.stitch.stack_rows import Cuts

_ROWS_HELD = 1 << 17
_WORDS_HELD = 1 << 21
"""Larger tables repeat little that smaller ones do not: programs come and go, and lie at random addresses."""
_PAYS = 2.5
"""Samples for each row held, from which on the table is quicker than putting every stack together."""
_PAUSE = 4
"""Where it does not pay, so many times the samples that showed it go by before it is tried again."""


class Recorded:
    """Which stack each sample has, by all that decides it; forgets everything when it has grown large."""

    def __init__(self) -> None:
        self._passing = 0
        self._forget()

    def stacks(self, cuts: Cuts, make: Callable[[Cuts], I32]) -> I32:
        """(n,) the stack of each sample; ``make`` numbers stacks, of which most were not there before."""
        if self._passing > 0:
            self._passing -= len(cuts.root)
            return make(cuts)
        self._asked += len(cuts.root)
        before = len(self._table)
        number = self._table.number_rows(cuts.chain, *cuts.columns())
        new = np.flatnonzero(number >= before)
        if len(new):
            fresh = np.empty(len(self._table) - before, np.int64)
            fresh[number[new] - before] = new  # of samples that are alike, any
            self._stack.extend(make(cuts.take(fresh)))
        stacks: I32 = self._stack[0].take(number)
        if len(self._table) > _ROWS_HELD or self._table.words > _WORDS_HELD:
            if self._asked < _PAYS * len(self._table):
                self._passing = _PAUSE * self._asked
            self._forget()
        return stacks

    def _forget(self) -> None:
        self._asked = 0
        self._table = RaggedInterner(np.uint64, columns=3)
        self._stack = GrowableColumns(np.int32)
