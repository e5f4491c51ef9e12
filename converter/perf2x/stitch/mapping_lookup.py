"""Which mapping holds an address, for many addresses of which most were asked for before."""

import numpy as np

from perf2x.columnar.arrays import I64, U64, Bools
from perf2x.columnar.lookup_cache import LookupCache
from perf2x.stitch.history.address_spaces import AddressSpaces

_PAGE_BITS, _IN_PAGE = np.uint64(12), np.uint64(0xFFF)
_HALF = np.uint64(1 << 47)
_PAGES = 1 << 36
"""Pages of addresses that are their lower 48 bits sign-extended, counted from the lowest (negative) one."""
_MIXED = -2
"""The answer of pages in which a mapping begins or ends."""
_LAST_CONTEXT = (1 << 27) - 1
_NO_PAGE = -4 << 36
"""Keys of addresses without a page number, which lie between the two halves of the address space, begin here and go
down; contexts are −2 or more."""


def contexts(epoch: I64, through_exec: Bools) -> I64:
    """(n,) what an address is looked up with besides itself, as one number; see AddressSpaces.find."""
    context: I64 = epoch << 1 | through_exec
    return context


class Lookup:
    """AddressSpaces.find, which remembers the answer for whole pages.

    Mappings of just-in-time compilers may lie within a page; there, single addresses are remembered.
    """

    def __init__(self, spaces: AddressSpaces, mappings: int) -> None:
        self._spaces = spaces
        self._is_gap = bool(spaces.is_uniform(np.array([_HALF]), np.array([~_HALF]))[0])
        """Whether nothing begins or ends between the halves."""
        self._of_page = LookupCache()
        self._of_address = LookupCache(columns=2)
        self.hit = np.zeros(mappings + 1, np.bool_)
        """(mappings + 1,) whether an address lay in each; the last: in none."""

    def find(self, context: I64, address: U64) -> I64:
        """(n,) int64: row of the mapping that holds each address in each context, −1 where none does."""
        page = ((address + _HALF) >> _PAGE_BITS).view(np.int64)
        plain = (page < _PAGES) & (context <= _LAST_CONTEXT)
        page |= context << 36
        if not plain.all():
            page[~plain] = _NO_PAGE - context[~plain]
        mmap = self._of_page.answers(lambda rows: self._find_page(context[rows], address[rows], plain[rows]), page)
        mixed = np.flatnonzero(mmap == _MIXED)
        if len(mixed):
            mmap[mixed] = self._find_each(context[mixed], address[mixed])
        return mmap

    def _find_page(self, context: I64, address: U64, plain: Bools) -> I64:
        whole = self._spaces.is_uniform(address & ~_IN_PAGE, address | _IN_PAGE)
        uniform = np.where(plain, whole, self._is_gap & (context <= _LAST_CONTEXT))
        found = np.full(len(address), _MIXED, np.int64)
        found[uniform] = self._find(context[uniform], address[uniform])
        return found

    def _find_each(self, context: I64, address: U64) -> I64:
        return self._of_address.answers(
            lambda rows: self._find(context[rows], address[rows]), context, address.view(np.int64)
        )

    def _find(self, context: I64, address: U64) -> I64:
        mmap = self._spaces.find(context >> 1, address, context & 1 != 0)
        self.hit[mmap] = True
        return mmap
