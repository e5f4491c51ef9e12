"""Cached source locations: a small file for each object in the user's cache directory.

A cache file is valid only for the exact file that it was read from: the same device, inode, size and times, or the same
bytes for an object in an archive. A build id alone never suffices, because anybody can write one into a file: an object
from a bundle, a dataset, a ``--symfs`` or a server must not supply lines for a file of this machine. Other files with a
part of the debug info (dwz, ``.dwp``) are identified in the same way, and must be unchanged.
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

FORMAT = 1
"""Version of the format of these files, to be raised also if debug info is read differently between releases."""
_MOST = 1 << 20
"""Maximum number of addresses of one object in its file; if there are more, the file is no longer written."""


class KnownLines(Frozen):
    """Locations of ascending addresses."""

    address: U64
    locations: SourceLocations

    def rows(self, address: U64) -> I64:
        """Return (n,) the row of each address, −1 if it is not cached."""
        row = searchsorted(self.address, address)
        known = np.append(self.address, np.uint64(0))[row] == address
        return np.where(known & (row < len(self.address)), row, -1)

    def joined(self, address: U64, more: SourceLocations) -> "KnownLines":
        """Return these locations and ``more``, which are at other addresses."""
        one, addresses = self.locations, np.concatenate([self.address, address])
        count = np.concatenate([np.diff(one.offsets), np.diff(more.offsets)])
        function = np.concatenate([one.function, more.function + len(one.functions)])
        line = np.concatenate([one.line, more.line])
        both = SourceLocations(offsets_of(count), function, line, [*one.functions, *more.functions])
        order = argsort(addresses)
        return KnownLines(addresses[order], both.take(order))


_NOTHING = KnownLines(np.zeros(0, np.uint64), source_locations_of([]))


class _Stored(Frozen, array_like=True):
    """The contents of a file: columns of little-endian words, and the functions they refer to."""

    beside: str
    address: bytes
    count: bytes
    function: bytes
    line: bytes
    functions: list[tuple[bytes, bytes, int, bytes]]

    @classmethod
    def of(cls, known: KnownLines, beside: str) -> Self:
        """Make the contents; each distinct function is stored once."""
        found, number = known.locations, dict[DebugFunction, int]()
        used = [number.setdefault(found.functions[row], len(number)) for row in found.function.tolist()]
        address, count, function, line = (
            column.astype("<u8").tobytes()
            for column in (known.address, np.diff(found.offsets), as_int64(used), found.line)
        )
        functions = [(_packed(f.symbol), _packed(f.path), f.start_line, _packed(f.inside)) for f in number]
        return cls(beside, address, count, function, line, functions)

    def known(self) -> KnownLines:
        """Return the locations. Raises ValueError if the columns are inconsistent."""
        columns = (np.frombuffer(column, "<u8") for column in (self.address, self.count, self.function, self.line))
        address, count, function, line = columns
        rows = len(function)
        counts = as_int64(count)
        fits = (
            len(count) == len(address) and len(line) == rows and bool((count <= rows).all()) and sum_of(counts) == rows
        )
        rises = bool((address[1:] > address[:-1]).all())
        if not fits or not rises or (function >= len(self.functions)).any() or (line >= 1 << 63).any():
            raise ValueError("columns of remembered lines do not belong together")
        functions = [
            DebugFunction(_text(symbol), _text(path), start, _text(inside))
            for symbol, path, start, inside in self.functions
        ]
        lines = SourceLocations(offsets_of(counts), as_int64(function), as_int64(line), functions)
        return KnownLines(as_uint64(address), lines)


def _packed(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def place_of(file: ElfObject, options: SymbolOptions) -> Path | None:
    """Return the cache path for a file; None without a cache directory."""
    directory = options.cache_dir or user_cache_dir()
    if directory is None:
        return None
    return directory / "lines" / f"{FORMAT}-{__version__}" / f"{file.build_id.hex()[:16] or 'none'}-{file.identity}"


def recall(place: Path | None, beside: str) -> KnownLines:
    """Read the cached locations; none if the file is missing or damaged, or other debug files have changed.

    ``beside`` has the identities of the other files with a part of the debug info.
    """
    data = read_checksummed(place) if place is not None else None
    if data is None:
        return _NOTHING
    try:
        stored = msgpack.decode(data, type=_Stored)
        return stored.known() if stored.beside == beside else _NOTHING
    except (DecodeError, ValueError):
        return _NOTHING


def remember(place: Path | None, beside: str, known: KnownLines) -> None:
    """Write the locations, if possible."""
    if place is None or len(known.address) > _MOST:
        return
    try:
        data = msgpack.encode(_Stored.of(known, beside))
    except (OverflowError, UnicodeEncodeError):  # numbers and names that no compiler writes
        return
    write_checksummed(place, data)
