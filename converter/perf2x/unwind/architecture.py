"""What the unwinder has to know of a processor; x86_64, i386 and aarch64 fill it in."""

from collections.abc import Mapping

from msgspec import Struct

from perf2x.unwind.cfi_rules import Rule


class Architecture(Struct, frozen=True):
    """Registers by DWARF number, and the code that C libraries and linkers leave without unwind information."""

    name: str
    machine: str
    """ELF's name for it (``EM_X86_64``)."""
    word: int
    """Bytes of an address."""
    register_count: int
    """Registers 0 up to it are tracked, the program counter's column among them."""
    from_perf: Mapping[int, int]
    """Bit of ``sample_regs_user`` to register."""
    stack_pointer: int
    frame_pointer: int
    program_counter: int
    """Where the sampled instruction pointer goes; on x86 the return address column of every rule."""
    address_mask: int
    """Bits that are the address: cuts a signature from return addresses (pointer authentication)."""
    trampolines: tuple[tuple[bytes, Rule], ...] = ()
    """Code that returns from a signal handler, and the rule at its first byte."""
    linkage_rule: Rule | None = None
    """At the jump of a .plt.sec or .plt.got entry; None where linkers leave nothing on the stack."""
    lazy_linkage: tuple[Rule, ...] = ()
    """Rules within a 16-byte lazy .plt entry: before its push, after it."""

    def kept(self, needed: int) -> list[int]:
        """The registers to restore: those that rules ask for (bits), and the three that every step may use."""
        needed |= 1 << self.stack_pointer | 1 << self.frame_pointer | 1 << self.program_counter
        return [register for register in range(self.register_count) if needed >> register & 1]
