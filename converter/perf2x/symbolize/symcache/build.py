"""Source lines and inlined frames from DWARF, by way of symbolic's symcache.

symbolic (Rust, the optional extra ``perf2x[dwarf]``) turns an object's debug info once into a table that answers in
microseconds; the table is kept in the user's cache directory by build id and the version of symbolic that made it.
sources/dwarf_units.py reads the rest, and everything if symbolic is not installed or cannot be loaded.
"""

from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec.structs import replace

from perf2x.binary.elf.file import ElfObject
from perf2x.binary.elf.relocate import relocate_debug_info
from perf2x.columnar.arrays import U8, U64
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.source_locations import DebugFunction, SourceLocations, source_locations_of
from perf2x.symbolize.symcache.cache_files import read_checksummed, user_cache_dir, write_checksummed
from perf2x.symbolize.symcache.read import read_symcache
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.errors import ObjectError

FORMAT = 1
"""What perf2x does to a symcache or its object; caches of other formats are left alone."""


class LineLookup(Protocol):
    """Finds source locations in one object."""

    def find(self, svma: U64) -> SourceLocations:
        """The functions that each address belongs to, innermost inlined first."""
        ...


class RebasedLineLookup:
    """Looks svmas up in a symcache; ``base`` is the svma that symbolic counts from."""

    def __init__(self, table: LineLookup, base: int) -> None:
        self._kept_or_built, self._base = table, base

    def find(self, svma: U64) -> SourceLocations:
        """The functions that each address belongs to, innermost inlined first; below ``base`` lies nothing."""
        # what lies below the base wraps around, far behind the last address that a symcache can hold
        return self._kept_or_built.find(svma - np.uint64(self._base))


class LibrarySymcache:
    """The same from a symcache whose version is not known here: asked through the library, one by one."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def find(self, address: U64) -> SourceLocations:
        """As ``Symcache.find``."""
        return source_locations_of([self._at(int(one)) if one < 2**32 - 1 else [] for one in address])

    def _at(self, address: int) -> list[tuple[DebugFunction, int]]:
        found = self._cache.lookup(address)
        chain = [(DebugFunction(where.symbol, where.full_path or ""), where.line) for where in found]
        if chain:
            entry = self._cache.lookup(found[-1].sym_addr) if found[-1].sym_addr < 2**32 - 1 else []
            chain[-1] = (replace(chain[-1][0], start_line=entry[-1].line if entry else 0), chain[-1][1])
        return chain


def open_line_lookup(file: ElfObject | None, options: SymbolOptions, diagnostics: Diagnostics) -> LineLookup | None:
    """Source locations of the object whose debug info is in ``file``; None without debug info or without symbolic."""
    if file is None:
        return None
    # what an output says must not depend on what ran before: a symcache is read only where one could be made
    symbolic = _load_symbolic()
    if symbolic is None:
        _advise_symbolic(file, diagnostics)
        return None
    base = next((segment.address for segment in file.segments if segment.type == "PT_LOAD"), 0)
    return RebasedLineLookup(_kept_or_built(symbolic, file, options), base)


@cache
def _load_symbolic() -> Any | None:
    """symbolic; None where it is not installed, or its native part cannot be loaded."""
    try:
        return import_module("symbolic")  # 10 ms
    except (ImportError, OSError):
        return None


def _advise_symbolic(file: ElfObject, diagnostics: Diagnostics) -> None:
    advice = "source lines are read the slow way and not kept; quicker with the extra: pip install 'perf2x[dwarf]'"
    diagnostics.add("lines_need_symbolic", Severity.INFO, advice, where=file.name)


def _kept_or_built(symbolic: Any, file: ElfObject, options: SymbolOptions) -> LineLookup:
    """Read the symcache from the cache directory, or build one and keep it there."""
    path = _cache_path(file, options, metadata.version("symbolic"))
    kept = read_checksummed(path) if path is not None else None
    if kept is not None:
        return _parse_symcache(symbolic, kept)
    data = _build_symcache(symbolic, file)
    if path is not None:
        write_checksummed(path, data)
    return _parse_symcache(symbolic, np.frombuffer(data, np.uint8))


def _cache_path(file: ElfObject, options: SymbolOptions, version: str) -> Path | None:
    """By build id and size: tools that compress or strip debug info leave the build id as it is."""
    directory = options.cache_dir or user_cache_dir()
    if directory is None or not file.build_id or not version:
        return None
    text = file.build_id.hex()
    return directory / "symcache" / f"{FORMAT}-symbolic-{version}" / text[:2] / f"{text[2:]}-{file.size}"


def _parse_symcache(symbolic: Any, data: U8) -> LineLookup:
    """The symcache in ``data``; ObjectError when it is none."""
    table = read_symcache(data)
    if table is not None:
        return table
    try:
        return LibrarySymcache(symbolic.SymCache.from_bytes(data.tobytes()))
    except symbolic.SymbolicError as error:
        raise ObjectError(f"symcache: {error}") from None


def _build_symcache(symbolic: Any, file: ElfObject) -> bytes:
    """The symcache of a file, or of a module as it lies when it is loaded."""
    path = file.path if file.type != "ET_REL" else None
    data = b"" if path else relocate_debug_info(file) if file.type == "ET_REL" else file.read(0, file.size)
    try:
        # from_bytes does not hold on to its bytes: ``data`` must live until the symcache is made
        archive = symbolic.Archive.open(str(path)) if path else symbolic.Archive.from_bytes(data)
        made: bytes = next(archive.iter_objects()).make_symcache().open_stream().read()
    except (symbolic.SymbolicError, StopIteration, ValueError) as error:
        raise ObjectError(f"{file.name}: debug info cannot be read: {error}") from None
    del data
    return made
