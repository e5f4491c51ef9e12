"""Distinct stacks to locations: every (picture, address) is looked up once, then equal locations become one."""

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.model.arrays import I64, Bools
from perf2x.model.intern import ChainTable
from perf2x.model.ragged import Ragged, offsets_of, pieces, side_by_side
from perf2x.stitch.callchain import Frames, frames_of, lone_frames, user_frames_of
from perf2x.stitch.mappings import Merged
from perf2x.stitch.places import Located, Locations, pictures
from perf2x.stitch.rows import Keys
from perf2x.stitch.spaces import AddressSpaces

_WORDS_AT_ONCE = 1 << 18
"""Words of chains that are resolved together: their columns stay in the cache."""


class Resolver:
    """Numbers of distinct stacks, each a row of location numbers; fed piece by piece, it keeps only what is distinct.

    With ``as_recorded`` user addresses that no mapping holds stay apart; else they are one location, since where
    processes are put together they say nothing.
    """

    def __init__(self, spaces: AddressSpaces, merged: Merged, as_recorded: bool) -> None:
        self._locations = Locations(spaces, merged, as_recorded)
        self._stacks = ChainTable(np.int32)

    def resolve(self, keys: Keys, chains: Ragged, deferred_chains: Ragged) -> I64:
        """(n,) the number of each stack: ``keys`` and ``chains`` of n rows, the latter without cookies."""
        lengths = chains.lengths
        joined = np.flatnonzero(keys.deferred_chain >= 0)
        lengths[joined] += deferred_chains.lengths[keys.deferred_chain[joined]]
        numbers = np.empty(len(chains), np.int64)
        for some in pieces(lengths, _WORDS_AT_ONCE):
            numbers[some] = self._numbers(keys.take(some), chains.take(some), deferred_chains)
        return numbers

    def _numbers(self, keys: Keys, chains: Ragged, deferred_chains: Ragged) -> I64:
        addresses, picture = _frames(keys, chains, deferred_chains)
        located = Ragged(addresses.offsets, self._locations.of(picture, addresses.values).astype(np.int32))
        roots = self._roots(keys.root)
        return self._stacks.number_rows(side_by_side([located, roots]) if len(roots.values) else located)

    def absorb(self, located: Located, hit: Bools, stacks: Ragged) -> I64:
        """Add another one's stacks; (stacks,) the number here of each."""
        location = self._locations.absorb(located, hit).astype(np.int32)
        return self._stacks.number_rows(Ragged(stacks.offsets, location[stacks.values]))

    def stacks(self) -> Ragged:
        """Location numbers of every distinct stack, innermost first."""
        return self._stacks.table()

    def located(self) -> Located:
        """The locations that stacks are made of."""
        return self._locations.table()

    def hit(self) -> Bools:
        """(recorded mappings + 1,) whether a location lies in each."""
        return self._locations.hit

    def _roots(self, root: I64) -> Ragged:
        """The made-up frame at the far end of the stacks that have one."""
        has = root > 0
        return Ragged(offsets_of(has.astype(np.int64)), self._locations.made_up(root[has]).astype(np.int32))


def _frames(keys: Keys, chains: Ragged, deferred_chains: Ragged) -> tuple[Ragged, I64]:
    """The addresses of some stacks, innermost first, and the picture to look each one up in."""
    mode = keys.mode.astype(np.uint8)
    own = frames_of(chains, mode)
    alone = lone_frames(keys.leaf.view(np.uint64), mode)
    deferred = _deferred_frames(keys, deferred_chains)
    sources = ((own, keys.user_epoch, True), (alone, keys.user_epoch, True), (deferred, keys.deferred_epoch, False))
    whole = [
        (part, _pictures(part, keys, epoch, of_sample))
        for part, epoch, of_sample in sources
        if len(part.address) or part is own
    ]
    if len(whole) == 1:
        return Ragged(own.offsets, own.address), whole[0][1]
    addresses = side_by_side([Ragged(part.offsets, part.address) for part, _ in whole])
    looked_up_in = side_by_side([Ragged(part.offsets, picture) for part, picture in whole])
    return addresses, looked_up_in.values


def _deferred_frames(keys: Keys, chains: Ragged) -> Frames:
    joined = keys.deferred_chain >= 0
    lengths = np.zeros(len(joined), np.int64)
    taken = chains.take(keys.deferred_chain[joined])
    lengths[joined] = taken.lengths
    return user_frames_of(Ragged(offsets_of(lengths), taken.values))


def _pictures(frames: Frames, keys: Keys, user_epoch: I64, of_sample: bool) -> I64:
    """(frames,) where each frame is looked up; no epoch for guests and hypervisors, whose maps are not recorded.

    ``of_sample``: the frames were taken with the sample; then user frames under kernel frames may lie inside execve,
    see AddressSpaces.find. Deferred ones belong to the program that the kernel returned to. Frames whose mode nobody
    said are the kernel's in the upper half of the address space, else the user's.
    """
    row, mode = frames.parts.row, frames.parts.mode
    unsaid = mode == CpuMode.UNKNOWN
    in_user, in_kernel = (mode == CpuMode.USER) | unsaid, mode == CpuMode.KERNEL
    epoch = np.where(in_user, user_epoch[row], np.where(in_kernel, keys.kernel_epoch[row], -1))
    through = (mode == CpuMode.USER) & (keys.mode[row] == CpuMode.KERNEL)
    if not of_sample:
        through[:] = False
    picture = pictures(epoch, np.where(unsaid, np.uint8(CpuMode.USER), mode), through)
    result: I64 = np.repeat(picture, frames.parts.length)
    if unsaid.any():
        high = np.flatnonzero(np.repeat(unsaid, frames.parts.length) & (frames.address >= np.uint64(1 << 63)))
        epoch = keys.kernel_epoch[np.repeat(row, frames.parts.length)[high]]
        result[high] = pictures(epoch, np.full(len(high), CpuMode.KERNEL, np.uint8), np.zeros(len(high), np.bool_))
    return result | frames.is_return
