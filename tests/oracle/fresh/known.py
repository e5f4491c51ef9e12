"""The differences from perf that docs/differences.md has: each a rule about one frame, one name or one stack.

Rules that depend on what the kernel recorded ask the slow decoder of ``tests/reference``, not the product.
"""

import re
import struct
from collections.abc import Collection, Sequence
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from tests.forge import kernel as k
from tests.reference.decode import Recording, read
from tests.support.against_perf import MAX_LINES

FRAME = re.compile(
    r"(?P<address>[0-9a-f]+) (?P<symbol>.*?)(?P<offset>\+0x[0-9a-f]+)? \((?P<dso>[^()]*(?:\([^()]*\))?)\)$"
)
KERNEL = 1 << 63
PAGE = 0xFFF
USER_IP = 1 << 8
"""PERF_REG_X86_IP (arch/x86/include/uapi/asm/perf_regs.h) among the registers of a sample."""
MARKERS = {k.CONTEXT_HV, k.CONTEXT_KERNEL, k.CONTEXT_USER, k.CONTEXT_USER_DEFERRED}
FIRST_MARKER = 2**64 - 4095
"""PERF_CONTEXT_MAX (include/uapi/linux/perf_event.h): words from here on are no addresses."""
LLVM = re.compile(r"\.llvm\.\d+(?=\.)")
NO_SECTION = "a symbol of a section that is not there"
SHN_ABS = 0xFFF1
ONES = "ffffffffffffffff [unknown] ([unknown])"


class Recorded:
    """A recording as the reference reads it, once a rule asks."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _samples(self) -> dict[tuple[int, int | None], SimpleNamespace]:
        return {(sample.tid, sample.time): sample for sample in self._recording.of("SAMPLE")}

    @cached_property
    def _recording(self) -> Recording:
        return read(self._path)

    @cached_property
    def is_unfinished(self) -> bool:
        """Whether its writer was killed, so that nothing says which machine and kernel it is of."""
        return self._path.is_file() and struct.unpack("<Q", self._path.read_bytes()[48:56]) == (0,)

    @cached_property
    def kernel_is_mapped_late(self) -> bool:
        """Whether samples come before the record that says where the kernel lies, or there is no such record."""
        samples = (sample.at for sample in self._recording.of("SAMPLE"))
        kernels = (one.at for one in self._recording.of("MMAP", "MMAP2") if one.addr >= KERNEL)
        return min(samples, default=0) < min(kernels, default=1 << 63)

    @cached_property
    def _ends(self) -> dict[int, int]:
        return {one.pid: one.time for one in self._recording.of("EXIT")}

    def why_unmapped(self, pid: int, tid: int, time: int | None) -> str | None:
        """Return the rule for a process of which perf knows no mapping at that time, in the order that it takes."""
        if time is None:
            return None
        if self._ends.get(pid, time) < time:
            return "perf forgets what a process had mapped at its end"
        found = self._samples.get((tid, time))
        forks = [one for one in self._recording.of("FORK") if one.pid == pid and one.time < time]
        is_late = found is not None and bool(forks) and all(one.at > found.at for one in forks)
        return "perf takes the records of small flushes out of order" if is_late else None

    def sample(self, tid: int, time: int | None) -> SimpleNamespace:
        """Return the record of a printed sample."""
        return self._samples[tid, time]

    def is_at_return(self, sample: SimpleNamespace) -> bool:
        """Whether a sample's instruction of user mode is the ``ret`` of x86, in the file that was mapped last."""
        place = _user_instruction(sample)
        for one in reversed(list(self._recording.of("MMAP2"))):
            if one.pid == sample.pid and 0 <= place - one.addr < one.len:
                try:
                    with Path(one.filename).open("rb") as file:
                        file.seek(place - one.addr + one.pgoff)
                        return file.read(1) == b"\xc3"
                except OSError:
                    return False
        return False


def _user_instruction(sample: SimpleNamespace) -> int:
    """Return the instruction of user mode, also where the kernel had interrupted it."""
    _, values = sample.regs_user or (0, ())
    below = sample.event.regs_user & (USER_IP - 1)
    return values[below.bit_count()] if values and sample.event.regs_user & USER_IP else sample.ip


def frame_rule(perf: str, ours: str, caller: bool, recorded: Recorded, unmapped: str | None) -> str | None:
    """Return the rule for two lines of one frame that differ; ``unmapped`` is that of a process without mappings."""
    left, right = FRAME.search(perf), FRAME.search(ours)
    if left is None or right is None:
        return None
    address, other = int(left["address"], 16), int(right["address"], 16)
    if right["symbol"] == "[unknown]" and right["dso"] in {"[kernel.kallsyms]", "[vdso]"} and recorded.is_unfinished:
        return "kernels of unfinished recordings"
    if rule := _rule_of_a_file(left, right, other - address):
        return rule
    if address != other or (left["symbol"] == "[unknown]" and right["symbol"].endswith("plt")):
        return _old_rule(left, right, other - address, caller)
    if caller and left["offset"] == "+0x0" and left["dso"] == right["dso"]:
        return "a call at the end of a function"
    if left["symbol"].startswith("offset_0x") and right["symbol"].endswith("@plt"):
        return "7.2 does not name a PLT's entry"
    if address >= KERNEL and left["dso"] == "[unknown]":
        if left["symbol"] == right["symbol"]:
            return "kernel addresses after the last symbol"
        return "the kernel's mapping comes after the samples" if recorded.kernel_is_mapped_late else None
    return unmapped if left["dso"] == "[unknown]" else None


