"""Where the frames of chains lie, as one word each: file, place in it, mode, return address or not.

What several processes share is one place. Frames of one place are one word, so that stacks are compared word by word;
only at the end words are taken apart again::

    63       made-up frame: the lowest bits are its Root
    62…60    mode (CpuMode)
    59       return address: it points behind the call
    58       aside: the lowest bits are a row of the table of addresses that no layout holds
    57…0     place in the layout: all mappings laid end to end, each once however many processes have it

                 pid 7  libc 0x7f10…000        layout   | vmlinux | libc | node | …
                 pid 8  libc 0x7f55…000                           ^ both
"""

import numpy as np
from msgspec import Struct

from perf2x.abi.uapi import CpuMode
from perf2x.columnar.arrays import I32, I64, U8, U64, Bools
from perf2x.columnar.interner import RowInterner
from perf2x.columnar.unique import unique
from perf2x.stitch.address_layout import Layout
from perf2x.stitch.history.address_spaces import AddressSpaces
from perf2x.stitch.mapping_lookup import Lookup
from perf2x.stitch.profile_mappings import Merged

_ROOT, _RETURN, _ASIDE = np.uint64(1 << 63), np.uint64(1 << 59), np.uint64(1 << 58)
_MODE_AT, _MODE_BITS = np.uint64(60), np.uint64(7)
_AT_ONCE = 1 << 18
_PLACE = np.uint64((1 << 58) - 1)


class Located(Struct, frozen=True):
    """Frames taken apart."""

    mapping: I64
    """Row of ``Merged.table``, −1 where no mapping held the address."""
    address: U64
    is_return: Bools
    mode: U8
    root: I64
    """> 0: a made-up frame instead."""


class Asides(Struct, frozen=True):
    """Addresses that are in no layout, in the order of their numbers."""

    mapping: I64
    address: I64
    """As int64 bits."""


def kinds(mode: U8) -> U64:
    """(n,) the part of words that says the mode, for return addresses."""
    bits: U64 = (mode.astype(np.uint64) & _MODE_BITS) << _MODE_AT | _RETURN
    return bits


def without_return(kind: U64) -> U64:
    """The same for addresses of instructions."""
    bits: U64 = kind & ~_RETURN
    return bits


def made_up(root: I64) -> U64:
    """(n,) the words of made-up frames."""
    bits: U64 = root.astype(np.uint64) | _ROOT | np.uint64(CpuMode.USER) << _MODE_AT
    return bits


def distinct_words(words: U64) -> tuple[U64, I32]:
    """Distinct words, rising, and (n,) the place of each word among them.

    Looked up piece by piece: an order of all words would be the largest thing in memory.
    """
    distinct, place = unique(words), np.empty(len(words), np.int32)
    for first in range(0, len(words), _AT_ONCE):
        place[first : first + _AT_ONCE] = np.searchsorted(distinct, words[first : first + _AT_ONCE])
    return distinct, place


def renumbered(words: U64, number: U64) -> U64:
    """(n,) the words of another Places in this one's numbers, as ``absorb`` returned them."""
    words = words.copy()
    rows = np.flatnonzero(words & (_ASIDE | _ROOT) == _ASIDE)
    words[rows] = words[rows] & ~_PLACE | number[(words[rows] & _PLACE).view(np.int64)]
    return words


class Places:
    """Words of frames. With ``as_recorded`` user addresses that no mapping holds stay apart; else they are one place,
    since where processes are put together they say nothing."""

    def __init__(self, spaces: AddressSpaces, merged: Merged, as_recorded: bool) -> None:
        self._merged, self._as_recorded = merged, as_recorded
        self._lookup = Lookup(spaces, len(merged.number) - 1)
        self._layout = Layout(merged)
        self._asides = RowInterner(2)
        """Mapping; address, as int64 bits."""
        self._nowhere = self._aside(np.array([-1]), np.zeros(1, np.uint64), kinds(np.array([CpuMode.USER], np.uint8)))
        """The one place of user addresses that no mapping holds."""

    def words(self, context: I64, kind: U64, address: U64) -> U64:
        """(n,) the word of each frame; ``context`` as of Lookup, ``kind`` as of ``kinds``."""
        mmap = self._lookup.find(context, address)
        word = address + self._layout.delta.take(mmap)
        word |= kind
        rest = np.flatnonzero(self._layout.is_out.take(mmap))
        if len(rest):
            word[rest] = self._rest(mmap[rest], kind[rest], address[rest])
        return word

    def _rest(self, mmap: I64, kind: U64, address: U64) -> U64:
        """Words of what is in no layout."""
        word = np.full(len(mmap), self._nowhere[0])
        named = np.ones(len(mmap), np.bool_)
        if not self._as_recorded:
            named = (mmap >= 0) | (kind >> _MODE_AT != np.uint64(CpuMode.USER))
        rows = np.flatnonzero(named)
        if len(rows):
            mmap = mmap[rows]
            word[rows] = self._aside(self._merged.number[mmap], address[rows] + self._merged.shift[mmap], kind[rows])
        return word

    def _aside(self, mapping: I64, address: U64, kind: U64) -> U64:
        number = self._asides.number(mapping, address.view(np.int64)).view(np.uint64)
        # nothing calls from below address 0
        kind = np.where(address == np.uint64(0), without_return(kind), kind)
        word: U64 = kind | _ASIDE | number
        return word

    @property
    def hit(self) -> Bools:
        """(recorded mappings + 1,) whether a frame lies in each."""
        return self._lookup.hit

    def asides(self) -> Asides:
        """The addresses that words with the aside bit speak of."""
        mapping, address = self._asides.columns()
        return Asides(mapping.copy(), address.copy())

    def absorb(self, asides: Asides, hit: Bools) -> U64:
        """Take in the addresses of another one of the same recording; the number here of each, for ``renumbered``."""
        np.logical_or(self.hit, hit, out=self.hit)
        return self._asides.number(asides.mapping, asides.address).view(np.uint64)

    def located(self, words: U64) -> Located:
        """(n,) what each word says."""
        place = words & _PLACE
        is_root = words & _ROOT != 0
        mapping, address = self._layout.at(place)
        aside = np.flatnonzero(words & _ASIDE != 0)
        number = place[aside].view(np.int64)
        mappings, addresses = self._asides.columns()
        mapping[aside], address[aside] = mappings[number], addresses[number].view(np.uint64)
        mapping[is_root], address[is_root] = -1, 0
        return Located(
            mapping=mapping,
            address=address,
            is_return=words & _RETURN != 0,
            mode=(words >> _MODE_AT & _MODE_BITS).astype(np.uint8),
            root=np.where(is_root, place, np.uint64(0)).view(np.int64),
        )
