"""AMD64 and i386: registers, signal frames, the procedure linkage table.

Sources: System V ABI, AMD64 supplement; the kernel's arch/x86/include/uapi/asm/sigcontext.h and kernel/signal_64.c.
"""

import re

from perf2x.base.abi.register_numbers import I386_DWARF, X86_64_DWARF
from perf2x.base.binaries.cfi.unwind_rules import RegisterRule, Rule, RuleKind
from perf2x.stitcher.unwind.architecture import Architecture, KnownCode

_RAX, _RDX, _RCX, _RBX, _RSI, _RDI, _RBP, _RSP, _R8, _RA = 0, 1, 2, 3, 4, 5, 6, 7, 8, 16

# Offset of uc_mcontext in struct ucontext, after flags, link and the 24 bytes of the alternate stack.
_MCONTEXT = 40
# struct sigcontext_64: the registers in the order in which they are saved.
_SIGCONTEXT = (8, 9, 10, 11, 12, 13, 14, 15, _RDI, _RSI, _RBP, _RBX, _RDX, _RAX, _RCX, _RSP, _RA)

# When a trampoline runs, the handler's ``ret`` has popped its address, so rsp points to the struct ucontext.
_SIGNAL_RETURN = Rule(
    _RSP, 0, _RA, True,
    tuple((register, RegisterRule(RuleKind.OFFSET, _MCONTEXT + 8 * slot)) for slot, register in enumerate(_SIGCONTEXT)),
)  # fmt: skip

_OUTERMOST = Rule(_RSP, 0, _RA, True, ((_RA, RegisterRule(RuleKind.UNDEFINED, 0)),))
"""Rule of code that nothing called: makecontext and the like put its address on a new stack, as a return address."""

# rbp points to the saved rbp, above which is the return address
_FRAME_POINTER_RULE = Rule(
    _RBP, 16, _RA, False, ((_RA, RegisterRule(RuleKind.OFFSET, -8)), (_RBP, RegisterRule(RuleKind.OFFSET, -16)))
)  # fmt: skip


def _rule_after_call(pushed: int) -> Rule:
    return Rule(_RSP, 8 + 8 * pushed, _RA, False, ((_RA, RegisterRule(RuleKind.OFFSET, -8)),))


X86_64 = Architecture(
    name="x86_64",
    elf_machine="EM_X86_64",
    word_size=8,
    register_count=17,
    register_of_perf_bit=X86_64_DWARF,
    stack_pointer=_RSP,
    frame_pointer=_RBP,
    program_counter=_RA,
    address_mask=2**64 - 1,
    outermost_rule=_OUTERMOST,
    frame_pointer_rule=_FRAME_POINTER_RULE,
    callee_saved=frozenset({_RBX, _RBP, 12, 13, 14, 15}),
    known_code=(
        # mov $15, %rax; syscall
        KnownCode(9, re.compile(rb"\x48\xc7\xc0\x0f\0\0\0\x0f\x05"), _SIGNAL_RETURN),
        # glibc's __start_context: mov %rbx, %rsp; pop %rdi or mov (%rsp), %rdi; test %rdi, %rdi; je
        KnownCode(11, re.compile(rb"\x48\x89\xdc(?:\x5f|\x48\x8b\x3c\x24)\x48\x85\xff\x74"), _OUTERMOST),
        # Boost.Context, the end of make_fcontext: xor %rdi, %rdi; call _exit; hlt
        KnownCode(9, re.compile(rb"\x48\x31\xff\xe8.{4}\xf4", re.DOTALL), _OUTERMOST),
    ),
    plt_jump_rule=_rule_after_call(0),
    lazy_plt_rules=(_rule_after_call(0), _rule_after_call(1), _rule_after_call(2)),
)

I386 = Architecture(
    name="i386",
    elf_machine="EM_386",
    word_size=4,
    register_count=9,
    register_of_perf_bit=I386_DWARF,
    stack_pointer=4,
    frame_pointer=5,
    program_counter=8,
    address_mask=2**32 - 1,
    outermost_rule=Rule(4, 0, 8, True, ((8, RegisterRule(RuleKind.UNDEFINED, 0)),)),
)
