"""Caches source locations between runs: a small file for each object in the user's cache directory.

A cache file serves only the very file that it was made from: the same device, inode, size and times or, in an archive,
the same bytes. A build id does not suffice, because anybody can write one into a file.
"""

from pathlib import Path
from typing import Self

import numpy as np
from msgspec import DecodeError, msgpack

from perf2x import __version__
from perf2x.base.binaries.dwarf.source_locations import DebugFunction, SourceLocations, source_locations_of
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.columnar import I64, U64, Frozen, argsort, as_int64, as_uint64, offsets_of, searchsorted, sum_of
from perf2x.base.files.atomic import read_checksummed, write_checksummed
from perf2x.base.files.operating_system import user_cache_dir
from perf2x.symbolizer.symbol_options import SymbolOptions

# Version of the format of cache files. Also raise it if the same debug info begins to give other locations.
FORMAT = 1
# Maximum number of addresses to write to a cache file; with more, the old file stays.
_MAX_ADDRESSES = 1 << 20


class CachedLines(Frozen):
    """Source locations of n svmas, ascending."""

    address: U64
    locations: SourceLocations

    def rows(self, address: U64) -> I64:
        """Return (n,) the index of each address in ``self.address``, −1 if it is not cached."""
        row = searchsorted(self.address, address)
        is_equal = np.append(self.address, np.uint64(0))[row] == address
        return np.where(is_equal & (row < len(self.address)), row, -1)

    def joined(self, address: U64, new_locations: SourceLocations) -> "CachedLines":
        """Return these locations and those of further addresses (n,)."""
        cached, addresses = self.locations, np.concatenate([self.address, address])
        count = np.concatenate([np.diff(cached.offsets), np.diff(new_locations.offsets)])
        function = np.concatenate([cached.function, new_locations.function + len(cached.functions)])
        line = np.concatenate([cached.line, new_locations.line])
        all_locations = SourceLocations(
            offsets_of(count), function, line, [*cached.functions, *new_locations.functions]
        )
        order = argsort(addresses)
        return CachedLines(addresses[order], all_locations.take(order))


_NO_LINES = CachedLines(np.zeros(0, np.uint64), source_locations_of([]))


class _CacheContents(Frozen, array_like=True):
    """The contents of a cache file: columns of little-endian 64-bit words, and the functions that they refer to.

    - ``other_files``: identities of the other files with a part of the debug info (dwz, ``.dwp``).
    - ``address`` (addresses,): ascending. ``count`` (addresses,): number of rows of each address.
    - ``function`` (rows,): index into ``functions``. ``line`` (rows,): source line.
    - ``functions``: symbol, path, start line and outer function of each `DebugFunction`.
    """

    other_files: str
    address: bytes
    count: bytes
    function: bytes
    line: bytes
    functions: list[tuple[bytes, bytes, int, bytes]]

    @classmethod
    def of(cls, cached: CachedLines, other_files: str) -> Self:
        locations, index_of = cached.locations, dict[DebugFunction, int]()
        indices = [index_of.setdefault(locations.functions[row], len(index_of)) for row in locations.function.tolist()]
        address, count, function, line = (
            column.astype("<u8").tobytes()
            for column in (cached.address, np.diff(locations.offsets), as_int64(indices), locations.line)
        )
        functions = [(_encoded(f.symbol), _encoded(f.path), f.start_line, _encoded(f.outer_function)) for f in index_of]
        return cls(other_files, address, count, function, line, functions)

    def lines(self) -> CachedLines:
        """Return the locations. Raises ValueError if the columns are inconsistent."""
        columns = (np.frombuffer(column, "<u8") for column in (self.address, self.count, self.function, self.line))
        address, count, function, line = columns
        rows = len(function)
        counts = as_int64(count)
        # check each count before they are summed, so that the sum cannot overflow
        fits = (
            len(count) == len(address) and len(line) == rows and bool((count <= rows).all()) and sum_of(counts) == rows
        )
        is_ascending = bool((address[1:] > address[:-1]).all())
        if not fits or not is_ascending or (function >= len(self.functions)).any() or (line >= 1 << 63).any():
            raise ValueError("the columns of cached lines are inconsistent")
        functions = [
            DebugFunction(_decoded(symbol), _decoded(path), start_line, _decoded(outer_function))
            for symbol, path, start_line, outer_function in self.functions
        ]
        locations = SourceLocations(offsets_of(counts), as_int64(function), as_int64(line), functions)
        return CachedLines(as_uint64(address), locations)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _decoded(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def cache_path_of(file: ElfObject, options: SymbolOptions) -> Path | None:
    """Return the path of the cache file for an ELF file with debug info; None without a cache directory."""
    directory = options.cache_dir or user_cache_dir()
    if directory is None:
        return None
    return directory / "lines" / f"{FORMAT}-{__version__}" / f"{file.build_id.hex()[:16] or 'none'}-{file.identity}"


def read_cached_lines(path: Path | None, other_files: str) -> CachedLines:
    """Read a cache file; return no locations if it is missing or damaged, or if ``other_files`` have changed."""
    data = read_checksummed(path) if path is not None else None
    if data is None:
        return _NO_LINES
    try:
        stored = msgpack.decode(data, type=_CacheContents)
        return stored.lines() if stored.other_files == other_files else _NO_LINES
    except (DecodeError, ValueError):
        return _NO_LINES


def write_cached_lines(path: Path | None, other_files: str, cached: CachedLines) -> None:
    """Write a cache file, unless there is no cache directory, or the locations are too many."""
    if path is None or len(cached.address) > _MAX_ADDRESSES:
        return
    try:
        data = msgpack.encode(_CacheContents.of(cached, other_files))
    except (OverflowError, UnicodeEncodeError):  # numbers and names that no compiler writes
        return
    write_checksummed(path, data)
