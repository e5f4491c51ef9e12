"""Frames as 64-bit keys: file and offset, mode, return address or not.

Code shared by several processes has one key, so stacks compare word by word. Keys are decoded only for the profile::

    63       root frame: the lowest bits are a RootFrame
    62…60    mode (CpuMode)
    59       return address: it points behind the call
    58       side table: the lowest bits are a row of the table of addresses outside the layout
    57…0     offset in the layout: all mappings laid end to end, each once however many processes have it

                 pid 7  libc 0x7f10…000        layout   | vmlinux | libc | node | …
                 pid 8  libc 0x7f55…000                           ^ both
"""

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    DirectMappedCache,
    Frozen,
    RowInterner,
    arange,
    as_int32,
    as_int64,
    as_uint64,
    flatnonzero,
    group_rows,
    minus_ones,
    repeat,
    row_slices,
    searchsorted,
    take,
    unique,
    unique_inverse,
)
from perf2x.stitcher.history.address_spaces import AddressSpaces
from perf2x.stitcher.history.mapping_lookup import MappingLookup, kernel_text_of
from perf2x.stitcher.history.profile_mappings import AddressLayout, MergedMappings

_ROOT, _RETURN, _SIDE = np.uint64(1 << 63), np.uint64(1 << 59), np.uint64(1 << 58)
_MODE_AT, _MODE_BITS = np.uint64(60), np.uint64(7)
_AT_ONCE, _SORTED = 1 << 18, 1 << 20
_MANY = 4
"""If at least one key in this many is new, all keys are sorted instead of searched for."""
_FLAGS_AT, _OFFSET = np.uint64(58), np.uint64((1 << 58) - 1)
_KERNEL = np.uint64(CpuMode.KERNEL) << _MODE_AT | _RETURN


class DecodedFrames(Frozen):
    """Decoded frame keys, (n,) columns."""

    mapping: I64
    """Row of MergedMappings.table, −1 if no mapping contains the address."""
    address: U64
    is_return: Bools
    mode: U8
    root: I64
    """Positive: a RootFrame, which has no address."""


class SideTable(Frozen):
    """Addresses outside the layout; keys refer to them by number."""

    mapping: I64
    """Merged mapping, −1 for none."""
    address: I64
    """The address's bits as int64."""


def mode_bits(mode: U8) -> U64:
    """Return (n,) the key bits of return addresses in each mode."""
    return (as_uint64(mode) & _MODE_BITS) << _MODE_AT | _RETURN


def without_return(bits: U64) -> U64:
    """Return (n,) the key bits without the return address flag, for instruction addresses."""
    return bits & ~_RETURN


def root_frame_keys(root: I64) -> U64:
    """Return (n,) the keys of root frames."""
    return as_uint64(root) | _ROOT | np.uint64(CpuMode.USER) << _MODE_AT


def distinct_keys(keys: U64) -> tuple[U64, I32]:
    """Return distinct keys, ascending, and (n,) the index of each key among them.

    Up to a million are sorted at once. If more keys have few distinct values, these are found in a hash table, and
    those that share a slot by binary search, in chunks: sorting all at once would take more memory than anything else.
    For many distinct values the cache would be missed at every step of a search, and the table would be larger than the
    sort.
    """
    if len(keys) <= _SORTED:
        first, place = group_rows([keys >> _FLAGS_AT, keys & _OFFSET])  # short enough to be sorted as one word
        return keys[first], as_int32(place)
    distinct = unique(keys)
    if _MANY * len(distinct) > len(keys):
        return distinct, as_int32(unique_inverse(keys)[1])
    index, cache = np.empty(len(keys), np.int32), DirectMappedCache(bits=18)
    cache.learn(arange(len(distinct)), distinct.view(np.int64))
    for rows in row_slices(len(keys), _AT_ONCE):
        part = keys[rows]
        index[rows], is_known = cache.cached(part.view(np.int64))
        others = flatnonzero(~is_known)
        index[rows.start + others] = searchsorted(distinct, part[others])
    return distinct, index


def renumber_keys(keys: U64, side_numbers: U64) -> U64:
    """Return (n,) the keys with the side-table numbers that FrameKeys.absorb returned."""
    keys = keys.copy()
    rows = flatnonzero(keys & (_SIDE | _ROOT) == _SIDE)
    keys[rows] = keys[rows] & ~_OFFSET | side_numbers[(keys[rows] & _OFFSET).view(np.int64)]
    return keys


def decode_keys(keys: U64, layout: AddressLayout, side: SideTable) -> DecodedFrames:
    """Decode frame keys; ``side`` is the side table of the FrameKeys that made them."""
    offset = keys & _OFFSET
    is_root = keys & _ROOT != 0
    mapping, address = layout.at(offset)
    outside = flatnonzero(keys & _SIDE != 0)
    number = offset[outside].view(np.int64)
    mapping[outside], address[outside] = side.mapping[number], side.address[number].view(np.uint64)
    mapping[is_root], address[is_root] = -1, 0
    return DecodedFrames(
        mapping=mapping,
        address=address,
        is_return=keys & _RETURN != 0,
        mode=(keys >> _MODE_AT & _MODE_BITS).astype(np.uint8),
        root=np.where(is_root, offset, np.uint64(0)).view(np.int64),
    )


