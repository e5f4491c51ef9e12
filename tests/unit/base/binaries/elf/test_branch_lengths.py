"""Lengths of branches, as binutils 2.47 disassembles them."""

from pathlib import Path

import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.elf.x86_code import BranchLengths
from perf2x.base.binaries.elf.x86_instructions import decode
from tests.support.tiny_elf import TinySection, tiny_elf

BRANCHES = """
7508  jne 0xa
eb08  jmp 0xc
e208  loop 0xe
e308  jrcxz 0x10
e9e3030000  jmp 0x3f0
e8e3030000  call 0x3f5
0f8fe2030000  jg 0x3fa
c3  ret
c21000  ret 0x10
ffd0  call rax
41ffd3  call r11
ff20  jmp QWORD PTR [rax]
ff6008  jmp QWORD PTR [rax+0x8]
ffa0e8030000  jmp QWORD PTR [rax+0x3e8]
ff1564000000  call QWORD PTR [rip+0x64]
ff2424  jmp QWORD PTR [rsp]
ff642408  jmp QWORD PTR [rsp+0x8]
41ff9424e8030000  call QWORD PTR [r12+0x3e8]
ff14c5e8030000  call QWORD PTR [rax*8+0x3e8]
ff64c500  jmp QWORD PTR [rbp+rax*8+0x0]
3effe0  notrack jmp rax
f2c3  bnd ret
f3c3  repz ret
0f05  syscall
0f34  sysenter
48cf  iretq
cc  int3
cd80  int 0x80
f2e901000000  bnd jmp 0x63
64ff142510000000  call QWORD PTR fs:0x10
"""


def x86_length(code: bytes, *, is_64: bool) -> int:
    found = decode(code, is_64=is_64)
    return found.size if found else 1


@pytest.mark.parametrize("line", BRANCHES.strip().splitlines())
def test_branches_are_as_long_as_binutils_says(line: str) -> None:
    code = bytes.fromhex(line.split()[0])
    for rest in (b"", b"\x90" * 15, b"\x05\x24\xff" * 5):
        assert x86_length(code + rest, is_64=True) == len(code), line


@pytest.mark.parametrize("text", ["90", "4889e5", "", "66", "f2", "0f", "ff", "48", "6666666666666666666666666666ff"])
def test_what_is_no_branch_or_cut_off_has_some_length(text: str) -> None:
    assert 1 <= x86_length(bytes.fromhex(text), is_64=True) <= 17


def test_32_bit_code_has_no_rex_prefix() -> None:
    assert x86_length(bytes.fromhex("41ffd3"), is_64=True) == 3
    assert x86_length(bytes.fromhex("41ffd3"), is_64=False) == 1  # inc ecx


def test_reads_the_code_at_stated_addresses(tmp_path: Path) -> None:
    code = bytes.fromhex("90e900000000c3")
    path = tmp_path / "prog"
    path.write_bytes(tiny_elf([TinySection(".text", code, 0x401000, flags=6)]))
    lengths = BranchLengths(open_elf(path))
    assert [lengths.at(at) for at in (0x401001, 0x401006, 0x401000, 0x400000, 0x500000)] == [5, 1, 1, 1, 1]
    path.write_bytes(tiny_elf([TinySection(".text", code, 0x401000, flags=6)], machine=183))
    assert BranchLengths(open_elf(path)).at(0x401001) == 4
