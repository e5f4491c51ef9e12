"""Distinct stacks to locations: every (picture, address) is looked up once, then equal locations become one."""

from dataclasses import dataclass

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.model.arrays import I64, U8, U64, Bools
from perf2x.model.intern import distinct_columns
from perf2x.model.ragged import Ragged, offsets_of, reverse_rows, side_by_side
from perf2x.stitch.callchain import Frames, frames_of, user_frames_of
from perf2x.stitch.rows import Keys
from perf2x.stitch.spaces import AddressSpaces


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


def stacked(keys: Keys, chains: Ragged, deferred_chains: Ragged, spaces: AddressSpaces) -> Stacked:
    """Resolve distinct stacks: ``keys`` (n rows), ``chains`` their n own chains; deferred ones are picked by number."""
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
    in_exec = [_through_exec(own, keys), *(np.zeros(len(part.address), np.bool_) for part in parts[1:])]
    pictures = (np.concatenate(epochs), np.concatenate(in_exec))
    lookup, place = _locate(pictures, address, is_return, modes, spaces)
    lookup, root_rows = _with_roots(lookup, keys.root)
    cuts = np.cumsum([len(part.address) for part in parts])[:-1]
    ragged = [Ragged(part.offsets, piece) for part, piece in zip(parts, np.split(place, cuts), strict=True)]
    return Stacked(lookup, reverse_rows(side_by_side([*ragged, root_rows])), unknown)


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


def _locate(
    pictures: tuple[I64, Bools], address: U64, is_return: Bools, mode: U8, spaces: AddressSpaces
) -> tuple[Lookup, I64]:
    """Distinct locations, and each frame's place among them; ``pictures`` are epochs and through-exec flags."""
    epoch, in_exec = pictures
    flags = is_return.astype(np.int64) | in_exec.astype(np.int64) << 1 | mode.astype(np.int64) << 2
    first, inverse = distinct_columns([epoch, address, flags])
    mmap = spaces.find(epoch[first], address[first], in_exec[first])
    address, is_return, mode = address[first], is_return[first], mode[first]
    once, place = distinct_columns([mmap, address, is_return.astype(np.int64), mode.astype(np.int64)])
    zeros = np.zeros(len(once), np.int64)
    return Lookup(mmap[once], address[once], is_return[once], mode[once], zeros), place[inverse]


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
