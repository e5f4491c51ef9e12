"""Kernel code for user programs: [vdso], an ELF file without a path, and the fixed page [vsyscall].

Source of truth: tools/perf/util/vdso.c (perf copies its own vDSO in the same way);
arch/x86/entry/vsyscall/vsyscall_emu_64.S for the page's layout.
"""

import sys
from typing import ClassVar

import numpy as np

from perf2x.binary.elf.file import open_elf
from perf2x.binary.elf.running_vdso import running_vdso_image
from perf2x.columnar.arrays import U64
from perf2x.debugfiles.object_files import ObjectFiles
from perf2x.symbolize.sources.contract import Context, Dso, DsoKind, Symbols, symbols_from_names
from perf2x.symbolize.sources.kernel import running_kernel_build_id
from perf2x.tables.errors import ObjectError

VSYSCALLS = ("vgettimeofday", "vtime", "vgetcpu")
"""Functions of the page, 1024 bytes apart."""


def find_running_vdso(context: Context, name: str, build_id: bytes) -> ObjectFiles:
    """The running kernel's vDSO if it is the recorded one, by build id or, if none was recorded, by the kernel's."""
    if name != "[vdso]" or context.options.symfs is not None or sys.platform != "linux":
        return ObjectFiles()
    try:
        file = open_elf(running_vdso_image(), "[vdso] of this machine")
    except ObjectError:
        return ObjectFiles()
    same_kernel = bool(context.kernel_build_id) and running_kernel_build_id() == context.kernel_build_id
    if file.build_id == build_id if build_id else same_kernel:
        return ObjectFiles([file])
    return ObjectFiles(refused=["the vDSO of another kernel"])


class VsyscallSource:
    """The three functions of the vsyscall page."""

    order: ClassVar[int] = 45

    def __init__(self, context: Context) -> None:
        self._context = context

    def covers(self, dso: Dso) -> bool:
        """True for [vsyscall]."""
        return dso.kind is DsoKind.VDSO and dso.name == "[vsyscall]"

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Functions by offset into the page."""
        row = (np.minimum(address, np.uint64(4095)) // np.uint64(1024)).astype(np.int64)
        return symbols_from_names(VSYSCALLS, np.where((row < len(VSYSCALLS)) & (address < 4096), row, -1))
