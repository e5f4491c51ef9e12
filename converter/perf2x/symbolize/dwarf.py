"""Source lines and inlined frames from DWARF, by way of symbolic's symcache.

symbolic (Rust, the optional extra ``perf2x[dwarf]``) turns an object's debug info once into a table that answers in
microseconds; the table is kept in the user's cache directory by build id and version. Without symbolic, or where it
has no wheel, everything else still works.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from perf2x.model.arrays import U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.errors import ObjectError
from perf2x.objects.elf import ElfObject
from perf2x.symbolize.caches import user_cache_dir, write_whole
from perf2x.symbolize.options import SymbolOptions


@dataclass(frozen=True, slots=True)
class Place:
    """One function at one place in the source."""

    symbol: str
    """Linkage name where debug info has one."""
    path: str
    line: int
    entry_line: int
    """Line of the function's first instruction, 0 where unknown."""


class SourceLines:
    """Lines of one object; ``base`` is the svma that symbolic counts from."""

    def __init__(self, cache: Any, base: int) -> None:
        self._cache, self._base = cache, base
        self._entry: dict[int, int] = {}

    def find(self, svma: U64) -> list[list[Place]]:
        """For each address the functions it belongs to, innermost inlined first; [] where debug info is silent."""
        return [self._at(int(address)) for address in svma]

    def _at(self, address: int) -> list[Place]:
        if not 0 <= address - self._base < 2**32:
            return []
        found = self._cache.lookup(address - self._base)
        outer = len(found) - 1
        return [
            Place(
                where.symbol, where.full_path or "", where.line, self._entry_line(where.sym_addr) if i == outer else 0
            )
            for i, where in enumerate(found)
        ]

    def _entry_line(self, start: int) -> int:
        """The line that the function's first instruction belongs to; symcaches do not keep DW_AT_decl_line."""
        if start not in self._entry:
            found = self._cache.lookup(start) if start < 2**32 - 1 else []
            self._entry[start] = found[-1].line if found else 0
        return self._entry[start]


def open_lines(file: ElfObject | None, options: SymbolOptions, diagnostics: Diagnostics) -> SourceLines | None:
    """Lines of the object whose debug info is in ``file``; None without debug info or without symbolic."""
    if file is None:
        return None
    try:
        symbolic: Any = import_module("symbolic")
    except ImportError:
        advice = "source lines and inlined frames need the extra: pip install 'perf2x[dwarf]'"
        diagnostics.add("lines_need_symbolic", Severity.INFO, advice, where=file.name)
        return None
    base = next((segment.address for segment in file.segments if segment.type == "PT_LOAD"), 0)
    stored = _cache_path(file, options, symbolic.SYMCACHE_LATEST_VERSION)
    cache = _stored(symbolic, stored)
    if cache is None:
        cache = _made(symbolic, file)
        if stored is not None:
            write_whole(stored, lambda path: _dump(cache, path))
    return SourceLines(cache, base)


def note_elsewhere(file: ElfObject, places: Sequence[Sequence[Place]], diagnostics: Diagnostics) -> None:
    """Say so when an object's debug info lies in files that are not read: .dwo files, or what dwz moved out."""
    if file.section(".gnu_debugaltlink") is not None:
        advice = "a part of the debug info lies in a dwz file, which is not read; some inlined functions have no name."
        diagnostics.add("debug_info_in_dwz", Severity.INFO, advice, where=file.name)
    strings = file.section(".debug_str")
    if strings is None or any(place.line for found in places for place in found):
        return
    try:
        names_dwo_files = file.section(".debug_addr") is not None and b".dwo\0" in file.data(strings)
    except ObjectError:
        return
    if names_dwo_files:
        advice = "debug info lies in .dwo files (gcc -gsplit-dwarf), which are not read; build without that for lines."
        diagnostics.add("debug_info_in_dwo", Severity.INFO, advice, where=file.name)


def _cache_path(file: ElfObject, options: SymbolOptions, version: int) -> Path | None:
    directory = options.cache_dir or user_cache_dir()
    if directory is None or not file.build_id:
        return None
    text = file.build_id.hex()
    return directory / "symcache" / f"v{version}" / text[:2] / text[2:]


def _stored(symbolic: Any, path: Path | None) -> Any:
    """A symcache made earlier; None when there is none, or when it cannot be used."""
    if path is None or not path.is_file():
        return None
    try:
        cache = symbolic.SymCache.open(str(path))
        return cache if cache.is_latest_version else None
    except (symbolic.SymbolicError, OSError):
        return None


def _made(symbolic: Any, file: ElfObject) -> Any:
    data = b"" if file.path else file.read(0, file.size)
    try:
        # from_bytes does not hold on to its bytes: ``data`` must live until the symcache is made
        archive = symbolic.Archive.open(str(file.path)) if file.path else symbolic.Archive.from_bytes(data)
        cache = next(archive.iter_objects()).make_symcache()
    except (symbolic.SymbolicError, StopIteration, ValueError) as error:
        raise ObjectError(f"{file.name}: debug info cannot be read: {error}") from None
    del data
    return cache


def _dump(cache: Any, path: Path) -> None:
    with path.open("wb") as stream:
        cache.dump_into(stream)
