"""Cached lookup of the mapping that holds an address; most addresses repeat pages that were looked up before.

The kernel's largest mapping, if nothing else ever lies in it: what holds an address there is known for good.

Many frames of a system-wide recording are the kernel's, and nearly all of these are in its text::

    kernel    | text, as of all epochs |   | module |   | BPF program, as of some |
              known by the epoch alone     looked up
"""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U64, Bools, arange, flatnonzero, repeat, take
from perf2x.base.columnar.lookup_cache import LookupCache
from perf2x.model.recording.sideband import Mmaps
from perf2x.stitcher.history.address_spaces import AddressSpaces
from perf2x.stitcher.history.kernel_mappings import end_addresses, is_kernel_mapping

_UNTOLD = -3
"""The answer for addresses and contexts that must be looked up."""


class KernelText(Struct, frozen=True):
    """A range of addresses in which no mapping begins or ends, and what lookups answer there."""

    start: np.uint64
    length: np.uint64
    answers: I64
    """(epochs + 1,) _UNTOLD for those of processes, and in the end for the epoch −1 of unknown processes."""

    def find(self, epoch: I64, address: U64) -> tuple[I64, I64]:
        """(n,) int64: row of the mapping that holds each address, −1 for none; and the rows that must be looked up."""
        found = take(self.answers, epoch)
        is_untold = address - self.start >= self.length
        is_untold |= found == _UNTOLD
        return found, flatnonzero(is_untold)


def kernel_text_of(spaces: AddressSpaces, mmaps: Mmaps) -> KernelText | None:
    """Return the range of the longest mapping of the kernel, None where others lie in it or there is no kernel."""
    rows = flatnonzero(is_kernel_mapping(mmaps))
    if not len(rows):
        return None
    start, end = mmaps.start[rows], end_addresses(mmaps.start[rows], mmaps.length[rows])
    longest = int(np.argmax(end - start))
    first, limit = start[longest : longest + 1], end[longest : longest + 1]
    if limit[0] <= first[0] or not spaces.is_uniform(first, limit - np.uint64(1))[0]:
        return None
    epochs = spaces.kernel_epochs()
    answers = np.full(spaces.epoch_count + 1, _UNTOLD, np.int64)
    answers[epochs] = spaces.find(epochs, repeat(first, len(epochs)), np.zeros(len(epochs), np.bool_))
    return KernelText(first[0], limit[0] - first[0], answers)


_PAGE_BITS, _IN_PAGE = np.uint64(12), np.uint64(0xFFF)
_HALF = np.uint64(1 << 47)
_PAGES = 1 << 36
"""Pages of canonical addresses (their lower 48 bits sign-extended), counted from the lowest (negative) one."""
_MIXED = -2
"""The cached answer for pages in which a mapping begins or ends."""
_MAX_CONTEXT = (1 << 27) - 1
_NO_PAGE = -4 << 36
"""Keys of non-canonical addresses, which lie between the two halves of the address space, begin here and descend;
contexts are −2 or more."""


def lookup_contexts(epoch: I64, through_exec: Bools) -> I64:
    """(n,) cache key: epoch and the through-exec flag of AddressSpaces.find packed into one integer."""
    return epoch << 1 | through_exec


class MappingLookup:
    """AddressSpaces.find with a cache by page.

    Mappings of just-in-time compilers may begin or end within a page; such pages are cached by address. The last epoch
    of a process image is asked for all of its epochs: there are thousands where a program maps memory again and again.
    """

    def __init__(self, spaces: AddressSpaces, mappings: int, text: KernelText | None = None) -> None:
        self._spaces, self._text = spaces, text
        self._gap_is_uniform = bool(spaces.is_uniform(np.array([_HALF], np.uint64), np.array([~_HALF], np.uint64))[0])
        """No mapping begins or ends between the halves."""
        epoch = np.append(arange(spaces.epoch_count), -1)
        self._last = lookup_contexts(spaces.last_epoch(epoch)[:, None], np.array([False, True], np.bool_)).ravel()
        """(2 × epochs + 2,) the context of the last epoch, by context; in the end those of the epoch −1."""
        self._rank = repeat(spaces.rank(epoch), 2)
        """(2 × epochs + 2,) by context"""
        self._by_page = LookupCache()
        self._by_address = LookupCache(columns=2)
        self.hit = np.zeros(mappings + 1, np.bool_)
        """(mappings + 1,) whether an address lay in each mapping; the last row stands for none."""

    def find(self, context: I64, address: U64) -> I64:
        """(n,) int64: row of the mapping that holds each address, −1 for none; ``context`` of ``lookup_contexts``."""
        mmap = self._find_told(context, address)
        self.hit[mmap] = True
        return mmap

    def _find_told(self, context: I64, address: U64) -> I64:
        if self._text is None:
            return self._find_in_image(context, address)
        mmap, rest = self._text.find(context >> 1, address)
        if len(rest) == len(mmap):
            return self._find_in_image(context, address)
        mmap[rest] = self._find_in_image(take(context, rest), take(address, rest))
        return mmap

    def _find_in_image(self, context: I64, address: U64) -> I64:
        """Take the last mappings of the images; where these were made later, those of the epochs."""
        mmap = self._find_cached(take(self._last, context), address)
        later = flatnonzero(take(self._spaces.made, mmap) > take(self._rank, context))
        if len(later):
            mmap[later] = self._find_cached(context[later], address[later])
        return mmap

    def _find_cached(self, context: I64, address: U64) -> I64:
        page = ((address + _HALF) >> _PAGE_BITS).view(np.int64)
        canonical = (page < _PAGES) & (context <= _MAX_CONTEXT)
        page |= context << 36
        if not canonical.all():
            page[~canonical] = _NO_PAGE - context[~canonical]
        mmap = self._by_page.answers(lambda rows: self._find_page(context[rows], address[rows], canonical[rows]), page)
        mixed = flatnonzero(mmap == _MIXED)
        if len(mixed):
            mmap[mixed] = self._find_address(context[mixed], address[mixed])
        return mmap

    def _find_page(self, context: I64, address: U64, canonical: Bools) -> I64:
        whole = self._spaces.is_uniform(address & ~_IN_PAGE, address | _IN_PAGE)
        uniform = np.where(canonical, whole, self._gap_is_uniform & (context <= _MAX_CONTEXT))
        found = np.full(len(address), _MIXED, np.int64)
        found[uniform] = self._find_uncached(context[uniform], address[uniform])
        return found

    def _find_address(self, context: I64, address: U64) -> I64:
        return self._by_address.answers(
            lambda rows: self._find_uncached(context[rows], address[rows]), context, address.view(np.int64)
        )

    def _find_uncached(self, context: I64, address: U64) -> I64:
        return self._spaces.find(context >> 1, address, context & 1 != 0)
