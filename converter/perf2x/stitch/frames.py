"""Distinct stacks to locations: every (picture, address) is looked up once, then equal locations become one."""

from dataclasses import dataclass

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.model.arrays import I32, I64, U8, U64, Bools
from perf2x.model.growing import Growing
from perf2x.model.intern import HashIndex, columns_equal, distinct_columns, hash_columns
from perf2x.model.ragged import Ragged, offsets_of, pieces, reverse_rows, side_by_side
from perf2x.stitch.callchain import Frames, frames_of, user_frames_of
from perf2x.stitch.rows import Keys
from perf2x.stitch.spaces import AddressSpaces

_WORDS_AT_ONCE = 1 << 16
"""Words of chains that are resolved together: their columns stay in the cache."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """One distinct (mapping row, address, return or not, mode); ``root`` > 0 is a made-up frame instead."""

    mmap: I64
    address: U64
    is_return: Bools
    mode: U8
    root: I64


@dataclass(frozen=True, slots=True)
class Stacked:
    """Distinct stacks as rows of location numbers, root first."""

    locations: Lookup
    rows: Ragged
    unknown_markers: int


def stacked(keys: Keys, chain: I64, chains: Ragged, deferred_chains: Ragged, spaces: AddressSpaces) -> Stacked:
    """Resolve distinct stacks: ``keys`` (n rows), ``chain`` (n,) the number of each one's own chain."""
    places = _Places()
    offsets, values, unknown = [np.zeros(1, np.int64)], list[I32](), 0
    lengths = chains.lengths[chain]
    joined = np.flatnonzero(keys.deferred_chain >= 0)
    lengths[joined] += deferred_chains.lengths[keys.deferred_chain[joined]]
    for some in pieces(lengths, _WORDS_AT_ONCE):
        piece_keys = Keys(*(column[some] for column in keys.columns()))
        placed, strange = _placed(piece_keys, chains.take(chain[some]), deferred_chains, places)
        offsets.append(offsets[-1][-1] + placed.offsets[1:])
        values.append(placed.values.astype(np.int32))
        unknown += strange
    lookup, place = places.located(spaces)
    lookup, root_rows = _with_roots(lookup, keys.root)
    rows = Ragged(np.concatenate(offsets), place[np.concatenate([*values, np.zeros(0, np.int32)])])
    return Stacked(lookup, side_by_side([root_rows, rows]) if len(root_rows.values) else rows, unknown)


def _placed(keys: Keys, chains: Ragged, deferred_chains: Ragged, places: "_Places") -> tuple[Ragged, int]:
    """The frames of some stacks as numbers of places, root first; and the number of unknown markers."""
    mode = keys.mode.astype(np.uint8)
    own, unknown = frames_of(chains, mode)
    parts = [own, _leaf_frames(keys, mode), _deferred_frames(keys, deferred_chains)]
    epochs = [
        _epochs(own, keys.user_epoch, keys.kernel_epoch),
        _epochs(parts[1], keys.user_epoch, keys.kernel_epoch),
        keys.deferred_epoch[parts[2].row],
    ]
    address = np.concatenate([part.address for part in parts])
    modes = _settle_modes(np.concatenate([part.mode for part in parts]), address)
    is_return = np.concatenate([part.is_return for part in parts])
    in_exec = np.zeros(len(address), np.bool_)
    in_exec[: len(own.address)] = _through_exec(own, keys)
    place = places.number(np.concatenate(epochs), address, is_return, in_exec, modes)
    cuts = np.cumsum([len(part.address) for part in parts])[:-1]
    split = np.split(place, cuts)
    glued = side_by_side([Ragged(part.offsets, piece) for part, piece in zip(parts, split, strict=True)])
    return reverse_rows(glued), unknown


def _leaf_frames(keys: Keys, mode: U8) -> Frames:
    """The sample's own address where it is all there is."""
    has = keys.leaf != 0
    rows = np.flatnonzero(has)
    return Frames(
        offsets_of(has.astype(np.int64)), keys.leaf[rows].view(np.uint64), mode[rows], np.zeros(len(rows), np.bool_)
    )


