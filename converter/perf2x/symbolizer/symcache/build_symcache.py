"""Source lines and inlined frames from DWARF, by way of symbolic's symcaches.

symbolic (Rust, the optional extra ``perf2x[dwarf]``) converts an object's debug info once to a table that answers in
microseconds. Tables are kept in the user's cache directory by build id and version of symbolic.
sources/dwarf_units.py reads the rest, and everything if symbolic is not installed or cannot be loaded.

A checksummed file ends in a magic word and the CRC-32 of its contents, which reveals damage. CRC-32 finds every flipped
bit and takes 0.4 ms per megabyte. BLAKE2 would also withstand forgery but takes four times as long, and someone who can
write to the user's cache can do worse.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from perf2x.base.columnar.arrays import U8, U64
from perf2x.base.errors import ObjectError
from perf2x.base.files.atomic import atomic_file
from perf2x.base.files.operating_system import map_file, user_cache_dir
from perf2x.base.installed_packages import version_of
from perf2x.binaries.elf.elf_file import ElfObject
from perf2x.binaries.elf.relocate_module import relocate_debug_info
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.symbolizer.source_locations import DebugFunction, SourceLocations, source_locations_of
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symcache.read_symcache import read_symcache

FORMAT = 1
"""Version of what perf2x does to an object before it builds a symcache; caches of other versions are left alone."""


BUILD_MICROSECONDS = 20
"""Time to build a symcache for each KiB of ``.debug_info``."""


class LineLookup(Protocol):
    """Finds source locations in one object."""

    def find(self, svma: U64) -> SourceLocations:
        """Functions and lines at each address, innermost inlined function first."""
        ...


class RebasedLineLookup:
    """Looks svmas up in a symcache; ``base`` is the svma that symbolic counts from."""

    def __init__(self, table: LineLookup, base: int) -> None:
        self._read_or_build, self._base = table, base

    def find(self, svma: U64) -> SourceLocations:
        """Functions and lines at each svma; there are none below ``base``."""
        # addresses below the base wrap around, far past the last address that a symcache can contain
        return self._read_or_build.find(svma - np.uint64(self._base))


class LibrarySymcache:
    """Looks addresses up one by one in a symcache of a version that only the library can read, without start lines."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def find(self, address: U64) -> SourceLocations:
        """Functions and lines at each address; see ``Symcache.find``."""
        return source_locations_of([self._at(int(one)) if one < 2**32 - 1 else [] for one in address])

    def _at(self, address: int) -> list[tuple[DebugFunction, int]]:
        found = self._cache.lookup(address)
        return [(DebugFunction(where.symbol, where.full_path or ""), where.line) for where in found]


def open_line_lookup(file: ElfObject | None, options: SymbolOptions, diagnostics: Diagnostics) -> LineLookup | None:
    """Open or build the symcache of the object with debug info in ``file``; None without a file or without symbolic.

    ObjectError if the debug info cannot be read.
    """
    if file is None:
        return None
    # the output must not depend on earlier runs: a symcache is read only if one could be built
    symbolic = _load_symbolic()
    if symbolic is None:
        _advise_symbolic(file, diagnostics)
        return None
    base = next((segment.address for segment in file.segments if segment.type == "PT_LOAD"), 0)
    return RebasedLineLookup(_read_or_build(symbolic, file, options), base)


def building_cost(file: ElfObject, options: SymbolOptions) -> int:
    """Estimated microseconds to build the symcache of the object with debug info in ``file``; 0 if it is kept."""
    if _load_symbolic() is None:
        return 0
    path = _cache_path(file, options, version_of("symbolic"))
    if path is not None and path.is_file():
        return 0
    info = file.section(".debug_info") or file.section(".zdebug_info")
    return BUILD_MICROSECONDS * info.size // 1024 if info is not None else 0


@cache
def _load_symbolic() -> Any | None:
    """Import symbolic; None if it is not installed or its native part cannot be loaded."""
    try:
        return import_module("symbolic")  # 10 ms
    except (ImportError, OSError):
        return None


def _advise_symbolic(file: ElfObject, diagnostics: Diagnostics) -> None:
    advice = "source lines are read slowly and not cached; faster with the extra: pip install 'perf2x[dwarf]'"
    diagnostics.add("lines_need_symbolic", Severity.INFO, advice, where=file.name)


def _read_or_build(symbolic: Any, file: ElfObject, options: SymbolOptions) -> LineLookup:
    """Read the symcache from the cache directory, or build one and keep it there."""
    path = _cache_path(file, options, version_of("symbolic"))
    cached = read_checksummed(path) if path is not None else None
    if cached is not None:
        return _parse_symcache(symbolic, cached)
    data = _build_symcache(symbolic, file)
    if path is not None:
        write_checksummed(path, data)
    return _parse_symcache(symbolic, np.frombuffer(data, np.uint8))


def _cache_path(file: ElfObject, options: SymbolOptions, version: str) -> Path | None:
    """Path by build id and size, as tools that compress or strip debug info keep the build id; None if not cached."""
    directory = options.cache_dir or user_cache_dir()
    if directory is None or not file.build_id or not version:
        return None
    text = file.build_id.hex()
    return directory / "symcache" / f"{FORMAT}-symbolic-{version}" / text[:2] / f"{text[2:]}-{file.size}"


def _parse_symcache(symbolic: Any, data: U8) -> LineLookup:
    """Parse a symcache; ObjectError if it is invalid."""
    table = read_symcache(data)
    if table is not None:
        return table
    try:
        return LibrarySymcache(symbolic.SymCache.from_bytes(data.tobytes()))
    except symbolic.SymbolicError as error:
        raise ObjectError(f"symcache: {error}") from None


def _build_symcache(symbolic: Any, file: ElfObject) -> bytes:
    """Build the symcache of a file; kernel modules are laid out as if loaded."""
    path = file.path if file.type != "ET_REL" else None
    data = b"" if path else relocate_debug_info(file) if file.type == "ET_REL" else file.read(0, file.size)
    try:
        # from_bytes does not keep its bytes alive: ``data`` must live until the symcache is built
        archive = symbolic.Archive.open(str(path)) if path else symbolic.Archive.from_bytes(data)
        symcache: bytes = next(archive.iter_objects()).make_symcache().open_stream().read()
    except (symbolic.SymbolicError, StopIteration, ValueError) as error:
        raise ObjectError(f"{file.name}: debug info cannot be read: {error}") from None
    del data
    return symcache


MAGIC = b"p2x-crc\n"
"""Follows the contents of a checksummed file; their CRC-32, a 64-bit little-endian number, follows it."""


def write_checksummed(path: Path, data: bytes) -> bool:
    """Write ``data`` and its checksum atomically; False if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path, 0o600) as new:
            new.file.write(data + MAGIC + crc32(data).to_bytes(8, "little"))
            new.commit()
    except OSError:
        return False
    return True


def read_checksummed(path: Path) -> U8 | None:
    """Map the data of a file that ``write_checksummed`` wrote; None if there is no such file or it is damaged."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            content = np.frombuffer(map_file(file), np.uint8)
    except (OSError, ValueError):
        return None
    data, trailer = content[:-16], content[-16:].tobytes()
    return data if trailer == MAGIC + crc32(data.data).to_bytes(8, "little") else None
