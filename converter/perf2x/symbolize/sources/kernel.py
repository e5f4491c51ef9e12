"""The kernel's own symbols: which table belongs to the recorded kernel, and by how much KASLR moved it.

Source of truth: tools/perf/util/symbol.c dso__load_kernel_sym, dso__find_kallsyms and kallsyms__delta.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
from msgspec import Struct

from perf2x.binary.elf.notes import gnu_build_id
from perf2x.columnar.arrays import U64
from perf2x.columnar.unique import unique_known
from perf2x.debugfiles.archive import name_key
from perf2x.debugfiles.search_paths import build_id_cache_paths
from perf2x.files.rooted_paths import is_file
from perf2x.files.sysroot import KALLSYMS, KERNEL_NOTES, KERNEL_RELEASE, host_path
from perf2x.symbolize.make_finder import archives_of
from perf2x.symbolize.sources.contract import Context, Dso, DsoKind, Symbols, nothing, symbols_from_names
from perf2x.symbolize.sources.kallsyms import Kallsyms, parse_kallsyms, read_kallsyms
from perf2x.symbolize.symbol_index import SymbolIndex
from perf2x.tables.diagnostics import Severity
from perf2x.tables.errors import ObjectError


class _Table(Struct, frozen=True):
    """Kernel symbols, ready to be asked."""

    kallsyms: Kallsyms
    index: SymbolIndex
    slide: int
    """Added to a recorded address before it is looked up, modulo 2**64."""
    origin: Path | tuple[str, bytes]
    """The file, or what it is called and holds."""


class KernelSource:
    """Names from kallsyms for the kernel, and for modules that it lists."""

    order: ClassVar[int] = 10

    def __init__(self, context: Context) -> None:
        self._context = context
        self._asked = False
        self._known: _Table | None = None
        self._reason = ""

    def covers(self, dso: Dso) -> bool:
        """The kernel, its modules, and what it made at run time; not a guest's kernel, which is another one."""
        return not dso.name.startswith("[guest") and dso.kind in (DsoKind.KERNEL, DsoKind.MODULE, DsoKind.SYMBOL)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Kernel functions by recorded address; code made at run time is called as PERF_RECORD_KSYMBOL called it."""
        if dso.kind is DsoKind.SYMBOL:
            return symbols_from_names([dso.name], np.zeros(len(address), np.int64))
        table = self._table()
        if table is None:
            return nothing(len(address), self._reason)
        if dso.kind is DsoKind.MODULE and not self._same_place(dso, table):
            return nothing(len(address), "the module was loaded elsewhere when kallsyms was copied")
        row = table.index.find(address + np.uint64(table.slide))
        rows, function = unique_known(row)
        return symbols_from_names([table.kallsyms.name(one) for one in rows.tolist()], function, "not in kallsyms")

    def file(self) -> tuple[Path | tuple[str, bytes] | None, str]:
        """The kallsyms that names the recorded kernel (a path, or its name and bytes), or why there is none."""
        table = self._table()
        return (table.origin, "") if table is not None else (None, self._reason)

    def _same_place(self, dso: Dso, table: _Table) -> bool:
        """A module's symbols count only where the module lies as recorded; of another boot they mislead."""
        name = module_name(dso.name)
        listed = [row for row, module in enumerate(table.kallsyms.modules) if module.replace("-", "_") == name]
        if not listed:
            return False
        mine = table.kallsyms.start[table.kallsyms.module == listed[0]]
        inside = (mine >= np.uint64(dso.start)) & (mine < np.uint64(max(dso.limit, dso.start)))
        return table.slide == 0 and bool(inside.any())

    def _table(self) -> _Table | None:
        if not self._asked:
            self._asked, self._known = True, self._first_usable()
        return self._known

    def _first_usable(self) -> _Table | None:
        reference, recorded_at = self._context.kernel_reference
        for path, trusted in self._candidates():
            try:
                kallsyms = read_kallsyms(path) if isinstance(path, Path) else parse_kallsyms(path[1], path[0])
            except ObjectError as error:
                self._reason = str(error)
                if "kptr_restrict" in str(error):
                    self._advise_kptr_restrict()
                continue
            here = kallsyms.address_of(reference) if reference else None
            if not trusted and (here is None or here != recorded_at):
                self._reason = "no kernel build id was recorded, and this machine's kernel lies elsewhere"
                continue
            if self._context.options.kallsyms is None and not recorded_at:
                self._advise_unknown_slide(str(path))
            slide = here - recorded_at if here is not None and recorded_at else 0
            return _Table(kallsyms, kallsyms.index(), slide % 2**64, path)
        return None

    def _advise_kptr_restrict(self) -> None:
        advice = "kernel addresses are hidden on this machine: sysctl kernel.kptr_restrict=0, or run as root."
        self._context.diagnostics.add("kernel_addresses_hidden", Severity.LOSS, advice)

    def _advise_unknown_slide(self, path: str) -> None:
        advice = (
            "kernel.kptr_restrict hid the kernel's place when this was recorded; names hold only if it has not been "
            "rebooted since. Record as root, or with sysctl kernel.kptr_restrict=0."
        )
        self._context.diagnostics.add("kernel_place_unknown", Severity.GUESS, advice, where=path)

    def _candidates(self) -> Iterator[tuple[Path | tuple[str, bytes], bool]]:
        """(file, or its name and bytes; whether it surely belongs to the recorded kernel), best first."""
        options, session = self._context.options, self._context.session
        if options.kallsyms is not None:
            yield options.kallsyms, True
            return
        if session.kcore_dir:
            yield Path(session.kcore_dir) / "kallsyms", True
        build_id = self._context.kernel_build_id
        places = self._context.finder.search_paths
        if build_id and places.buildid_dir:
            yield from (
                (path, True)
                for path in build_id_cache_paths(places.buildid_dir, build_id, ("kallsyms",))
                if is_file(path)
            )
        for archive in archives_of(options):
            if (member := archive.member(build_id or name_key("[kernel.kallsyms]"), ("kallsyms",))) is not None:
                yield member, True
        self._reason = "no kallsyms or vmlinux of the recorded kernel found (--kallsyms, --vmlinux)"
        if options.symfs is None and sys.platform == "linux":
            running = running_kernel_build_id()
            if build_id and running == build_id:
                yield host_path(KALLSYMS), True
            elif not build_id and session.os_release == running_kernel_release():
                yield host_path(KALLSYMS), False


def module_name(recorded: str) -> str:
    """``/lib/modules/…/snd-hda.ko.xz`` and ``[snd_hda]`` to ``snd_hda``, as kallsyms spells it."""
    last = recorded.rpartition("/")[2].strip("[]")
    return last.partition(".ko")[0].replace("-", "_")


def running_kernel_build_id() -> bytes:
    """Build id of the kernel that runs this process, from /sys/kernel/notes; b"" when it does not tell."""
    try:
        notes = host_path(KERNEL_NOTES).read_bytes()
    except OSError:
        return b""
    return gnu_build_id(notes, "<" if sys.byteorder == "little" else ">")


def running_kernel_release() -> str:
    """Release of the kernel that runs this process, as uname(2) says it; "" when it does not tell."""
    try:
        return host_path(KERNEL_RELEASE).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
