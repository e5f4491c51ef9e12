"""What the unwinder is given and what it gives back, as columns."""

from collections.abc import Callable
from enum import IntEnum

from msgspec import Struct

from perf2x.columnar.arrays import I32, I64, U8, U64, Bools
from perf2x.columnar.ragged import Ragged

MAX_DEPTH = 1024
"""Frames per sample unless told otherwise; perf shows 127 (kernel.perf_event_max_stack)."""


class End(IntEnum):
    """Why a chain ends where it ends."""

    COMPLETE = 0
    """The outermost frame says so: its return address is undefined, or 0."""
    TRUNCATED = 1
    """The caller's frame lies beyond the bytes that perf copied."""
    NO_UNWIND_INFO = 2
    """Nothing says how to leave a function, and its frame pointer leads nowhere."""
    BROKEN = 3
    """The caller's frame would lie where no stack can be."""
    NOT_MAPPED = 4
    """The return address lies in no mapping; it is not part of the chain."""
    OTHER_STACK = 5
    """The chain goes on on a stack that perf did not copy: that of a thread whose signal handler runs on an alternate
    stack, that of the old program when a sample was taken inside execve."""
    REGISTERS_MISSING = 6
    """A rule needs a register that was not recorded."""
    TOO_DEEP = 7
    """The limit on the number of frames was reached."""
    NO_REGISTERS = 8
    """The sample has no user registers: there is no chain (a kernel thread, an exiting task)."""


class UserMappings(Struct, frozen=True):
    """The table that mapping ids of the address lookup point into."""

    start: U64
    pgoff: U64
    filename: list[str]
    build_id: list[bytes]
    is_code: Bools
    """False for mappings that hold no code for certain."""

    def __len__(self) -> int:
        return len(self.start)


class UserChains(Struct, frozen=True):
    """One user chain per sample of a batch."""

    chain: Ragged
    """uint64, innermost first: entry 0 is the instruction pointer at kernel entry, the others callers'."""
    is_exact: Bools
    """One per entry of ``chain``: True where it is an instruction's own address (entry 0, signal trampolines, what a
    signal interrupted), False where it is a return address, which is looked up one byte earlier."""
    end: U8
    """(n,) an ``End`` per sample."""
    guessed: I64
    """(n,) frames that were crossed by frame pointer, for want of unwind information."""


FindMapping = Callable[[I64, U64], I32]
"""Which mapping holds each address at the time of its sample: (sample rows, addresses) to mapping ids, −1 for none."""
