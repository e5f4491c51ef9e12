"""The description of a processor for the unwinder; ``x86_64`` and ``aarch64`` have instances."""

import re
from collections.abc import Mapping

from perf2x.base.binaries.cfi.unwind_rules import Rule
from perf2x.base.frozen_struct import Frozen


class KnownCode(Frozen):
    """Code whose address is on a stack as a return address without a call, recognized by its first bytes."""

    size: int
    """Length of the pattern in bytes."""
    pattern: re.Pattern[bytes]
    rule: Rule
    """The rule at the first byte; it is that of a signal frame, because the address is exact."""


class Architecture(Frozen):
    """Registers by DWARF number, and code of C libraries and linkers without unwind information."""

    name: str
    machine: str
    """ELF's name for it (``EM_X86_64``)."""
    word: int
    """Bytes of an address."""
    register_count: int
    """Number of tracked registers, from 0, including the program counter."""
    from_perf: Mapping[int, int]
    """Bit of ``sample_regs_user`` to register."""
    stack_pointer: int
    frame_pointer: int
    program_counter: int
    """Register of the sampled instruction pointer; on x86 the return address column of every rule."""
    address_mask: int
    """Mask of the address bits; removes pointer authentication codes from return addresses."""
    outermost: Rule
    """Rule for code that nothing called; it is that of a signal frame, because the address is exact."""
    framed: Rule | None = None
    """Rule for a function with a frame pointer, wherever the stack pointer points."""
    preserved: frozenset[int] = frozenset()
    """Callee-saved registers; plain steps restore no others."""
    known_code: tuple[KnownCode, ...] = ()
    """Code that returns from a signal handler, and code to which a coroutine's function returns."""
    linkage_rule: Rule | None = None
    """Rule at the jump of a .plt.sec or .plt.got entry; None if linkers leave nothing on the stack."""
    lazy_linkage: tuple[Rule, ...] = ()
    """Rules within a 16-byte lazy .plt entry: before its push, and after it."""

    def kept(self, needed: int) -> list[int]:
        """Return the registers to restore: those in ``needed`` (bits), and the three that every step may use."""
        needed |= 1 << self.stack_pointer | 1 << self.frame_pointer | 1 << self.program_counter
        return [register for register in range(self.register_count) if needed >> register & 1]
