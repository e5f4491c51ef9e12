"""Rules that code tells by itself, against a scalar machine that runs the code."""

from random import Random

import pytest

from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, RegisterRule, RuleKind, RuleTable
from perf2x.base.binaries.cfi.x86_paths import leads_to_system_call
from perf2x.base.binaries.cfi.x86_rules_from_code import rule_by_code
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.elf.x86_code import X86Code
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

TEXT = 0x401000


def rules_at(code: str, offsets: list[int], is_exact: bool = True, is_64: bool = True) -> list:
    """Rules of a function without symbols, by offset."""
    image = tiny_elf(
        [TinySection(".text", bytes.fromhex(code), TEXT, flags=6)], is_64=is_64, machine=62 if is_64 else 3
    )
    table = RuleTable(17 if is_64 else 9)
    x86 = X86Code(open_elf(image), None)
    return [rule_by_code(x86, TEXT + at, table, is_exact=is_exact) for at in offsets]


def cfas(code: str, offsets: list[int], **how) -> list[tuple[int, int] | None]:
    return [None if rule is None else (rule.cfa_register, rule.cfa_value) for rule in rules_at(code, offsets, **how)]


def test_pushes_and_pops() -> None:
    # push rbp; push rbx; sub rsp, 24; nop; add rsp, 24; pop rbx; pop rbp; ret
    code = "55534883ec18904883c4185b5dc3"
    assert cfas(code, [0, 1, 2, 6, 7, 11, 12, 13]) == [
        (7, 8),
        (7, 16),
        (7, 24),
        (7, 48),
        (7, 48),
        (7, 24),
        (7, 16),
        (7, 8),
    ]
    saved = dict(rules_at(code, [6])[0].registers)
    assert saved == {
        16: RegisterRule(RuleKind.OFFSET, -8), 6: RegisterRule(RuleKind.OFFSET, -16),
        3: RegisterRule(RuleKind.OFFSET, -24),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_any_balanced_function(seed: int) -> None:
    """The depth at each instruction is what a scalar count of its pushes says."""
    random = Random(seed)
    pushes = [random.choice(["53", "55", "4154", "4155", "4156", "4157"]) for _ in range(random.randrange(6))]
    pops = {"53": "5b", "55": "5d", "4154": "415c", "4155": "415d", "4156": "415e", "4157": "415f"}
    room = random.randrange(0, 100) * 8
    steps = [(push, 8) for push in pushes] + [(f"4881ec{room.to_bytes(4, 'little').hex()}", room)]
    steps += [(random.choice(["0f1006", "c5f877", "e800100000", "85c0", "7500", "31ed", "660f6fe5", "0f94c4"]), 0)]
    steps += [(f"4881c4{room.to_bytes(4, 'little').hex()}", -room)] + [(pops[push], -8) for push in reversed(pushes)]
    at, depth, expected = 0, 8, []
    for text, change in [*steps, ("c3", 0)]:
        expected.append((at, (7, depth)))
        at, depth = at + len(text) // 2, depth + change
    code = "".join(text for text, _ in steps) + "c3"
    assert cfas(code, [at for at, _ in expected]) == [rule for _, rule in expected]


def test_frame_pointers_realigned_stacks_and_arguments() -> None:
    # push rbp; mov rbp, rsp; and rsp, −32; nop; leave; ret
    assert cfas("554889e54883e4e090c9c3", [0, 1, 4, 8, 10]) == [(7, 8), (7, 16), (6, 16), (6, 16), (7, 8)]
    # mov rax, rsp; and rsp, −64; mov [rsp+8], rax; nop; mov rsp, [rsp+8]; ret
    rules = rules_at("4889e04883e4c048894424089090488b642408c3", [0, 12])
    assert (rules[0].cfa_register, rules[0].cfa_value, rules[1].cfa_register) == (7, 8, CFA_BY_EXPRESSION)
    assert cfas("55905dc20800", [1], is_64=False) == [(4, 16)]  # ret takes 8 bytes of arguments away


def test_ways_that_disagree_give_no_rule() -> None:
    # nop; je 2f; add rsp, 8; ret; 2: ret
    assert cfas("9074054883c408c3c3", [0]) == [None]
    # a jump through a table, and bytes that are no code
    assert cfas("90ffe0", [0]) == [None] and cfas("9006", [0]) == [None]
    assert cfas("90ff2500000000", [0]) == [
        (7, 8)
    ]  # but a jump through a slot of the linkage table is a call at the end


def test_loops_end() -> None:
    assert cfas("90ebfd", [0]) == [None]
    assert cfas("53ffc875fc5bc3", [1]) == [(7, 16)]


def test_where_calls_do_not_return_the_start_of_the_function_tells() -> None:
    """sub rsp, 8; call exit; then another function, which pops more."""
    code = bytes.fromhex("4883ec08" + "e800100000" + "535b4883c410c3")
    sections = [TinySection(".text", code, TEXT, flags=6), *symbol_sections([TinySymbol("f", TEXT, 9)], 2)]
    known, table = X86Code(open_elf(tiny_elf(sections)), None), RuleTable(17)
    rule = rule_by_code(known, TEXT + 9, table, is_exact=False)
    assert rule is not None and (rule.cfa_register, rule.cfa_value) == (7, 16)
    unknown = X86Code(open_elf(tiny_elf(sections[:1])), None)
    rule = rule_by_code(unknown, TEXT + 9, table, is_exact=False)
    assert rule is not None and rule.cfa_value == 24  # so a call has to end where a rule leads


def test_arguments_that_functions_take_off_the_stack_themselves() -> None:
    """V8's builtins pop the return address and push it elsewhere, and callees pop their arguments."""
    # push rbp; mov rbp, rsp; push rax; call; leave; pop rcx; lea rsp, [r15+8]; push rcx; ret
    code = "554889e550" + "e800000000" + "c959498d670851c3"
    assert cfas(code, [10, 11, 12, 16], is_exact=False) == [None] * 4
    sections = [
        TinySection(".text", bytes.fromhex(code), TEXT, flags=6),
        *symbol_sections([TinySymbol("f", TEXT, 18)], 2),
    ]
    x86, table = X86Code(open_elf(tiny_elf(sections)), None), RuleTable(17)
    rule = rule_by_code(x86, TEXT + 10, table, is_exact=False)
    assert rule is not None and (rule.cfa_register, rule.cfa_value) == (6, 16)


@pytest.mark.parametrize(
    ("code", "cfa"),
    [
        ("59505051e800100000", None),  # pop rcx; push rax; push rax; push rcx; call
        ("5951e800100000", (7, 8)),  # pop rcx; push rcx; call
        ("48890c24e800100000", None),  # mov [rsp], rcx; call
    ],
)
def test_a_function_that_overwrote_its_return_address_has_no_rule(code, cfa) -> None:
    text = bytes.fromhex(code)
    sections = [TinySection(".text", text, TEXT, flags=6), *symbol_sections([TinySymbol("f", TEXT, len(text))], 2)]
    x86, table = X86Code(open_elf(tiny_elf(sections)), None), RuleTable(17)
    rule = rule_by_code(x86, TEXT + len(text), table, is_exact=False)
    assert (None if rule is None else (rule.cfa_register, rule.cfa_value)) == cfa


@pytest.mark.parametrize(
    ("between", "is_lost"),
    [
        ("0fa2", True),  # cpuid writes ebx
        ("f3ab", True),  # rep stosd advances edi
        ("a5", True),  # movsd advances esi and edi
        ("f7f1", False),  # div ecx writes eax and edx only
        ("85db", False),  # test ebx, ebx writes nothing
    ],
)
def test_registers_that_instructions_write_without_naming_them_have_lost_their_values(between, is_lost) -> None:
    """No path returns after the instruction and a call of exit, so the rule comes from the path from the start."""
    text = bytes.fromhex(between + "e800100000")
    symbols = symbol_sections([TinySymbol("f", TEXT, len(text))], 2, is_64=False)
    image = tiny_elf([TinySection(".text", text, TEXT, flags=6), *symbols], is_64=False, machine=3)
    x86, table = X86Code(open_elf(image), None), RuleTable(9)
    rule = rule_by_code(x86, TEXT + len(text), table, is_exact=False)
    assert rule is not None and (RegisterRule(RuleKind.UNDEFINED, 0) in dict(rule.registers).values()) == is_lost


def test_frames_relative_to_a_register_that_div_overwrites() -> None:
    # mov eax, esp; div ecx; mov esp, eax; ret: eax is no longer the stack pointer
    assert cfas("89e0f7f189c4c3", [0], is_64=False) == [None]
    assert cfas("89e0f7d989c4c3", [0], is_64=False) == [(4, 4)]  # neg ecx leaves eax alone


def test_code_behind_a_threads_function_exits() -> None:
    # mov edi, eax; xor eax, eax; mov al, 60; syscall; hlt
    for text, found in (("89c731c0b03c0f05f4", True), ("89c731c0b03cc3", False), ("06", False)):
        image = tiny_elf([TinySection(".text", bytes.fromhex(text), TEXT, flags=6)])
        assert leads_to_system_call(X86Code(open_elf(image), None), TEXT) is found
