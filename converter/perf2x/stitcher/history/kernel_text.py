"""The kernel's largest mapping, if nothing else ever lies in it: what holds an address there is known for good.

Many frames of a system-wide recording are the kernel's, and nearly all of these are in its text::

    kernel    | text, as of all epochs |   | module |   | BPF program, as of some |
              known by the epoch alone     looked up
"""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U64
from perf2x.model.recording.sideband import Mmaps
from perf2x.stitcher.history.address_spaces import AddressSpaces
from perf2x.stitcher.history.kernel_mappings import end_addresses, is_kernel_mapping

UNTOLD = -3
"""The answer for addresses and contexts that must be looked up."""


class KernelText(Struct, frozen=True):
    """A range of addresses in which no mapping begins or ends, and what lookups answer there."""

    start: np.uint64
    length: np.uint64
    answers: I64
    """(epochs + 1,) UNTOLD for those of processes, and in the end for the epoch −1 of unknown processes."""

    def find(self, epoch: I64, address: U64) -> I64:
        """(n,) int64: row of the mapping that holds each address, −1 for none, or UNTOLD."""
        found: I64 = self.answers.take(epoch)
        found[address - self.start >= self.length] = UNTOLD
        return found


def kernel_text_of(spaces: AddressSpaces, mmaps: Mmaps) -> KernelText | None:
    """Return the range of the longest mapping of the kernel, None where others lie in it or there is no kernel."""
    rows = np.flatnonzero(is_kernel_mapping(mmaps))
    if not len(rows):
        return None
    start, end = mmaps.start[rows], end_addresses(mmaps.start[rows], mmaps.length[rows])
    longest = int(np.argmax(end - start))
    first, limit = start[longest : longest + 1], end[longest : longest + 1]
    if limit[0] <= first[0] or not spaces.is_uniform(first, limit - np.uint64(1))[0]:
        return None
    epochs = spaces.kernel_epochs()
    answers = np.full(spaces.epoch_count + 1, UNTOLD, np.int64)
    answers[epochs] = spaces.find(epochs, np.repeat(first, len(epochs)), np.zeros(len(epochs), np.bool_))
    return KernelText(first[0], limit[0] - first[0], answers)
