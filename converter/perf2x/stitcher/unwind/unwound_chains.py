"""Input and output of the unwinder, as columns."""

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

LEAF_FRAMES = 2
"""A leaf function and its caller: all that registers reveal without a stack dump."""


class End(IntEnum):
    """Why a chain ends."""

    COMPLETE = 0
    """At the outermost frame: its return address is undefined, or 0, or it is a coroutine's start."""
    TRUNCATED = 1
    """The caller's frame is beyond the bytes that the kernel copied."""
    NO_UNWIND_INFO = 2
    """No unwind information covers a function, and its frame pointer leads nowhere."""
    BROKEN = 3
    """The caller's frame would be where no stack can be."""
    NOT_MAPPED = 4
    """The return address is in no mapping, and not part of the chain."""
    OTHER_STACK = 5
    """The chain continues in memory that the kernel did not copy.

    This is the stack of a thread whose signal handler runs on an alternate stack, that of the old program in a sample
    inside execve, or the part after a page that was not in memory.
    """
    REGISTERS_MISSING = 6
    """A rule needs a register that was not recorded."""
    TOO_DEEP = 7
    """The limit on the number of frames was reached."""
    NO_REGISTERS = 8
    """The sample has no user registers: there is no chain (a kernel thread, an exiting task)."""


class UserMappings(ColumnTable):
    """Mappings by the ids that FindMapping returns."""

    start: U64
    pgoff: U64
    filename: DictionaryColumn[str]
    build_id: DictionaryColumn[bytes]
    is_code: Bools
    """False for mappings that certainly have no code."""
    is_jit: Bools
    """Whether the code is JIT-compiled: in mappings of a jitdump, and in memory without a file."""


class UserChains(Frozen):
    """One user chain per sample of a batch."""

    chain: ListArray
    """uint64, innermost first: entry 0 is the instruction pointer at kernel entry, the others are callers."""
    is_exact: Bools
    """One per entry of ``chain``: True for instruction addresses, False for return addresses.

    Entry 0, signal trampolines and code interrupted by a signal are instruction addresses. Return addresses are looked
    up one byte earlier.
    """
    end: U8
    """(n,) ``End`` of each chain."""
    guessed: I64
    """(n,) frames that were left by frame pointer, because there was no unwind information."""
    guessed_in_jit: I64
    """(n,) the frames in ``guessed`` that are JIT-compiled code."""
    cut_in_jit: Bools
    """(n,) whether the last frame is JIT-compiled code, and the end NO_UNWIND_INFO."""


FindMapping = Callable[[I64, U64], I32]
"""Maps (sample rows, addresses) to ids of mappings, −1 for none.

A callback, not a table, because the step out of a function decides which address comes next.
"""


class MappingFinder(Frozen):
    """Mappings of the addresses of ``n`` samples, whose process images only gain mappings.

    A mapping at the end of an image has been valid since it was made, so one answer serves all samples of the image
    since then, however many mappings are added.
    """

    image: I64
    """(n,) number of the process image; the same in all batches of a recording."""
    moment: I64
    """(n,) sequence number of each sample, comparable with ``made``."""
    made: I64
    """(mappings + 1,) sequence number of each mapping; the last row, for none, has the lowest one."""
    at_last: FindMapping
    """Finds mappings at the ends of the images."""
    at_moment: FindMapping
    """Finds mappings as of the samples, if a later mapping covers the address."""

    def find(self, rows: I64, address: U64) -> tuple[I32, Bools]:
        """Return (n,) mappings as of the samples, and whether they stay until the end of the image."""
        mapping = self.at_last(rows, address)
        later = flatnonzero(take(self.made, mapping) > take(self.moment, rows))
        stays = trues(len(rows))
        if len(later):
            mapping[later] = self.at_moment(rows[later], address[later])
            stays[later] = False
        return mapping, stays