def _rule_of_a_file(left: re.Match[str], right: re.Match[str], moved: int) -> str | None:
    """Return the rule for names that differ by what is in a file; 6.1 prints the address as an offset in it."""
    if left["dso"] != right["dso"] or left["symbol"] == right["symbol"] or moved < 0 or moved & PAGE:
        return None
    is_unnamed, is_one_place = left["symbol"] == "[unknown]", left["offset"] == right["offset"]
    if is_unnamed and is_stripped_go(right["dso"]):
        return "Go's own table of functions"
    if is_one_place and LLVM.sub("", left["symbol"]) == right["symbol"]:
        return "hashes of LLVM before another suffix"
    return NO_SECTION if (is_unnamed or is_one_place) and has_symbol_of_no_section(right["dso"]) else None


@cache
def is_stripped_go(path: str) -> bool:
    """Whether the file at a path has a table of Go's functions and no symbols."""
    try:
        with Path(path).open("rb") as file:
            names = {section.name for section in ELFFile(file).iter_sections()}
    except (OSError, ELFError):
        return False
    return ".symtab" not in names and not names.isdisjoint({".gopclntab", ".data.rel.ro.gopclntab"})


@cache
def has_symbol_of_no_section(path: str) -> bool:
    """Whether perf gives up in a file's symbols: dso__load_sym_internal (tools/perf/util/symbol-elf.c).

    Its first frame then has no name, later ones those of symbols before that one, and no entry of a PLT has one.
    """
    try:
        with Path(path).open("rb") as file:
            elf = ELFFile(file)
            tables = [table for table in map(elf.get_section_by_name, (".dynsym", ".symtab")) if table is not None]
            return any(_names_no_section(table.data(), table["sh_entsize"], elf.num_sections()) for table in tables)
    except (OSError, ELFError):
        return False


def _names_no_section(data: bytes, size: int, sections: int) -> bool:
    """Whether a function or an object (types 1, 2 and 10) of a table's rows lies in a section that the file lacks."""
    if size not in {16, 24}:
        return False
    rows = np.frombuffer(data, np.uint8).reshape(-1, size)
    kind, section = (4, 6) if size == 24 else (12, 14)
    places = rows[:, section : section + 2].copy().view("<u2")[:, 0]
    return bool(np.any(np.isin(rows[:, kind] & 15, (1, 2, 10)) & (places >= sections) & (places != SHN_ABS)))


def _old_rule(left: re.Match[str], right: re.Match[str], moved: int, caller: bool) -> str | None:
    """Return the rule for a line of perf 6.1, which prints user addresses as offsets in files."""
    if moved < 0 or int(right["address"], 16) >= KERNEL or left["dso"] != right["dso"]:
        return None
    if right["symbol"] == "__restore_rt" and moved & PAGE == 1:
        return "signal handlers"
    if moved & PAGE:
        return None
    if left["offset"] == right["offset"] and left["symbol"] == right["symbol"]:
        return "6.1 prints offsets in files"
    if right["symbol"].endswith("plt") and left["symbol"].rpartition("@")[2] in {"plt", "_init", "[unknown]"}:
        return "6.1 names PLTs otherwise"
    if left["offset"] == right["offset"] and left["symbol"] + "(" in right["symbol"]:
        return "6.1 leaves types out of names"
    if left["offset"] == right["offset"] and left["symbol"] == right["symbol"].partition(" [clone ")[0]:
        return "6.1 leaves clones out of names"
    return "a call at the end of a function" if caller and left["offset"] == "+0x0" else None


def name_rule(perf: str, ours: str, tid: int, names: Collection[str]) -> str | None:
    """Return the rule for two names of a thread that differ; ``names`` are all that it ever had."""
    if perf == f":{tid}":
        return "threads that ended"
    return "threads that were renamed" if perf in names and ours in names else None


def stack_rule(perf: Sequence[str], ours: Sequence[str], sample: SimpleNamespace, recorded: Recorded) -> str | None:
    """Return the rule for two stacks of different length."""
    if MAX_LINES in (len(perf), sum("[kernel.kallsyms]" not in frame for frame in perf)) and len(perf) < len(ours):
        return "perf prints 127 frames"
    if not perf and any(word >= FIRST_MARKER and word not in MARKERS for word in sample.chain):
        return "perf drops stacks with a word that is no address"
    if not perf and not sample.chain and len(ours) == 1:
        return "samples in user mode of kernel stacks"
    if sample.stack is None:
        return None
    if 1 < sum(frame != ONES for frame in perf) < len(ours) and recorded.is_at_return(sample):
        return "the frame pointer at a function's last instruction"
    if perf and perf[-1] == ONES:
        return "6.1 ends unwound stacks with a word of ones" if len(perf) - len(ours) in {0, 1} else None
    if not sample.stack and len(ours) == len(perf) + 1:
        return "copied stacks of no bytes"
    if len(perf) == len(ours) + 1 and "__restore_rt+" in ours[-1] and perf[-1].endswith("[unknown] ([unknown])"):
        return "signal handlers"
    return None
