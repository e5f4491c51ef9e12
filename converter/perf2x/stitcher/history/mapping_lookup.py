"""Finds the mapping that contains an address, with a cache.

The bounds of all mappings divide addresses into intervals. One search finds the interval of an address, and whether any
process maps it. Often none does: chains of programs without frame pointers contain many words that are not addresses.
For others, mappings are cached by process image and interval.
"""

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, DirectMappedCache, Frozen, arange, falses, flatnonzero, repeat, take
from perf2x.model.recording import Mmaps
from perf2x.stitcher.history.address_spaces import AddressSpaces
from perf2x.stitcher.history.kernel_mappings import end_addresses, is_kernel_mapping


class KernelText(Frozen):
    """A range of addresses in which no mapping begins or ends, and the mapping that contains it.

    It spares most frames of a system-wide recording the search: one comparison tells whether they are in the kernel's
    text.
    """

    start: np.uint64
    length: np.uint64
    mapping: int
    """Row of the recorded mapping; −1 if it was removed before the recording's end, so that the range is of no use."""
    exists: Bools
    """(contexts,) whether the mapping exists in each context (``lookup_contexts``); False in contexts of processes."""

    def holds(self, part: I64, context: I64, address: U64) -> Bools:
        """Return (n,) whether the range contains each address, and its mapping exists in its context.

        ``part`` (n,) are rows of ``context``.
        """
        holds: Bools = address - self.start < self.length  # lower addresses wrap around
        holds &= take(take(self.exists, context), part)
        return holds


def kernel_text_of(spaces: AddressSpaces, mmaps: Mmaps) -> KernelText | None:
    """Return the range of the kernel's longest mapping; None if others overlap it, or without kernel mappings.

    If this range was mapped several times, the mapping in the last epoch counts.
    """
    rows = flatnonzero(is_kernel_mapping(mmaps))
    if not len(rows):
        return None
    start, end = mmaps.start[rows], end_addresses(mmaps.start[rows], mmaps.length[rows])
    longest = int(np.argmax(end - start))
    first, limit = start[longest : longest + 1], end[longest : longest + 1]
    if limit[0] <= first[0] or not spaces.ranges.is_uniform(first, limit - np.uint64(1))[0]:
        return None
    epochs = spaces.kernel_epochs
    through_exec = falses(len(epochs))
    mmap = spaces.find(epochs, repeat(first, len(epochs)), through_exec)  # the mapping in each epoch of the kernel
    exists = falses(2 * spaces.epoch_count + 2)
    exists[lookup_contexts(epochs, through_exec)] = mmap == mmap[-1]
    return KernelText(first[0], limit[0] - first[0], int(mmap[-1]), exists)


def lookup_contexts(epoch: I64, through_exec: Bools) -> I64:
    """Pack epoch and ``through_exec`` (n,) into one number, at least 0, and small enough to index tables."""
    return epoch + 1 << 1 | through_exec


class MappingLookup:
    """Finds mappings by interval, with a cache in front of AddressSpaces.find.

    The last epoch of the process image is looked up first, so that all its epochs share cache entries: a program that
    keeps mapping memory has thousands of epochs.
    """

    def __init__(self, spaces: AddressSpaces, mapping_count: int) -> None:
        self._spaces, self._interval_count = spaces, spaces.ranges.interval_count
        epoch = arange(-1, spaces.epoch_count)
        last = lookup_contexts(spaces.last_epoch(epoch)[:, None], np.array([False, True], np.bool_)).ravel()
        self._last_key = last * self._interval_count
        """(contexts,) cache key of interval 0 in the last epoch of the context's process image."""
        self._sequence = repeat(spaces.sequence(epoch), 2)
        """(contexts,) sequence number at which the context's epoch began."""
        self._cache = DirectMappedCache()
        self.is_hit = falses(mapping_count + 1)
        """(mappings + 1,) whether an address was in each mapping; the last row is for none."""

    def find(self, context: I64, interval: I64) -> I64:
        """Return (n,) the row of the mapping that contains each interval, −1 for none.

        ``context`` comes from ``lookup_contexts``, ``interval`` from ``AddressSpaces.ranges.intervals``. A second
        lookup is needed only where the mapping in the image's last epoch was made after the context's epoch began.
        """
        mmap = self._answers(take(self._last_key, context) + interval)
        made_later = flatnonzero(take(self._spaces.made_at, mmap) > take(self._sequence, context))
        if len(made_later):
            mmap[made_later] = self._answers(context[made_later] * self._interval_count + interval[made_later])
        self.is_hit[mmap] = True
        return mmap

    def _answers(self, key: I64) -> I64:
        """Mapping (n,) by cache ``key``: context × number of intervals + interval."""

        def find(rows: I64) -> I64:
            context, interval = np.divmod(key[rows], self._interval_count)
            return self._spaces.find((context >> 1) - 1, self._spaces.ranges.begin_of(interval), context & 1 != 0)

        return self._cache.answers(find, key)
