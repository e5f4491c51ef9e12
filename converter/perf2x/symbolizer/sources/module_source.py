"""Kernel symbols from ELF files: vmlinux, corrected by its KASLR slide, and the ``.ko`` files of modules.

Source of truth: tools/perf/util/symbol.c vmlinux_path__init and dso__load_vmlinux.
"""

import re
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from perf2x.base.binaries.elf.elf_file import ElfObject, open_object
from perf2x.base.binaries.elf.relocate_module import MODULE_BASE, section_addresses
from perf2x.base.binaries.elf.symtab import raw_symbols
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.columnar import U64
from perf2x.base.files.sysroot import VMLINUX_PATHS, is_file, is_folder_name
from perf2x.errors import ObjectError, SettingError
from perf2x.symbolizer.sources.elf_source import symbols_of
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from perf2x.symbolizer.sources.kernel_source import module_name
from perf2x.symbolizer.sources.symbol_source import BuiltInSource, Dso, DsoKind, Symbols, no_symbols


class VmlinuxSource(BuiltInSource):
    """Names, lines and inlined functions of the kernel, from its ELF file (vmlinux)."""

    order = 5

    def covers(self, dso: Dso) -> bool:
        """Return True for the kernel, but not for a guest's."""
        return self.is_searched and dso.kind is DsoKind.KERNEL and not dso.name.startswith("[guest")

    @property
    def is_searched(self) -> bool:
        """False if the user named a kallsyms file and no vmlinux: that file alone names the kernel."""
        options = self._context.options
        return options.vmlinux is not None or options.kallsyms is None

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return kernel functions; ``address`` (n,) as recorded."""
        files = self.files
        if files is None or files.symbols is None:
            return no_symbols(len(address))
        slide = kernel_slide(files.symbols, self._context.kernel_reference)
        names = ElfNames(files, self._context.diagnostics)
        return symbols_of(self._context, files, names, address - np.uint64(slide))

    @cached_property
    def files(self) -> ObjectFiles | None:
        """The recorded kernel's ELF files."""
        context, build_id = self._context, self._context.kernel_build_id
        if context.options.vmlinux is not None:
            return self._open_vmlinux(context.options.vmlinux, build_id, is_named=True)
        if not build_id:
            return None
        files_by_id = context.finder.find("[kernel.kallsyms]", build_id)
        if files_by_id.symbols is not None and files_by_id.symbols.section(".symtab"):
            return files_by_id
        for path in chain.from_iterable(map(context.finder.search_paths.local_paths, self.usual_paths)):
            if is_file(path) and (files := self._open_vmlinux(path, build_id, is_named=False)):
                return files
        return None

    @property
    def usual_paths(self) -> list[str]:
        """Paths at which distributions keep the vmlinux of the recorded release."""
        release = self._context.session.os_release
        return [path.format(release) for path in VMLINUX_PATHS] if is_folder_name(release) else []

    def _open_vmlinux(self, path: Path, build_id: bytes, is_named: bool) -> ObjectFiles | None:
        """Return None if the file is unreadable or of another build; an empty ``build_id`` accepts every build.

        If the user named the file (``is_named``), another build is reported, and an unreadable file raises
        SettingError.
        """
        try:
            file = open_object(path)
        except ObjectError as error:
            if is_named:
                raise SettingError("", "symbols.vmlinux", f" {error}") from None
            return None
        if build_id and file.build_id != build_id and not self._context.finder.search_paths.allow_mismatch:
            if is_named:
                advice = "the vmlinux is not of the recorded kernel's build, so it was not used."
                self._context.diagnostics.add("vmlinux_refused", advice, where=str(path))
            return None
        return ObjectFiles([file])


def kernel_slide(vmlinux: ElfObject, reference: tuple[str, int]) -> int:
    """Return how far KASLR moved the kernel: recorded address − address in ``vmlinux``, modulo 2**64; 0 if unknown."""
    name, recorded_address = reference
    section = vmlinux.section(".symtab")
    if not name or not recorded_address or section is None:
        return 0
    symbols, strings = raw_symbols(vmlinux, section)
    # several offsets may match, because ``_text`` may also be the end of a longer name
    name_with_end = re.escape(name.encode(errors="surrogateescape")) + rb"\0"
    is_reference = np.isin(symbols["name"], [match.start() for match in re.finditer(name_with_end, strings)])
    return (recorded_address - int(symbols["value"][np.argmax(is_reference)])) % 2**64 if is_reference.any() else 0


class ModuleSource(BuiltInSource):
    """Names of functions in kernel modules, from their ``.ko`` files, for addresses that kallsyms did not name.

    In a kallsyms file of another boot, modules have other addresses.
    """

    order = 15

    def covers(self, dso: Dso) -> bool:
        """Return True for modules."""
        return dso.kind is DsoKind.MODULE

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions, with lines and inlined functions if there is debug info; ``address`` (n,) as recorded."""
        files = self.files(dso)
        if files is None or files.symbols is None:
            return no_symbols(len(address), dso.found.reason or "its module file was not found")
        # A .ko has no addresses: its sections are laid out from MODULE_BASE on, where recorded addresses are moved.
        addresses = section_addresses(files.symbols)
        names = ElfNames(ObjectFiles([files.symbols]), self._context.diagnostics, addresses)
        return symbols_of(self._context, files, names, address + np.uint64((MODULE_BASE - dso.start) % 2**64))

    def files(self, dso: Dso) -> ObjectFiles | None:
        """The module's files, None if there are none."""
        return dso.found if dso.found.files else self._by_name(dso)

    def _by_name(self, dso: Dso) -> ObjectFiles | None:
        release = self._context.session.os_release
        if not dso.name.startswith("[") or not is_folder_name(release):
            return None
        modules_folder = f"/lib/modules/{release}"
        for folder in self._context.finder.search_paths.local_paths(modules_folder):
            for path in sorted(folder.rglob("*.ko*")):
                if module_name(path.name) == module_name(dso.name):
                    name = f"{modules_folder}/{path.relative_to(folder).as_posix()}"
                    files = self._context.find(name, dso.build_id)
                    if files.files:
                        return files
        return None


class ModuleLinesSource(ModuleSource):
    """Names and lines of modules with debug info; asked before kallsyms, which has no lines."""

    order = 7

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions; none if the module has no debug info, or if the user named a kallsyms file."""
        files = self.files(dso)
        if files is None or files.dwarf is None or self._context.options.kallsyms is not None:
            return no_symbols(len(address))
        return super().lookup(dso, address)
