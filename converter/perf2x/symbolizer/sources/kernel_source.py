"""Kernel symbols from kallsyms: chooses the table of the recorded kernel and finds its KASLR slide.

Source of truth: tools/perf/util/symbol.c dso__load_kernel_sym, dso__find_kallsyms and kallsyms__delta.
"""

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from perf2x.base.binaries.find.perf_archive import name_key
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

_KallsymsFile = Path | tuple[str, bytes]
"""A path, or a name and contents."""


class _KernelTable(Frozen):
    """Kernel symbols with their index and their KASLR slide."""

    kallsyms: Kallsyms
    index: SymbolIndex
    slide: int
    """The number to add to a recorded address before it is looked up, modulo 2**64."""


class KernelSource(BuiltInSource):
    """Names from kallsyms for the kernel, and for modules that it lists."""

    order = 10

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._unreadable: list[str] = []

    def covers(self, dso: Dso) -> bool:
        """Return True for the kernel, its modules and code generated at run time, but not for a guest's kernel."""
        return not dso.name.startswith("[guest") and dso.kind in (DsoKind.KERNEL, DsoKind.MODULE, DsoKind.SYMBOL)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return kernel functions by recorded address; code generated at run time is named by PERF_RECORD_KSYMBOL."""
        if dso.kind is DsoKind.SYMBOL:
            return symbols_from_names([dso.name], zeros(len(address)))
        table = self._table
        if isinstance(table, str):
            return no_symbols(len(address), table)
        if dso.kind is DsoKind.MODULE and not _lies_as_recorded(dso, table):
            return no_symbols(len(address), "the module was loaded elsewhere when kallsyms was copied")
        row = table.index.find(address + np.uint64(table.slide))
        rows, function = unique_known(row)
        return symbols_from_names([table.kallsyms.name(one) for one in rows.tolist()], function, "not in kallsyms")

    def text(self) -> tuple[bytes | None, str]:
        """Return the contents of the recorded kernel's kallsyms, or the reason why there is none."""
        table = self._table
        return (None, table) if isinstance(table, str) else (table.kallsyms.text, "")

    def function_at(self, address: int) -> tuple[str, int]:
        """Return the name and start of the function at a recorded address; "" and 0 for none."""
        table = self._table
        if isinstance(table, str):
            return "", 0
        recorded = as_uint64([address]) + np.uint64(table.slide)
        row = int(table.index.find(recorded)[0])
        if row < 0:
            return "", 0
        return table.kallsyms.name(row), (int(table.kallsyms.start[row]) - table.slide) % 2**64

    def extents(self, address: U64) -> tuple[U64, U64]:
        """Return (n,) first byte, and one past the last, of the functions at recorded addresses; both 0 for none."""
        table = self._table
        if isinstance(table, str):
            return np.zeros(len(address), np.uint64), np.zeros(len(address), np.uint64)
        slide = np.uint64(table.slide)
        start, end = table.index.extents(address + slide)
        has_size = end > start
        return np.where(has_size, start - slide, start), np.where(has_size, end - slide, end)

    @cached_property
    def _table(self) -> _KernelTable | str:
        """Return the best usable table, or the reason why there is none; unreadable copies are counted."""
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
        """Return the first usable table of ``candidates``, or why the last one is unusable; ``reason`` without any.

        A candidate is (file, trusted). A file that is not trusted must have the recorded relocation reference symbol at
        its recorded address.
        """
        reference, recorded_at = self._context.kernel_reference
        for path, trusted in candidates:
            try:
                kallsyms = read_kallsyms(path) if isinstance(path, Path) else parse_kallsyms(path[1], path[0])
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
            here = kallsyms.address_of(reference) if reference else None
            if not trusted and (here is None or here != recorded_at):
                reason = "no kernel build id was recorded, and this machine's kernel is at another address"
                continue
            if self._context.options.kallsyms is None and not recorded_at:
                advice = (
                    "kernel.kptr_restrict hid the kernel's address when this was recorded; names are right only if the"
                    " machine has not been rebooted since. Record as root, or with sysctl kernel.kptr_restrict=0."
                )
                where = shown_name(path) if isinstance(path, Path) else path[0]
                self._context.diagnostics.add("kernel_place_unknown", advice, where=where)
            slide = here - recorded_at if here is not None and recorded_at else 0
            return _KernelTable(kallsyms, kallsyms.index(), slide % 2**64)
        return reason

    def _recorded_kernel(self) -> Iterator[tuple[_KallsymsFile, bool]]:
        """Yield copies of the recorded kernel's kallsyms, best first."""
        options, session = self._context.options, self._context.session
        if session.kcore_dir:
            yield Path(session.kcore_dir) / "kallsyms", True
        if session.kallsyms:
            yield (session.source, session.kallsyms), True
        build_id = self._context.kernel_build_id
        cached = self._context.finder.search_paths.cached(build_id, "kallsyms")
        yield from ((path, True) for path in cached if is_file(path))
        for archive in archives_of(options):
            if (member := archive.member(build_id or name_key("[kernel.kallsyms]"), ("kallsyms",))) is not None:
                yield member, True

    def _running_kernel(self) -> Iterator[tuple[_KallsymsFile, bool]]:
        """Yield the running kernel's kallsyms if it may be the recorded kernel.

        Trusted if their build ids are equal.
        """
        if self._context.options.symfs is not None or sys.platform != "linux":
            return
        build_id = self._context.kernel_build_id
        if build_id and running_kernel_build_id() == build_id:
            yield host_path(KALLSYMS), True
        elif not build_id and self._context.session.os_release == running_kernel_release():
            yield host_path(KALLSYMS), False


def _lies_as_recorded(dso: Dso, table: _KernelTable) -> bool:
    """Return True if a module is where it was recorded; names from another boot would be wrong."""
    name = module_name(dso.name)
    listed = [row for row, module in enumerate(table.kallsyms.modules) if module.replace("-", "_") == name]
    if not listed:
        return False
    start = table.kallsyms.start[table.kallsyms.module == listed[0]]
    inside = (start >= np.uint64(dso.start)) & (start < np.uint64(max(dso.limit, dso.start)))
    return table.slide == 0 and bool(inside.any())


def module_name(recorded: str) -> str:
    """Reduce ``/lib/modules/…/snd-hda.ko.xz`` and ``[snd_hda]`` to ``snd_hda``, as kallsyms spells it."""
    last = recorded.rpartition("/")[2].strip("[]")
    return last.partition(".ko")[0].replace("-", "_")
