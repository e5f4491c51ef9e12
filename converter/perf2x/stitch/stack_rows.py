"""Samples to stacks: each a row of frames, and each frame the word of its place (places.py)."""

import numpy as np
from msgspec import Struct

from perf2x.abi.uapi import CpuMode
from perf2x.columnar.arrays import I64, U8, U64
from perf2x.columnar.ragged import Ragged, SharedRows, offsets_of, ranges, side_by_side
from perf2x.columnar.unique import unique_inverse
from perf2x.stitch.callchain import Frames, frames_of, user_frames_of
from perf2x.stitch.frame_keys import Places, kinds, made_up, without_return
from perf2x.stitch.mapping_lookup import contexts

_LOW = np.int64(0xFFFFFFFF)
_UPPER_HALF = np.uint64(1 << 63)


class Cuts(Struct, frozen=True):
    """What decides the stacks of some samples, (n,) columns."""

    chain: Ragged
    """As recorded, without cookies; of samples that have nothing else to show, where execution was."""
    mode: U8
    user_epoch: I64
    kernel_epoch: I64
    deferred_chain: I64
    """Row of the deferred record's chain, −1 for none."""
    deferred_epoch: I64
    root: I64
    """Root of the stack, 0 for none."""

    def columns(self) -> list[I64]:
        """All but the chains in few columns; numbers of epochs and chains fit 32 bits, modes and roots 8."""
        return [
            self.user_epoch << 32 | self.kernel_epoch & _LOW,
            self.deferred_chain << 32 | self.deferred_epoch & _LOW,
            self.mode.astype(np.int64) << 8 | self.root,
        ]

    def take(self, rows: I64) -> "Cuts":
        """The named rows in the order given."""
        return Cuts(
            self.chain.take(rows), self.mode[rows], self.user_epoch[rows], self.kernel_epoch[rows],
            self.deferred_chain[rows], self.deferred_epoch[rows], self.root[rows],
        )  # fmt: skip


class Framer:
    """Puts stacks together: what was recorded with the sample, the chain that was deferred, what is missing."""

    def __init__(self, places: Places, deferred: SharedRows) -> None:
        self._places = places
        self._deferred = deferred.table

    def rows(self, cuts: Cuts) -> Ragged:
        """(n,) the words of each stack, innermost first."""
        parts = [self._own(cuts)]
        if (cuts.deferred_chain >= 0).any():
            parts.append(self._tails(cuts))
        if cuts.root.any():
            has = cuts.root > 0
            parts.append(Ragged(offsets_of(has.astype(np.int64)), made_up(cuts.root[has])))
        return parts[0] if len(parts) == 1 else side_by_side(parts)

    def _own(self, cuts: Cuts) -> Ragged:
        """Words of the frames that were taken with the sample.

        Those of guests and hypervisors are in no picture, since nobody recorded their maps. User frames under kernel
        frames may lie inside execve, see AddressSpaces.find. Frames whose mode nobody said are the kernel's in the
        upper half of the address space, else the user's.
        """
        frames = frames_of(cuts.chain, cuts.mode)
        parts = frames.parts
        row, lengths = parts.row, parts.lengths
        unsaid = parts.mode == CpuMode.UNKNOWN
        mode = np.where(unsaid, np.uint8(CpuMode.USER), parts.mode)
        epoch = np.where(mode == CpuMode.KERNEL, cuts.kernel_epoch[row], -1)
        epoch = np.where(mode == CpuMode.USER, cuts.user_epoch[row], epoch)
        through = (parts.mode == CpuMode.USER) & (cuts.mode[row] == CpuMode.KERNEL)
        context, kind = np.repeat(contexts(epoch, through), lengths), np.repeat(kinds(mode), lengths)
        some = np.flatnonzero(unsaid & (lengths > 0))
        if len(some):
            place = ranges(parts.offsets[some], lengths[some])
            high = np.flatnonzero(frames.address[place] >= _UPPER_HALF)
            in_kernel = cuts.kernel_epoch[np.repeat(row[some], lengths[some])[high]]
            context[place[high]] = contexts(in_kernel, np.zeros(len(high), np.bool_))
            kind[place[high]] = kinds(np.array([CpuMode.KERNEL], np.uint8))
        return self._placed(frames, context, kind)

    def _tails(self, cuts: Cuts) -> Ragged:
        """Deferred user parts; they belong to the program that the kernel returned to. What several samples share is
        looked up once."""
        joined = cuts.deferred_chain >= 0
        chain, epoch = cuts.deferred_chain[joined], cuts.deferred_epoch[joined]
        pairs, place = unique_inverse(chain << 32 | epoch & _LOW)
        frames = user_frames_of(self._deferred.take(pairs >> 32))
        epochs = (pairs << 32 >> 32)[frames.parts.row]
        here_only = np.zeros(len(epochs), np.bool_)
        context = np.repeat(contexts(epochs, here_only), frames.parts.lengths)
        words = self._placed(frames, context, np.repeat(kinds(frames.parts.mode), frames.parts.lengths))
        taken = words.take(place)
        lengths = np.zeros(len(joined), np.int64)
        lengths[joined] = taken.lengths
        return Ragged(offsets_of(lengths), taken.values)

    def _placed(self, frames: Frames, context: I64, kind: U64) -> Ragged:
        begins = frames.parts.begins
        kind[begins] = without_return(kind[begins])
        return Ragged(frames.offsets, self._places.words(context, kind, frames.address))
