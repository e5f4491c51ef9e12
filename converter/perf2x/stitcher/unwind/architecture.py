"""Describes processors to the unwinder; ``x86_64`` and ``aarch64`` have the descriptions."""

import re
from collections.abc import Mapping

from perf2x.base.binaries.cfi.unwind_rules import Rule
from perf2x.base.frozen_struct import Frozen


class KnownCode(Frozen):
    """Code to which functions return although it has not called them."""

    size: int
    """Bytes that the pattern matches."""
    pattern: re.Pattern[bytes]
    rule: Rule
    """At the first byte; ``is_signal_frame`` is True, because the address there is exact."""


class Architecture(Frozen):
    """Registers by DWARF number, and code of C libraries and linkers without unwind information."""

    name: str
    elf_machine: str
    """ELF's name for it (``EM_X86_64``)."""
    word_size: int
    """Bytes of an address."""
    register_count: int
    """Number of tracked registers, from 0, including the program counter."""
    register_of_perf_bit: Mapping[int, int]
    """By bit in ``sample_regs_user``."""
    stack_pointer: int
    frame_pointer: int
    program_counter: int
    """Register of the sampled instruction pointer; on x86 the return address column of every rule."""
    address_mask: int
    """Address bits of a pointer; the others may hold a pointer authentication code."""
    outermost_rule: Rule
    """Rule for code that nothing called; ``is_signal_frame`` is True, because the address there is exact."""
    frame_pointer_rule: Rule | None = None
    """Rule for a function whose frame is found by its frame pointer alone; None if unused."""
    callee_saved: frozenset[int] = frozenset()
    """Callee-saved registers; simple steps (`simple_rule_steps`) restore no others."""
    known_code: tuple[KnownCode, ...] = ()
    """Signal trampolines, and code to which a coroutine's function returns."""
    plt_jump_rule: Rule | None = None
    """Rule in PLT entries that push nothing: all of .plt.sec and .plt.got; None if there is no rule for them."""
    lazy_plt_rules: tuple[Rule, ...] = ()
    """Rules in a lazy .plt after 0, 1 and 2 pushes; empty if the entries of .plt push nothing."""

    def registers_to_restore(self, needed: int) -> list[int]:
        """Return the registers to restore, ascending: the bits of ``needed``, and three that every step needs."""
        needed |= 1 << self.stack_pointer | 1 << self.frame_pointer | 1 << self.program_counter
        return [register for register in range(self.register_count) if needed >> register & 1]
