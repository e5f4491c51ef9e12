"""Kernel symbols from ELF files: vmlinux with its KASLR slide, and modules that kallsyms does not list.

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
    """Names, lines and inlined frames of the kernel from its own ELF file."""

    order = 5

    def covers(self, dso: Dso) -> bool:
        """Return True for the kernel, unless the user named a kallsyms file and no vmlinux."""
        options = self._context.options
        return (
            dso.kind is DsoKind.KERNEL
            and not dso.name.startswith("[guest")
            and (options.vmlinux is not None or options.kallsyms is None)
        )

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return kernel functions by recorded address."""
        found = self.files
        if found is None or found.symbols is None:
            return no_symbols(len(address))
        slide = kernel_slide(found.symbols, self._context.kernel_reference)
        names = ElfNames(found, self._context.diagnostics)
        return symbols_of(self._context, found, names, address - np.uint64(slide))

    @cached_property
    def files(self) -> ObjectFiles | None:
        """The recorded kernel's ELF files, None if there are none."""
        context, build_id = self._context, self._context.kernel_build_id
        if context.options.vmlinux is not None:
            return self._checked(context.options.vmlinux, build_id, is_named=True)
        if not build_id:
            return None
        by_id = context.finder.find("[kernel.kallsyms]", build_id)
        if by_id.symbols is not None and by_id.symbols.section(".symtab"):
            return by_id
        for path in chain.from_iterable(map(context.finder.search_paths.on_disk, self.names)):
            if is_file(path) and (found := self._checked(path, build_id, is_named=False)):
                return found
        return None

    @property
    def names(self) -> list[str]:
        """The paths at which systems keep the ELF file of the recorded release."""
        release = self._context.session.os_release
        return [path.format(release) for path in VMLINUX_PATHS] if is_folder_name(release) else []

    def _checked(self, path: Path, build_id: bytes, is_named: bool) -> ObjectFiles | None:
        """Open a vmlinux of the recorded build.

        Return None for another build, and report it if the user named the file.
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
    """Return the distance by which KASLR moved the kernel at boot, modulo 2**64; 0 if it was not recorded."""
    name, recorded_at = reference
    section = vmlinux.section(".symtab")
    if not name or not recorded_at or section is None:
        return 0
    rows, strings = raw_symbols(vmlinux, section)
    spelled = re.escape(name.encode(errors="surrogateescape")) + rb"\0"  # names may share suffixes
    at = np.isin(rows["name"], [found.start() for found in re.finditer(spelled, strings)])
    return (recorded_at - int(rows["value"][np.argmax(at)])) % 2**64 if at.any() else 0


class ModuleSource(BuiltInSource):
    """Names of kernel modules from their ``.ko`` files, for modules that kallsyms does not list at their address."""

    order = 15

    def covers(self, dso: Dso) -> bool:
        """Return True for modules."""
        return dso.kind is DsoKind.MODULE

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions by recorded address, with lines and inlined functions if there is debug info."""
        found = self.files(dso)
        if found is None or found.symbols is None:
            return no_symbols(len(address), dso.found.reason or "its module file was not found")
        addresses = section_addresses(found.symbols)
        names = ElfNames(ObjectFiles([found.symbols]), self._context.diagnostics, addresses)
        return symbols_of(self._context, found, names, address + np.uint64((MODULE_BASE - dso.start) % 2**64))

    def files(self, dso: Dso) -> ObjectFiles | None:
        """The module's files, None if there are none."""
        return dso.found if dso.found.files else self._by_name(dso)

    def _by_name(self, dso: Dso) -> ObjectFiles | None:
        """Find a module that was recorded just as ``[name]``, anywhere below /lib/modules/RELEASE."""
        release = self._context.session.os_release
        if not dso.name.startswith("[") or not is_folder_name(release):
            return None
        recorded = f"/lib/modules/{release}"
        for folder in self._context.finder.search_paths.on_disk(recorded):
            for path in sorted(folder.rglob("*.ko*")):
                if module_name(path.name) == module_name(dso.name):
                    name = f"{recorded}/{path.relative_to(folder).as_posix()}"
                    found = self._context.find(name, dso.build_id)
                    if found.files:
                        return found
        return None


class ModuleLinesSource(ModuleSource):
    """Modules with debug info, tried before kallsyms, which has no lines."""

    order = 7

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions, unless the module has no debug info or the user named a kallsyms file."""
        found = self.files(dso)
        if found is None or found.dwarf is None or self._context.options.kallsyms is not None:
            return no_symbols(len(address))
        return super().lookup(dso, address)
