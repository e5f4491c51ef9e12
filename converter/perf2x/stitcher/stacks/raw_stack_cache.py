"""Cache of stacks by recorded words: most samples repeat a recent stack.

Building a stack takes several lookups per frame; finding it in the cache takes one comparison of its words. Samples of
a batch are also compared with each other: where a busy machine starts many programs, half are equal.

::

    sample     a  b  a  c  b        spokesman   2  4  2  3  4        rows   2 3 4        place   0 2 0 1 2
"""

import numpy as np

from perf2x.base.columnar import I32, I64, GrowableColumns, ListInterner, cumsum, flatnonzero, take
from perf2x.base.columnar.hashing import hash_columns, hash_rows
from perf2x.base.columnar.interner import rows_equal
from perf2x.stitcher.stacks.stack_rows import StackInputs

_MAX_ROWS = 1 << 17
_MAX_WORDS = 1 << 21
"""Larger tables have hardly more hits: programs start and exit, and are loaded at random addresses."""
_MIN_USES = 5.0
"""Samples per cached row above which the cache is faster than building every stack."""
_EARLY_ROWS, _EARLY_USES = 1 << 15, 2.0
"""Number of rows with too few uses at which the cache is abandoned early."""
_PAUSE = 1 << 20
"""Number of samples for which an unprofitable cache is bypassed; `equal_inputs` suffices."""


class RawStackCache:
    """Caches stack numbers by StackInputs; cleared when it has grown large.

    For each batch, call ``skip``; unless it returns True, call ``number``, build the stacks of the new rows, and call
    ``stacks``.
    """

    def __init__(self) -> None:
        self._to_skip = 0
        self.clear()

    def skip(self, count: int) -> bool:
        """Return True if a batch of ``count`` samples should bypass the cache, and count it as bypassed."""
        if self._to_skip <= 0:
            return False
        self._to_skip -= count
        return True

    def number(self, inputs: StackInputs) -> tuple[I64, I64]:
        """Return (n,) the cache row of each sample, and one sample for each new row, in the order of the rows."""
        self._samples += len(inputs)
        before = len(self._table)
        number = self._table.number_rows(inputs.chain, *inputs.columns())
        new = flatnonzero(number >= before)
        sample = np.empty(len(self._table) - before, np.int64)
        sample[number[new] - before] = new  # any one of the equal samples
        return number, sample

    def stacks(self, number: I64, new_stacks: I32 | None) -> I32:
        """Return (n,) the stack of each sample.

        ``new_stacks`` are the stacks of the rows that ``number`` returned as new.
        """
        if new_stacks is not None:
            self._stack.extend(new_stacks)
        stacks: I32 = take(self._stack[0], number)
        rows = len(self._table)
        is_full = rows > _MAX_ROWS or self._table.words > _MAX_WORDS
        if is_full or (rows > _EARLY_ROWS and self._samples < _EARLY_USES * rows):
            if self._samples < _MIN_USES * rows:
                self._to_skip = _PAUSE
            self.clear()
        return stacks

    def clear(self) -> None:
        """Forget all stacks."""
        self._samples = 0
        self._table = ListInterner(np.uint64, columns=3)
        self._stack = GrowableColumns(np.int32)


_SLOTS_EACH = 8
"""Hash table slots per sample. If two stacks share a slot, samples with the first one are not merged."""


def equal_inputs(inputs: StackInputs) -> tuple[I64, I64]:
    """Return representative samples, ascending, few of which are equal, and (n,) each sample's representative.

    Takes a single pass, however many stacks share a slot.
    """
    chain, own = inputs.chain, np.arange(len(inputs), dtype=np.int32)
    columns = [column for column in inputs.columns() if (column != column[0]).any()]
    starts, lengths = chain.offsets[:-1], chain.lengths
    hashes = hash_columns(hash_rows(chain.values, starts, lengths), *columns)
    bits = (_SLOTS_EACH * len(inputs)).bit_length()
    slot = (hashes >> np.uint64(64 - bits)).view(np.int64)
    table = np.empty(1 << bits, np.int32)
    table[slot] = own
    spokesman = take(table, slot)
    others = flatnonzero(spokesman != own)
    theirs = take(spokesman, others)
    mine, other = ((take(starts, rows), take(lengths, rows)) for rows in (others, theirs))
    same = rows_equal(chain.values, *mine, chain.values, *other)
    for column in columns:
        same &= take(column, others) == take(column, theirs)
    mistaken = others[~same]
    spokesman[mistaken] = mistaken
    stands = spokesman == own
    return flatnonzero(stands), take(cumsum(stands) - 1, spokesman)
