"""AArch64: registers, signal frames, signed return addresses.

Sources: "DWARF for the Arm 64-bit Architecture"; the kernel's arch/arm64/kernel/signal.c and uapi/asm/sigcontext.h.
"""

import re

from perf2x.base.abi.register_numbers import AARCH64_DWARF
from perf2x.base.binaries.cfi.unwind_rules import RegisterRule, Rule, RuleKind
from perf2x.stitcher.unwind.architecture import Architecture, KnownCode

FRAME_POINTER, LINK_REGISTER, STACK_POINTER, PROGRAM_COUNTER = 29, 30, 31, 32

# offset of the ucontext in struct rt_sigframe, after the siginfo_t
_UCONTEXT = 128
# offset of uc_mcontext, after flags, link, the alternate stack and 128 bytes of signal mask, aligned to 16 bytes
_MCONTEXT = _UCONTEXT + 176
# offset of x0 in struct sigcontext, after fault_address; x1 to x30, sp and pc follow
_REGISTERS = _MCONTEXT + 8

_SIGNAL_RETURN = Rule(
    STACK_POINTER, 0, PROGRAM_COUNTER, True,
    tuple((register, RegisterRule(RuleKind.OFFSET, _REGISTERS + 8 * register)) for register in range(33)),
)  # fmt: skip
"""At a signal trampoline: sp points to the struct rt_sigframe, which holds all registers.

So the link register of an interrupted leaf function is known, too.
"""

# rule for code that nothing called: makecontext puts its address into the link register of a coroutine's function
_OUTERMOST = Rule(STACK_POINTER, 0, PROGRAM_COUNTER, True, ((PROGRAM_COUNTER, RegisterRule(RuleKind.UNDEFINED, 0)),))

AARCH64 = Architecture(
    name="aarch64",
    elf_machine="EM_AARCH64",
    word_size=8,
    register_count=33,
    register_of_perf_bit=AARCH64_DWARF,
    stack_pointer=STACK_POINTER,
    frame_pointer=FRAME_POINTER,
    program_counter=PROGRAM_COUNTER,
    address_mask=2**48 - 1,  # signatures are above the 48 bits of user addresses
    outermost_rule=_OUTERMOST,
    known_code=(
        # mov x8, #139; svc #0
        KnownCode(8, re.compile(rb"\x68\x11\x80\xd2\x01\0\0\xd4"), _SIGNAL_RETURN),
        # glibc's __startcontext: mov x0, x19; cbnz x0, __setcontext
        KnownCode(8, re.compile(rb"\xe0\x03\x13\xaa[\0\x20\x40\x60\x80\xa0\xc0\xe0]..\xb5", re.DOTALL), _OUTERMOST),
    ),
)