class FrameKeys:
    """Encodes frames as keys.

    User addresses without a mapping are meaningless once processes are combined, and share one key; with
    ``per_process`` they stay separate.
    """

    def __init__(self, spaces: AddressSpaces, merged: MergedMappings, layout: AddressLayout, per_process: bool) -> None:
        self._spaces, self._merged, self.layout, self._per_process = spaces, merged, layout, per_process
        self._lookup = MappingLookup(spaces, len(merged.number) - 1)
        text = kernel_text_of(spaces, merged.mmaps)
        self._text = None if text is None or layout.is_outside[text.mapping] else text
        self._side = RowInterner(2)
        """Columns: the mapping, and the address as int64 bits."""
        user = mode_bits(np.array([CpuMode.USER], np.uint8))
        self._unmapped_user = self._side_keys(as_int64([-1]), np.zeros(1, np.uint64), user)

    def encode(self, part: I64, context: I64, bits: U64, address: U64) -> U64:
        """Return (n,) the key of each frame; ``part`` (n,) is its row in ``context`` and ``bits``.

        ``context`` comes from ``lookup_contexts``, ``bits`` from ``mode_bits``.
        """
        text = self._text
        if text is None:
            return self._encode_anywhere(part, context, bits, address)
        in_text = text.holds(part, context, address)
        rest = flatnonzero(~in_text)
        self.hit[text.mapping] |= len(rest) < len(in_text)
        keys: U64 = address + np.uint64((int(self.layout.delta[text.mapping]) + int(_KERNEL)) % 2**64)
        keys[rest] = self._encode_anywhere(take(part, rest), context, bits, take(address, rest))
        return keys

    def _encode_anywhere(self, part: I64, context: I64, bits: U64, address: U64) -> U64:
        interval, is_mapped = self._spaces.ranges.intervals(address)
        keys: U64 = repeat(self._unmapped_user, len(address))
        rows = flatnonzero(is_mapped)
        keys[rows] = self._encode_mapped(take(part, rows), context, bits, take(interval, rows), take(address, rows))
        rows = flatnonzero(take(self._is_meaningful(bits), part) & ~is_mapped)
        if len(rows):
            keys[rows] = self._side_keys(minus_ones(len(rows)), address[rows], bits[part[rows]])
        return keys

    def _encode_mapped(self, part: I64, context: I64, bits: U64, interval: I64, address: U64) -> U64:
        """Return (n,) keys of addresses where some process has a mapping."""
        mmap = self._lookup.find(take(context, part), interval)
        keys = address + take(self.layout.delta, mmap)
        keys |= take(bits, part)
        outside = flatnonzero(take(self.layout.is_outside, mmap))
        if len(outside):
            keys[outside] = self._encode_outside(mmap[outside], bits[part[outside]], address[outside])
        return keys

    def _is_meaningful(self, bits: U64) -> Bools:
        """Return (n,) whether the address of a frame without a mapping is meaningful."""
        tells: Bools = bits >> _MODE_AT & _MODE_BITS != np.uint64(CpuMode.USER)
        return tells | self._per_process

    @property
    def hit(self) -> Bools:
        """(recorded mappings + 1,) whether a frame lies in each mapping."""
        return self._lookup.hit

    def side_table(self) -> SideTable:
        """The addresses that keys refer to by number, as copies."""
        mapping, address = self._side.columns()
        return SideTable(mapping.copy(), address.copy())

    def absorb(self, side: SideTable, hit: Bools) -> U64:
        """Add the addresses of another FrameKeys of the same history.

        Returns their numbers here, for ``renumber_keys``.
        """
        np.logical_or(self.hit, hit, out=self.hit)
        return self._side.number(side.mapping, side.address).view(np.uint64)

    def _encode_outside(self, mmap: I64, bits: U64, address: U64) -> U64:
        keys = repeat(self._unmapped_user, len(mmap))
        rows = flatnonzero((mmap >= 0) | self._is_meaningful(bits))
        if len(rows):
            mmap = mmap[rows]
            keys[rows] = self._side_keys(
                self._merged.number[mmap], address[rows] + self._merged.shift[mmap], bits[rows]
            )
        return keys

    def _side_keys(self, mapping: I64, address: U64, bits: U64) -> U64:
        number = self._side.number(mapping, address.view(np.int64)).view(np.uint64)
        # no call ends below address 0
        bits = np.where(address == np.uint64(0), without_return(bits), bits)
        return bits | _SIDE | number
