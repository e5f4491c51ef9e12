"""Builds stacks: converts samples to rows of frame keys (see ``frame_keys``), innermost frame first.

A sample taken in the kernel, whose user part was deferred::

    chain      KERNEL  k0   k1   k2          deferred chain   USER  u0   u1         root frame
    context    epoch of the kernel           epoch of the process
               at the sample's time          at the record's time
    kind               ip   ra   ra                           ip   ra
    row                k0   k1   k2                           u0   u1               [stack not copied]

The first address of a part is an instruction pointer (ip), the others are return addresses (ra). A sample in the kernel
may be inside execve: a user part in its own chain may still belong to the previous program (``through_exec`` of
AddressSpaces.find).
"""

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I64,
    U8,
    U64,
    ColumnTable,
    ListArray,
    SharedRows,
    arange,
    as_int64,
    falses,
    flatnonzero,
    offsets_of,
    side_by_side,
    take,
    unique_inverse,
    zeros,
)
from perf2x.stitcher.history.mapping_lookup import lookup_contexts
from perf2x.stitcher.stacks.callchain import ChainFrames, ChainParts, decode_chains, decode_user_chains
from perf2x.stitcher.stacks.frame_keys import FrameKeys, return_bits, root_frame_keys, without_return_flag

_LOW_32_BITS = np.int64(0xFFFFFFFF)
_UPPER_HALF = np.uint64(1 << 63)


class StackInputs(ColumnTable):
    """Everything that determines the stack of a sample, as columns (n,)."""

    chain: ListArray
    """Recorded chains without cookies; for samples without a chain, the instruction pointer."""
    mode: U8  # mode of the sample, and of the addresses before the first marker
    user_epoch: I64  # of the process at the sample's time, −1 if unknown
    kernel_epoch: I64  # at the sample's time
    deferred_chain: I64
    """Row in the table of distinct chains, −1 for none."""
    deferred_epoch: I64  # of the process at the deferred record's time, −1 for none
    root: I64
    """RootFrame, 0 for none."""

    def columns(self) -> list[I64]:
        """Return all columns but ``chain``, packed into three: epochs fit 32 bits, modes and roots 8."""
        return [
            self.user_epoch << 16 | as_int64(self.mode) << 8 | self.root,
            self.kernel_epoch << 32 | self.deferred_epoch & _LOW_32_BITS,
            self.deferred_chain,
        ]


class StackRowBuilder:
    """Builds stacks from a sample's own chain, deferred chain and root frame."""

    def __init__(self, keys: FrameKeys, deferred: SharedRows, has_call_addresses: bool) -> None:
        """With ``has_call_addresses``, no address is a return address (see Session)."""
        self._keys, self._has_call_addresses = keys, has_call_addresses
        self._deferred_chains = deferred.table

    def rows(self, inputs: StackInputs) -> ListArray:
        """Return (n,) uint64 frame keys of each stack, innermost first."""
        pieces = [self._own_rows(inputs)]
        if (inputs.deferred_chain >= 0).any():
            pieces.append(self._deferred_rows(inputs))
        if inputs.root.any():
            has_root = inputs.root > 0
            pieces.append(ListArray(offsets_of(has_root), root_frame_keys(inputs.root[has_root])))
        return pieces[0] if len(pieces) == 1 else side_by_side(pieces)

    def _own_rows(self, inputs: StackInputs) -> ListArray:
        frames = decode_chains(inputs.chain, inputs.mode)
        parts = frames.parts
        # The mode before the first marker, or after an unknown one, may be unknown: these are taken for user addresses,
        # except for those in the kernel's half.
        mode = np.where(parts.mode == CpuMode.UNKNOWN, np.uint8(CpuMode.USER), parts.mode)
        part = parts.of_frames(len(frames.address))
        context, bits = _part_contexts(parts, mode, inputs), return_bits(mode)
        rows, kernel_epoch = _kernel_frames_of_unknown_mode(frames, part, inputs)
        if len(rows):  # each of these frames becomes a part, after all others
            part[rows] = len(context) + arange(len(rows))
            context = np.append(context, lookup_contexts(kernel_epoch, falses(len(rows))))
            bits = np.append(bits, return_bits(np.full(len(rows), CpuMode.KERNEL, np.uint8)))
        return self._encode(frames, part, context, bits)

    def _deferred_rows(self, inputs: StackInputs) -> ListArray:
        is_joined = inputs.deferred_chain >= 0
        chain, epoch = inputs.deferred_chain[is_joined], inputs.deferred_epoch[is_joined]
        pairs, index = unique_inverse(chain << 32 | epoch & _LOW_32_BITS)
        frames = decode_user_chains(self._deferred_chains[pairs >> 32])
        parts = frames.parts
        epochs = (pairs << 32 >> 32)[parts.row]  # the low half, with its sign
        part = parts.of_frames(len(frames.address))
        context = lookup_contexts(epochs, falses(len(epochs)))
        keys = self._encode(frames, part, context, return_bits(parts.mode))
        keys_of_joined = keys[index]
        lengths = zeros(len(is_joined))
        lengths[is_joined] = keys_of_joined.lengths
        return ListArray(offsets_of(lengths), keys_of_joined.values)

    def _encode(self, frames: ChainFrames, part: I64, context: I64, bits: U64) -> ListArray:
        keys = self._keys.encode(part, context, bits, frames.address)
        # not return addresses: all, or the first of each part
        exact = slice(None) if self._has_call_addresses else frames.parts.begins
        keys[exact] = without_return_flag(keys[exact])
        return ListArray(frames.offsets, keys)


def _part_contexts(parts: ChainParts, mode: U8, inputs: StackInputs) -> I64:
    """Mappings of guests and hypervisors are not recorded: they have no epoch (−1)."""
    row = parts.row
    epoch = np.where(mode == CpuMode.KERNEL, take(inputs.kernel_epoch, row), -1)
    epoch = np.where(mode == CpuMode.USER, take(inputs.user_epoch, row), epoch)
    through_exec = (parts.mode == CpuMode.USER) & (take(inputs.mode, row) == CpuMode.KERNEL)
    return lookup_contexts(epoch, through_exec)


def _kernel_frames_of_unknown_mode(frames: ChainFrames, part: I64, inputs: StackInputs) -> tuple[I64, I64]:
    """Return rows of frames of unknown mode in the kernel's half of addresses, and the kernel's epoch for each."""
    is_unknown = frames.parts.mode == CpuMode.UNKNOWN
    if not is_unknown.any():
        return zeros(0), zeros(0)
    rows = flatnonzero(is_unknown[part] & (frames.address >= _UPPER_HALF))
    return rows, inputs.kernel_epoch[frames.parts.row[part[rows]]]
