"""Source lines and inlined frames from DWARF, by way of symbolic's symcache.

symbolic (Rust, the optional extra ``perf2x[dwarf]``) turns an object's debug info once into a table that answers in
microseconds; the table is kept in the user's cache directory by build id and version. What it cannot tell, and all
of it where symbolic is not installed, is read by ``unit_lines``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from perf2x.model.arrays import U8, U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.errors import ObjectError
from perf2x.objects.elf import ElfObject
from perf2x.objects.relocate import relocated
from perf2x.symbolize.caches import user_cache_dir, write_whole
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.places import Places, Site, places_of
from perf2x.symbolize.symcache import VERSION, read_symcache


class Lines(Protocol):
    """Lines of one object."""

    def find(self, svma: U64) -> Places:
        """The functions that each address belongs to, innermost inlined first."""
        ...


class SourceLines:
    """Lines of one object from a symcache; ``base`` is the svma that symbolic counts from."""

    def __init__(self, table: Lines, base: int) -> None:
        self._table, self._base = table, base

    def find(self, svma: U64) -> Places:
        """The functions that each address belongs to, innermost inlined first; below ``base`` lies nothing."""
        # what lies below the base wraps around, far behind the last address that a symcache can hold
        return self._table.find(svma - np.uint64(self._base))


class LibraryLines:
    """The same from a symcache whose version is not known here: asked through the library, one by one."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def find(self, address: U64) -> Places:
        """As ``Symcache.find``."""
        return places_of([self._at(int(one)) if one < 2**32 - 1 else [] for one in address])

    def _at(self, address: int) -> list[tuple[Site, int]]:
        found = self._cache.lookup(address)
        chain = [(Site(where.symbol, where.full_path or ""), where.line) for where in found]
        if chain:
            entry = self._cache.lookup(found[-1].sym_addr) if found[-1].sym_addr < 2**32 - 1 else []
            chain[-1] = (replace(chain[-1][0], start_line=entry[-1].line if entry else 0), chain[-1][1])
        return chain


def open_lines(file: ElfObject | None, options: SymbolOptions, diagnostics: Diagnostics) -> Lines | None:
    """Lines of the object whose debug info is in ``file``; None without debug info or without symbolic."""
    if file is None:
        return None
    # what an output says must not depend on what ran before: a symcache is read only where one could be made
    if find_spec("symbolic") is None:
        _advise(file, diagnostics)
        return None
    base = next((segment.address for segment in file.segments if segment.type == "PT_LOAD"), 0)
    table = _stored(_cache_path(file, options, VERSION), read_symcache)
    if table is not None:
        return SourceLines(table, base)
    try:
        symbolic: Any = import_module("symbolic")  # 10 ms
    except ImportError:
        _advise(file, diagnostics)
        return None
    return SourceLines(_through(symbolic, file, options), base)


def _advise(file: ElfObject, diagnostics: Diagnostics) -> None:
    advice = "source lines are read the slow way and not kept; quicker with the extra: pip install 'perf2x[dwarf]'"
    diagnostics.add("lines_need_symbolic", Severity.INFO, advice, where=file.name)


def _through(symbolic: Any, file: ElfObject, options: SymbolOptions) -> Lines:
    """Lines from a symcache of the library's own version, which is made and kept where there is none."""
    stored = _cache_path(file, options, symbolic.SYMCACHE_LATEST_VERSION)
    table = _stored(stored, partial(_lines_in, symbolic))
    if table is None:
        data = _made(symbolic, file)
        if stored is not None:
            write_whole(stored, lambda path: path.write_bytes(data))
        table = _lines_in(symbolic, np.frombuffer(data, np.uint8))
    return table


def _cache_path(file: ElfObject, options: SymbolOptions, version: int) -> Path | None:
    directory = options.cache_dir or user_cache_dir()
    if directory is None or not file.build_id:
        return None
    text = file.build_id.hex()
    return directory / "symcache" / f"v{version}" / text[:2] / text[2:]


def _stored(path: Path | None, read: Callable[[U8], Lines | None]) -> Lines | None:
    """A symcache made earlier, of which only what is asked for is read; None when there is none that can be used."""
    if path is None or not path.is_file():
        return None
    try:
        return read(np.asarray(np.memmap(path, np.uint8, "r")))
    except (ObjectError, OSError, ValueError):
        return None


def _lines_in(symbolic: Any, data: U8) -> Lines:
    """The symcache in ``data``; ObjectError when it is none."""
    table = read_symcache(data)
    if table is not None:
        return table
    try:
        return LibraryLines(symbolic.SymCache.from_bytes(data.tobytes()))
    except symbolic.SymbolicError as error:
        raise ObjectError(f"symcache: {error}") from None


def _made(symbolic: Any, file: ElfObject) -> bytes:
    """The symcache of a file, or of a module as it lies when it is loaded."""
    path = file.path if file.type != "ET_REL" else None
    data = b"" if path else relocated(file) if file.type == "ET_REL" else file.read(0, file.size)
    try:
        # from_bytes does not hold on to its bytes: ``data`` must live until the symcache is made
        archive = symbolic.Archive.open(str(path)) if path else symbolic.Archive.from_bytes(data)
        made: bytes = next(archive.iter_objects()).make_symcache().open_stream().read()
    except (symbolic.SymbolicError, StopIteration, ValueError) as error:
        raise ObjectError(f"{file.name}: debug info cannot be read: {error}") from None
    del data
    return made
