"""Code that the kernel lends to user programs: [vdso], an ELF file without a path, and the fixed page [vsyscall].

Source of truth: tools/perf/util/vdso.c (perf copies its own vDSO in the same way);
arch/x86/entry/vsyscall/vsyscall_emu_64.S for the page's layout.
"""

import re
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np

from perf2x.model.arrays import U64
from perf2x.model.errors import ObjectError
from perf2x.objects.elf import open_elf
from perf2x.objects.find import Found
from perf2x.symbolize.kernel import running_kernel_build_id
from perf2x.symbolize.source import Context, Dso, DsoKind, Symbols, one_line_each

LARGEST = 1 << 20
VSYSCALLS = ("vgettimeofday", "vtime", "vgetcpu")
"""Entries 1024 bytes apart."""


def own_vdso(context: Context, name: str, build_id: bytes) -> Found:
    """This process's own vDSO, when it is the recorded one: the same build id, or the same kernel."""
    if name != "[vdso]" or context.options.symfs is not None or sys.platform != "linux":
        return Found()
    try:
        file = open_elf(_mapped_bytes("[vdso]"), "[vdso] of this machine")
    except (OSError, ObjectError, ValueError):
        return Found()
    same_kernel = bool(context.kernel_build_id) and running_kernel_build_id() == context.kernel_build_id
    if file.build_id == build_id if build_id else same_kernel:
        return Found([file])
    return Found(refused=["the vDSO of another kernel"])


def _mapped_bytes(name: str) -> bytes:
    """The bytes of one of this process's own mappings; ValueError without such a mapping."""
    for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
        if match and line.endswith(f" {name}"):
            start, end = (int(text, 16) for text in match.groups())
            with Path("/proc/self/mem").open("rb", buffering=0) as memory:
                memory.seek(start)
                return memory.read(min(end - start, LARGEST)) or b""
    raise ValueError(name)


class VsyscallSource:
    """The three functions of the vsyscall page."""

    order: ClassVar[int] = 45

    def __init__(self, context: Context) -> None:
        self._context = context

    def covers(self, dso: Dso) -> bool:
        """[vsyscall] alone."""
        return dso.kind is DsoKind.VDSO and dso.name == "[vsyscall]"

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """By offset into the page."""
        row = (np.minimum(address, np.uint64(4095)) // np.uint64(1024)).astype(np.int64)
        return one_line_each(VSYSCALLS, np.where((row < len(VSYSCALLS)) & (address < 4096), row, -1))