def _deferred_frames(keys: Keys, chains: Ragged) -> Frames:
    joined = keys.deferred_chain >= 0
    lengths = np.zeros(len(joined), np.int64)
    taken = chains.take(keys.deferred_chain[joined])
    lengths[joined] = taken.lengths
    return user_frames_of(Ragged(offsets_of(lengths), taken.values))


def _epochs(frames: Frames, user_epoch: I64, kernel_epoch: I64) -> I64:
    """The picture that each frame is looked up in; −1 for guests and hypervisors, whose maps are not recorded."""
    row = frames.row
    user = (frames.mode == CpuMode.USER) | (frames.mode == CpuMode.UNKNOWN)
    epochs = np.where(user, user_epoch[row], -1)
    kernel = (frames.mode == CpuMode.KERNEL) | ((frames.mode == CpuMode.UNKNOWN) & _is_high(frames.address))
    return np.where(kernel, kernel_epoch[row], epochs)


def _through_exec(frames: Frames, keys: Keys) -> Bools:
    """User frames under kernel frames: the sample may lie inside execve, see AddressSpaces.find."""
    through: Bools = (frames.mode == CpuMode.USER) & (keys.mode[frames.row] == CpuMode.KERNEL)
    return through


def _is_high(address: U64) -> Bools:
    high: Bools = address >= np.uint64(1 << 63)
    return high


def _settle_modes(mode: U8, address: U64) -> U8:
    """Frames whose mode nobody said are the kernel's in the upper half of the address space, else the user's."""
    guess = np.where(_is_high(address), np.uint8(CpuMode.KERNEL), np.uint8(CpuMode.USER))
    return np.where(mode == CpuMode.UNKNOWN, guess, mode)


class _Places:
    """Distinct (epoch, address, return or not, through an exec or not, mode), numbered from 0."""

    def __init__(self) -> None:
        self._index = HashIndex()
        self._pictures = Growing(np.int64, 2)
        """Epochs; is_return, in_exec << 1, mode << 2."""
        self._address = Growing(np.uint64)

    def number(self, epoch: I64, address: U64, is_return: Bools, in_exec: Bools, mode: U8) -> I64:
        """(n,) the place of each frame."""
        flags = is_return.astype(np.int64) | in_exec.astype(np.int64) << 1 | mode.astype(np.int64) << 2
        columns: list[U64 | I64] = [epoch, flags, address]

        def equal(rows: I64, numbers: I64) -> Bools:
            return columns_equal(columns, rows, [*self._pictures.columns(), self._address[0]], numbers)

        def add(rows: I64) -> I64:
            self._pictures.extend(epoch[rows], flags[rows])
            self._address.extend(address[rows])
            return np.arange(len(self._address) - len(rows), len(self._address))

        return self._index.number(hash_columns(*columns), equal, add)

    def located(self, spaces: AddressSpaces) -> tuple[Lookup, I64]:
        """Look up every place; distinct locations, and each place's number among them."""
        epoch, flags = self._pictures.columns()
        address: U64 = self._address[0]
        mmap = spaces.find(epoch, address, (flags & 2) != 0)
        kind = flags & ~2
        once, location = distinct_columns([mmap, address, kind])
        is_return, mode = (kind[once] & 1) != 0, (kind[once] >> 2).astype(np.uint8)
        return Lookup(mmap[once], address[once], is_return, mode, np.zeros(len(once), np.int64)), location


def _with_roots(lookup: Lookup, root: I64) -> tuple[Lookup, Ragged]:
    """Append one made-up location per kind of root that occurs; rows with a root get it as outermost frame."""
    kinds = np.unique(root[root > 0])
    has = root > 0
    values = len(lookup.mmap) + np.searchsorted(kinds, root[has])
    blank = np.zeros(len(kinds), np.int64)
    grown = Lookup(
        np.concatenate([lookup.mmap, blank - 1]),
        np.concatenate([lookup.address, blank.astype(np.uint64)]),
        np.concatenate([lookup.is_return, blank.astype(np.bool_)]),
        np.concatenate([lookup.mode, np.full(len(kinds), CpuMode.USER, np.uint8)]),
        np.concatenate([lookup.root, kinds]),
    )
    return grown, Ragged(offsets_of(has.astype(np.int64)), values)
