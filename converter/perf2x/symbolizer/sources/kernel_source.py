"""Kernel symbols from kallsyms: chooses the table of the recorded kernel, and corrects addresses for KASLR.

If the user named a file, only that is tried. Otherwise, copies of the recorded kernel's build come first, then the
running kernel's file. KASLR moves the kernel at each boot; one symbol, the relocation reference (usually ``_text``),
shows how far.

Source of truth: tools/perf/util/symbol.c dso__load_kernel_sym, dso__find_kallsyms and kallsyms__delta.
"""

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from perf2x.base.binaries.find.perf_archive import substitute_build_id
from perf2x.base.binaries.find.running_kernel import running_kernel_build_id, running_kernel_release
from perf2x.base.columnar import U64, Frozen, as_uint64, unique_known, zeros
from perf2x.base.diagnostics import Severity
from perf2x.base.files.sysroot import KALLSYMS, host_path, is_file
from perf2x.base.files.temporary import shown_name
from perf2x.errors import ObjectError
from perf2x.symbolizer.make_object_finder import archives_of
from perf2x.symbolizer.sources.parse_kallsyms import Kallsyms, parse_kallsyms, read_kallsyms
from perf2x.symbolizer.sources.symbol_source import (
    BuiltInSource,
    Context,
    Dso,
    DsoKind,
    Symbols,
    no_symbols,
    symbols_from_names,
)
from perf2x.symbolizer.symbols_by_address import SymbolIndex

# A file of this machine, or the name and contents of a copy in a recording or an archive.
_KallsymsFile = Path | tuple[str, bytes]


class _KernelTable(Frozen):
    kallsyms: Kallsyms
    index: SymbolIndex
    table_shift: int
    """Add this to a recorded address to get the address in ``kallsyms``, modulo 2**64."""


