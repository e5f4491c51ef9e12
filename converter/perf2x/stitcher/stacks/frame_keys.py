"""Encodes frames as 64-bit keys: file and offset, mode, return address or not.

Code shared by several processes has one key (`AddressLayout`), so that stacks are compared word by word. The bits::

    63       the frame is a root frame
    62…60    mode (CpuMode)
    59       the address is a return address, which points after the call
    58       the address is outside the layout
    57…0     offset in the layout; for a root frame, its RootFrame; for an address outside the layout, its row in the
             side table
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
_MODE_SHIFT, _MODE_MASK = np.uint64(60), np.uint64(7)
# of distinct_keys: keys of a chunk, and the number up to which keys are always sorted
_CHUNK_KEYS, _SORT_LIMIT = 1 << 18, 1 << 20
# keys that repeat less on average are sorted instead of searched for
_MIN_REPEATS = 4
_FLAGS_SHIFT, _OFFSET_MASK = np.uint64(58), np.uint64((1 << 58) - 1)
_KERNEL_RETURN = np.uint64(CpuMode.KERNEL) << _MODE_SHIFT | _RETURN


class DecodedFrames(Frozen):
    """Decoded frame keys, (n,) columns."""

    group: I64
    """Group in `MergedMappings`, −1 for addresses outside mappings and for root frames."""
    address: U64  # moved to the address of the group; 0 for root frames
    is_return: Bools
    mode: U8
    root: I64
    """RootFrame; 0 for frames with an address."""


class SideTable(Frozen):
    """Addresses outside the layout; keys refer to them by row."""

    group: I64
    """Group in `MergedMappings`, −1 for none."""
    address: I64
    """Bits as int64."""


def return_bits(mode: U8) -> U64:
    """Return (n,) the bits that keys of return addresses in each mode have, besides the offset."""
    return (as_uint64(mode) & _MODE_MASK) << _MODE_SHIFT | _RETURN


def without_return_flag(bits: U64) -> U64:
    """Return (n,) keys or ``return_bits`` without the return address flag, for instruction addresses."""
    return bits & ~_RETURN


def root_frame_keys(root: I64) -> U64:
    """Return (n,) the keys of root frames."""
    return as_uint64(root) | _ROOT | np.uint64(CpuMode.USER) << _MODE_SHIFT


def distinct_keys(keys: U64) -> tuple[U64, I32]:
    """Return the distinct keys, ascending, and (n,) the index of each key among them.

    Sorting more than a million keys with their rows would take more memory than any other step, so their indices are
    found chunk by chunk: most in a cache, the rest by binary search. If more than a quarter are distinct, searches
    would miss the CPU's cache at every step, so all are sorted in spite of the memory.
    """
    if len(keys) <= _SORT_LIMIT:
        # group_rows packs two columns together with the row into one word, if offsets are small
        first, index_of_key = group_rows([keys >> _FLAGS_SHIFT, keys & _OFFSET_MASK])
        return keys[first], as_int32(index_of_key)
    distinct = unique(keys)
    if _MIN_REPEATS * len(distinct) > len(keys):
        return distinct, as_int32(unique_inverse(keys)[1])
    index, cache = np.empty(len(keys), np.int32), DirectMappedCache(bits=18)
    cache.learn(arange(len(distinct)), distinct.view(np.int64))
    for rows in row_slices(len(keys), _CHUNK_KEYS):
        chunk = keys[rows]
        index[rows], is_cached = cache.cached(chunk.view(np.int64))
        others = flatnonzero(~is_cached)
        index[rows.start + others] = searchsorted(distinct, chunk[others])
    return distinct, index


def renumber_keys(keys: U64, side_numbers: U64) -> U64:
    """Convert keys (n,) of a `FrameKeys` that another one absorbed; ``side_numbers`` come from `FrameKeys.absorb`."""
    keys = keys.copy()
    rows = flatnonzero(keys & (_SIDE | _ROOT) == _SIDE)
    keys[rows] = keys[rows] & ~_OFFSET_MASK | side_numbers[(keys[rows] & _OFFSET_MASK).view(np.int64)]
    return keys


def decode_keys(keys: U64, layout: AddressLayout, side: SideTable) -> DecodedFrames:
    """Decode frame keys with the side table of the FrameKeys that made them."""
    low_bits = keys & _OFFSET_MASK
    is_root = keys & _ROOT != 0
    group, address = layout.at(low_bits)
    outside = flatnonzero(keys & _SIDE != 0)
    side_row = low_bits[outside].view(np.int64)
    group[outside], address[outside] = side.group[side_row], side.address[side_row].view(np.uint64)
    group[is_root], address[is_root] = -1, 0
    return DecodedFrames(
        group=group,
        address=address,
        is_return=keys & _RETURN != 0,
        mode=(keys >> _MODE_SHIFT & _MODE_MASK).astype(np.uint8),
        root=np.where(is_root, low_bits, np.uint64(0)).view(np.int64),
    )


class FrameKeys:
    """Encodes frames as keys.

    Frames come in parts (`ChainParts`) with ``context`` (``lookup_contexts``) and ``bits`` (``return_bits``), (parts,).
    User addresses without a mapping are meaningless once processes are combined, and share one key; with
    ``per_process`` they stay separate.
    """

    def __init__(self, spaces: AddressSpaces, merged: MergedMappings, layout: AddressLayout, per_process: bool) -> None:
        self._spaces, self._merged, self.layout, self._per_process = spaces, merged, layout, per_process
        self._lookup = MappingLookup(spaces, len(merged.group) - 1)
        text = kernel_text_of(spaces, merged.mmaps)
        self._kernel_text = None if text is None or layout.is_outside[text.mapping] else text
        self._side = RowInterner(2)
        """Rows of the side table: group of mappings, and address as int64 bits."""
        # (1,) key of user addresses without a mapping
        user_bits = return_bits(np.array([CpuMode.USER], np.uint8))
        self._unmapped_user = self._side_keys(as_int64([-1]), np.zeros(1, np.uint64), user_bits)

    def encode(self, part: I64, context: I64, bits: U64, address: U64) -> U64:
        """Return (n,) the keys of return addresses; ``part`` (n,) is each frame's part."""
        text = self._kernel_text
        if text is None:
            return self._encode_anywhere(part, context, bits, address)
        in_text = text.holds(part, context, address)
        others = flatnonzero(~in_text)
        self.is_hit[text.mapping] |= len(others) < len(in_text)
        # all keys as if the addresses were in the kernel's text; those of the others are replaced below
        keys: U64 = address + np.uint64((int(self.layout.delta[text.mapping]) + int(_KERNEL_RETURN)) % 2**64)
        keys[others] = self._encode_anywhere(take(part, others), context, bits, take(address, others))
        return keys

    def _encode_anywhere(self, part: I64, context: I64, bits: U64, address: U64) -> U64:
        interval, is_mapped = self._spaces.ranges.intervals(address)
        keys: U64 = repeat(self._unmapped_user, len(address))
        rows = flatnonzero(is_mapped)
        keys[rows] = self._encode_mapped(take(part, rows), context, bits, take(interval, rows), take(address, rows))
        rows = flatnonzero(take(self._stays_separate(bits), part) & ~is_mapped)
        if len(rows):
            keys[rows] = self._side_keys(minus_ones(len(rows)), address[rows], bits[part[rows]])
        return keys

    def _encode_mapped(self, part: I64, context: I64, bits: U64, interval: I64, address: U64) -> U64:
        """Some process, perhaps another one, has a mapping at each address."""
        mmap = self._lookup.find(take(context, part), interval)
        keys = address + take(self.layout.delta, mmap)
        keys |= take(bits, part)
        outside = flatnonzero(take(self.layout.is_outside, mmap))
        if len(outside):
            keys[outside] = self._encode_outside(mmap[outside], bits[part[outside]], address[outside])
        return keys

    def _stays_separate(self, bits: U64) -> Bools:
        is_other_mode: Bools = bits >> _MODE_SHIFT & _MODE_MASK != np.uint64(CpuMode.USER)
        return is_other_mode | self._per_process

    @property
    def is_hit(self) -> Bools:
        """(recorded mappings + 1,) whether any frame lies in each mapping; last row for none."""
        return self._lookup.is_hit

    def side_table(self) -> SideTable:
        """Return copies of the addresses that keys refer to by row."""
        group, address = self._side.columns()
        return SideTable(group.copy(), address.copy())

    def absorb(self, side: SideTable, is_hit: Bools) -> U64:
        """Add another FrameKeys of the same history.

        Returns (rows of ``side``,) their rows in this side table, for ``renumber_keys``.
        """
        np.logical_or(self.is_hit, is_hit, out=self.is_hit)
        return self._side.number(side.group, side.address).view(np.uint64)

    def _encode_outside(self, mmap: I64, bits: U64, address: U64) -> U64:
        keys = repeat(self._unmapped_user, len(mmap))
        rows = flatnonzero((mmap >= 0) | self._stays_separate(bits))
        if len(rows):
            mmap = mmap[rows]
            keys[rows] = self._side_keys(self._merged.group[mmap], address[rows] + self._merged.shift[mmap], bits[rows])
        return keys

    def _side_keys(self, group: I64, address: U64, bits: U64) -> U64:
        side_row = self._side.number(group, address.view(np.int64)).view(np.uint64)
        # no call ends at address 0: such an address is not a return address
        bits = np.where(address == np.uint64(0), without_return_flag(bits), bits)
        return bits | _SIDE | side_row
