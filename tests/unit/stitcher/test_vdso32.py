"""Stacks of programs of 32 bits through their vDSO, on a kernel of 64 bits."""

import struct
from pathlib import Path

import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.find import recorded_vdso
from perf2x.cli.render.summary import symbol_lines
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.load_result import Loaded
from perf2x.stitcher.unwind.unwound_chains import End
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge import Event, Mmap2, Registers, Sample, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.session import Session
from tests.support.tiny_elf import TinySection, tiny_elf

KERNEL, PROGRAM, VDSO_AT, STACK = b"\x33" * 20, 0x8048000, 0xF7FC0000, 0xFFF00000
VSYSCALL = bytes.fromhex("51525589cd0f05cd805d5a59c3")
"""push ecx; push edx; push ebp; mov ebp, ecx; syscall; int 0x80; pop ebp; pop edx; pop ecx; ret"""
IMAGE = tiny_elf([TinySection(".text", VSYSCALL, 0x5E0, flags=6)], is_64=False, machine=3)
IN_KERNEL = open_elf(IMAGE).segments[0].offset + 9
"""The address at which it waits for the kernel."""
CALLER = PROGRAM + 0x500


def recorded(path: Path) -> Loaded:
    """A sample in the system call; the frame pointer leads to a stray word that looks like an address of code."""
    event = Event(
        sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN | k.REGS_USER | k.STACK_USER,
        sample_regs_user=1 << 6 | 1 << 7 | 1 << 8, sample_stack_user=64,
        flags=frozenset({"sample_id_all", "exclude_callchain_user"}),
    )  # fmt: skip
    stamp, text, ip = Stamp(5, 5, 0), 0xFFFFFFFF81000000, VDSO_AT + IN_KERNEL
    stack = struct.pack("<16I", STACK + 24, 2, 3, CALLER, 0, 0, STACK + 40, PROGRAM + 0x10, *[0] * 8)
    records = [
        Mmap2(pid=2**32 - 1, tid=0, addr=text, len=0x1000000, pgoff=text, filename="[kernel.kallsyms]_text", misc=1,
              build_id=KERNEL, stamp=stamp),
        Mmap2(pid=5, tid=5, addr=PROGRAM, len=0x1000, filename="/bin/prog", stamp=stamp),
        Mmap2(pid=5, tid=5, addr=VDSO_AT, len=0x2000, filename="[vdso]", stamp=stamp),
        Sample(pid=5, tid=5, time=100, ip=ip, regs_user=Registers(1, (STACK + 24, STACK, ip)), stack=stack,
               stack_used=64),
    ]  # fmt: skip
    path.write_bytes(write_file(Session(events=(event,)), records))
    return load(str(path), LoadOptions(symbols=SymbolOptions(inline=False), jobs=1))


def test_its_code_tells_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_vdso, "running_vdso32_image", lambda: IMAGE)
    monkeypatch.setattr(recorded_vdso, "running_kernel_build_id", lambda: KERNEL)
    found = recorded(tmp_path / "perf.data")
    assert CALLER in found.profile.locations.address.tolist() and found.unwound.guessed == 2


def test_without_it_the_stack_ends_there_and_it_is_named(tmp_path: Path) -> None:
    found = recorded(tmp_path / "perf.data")
    assert found.unwound.ends == {End.NO_UNWIND_INFO: 1} and found.unwound.frames == 1
    assert "the 32-bit vDSO 1" in "".join(symbol_lines(found, 3))
    names = [found.profile.strings[row] for row in found.profile.mappings.filename.tolist()]
    assert "[vdso32]" in names and "[vdso]" not in names
