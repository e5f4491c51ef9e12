"""Instructions of four machines: texts, jumps, data, bytes that are no code."""

import sys

import pytest

from perf2x.base.binaries import disassembler
from perf2x.base.binaries.disassembler import disassemble
from perf2x.errors import ObjectError, OptionError

capstone = pytest.importorskip("capstone")


def one(machine: str, code: str, syntax: str = "att") -> tuple[str, int | None, int | None]:
    found = list(disassemble(machine, bytes.fromhex(code), 0x1000, syntax))
    assert [found[0].address, sum(each.size for each in found)] == [0x1000, len(bytes.fromhex(code))]
    assert len(found) == 1
    return found[0].text, found[0].target, found[0].data_address


@pytest.mark.parametrize(
    ("code", "text", "target", "refers"),
    [
        ("e802000000", "callq 0x1007", 0x1007, None),
        ("f2e802000000", "bnd callq 0x1008", 0x1008, None),
        ("ebfe", "jmp 0x1000", 0x1000, None),
        ("0f8400010000", "je 0x1106", 0x1106, None),
        ("ffe0", "jmpq *%rax", None, None),
        ("ff2510000000", "jmpq *0x10(%rip)", None, 0x1016),
        ("488d05f0ffffff", "leaq -0x10(%rip), %rax", None, 0xFF7),
        ("488b0505000000", "movq 5(%rip), %rax", None, 0x100C),
        ("488b0500000000", "movq (%rip), %rax", None, 0x1007),
        ("b800100000", "movl $0x1000, %eax", None, None),
        ("06", ".byte 0x06", None, None),
    ],
)
def test_x86(code: str, text: str, target: int | None, refers: int | None) -> None:
    assert one("EM_X86_64", code) == (text, target, refers)


@pytest.mark.parametrize(
    ("code", "text", "refers"),
    [
        ("488d05f0ffffff", "lea rax, [rip - 0x10]", 0xFF7),
        ("488b0505000000", "mov rax, qword ptr [rip + 5]", 0x100C),
        ("488b0500000000", "mov rax, qword ptr [rip]", 0x1007),
    ],
)
def test_x86_as_intel_writes_it(code: str, text: str, refers: int) -> None:
    assert one("EM_X86_64", code, "intel") == (text, None, refers)


def test_x86_of_32_bits() -> None:
    assert one("EM_386", "06") == ("pushl %es", None, None)
    assert one("EM_386", "e802000000") == ("calll 0x1007", 0x1007, None)


@pytest.mark.parametrize(
    ("code", "text", "target"),
    [
        ("00000014", "b #0x1000", 0x1000),
        ("01000054", "b.ne #0x1000", 0x1000),
        ("80000034", "cbz w0, #0x1010", 0x1010),
        ("20000836", "tbz w0, #1, #0x1004", 0x1004),
        ("04000094", "bl #0x1010", 0x1010),
        ("20000010", "adr x0, #0x1004", None),
        ("00021fd6", "br x16", None),
        ("ffffffff", ".byte 0xff, 0xff, 0xff, 0xff", None),
    ],
)
def test_aarch64(code: str, text: str, target: int | None) -> None:
    assert one("EM_AARCH64", code) == (text, target, None)


@pytest.mark.parametrize(
    ("code", "text", "target"),
    [
        ("01a0", "c.j 0", 0x1000),
        ("09c1", "c.beqz a0, 2", 0x1002),
        ("6f008000", "j 8", 0x1008),
        ("63045100", "beq sp, t0, 8", 0x1008),
        ("1141", "c.li sp, 4", None),
    ],
)
def test_riscv(code: str, text: str, target: int | None) -> None:
    assert one("EM_RISCV", code) == (text, target, None)


def test_what_follows_bytes_that_are_no_code() -> None:
    found = list(disassemble("EM_X86_64", bytes.fromhex("0690"), 0x10, "att"))
    assert [(each.address, each.text) for each in found] == [(0x10, ".byte 0x06"), (0x11, "nop")]


def test_other_machines() -> None:
    with pytest.raises(
        ObjectError, match="code of S390 cannot be disassembled; supported: X86_64, 386, AARCH64, RISCV"
    ):
        list(disassemble("EM_S390", b"\0\0", 0, "att"))


def test_without_capstone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "capstone", None)
    monkeypatch.setattr(disassembler, "_decoder", disassembler._decoder.__wrapped__)
    with pytest.raises(OptionError, match=r"pip install 'perf2x\[assembly\]'"):
        list(disassemble("EM_X86_64", b"\x90", 0, "att"))
