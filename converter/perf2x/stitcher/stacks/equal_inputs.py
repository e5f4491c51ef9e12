"""Samples of a batch whose stacks are equal as recorded: half of them, where a busy machine starts many programs.

To build a stack takes several lookups per frame; to see that another sample of the batch has it, one comparison.

::

    sample     a  b  a  c  b        spokesman   2  4  2  3  4        rows   2 3 4        place   0 2 0 1 2
"""

import numpy as np

from perf2x.base.columnar import I64, cumsum, flatnonzero, take
from perf2x.base.columnar.hashing import hash_columns, hash_rows
from perf2x.base.columnar.interner import rows_equal
from perf2x.stitcher.stacks.stack_rows import StackInputs

_SLOTS_EACH = 8
"""Slots for each sample. Two stacks may want one: then samples with the first one stand for themselves."""


def equal_inputs(inputs: StackInputs) -> tuple[I64, I64]:
    """Return samples that stand for all others, rising, of which few are equal; and (n,) the place among them of each.

    One pass, however many stacks want one slot.
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
