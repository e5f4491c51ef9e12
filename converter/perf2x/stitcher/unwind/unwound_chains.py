"""The unwinder's input (mappings) and output (chains, and why they end), as columns."""

from collections.abc import Callable
from enum import IntEnum

from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    ColumnTable,
    DictionaryColumn,
    Frozen,
    ListArray,
    flatnonzero,
    take,
    trues,
)

# Number of frames that registers alone, without a stack dump, can reveal: a leaf function and its caller.
LEAF_FRAMES = 2


class End(IntEnum):
    """Why a chain ends."""

    COMPLETE = 0
    """The outermost frame was reached: its return address is undefined or 0, or the frame starts a coroutine."""
    TRUNCATED = 1
    """The caller's frame is beyond the bytes that the kernel copied."""
    NO_UNWIND_INFO = 2
    """No unwind information covers a function, and its frame pointer leads nowhere."""
    BROKEN = 3
    """The caller's frame would be where no stack can be."""
    NOT_MAPPED = 4
    """The return address is in no mapping with code, and so is not in the chain."""
    OTHER_STACK = 5
    """The chain continues in memory that the kernel did not copy.

    Examples: the stack that a signal interrupted, if the handler has its own; the old program's stack, in a sample
    inside execve; the same stack above a page that was not in memory.
    """
    REGISTERS_MISSING = 6
    """A rule needs a register that was not recorded."""
    TOO_DEEP = 7
    """The limit on the number of frames was reached."""
    NO_REGISTERS = 8
    """There is no chain: the sample has no user registers, or its processor is not supported."""


class UserMappings(ColumnTable):
    """Mappings of a recording whose objects the unwinder may open."""

    start: U64
    pgoff: U64
    filename: DictionaryColumn[str]
    build_id: DictionaryColumn[bytes]
    is_code: Bools
    is_jit: Bools
    """Whether the code is JIT-compiled: in mappings of a jitdump, and in anonymous memory."""


class UserChains(Frozen):
    """One user chain per sample of a batch."""

    chain: ListArray
    """uint64, innermost first: entry 0 is the instruction pointer at kernel entry, the others are callers."""
    is_exact: Bools
    """One per entry of ``chain``: True for instruction addresses, False for return addresses.

    Entry 0, signal trampolines and code interrupted by a signal are instruction addresses.
    """
    end: U8
    """(n,) ``End`` of each chain."""
    guessed: I64
    """(n,) number of frames whose caller was guessed."""
    guessed_in_jit: I64
    """(n,) number of ``guessed`` frames in JIT-compiled code."""
    cut_in_jit: Bools
    """(n,) whether the chain ends with NO_UNWIND_INFO at a frame of JIT-compiled code."""


FindMapping = Callable[[I64, U64], I32]
"""Maps (rows of samples, addresses) to mappings, as rows of `UserMappings`; −1 for none."""


class MappingFinder(Frozen):
    """Finds the mappings of addresses in ``n`` samples.

    A mapping that still exists at the end of its process image has existed since it was made. So one answer serves all
    samples since then.
    """

    image: I64
    """(n,) number of each sample's process image; the same in all batches of a recording."""
    sequence: I64
    """(n,) sequence number as of which each sample's addresses are looked up; comparable with ``made_at``."""
    made_at: I64
    """(mappings + 1,) sequence number of each mapping; the last row, for none, has the lowest one."""
    find_at_end: FindMapping
    """Finds mappings as of the ends of the samples' images."""
    find_at_sample: FindMapping
    """Finds mappings as of the samples themselves, which costs more."""

    def find(self, rows: I64, address: U64) -> tuple[I32, Bools]:
        """Return each address's mapping as of its sample, and whether it stays until the image ends; shapes (m,)."""
        mapping = self.find_at_end(rows, address)
        made_later = flatnonzero(take(self.made_at, mapping) > take(self.sequence, rows))
        stays = trues(len(rows))
        if len(made_later):
            mapping[made_later] = self.find_at_sample(rows[made_later], address[made_later])
            stays[made_later] = False
        return mapping, stays
