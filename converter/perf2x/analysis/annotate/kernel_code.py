"""Code of the recorded kernel: from a copy of its memory (kcore), else from its ELF file (vmlinux).

The copy comes first because a kernel changes its own code while it boots (alternatives, static keys).
Source of truth: tools/perf/util/symbol.c dso__load_kernel_sym.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from perf2x.base.columnar.arrays import U64
from perf2x.base.errors import ObjectError
from perf2x.base.files.rooted_paths import is_file
from perf2x.base.files.sysroot import KCORE, host_path
from perf2x.binaries.elf.code_bytes import code_at
from perf2x.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.binaries.find.object_files import ObjectFiles
from perf2x.binaries.find.running_kernel import running_kernel_build_id
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from perf2x.symbolizer.sources.kernel_source import KernelSource
from perf2x.symbolizer.sources.module_source import VmlinuxSource, kernel_slide
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind

MISSING = "no copy of the recorded kernel's code: record with perf record --kcore, or name its ELF file with --vmlinux"


class KernelCode:
    """Code of the kernel, and of modules and programs that a copy of its memory holds; addresses as recorded."""

    def __init__(self, context: Context, dso: Dso) -> None:
        self._context, self._kallsyms, self._vmlinux = context, KernelSource(context), VmlinuxSource(context)
        self._has_vmlinux = self._vmlinux.covers(dso)
        self._is_module = dso.kind is not DsoKind.KERNEL

    def extents(self, address: U64) -> tuple[U64, U64]:
        """(n,) first byte, and one past the last, of the function at each address; both 0 where unknown."""
        if self._linked is None or self._is_module:
            return self._kallsyms.extents(address)
        file, moved = self._linked
        slide = np.uint64(moved)
        start, end = ElfNames(ObjectFiles([file]), self._context.diagnostics).extents(address - slide)
        return np.where(end > 0, start + slide, start), np.where(end > 0, end + slide, end)

    def read(self, start: int, end: int) -> tuple[str, bytes]:
        """Machine and bytes at a recorded address; ObjectError if nothing has them."""
        for core in self._copies():
            try:
                return core.machine, code_at(core, start, end - start)
            except ObjectError:
                continue
        if self._linked is None or self._is_module:
            raise ObjectError(MISSING)
        file, slide = self._linked
        return file.machine, code_at(file, start - slide, end - start)

    @cached_property
    def _linked(self) -> tuple[ElfObject, int] | None:
        """The kernel's ELF file, and the distance that it was moved."""
        files = self._vmlinux.files if self._has_vmlinux else None
        if files is None or files.symbols is None:
            return None
        return files.symbols, kernel_slide(files.symbols, self._context.kernel_reference)

    def _copies(self) -> Iterator[ElfObject]:
        for path in self._copy_paths():
            if is_file(path):
                try:
                    yield open_elf(path)
                except ObjectError:
                    continue

    def _copy_paths(self) -> Iterator[Path]:
        context = self._context
        if context.session.kcore_dir:
            yield Path(context.session.kcore_dir) / "kcore"
        same = context.kernel_build_id and running_kernel_build_id() == context.kernel_build_id
        if same and context.options.symfs is None:
            yield host_path(KCORE)