class KernelSource(BuiltInSource):
    """Names the functions of the kernel, and of its modules, by kallsyms."""

    order = 10

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._unreadable: list[str] = []

    def covers(self, dso: Dso) -> bool:
        """Return True for the kernel, its modules and generated code, but not for a guest's kernel."""
        return not dso.name.startswith("[guest") and dso.kind in (DsoKind.KERNEL, DsoKind.MODULE, DsoKind.SYMBOL)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return kernel functions; ``address`` (n,) is as recorded.

        Code generated at run time needs no table: PERF_RECORD_KSYMBOL named its mapping.
        """
        if dso.kind is DsoKind.SYMBOL:
            return symbols_from_names([dso.name], zeros(len(address)))
        table = self._table
        if isinstance(table, str):
            return no_symbols(len(address), table)
        if dso.kind is DsoKind.MODULE and not _lies_as_recorded(dso, table):
            return no_symbols(len(address), "the module was loaded elsewhere when kallsyms was copied")
        symbol = table.index.find(address + np.uint64(table.table_shift))
        distinct, name_index = unique_known(symbol)
        names = [table.kallsyms.name(row) for row in distinct.tolist()]
        return symbols_from_names(names, name_index, "not in kallsyms")

    def contents(self) -> tuple[bytes | None, str]:
        """Return the bytes of the recorded kernel's kallsyms and "", or None and a reason."""
        table = self._table
        return (None, table) if isinstance(table, str) else (table.kallsyms.data, "")

    def function_at(self, address: int) -> tuple[str, int]:
        """Return the name and start of the function at a recorded address; "" and 0 for none."""
        table = self._table
        if isinstance(table, str):
            return "", 0
        table_address = as_uint64([address]) + np.uint64(table.table_shift)
        row = int(table.index.find(table_address)[0])
        if row < 0:
            return "", 0
        return table.kallsyms.name(row), (int(table.kallsyms.start[row]) - table.table_shift) % 2**64

    def extents(self, address: U64) -> tuple[U64, U64]:
        """Return (n,) start and end (exclusive) of the function at each recorded address; both 0 for none."""
        table = self._table
        if isinstance(table, str):
            return np.zeros(len(address), np.uint64), np.zeros(len(address), np.uint64)
        table_shift = np.uint64(table.table_shift)
        start, end = table.index.extents(address + table_shift)
        has_size = end > start
        return np.where(has_size, start - table_shift, start), np.where(has_size, end - table_shift, end)

    @cached_property
    def _table(self) -> _KernelTable | str:
        """The best usable table; a str is the reason why there is none."""
        table = self._best_table()
        severity = Severity.LOSS if isinstance(table, str) else Severity.INFO
        advice = "a copy of the kernel's symbols cannot be read; copy /proc/kallsyms again (--kallsyms FILE)."
        for error in self._unreadable:
            self._context.diagnostics.add("kallsyms_unreadable", advice, where=error, severity=severity)
        return table

    def _best_table(self) -> _KernelTable | str:
        if self._context.options.kallsyms is not None:
            return self._first_usable([(self._context.options.kallsyms, True)], "")
        table = self._first_usable(self._recorded_kernel(), "")
        if isinstance(table, _KernelTable):
            return table
        missing = "no kallsyms or vmlinux of the recorded kernel found (--kallsyms, --vmlinux)"
        return self._first_usable(self._running_kernel(), table or missing)

    def _first_usable(self, candidates: Iterable[tuple[_KallsymsFile, bool]], reason: str) -> _KernelTable | str:
        """Return the first usable table, or the reason of the last unusable one.

        If a file may be of another kernel (``is_recorded_kernel`` is False), it must have the relocation reference at
        its recorded address.
        """
        reference, recorded_address = self._context.kernel_reference
        for file, is_recorded_kernel in candidates:
            try:
                kallsyms = read_kallsyms(file) if isinstance(file, Path) else parse_kallsyms(file[1], file[0])
            except ObjectError as error:
                reason = str(error)
                if "kptr_restrict" in str(error):
                    advice = (
                        "kernel addresses are hidden on this machine: sysctl kernel.kptr_restrict=0, or run as root."
                    )
                    self._context.diagnostics.add("kernel_addresses_hidden", advice)
                else:
                    self._unreadable.append(str(error))
                continue
            table_address = kallsyms.address_of(reference) if reference else None
            if not is_recorded_kernel and (table_address is None or table_address != recorded_address):
                reason = "no kernel build id was recorded, and this machine's kernel is at another address"
                continue
            if self._context.options.kallsyms is None and not recorded_address:
                advice = (
                    "kernel.kptr_restrict hid the kernel's address when this was recorded; names are right only if the"
                    " machine has not been rebooted since. Record as root, or with sysctl kernel.kptr_restrict=0."
                )
                where = shown_name(file) if isinstance(file, Path) else file[0]
                self._context.diagnostics.add("kernel_place_unknown", advice, where=where)
            table_shift = table_address - recorded_address if table_address is not None and recorded_address else 0
            return _KernelTable(kallsyms, kallsyms.index(), table_shift % 2**64)
        return reason

    def _recorded_kernel(self) -> Iterator[tuple[_KallsymsFile, bool]]:
        options, session = self._context.options, self._context.session
        if session.kcore_dir:
            yield Path(session.kcore_dir) / "kallsyms", True
        if session.kallsyms:
            yield (session.source, session.kallsyms), True
        build_id = self._context.kernel_build_id
        cached = self._context.finder.search_paths.buildid_cache_paths(build_id, "kallsyms")
        yield from ((path, True) for path in cached if is_file(path))
        for archive in archives_of(options):
            if (
                member := archive.member(build_id or substitute_build_id("[kernel.kallsyms]"), ("kallsyms",))
            ) is not None:
                yield member, True

    def _running_kernel(self) -> Iterator[tuple[_KallsymsFile, bool]]:
        """Yield (file, True) for equal build ids, (file, False) for equal releases without a recorded build id."""
        if self._context.options.symfs is not None or sys.platform != "linux":
            return
        build_id = self._context.kernel_build_id
        if build_id and running_kernel_build_id() == build_id:
            yield host_path(KALLSYMS), True
        elif not build_id and self._context.session.os_release == running_kernel_release():
            yield host_path(KALLSYMS), False


def _lies_as_recorded(dso: Dso, table: _KernelTable) -> bool:
    """Return whether a module has the same addresses in kallsyms as in the recording.

    Modules move independently of the kernel at each boot. So the kernel must not have moved, and a symbol of the module
    must be inside the recorded mapping.
    """
    name = module_name(dso.name)
    numbers = [number for number, module in enumerate(table.kallsyms.modules) if module.replace("-", "_") == name]
    if not numbers:
        return False
    start = table.kallsyms.start[table.kallsyms.module == numbers[0]]
    is_inside = (start >= np.uint64(dso.start)) & (start < np.uint64(max(dso.limit, dso.start)))
    return table.table_shift == 0 and bool(is_inside.any())


def module_name(recorded: str) -> str:
    """Reduce ``/lib/modules/…/snd-hda.ko.xz`` and ``[snd_hda]`` to ``snd_hda``, as kallsyms spells it."""
    last = recorded.rpartition("/")[2].strip("[]")
    return last.partition(".ko")[0].replace("-", "_")
