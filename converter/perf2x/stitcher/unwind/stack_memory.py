"""Memory of many samples at once, from the copies of their stacks.

::

    stack of one sample      sp                                sp + size
    memory                   |<------------ copied ------------>|
    words                    start[row] … start[row] + size // 8
"""

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, Frozen, as_int64, take
from perf2x.model.recording import UserStacks

_MAX_COPY = 60_000
"""Records are at most 64 KiB, so the kernel cuts larger requests to what is left (perf_sample_ustack_size)."""
_PAGE = 4096
MAX_STACK_DISTANCE = 1 << 26
"""Largest distance of a frame above the stack pointer of the same stack: 64 MiB, eight times the usual limit."""


class StackMemory(Frozen):
    """Stack copies of a batch: ``words`` of all, and of each sample the index of the first word and its address."""

    words: U64
    start: I64
    base: U64
    """The stack pointer at kernel entry, which is the address of the first byte copied."""
    count: U64
    """Whole words copied, bounded by those in ``words``."""
    is_full: Bools
    """All requested bytes were copied, so the stack may continue after them."""

    def load(self, rows: I64, address: U64) -> tuple[U64, Bools]:
        """(n,) the 64-bit word at an address of each sample, 0 where it was not copied, and whether it was."""
        offset = address - take(self.base, rows)
        word = offset >> np.uint64(3)
        good = word < take(self.count, rows)
        if np.bitwise_or.reduce(offset) & np.uint64(7):
            return self._load_unaligned(rows, word, as_int64(offset & np.uint64(7)), good)
        return self._word(rows, word, good), good

    def _word(self, rows: I64, word: U64, good: Bools) -> U64:
        index = take(self.start, rows) + word.view(np.int64)
        if good.all():
            return take(self.words, index)
        value = np.zeros(len(rows), np.uint64)
        value[good] = self.words[index[good]]
        return value

    def _load_unaligned(self, rows: I64, word: U64, low: I64, good: Bools) -> tuple[U64, Bools]:
        """Combine two neighboring words; all supported processors are little-endian."""
        good &= (low == 0) | (word + np.uint64(1) < self.count[rows])
        first, second = self._word(rows, word, good), self._word(rows, word + np.uint64(1), good & (low != 0))
        shift = (low * 8).view(np.uint64)
        upper = np.where(low == 0, np.uint64(0), second << ((np.uint64(64) - shift) & np.uint64(63)))
        return first >> shift | upper, good

    def is_beyond(self, rows: I64, address: U64) -> Bools:
        """(n,) bool: whether an address lies above the copy, but within reach of the same stack."""
        offset = address - self.base[rows]
        return (
            self.is_full[rows] & (offset >= self.count[rows] << np.uint64(3)) & (offset < np.uint64(MAX_STACK_DISTANCE))
        )

    def is_unread(self, rows: I64, address: U64) -> Bools:
        """(n,) bool: whether an address lies above a copy that ended early, at the border of a page.

        The kernel waits for no page that is not in memory (copy_from_user_nmi), and large frames have pages that
        nobody has touched yet.
        """
        offset, copied = address - self.base[rows], self.count[rows] << np.uint64(3)
        at_border = self.base[rows] + copied & np.uint64(_PAGE - 1) == 0
        found: Bools = ~self.is_full[rows] & at_border & (offset >= copied) & (offset < np.uint64(MAX_STACK_DISTANCE))
        return found


def stack_memory(stacks: UserStacks, stack_pointer: U64) -> StackMemory:
    """The copies of a batch whose stack pointers (n,) are given; sizes that lie are cut to the words there are."""
    whole = np.clip(stacks.size, 0, None) >> 3
    room = np.clip(len(stacks.words) - stacks.start, 0, None)
    count = np.where(stacks.start >= 0, np.minimum(whole, room), 0)
    full = stacks.size + 8 > min(stacks.asked, _MAX_COPY)
    return StackMemory(stacks.words, stacks.start, stack_pointer, count.view(np.uint64), full)
