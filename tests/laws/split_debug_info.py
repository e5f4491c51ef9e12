"""Programs whose debug info lies in other files: many skeletons, and what they share."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from perf2x.base.binaries.elf.elf_file import SHF_COMPRESSED, open_elf
from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.symbolizer.sources.dwarf_units import locations_from_units
from perf2x.symbolizer.sources.symbol_source import Context
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.profile_builder import make_session
from tests.support.tiny_elf import TinySection, tiny_elf

Work = Callable[[], object]
SKELETON, SPLIT = 4, 5
SKELETONS = b"\x01\x4a\0\x11\x01\x12\x06\x76\x08\0\0\0"
UNITS = b"\x01\x11\x01\0\0" + b"\x02\x2e\0\x11\x01\x12\x06\x03\x0e\0\0"
"""A unit, and functions whose names stand in another section."""


def _unit(kind: int, ident: int, body: bytes) -> bytes:
    return struct.pack("<IHBBIQ", len(body) + 16, 5, kind, 8, 0, ident) + body


def _function(row: int, times: int = 1) -> bytes:
    return b"\x01" + times * (b"\x02" + struct.pack("<QII", 0x1000 + 64 * row, 16, 0)) + b"\0"


def _programs(place: Path, count: int, name: Callable[[int], bytes], ident: Callable[[int], int]) -> Path:
    """``count`` skeletons, 64 bytes of code each."""
    bodies = [b"\x01" + struct.pack("<QI", 0x1000 + 64 * row, 64) + name(row) + b"\0" for row in range(count)]
    info = b"".join(_unit(SKELETON, ident(row), body) for row, body in enumerate(bodies))
    sections = [TinySection(".debug_info", info), TinySection(".debug_abbrev", SKELETONS)]
    path = place / "program"
    path.write_bytes(tiny_elf(sections))
    return path


def _write(
    path: Path, info: bytes, *more: TinySection, abbreviations: bytes = UNITS + b"\0", packed: bool = False
) -> None:
    held = [("info", info), ("abbrev", abbreviations), ("str", b"f\0" + bytes(100 * len(info)))]
    sections = [TinySection(f".debug_{name}.dwo", data) for name, data in held]
    if packed:
        data = struct.pack("<IIQQ", 1, 0, len(info), 1) + zlib.compress(info)
        sections[0] = TinySection(".debug_info.dwo", data, flags=SHF_COMPRESSED)
    path.write_bytes(tiny_elf([*sections, *more]))


def _asked(program: Path, count: int, named: int, reason: str = "") -> Work:
    """Look all code up: at least ``named`` functions have names, the others do not for the one ``reason``."""
    address = np.arange(0x1000, 0x1000 + 64 * count, 64, dtype=np.uint64)

    def look_up() -> None:
        finder = Finder(SearchPaths(system_debug_dir=None, proc=None))
        context = Context(SymbolOptions(), make_session(), finder, Diagnostics())
        locations = locations_from_units(context, ObjectFiles([open_elf(program)]), "/none", address)
        broken = context.diagnostics.counts.get("objects_unreadable")
        assert len(locations.function) >= named and (len(locations.function) == count) == (not reason)
        assert reason in str(broken.first) if reason and broken is not None else broken is None

    return look_up


def dwo_shared(count: int, place: Path) -> Work:
    """One file has the units of all skeletons."""
    _write(place / "a.dwo", b"".join(_unit(SPLIT, row + 1, _function(row)) for row in range(count)))
    return _asked(_programs(place, count, lambda row: b"a.dwo", lambda row: row + 1), count, count)


def dwo_turns(count: int, place: Path) -> Work:
    """Skeletons name two files by turns."""
    for name in ("a.dwo", "b.dwo"):
        _write(place / name, b"".join(_unit(SPLIT, row + 1, _function(row)) for row in range(count)))
    program = _programs(place, count, lambda row: b"ab"[row % 2 : row % 2 + 1] + b".dwo", lambda row: row + 1)
    return _asked(program, count, 4, "split files overlap")


def one_unit_of_all(count: int, place: Path) -> Work:
    """All skeletons stand for one large unit."""
    body = b"\x01" + _function(0, 8 * count)[1:]
    _write(place / "a.dwo", _unit(SPLIT, 1, body))
    return _asked(_programs(place, count, lambda row: b"a.dwo", lambda row: 1), count, 1, "units overlap")


def _package(
    place: Path, info: bytes, shares: list[tuple[int, int]], abbreviations: bytes, packed: bool = False
) -> None:
    """A package whose units have one table of abbreviations."""
    count = len(shares)
    words = [5, 2, count, count]
    index = struct.pack("<4I", *words) + struct.pack(f"<{count}Q", *range(1, count + 1))
    index += struct.pack(f"<{count}I", *range(1, count + 1)) + struct.pack("<II", 1, 3)
    index += b"".join(struct.pack("<II", offset, 0) for offset, _ in shares)
    index += b"".join(struct.pack("<II", size, len(abbreviations)) for _, size in shares)
    _write(
        place / "program.dwp", info, TinySection(".debug_cu_index", index), abbreviations=abbreviations, packed=packed
    )


def dwp_common(count: int, place: Path) -> Work:
    """Write the sections as optimizing linkers do: units have their own entries, all else in common."""
    units = [_unit(SPLIT, row + 1, _function(row)) for row in range(count)]
    shares = [(len(units[0]) * row, len(units[0])) for row in range(count)]
    unused = b"".join(bytes([row & 0x7F | 0x80, row >> 7 | 0x80, 1]) + UNITS[1:5] for row in range(4 * count))
    _package(place, b"".join(units), shares, UNITS + unused + b"\0")
    return _asked(_programs(place, count, lambda row: b"none.dwo", lambda row: row + 1), count, count)


def dwp_packed(count: int, place: Path) -> Work:
    """The entries of all units are compressed together."""
    units = [_unit(SPLIT, row + 1, _function(row, 20)) for row in range(count)]
    shares = [(len(units[0]) * row, len(units[0])) for row in range(count)]
    _package(place, b"".join(units), shares, UNITS + b"\0", packed=True)
    return _asked(_programs(place, count, lambda row: b"none.dwo", lambda row: row + 1), count, count)


def dwp_overlaps(count: int, place: Path) -> Work:
    """The share of each unit reaches to the end of the section."""
    units = [_unit(SPLIT, row + 1, _function(row, 9)) for row in range(count)]
    shares = [(len(units[0]) * row, len(units[0]) * (count - row)) for row in range(count)]
    _package(place, b"".join(units), shares, UNITS + b"\0")
    program = _programs(place, count, lambda row: b"none.dwo", lambda row: row + 1)
    return _asked(program, count, 4, "contributions to a package overlap")
