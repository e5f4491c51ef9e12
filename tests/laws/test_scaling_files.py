"""Four times as much in the files beside a recording, and of what the user asks, takes at most five times as long."""

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perf2x.base.abi.perffile import HeaderFeature
from perf2x.base.binaries.dwarf.address_lookup import AddressLookup
from perf2x.base.binaries.dwarf.compilation_units import DebugFile
from perf2x.base.binaries.dwarf.debug_sections import DebugSections
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.elf.symtab import SymbolRows, function_symbols
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.filters.filter_options import Filters
from perf2x.model.transforms.merge_profiles import merge_profiles
from perf2x.reader import open_recording
from perf2x.reader.session_builder import SessionBuilder
from perf2x.symbolizer.sources.elf_symbols import _SymbolTables
from perf2x.symbolizer.sources.jitdump_mappings import MAX_SHARED_CODE, with_jitdump_mappings
from perf2x.symbolizer.sources.jitdump_source import JitdumpSource
from perf2x.symbolizer.sources.parse_kallsyms import parse_kallsyms
from perf2x.symbolizer.sources.perf_map_source import read_perf_map
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests import forge
from tests.forge.features import text
from tests.laws.split_debug_info import dwo_shared, dwo_turns, dwp_common, dwp_overlaps, dwp_packed, one_unit_of_all
from tests.laws.test_scaling import ONE, grows_no_faster, threads
from tests.laws.unwind_information import frame_entries, frame_program, rule_columns
from tests.support import outputs
from tests.support.extremes import SAMPLE, STAMP
from tests.support.jitdump_writer import code_load, debug, header, move
from tests.support.profile_builder import make_session
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

pytestmark = pytest.mark.slow  # they take times, which tests beside them lengthen

Work = Callable[[], object]
WORD = struct.Struct("<I")


def listed(count: int, entry: bytes) -> bytes:
    """A count and so many entries."""
    return WORD.pack(count) + count * entry


def sections(count: int) -> dict[HeaderFeature, bytes]:
    """Every header section that has a list."""
    name, pair = text("name", "<"), struct.pack("<II", 1, 2)
    capabilities = listed(count, 2 * name)
    program = struct.pack("<IIQ", 80, 8, 0) + struct.pack("<II8s", 1, 2, b"tagged!!") + bytes(64) + bytes(8)
    named = forge.Features(build_ids=tuple((f"/bin/{n}", bytes(20)) for n in range(count)))
    return {
        HeaderFeature.CMDLINE: listed(count, name),
        HeaderFeature.BUILD_ID: named.sections([forge.Event()], "<")[HeaderFeature.BUILD_ID],
        HeaderFeature.EVENT_DESC: struct.pack("<II", count, 64) + count * (bytes(64) + WORD.pack(2) + name + bytes(16)),
        HeaderFeature.CPU_TOPOLOGY: listed(count, name) + listed(count, name) + count * pair + listed(9, name)
        + WORD.pack(1) * count,
        HeaderFeature.NUMA_TOPOLOGY: listed(count, struct.pack("<IQQ", 1, 2, 3) + name),
        HeaderFeature.CACHE: WORD.pack(1) + listed(count, bytes(16) + 3 * name),
        HeaderFeature.MEM_TOPOLOGY: struct.pack("<QQQ", 1, 1, count) + count * struct.pack("<QQQQ", 1, 1, 64, 1),
        HeaderFeature.PMU_MAPPINGS: listed(count, WORD.pack(4) + name),
        HeaderFeature.GROUP_DESC: listed(count, name + pair),
        HeaderFeature.CPU_PMU_CAPS: capabilities,
        HeaderFeature.PMU_CAPS: listed(count, listed(1, 2 * name) + name),
        HeaderFeature.HYBRID_TOPOLOGY: capabilities,
        HeaderFeature.CPU_DOMAIN_INFO: pair + count * (struct.pack("<II", 1, 1) + WORD.pack(1) + 2 * name),
        HeaderFeature.BPF_PROG_INFO: listed(count, program),
        HeaderFeature.BPF_BTF: listed(count, struct.pack("<II", 1, 8) + bytes(8)),
        HeaderFeature.SIMPLEPERF_META_INFO: b"".join(b"k%d\0v\0" % row for row in range(count)),
    }  # fmt: skip


def features(count: int, _: Path) -> Work:
    held = sections(count)

    def read() -> None:
        draft = SessionBuilder("x", "<", False, Diagnostics())
        for number, data in held.items():
            draft.add_feature(number, data)
        assert not draft.diagnostics["features_malformed"] and len(draft.build_ids) == count

    return read


def topology(count: int, _: Path) -> Work:
    """Words that may be a list of dies wherever one begins to read: lists of falling and of one length."""
    falling = [max((count - row) // 2, 1) for row in range(count)]
    level = [math.isqrt(8 * count)] * count
    held = [
        WORD.pack(0) * 2 + struct.pack(f"<{2 * count}I", *(number for first in firsts for number in (first, 0)))
        for firsts in (falling, level)
    ]

    def read() -> None:
        for data in held:
            SessionBuilder("x", "<", False, Diagnostics()).add_feature(HeaderFeature.CPU_TOPOLOGY, data)

    return read


def perf_map(count: int, place: Path) -> Work:
    path = place / "perf-1.map"
    path.write_text("".join(f"{0x1000 + 16 * row:x} {16 * (count - row):x} f{row}\n" for row in range(count)))
    address = np.arange(0x1000, 0x1000 + 16 * count, 4, dtype=np.uint64)
    return lambda: read_perf_map(path).find(address)


def jitdump(count: int, place: Path) -> Work:
    """Code with as many lines as there are other pieces of code, moved about."""
    lines = debug(0x1000, *((0x1000 + row, row, b"file") for row in range(count)))
    records = [lines, code_load(1, 0x1000, "long", 0, size=count)]
    for row in range(1, count):
        records += [
            code_load(row, 0x100000 + 32 * row, f"f{row}", row),
            move(row, 0x100000, 0x900000 + 16 * row, row),
        ]
    data = header() + b"".join(records)
    (place / "jit-5.dump").write_bytes(data)
    options = SymbolOptions(perf_map_dir=place, symfs=place)
    first = data.index(b"long\0") + 5
    address = np.unique(np.concatenate([np.arange(first, len(data), 64), first + np.arange(count)])).astype(np.uint64)

    def look_up() -> None:
        context = Context(options, make_session(), options_finder(options), Diagnostics())
        dso = Dso("/tmp/jit-5.dump", b"", DsoKind.FILE, 5, context.finder.find("/none", b""))
        assert len(JitdumpSource(context).lookup(dso, address).functions) > 0

    return look_up


def jitdump_shared(count: int, place: Path) -> Work:
    """Every process names one dump, by a name of its own."""
    dump = header() + b"".join(code_load(row, 0x1000 + 32 * row, f"f{row}", row) for row in range(count))
    (place / "jit-5.dump").write_bytes(dump)
    maps = [forge.Mmap(pid=row + 1, tid=row + 1, addr=0x1000, len=4096, filename=f"/{row}/jit-5.dump", stamp=STAMP)
            for row in range(count)]  # fmt: skip
    path = place / "perf.data"
    path.write_bytes(forge.write_file(ONE, [*maps, SAMPLE]))
    recording = open_recording(str(path), diagnostics=Diagnostics())
    options = SymbolOptions(perf_map_dir=place, symfs=place)

    def announce() -> None:
        diagnostics, context = Diagnostics(), Context(options, make_session(), options_finder(options), Diagnostics())
        made, _ = with_jitdump_mappings(recording.sideband, recording.session, options, diagnostics, context.finder)
        assert len(made.mmaps) - count >= min(count * count, MAX_SHARED_CODE - count)
        assert bool(diagnostics["jitdump_shared"]) == (count * count > MAX_SHARED_CODE + count)
        source, found = JitdumpSource(context), context.finder.find("/none", b"")
        for row in range(count):
            dso = Dso(f"/{row}/jit-5.dump", b"", DsoKind.FILE, 5, found)
            assert len(source.lookup(dso, np.array([100], np.uint64)).functions) == 1

    return announce


def options_finder(options: SymbolOptions) -> Finder:
    return Finder(options.search_paths())


def symbols(count: int, _: Path) -> Work:
    """Functions within functions, and as many names of one."""
    nested = [TinySymbol(f"n{row}", 0x1000 + row, 2 * (count - row)) for row in range(count)]
    aliases = [TinySymbol(f"_a{row}", 0x900000, 16) for row in range(count)]
    held = symbol_sections([*nested, *aliases], 2)
    elf = open_elf(tiny_elf([TinySection(".text", bytes(64), 0x1000, flags=6), *held]))
    address = np.sort(np.concatenate([0x1000 + np.arange(2 * count), 0x900000 + np.arange(9)])).astype(np.uint64)

    def look_up() -> None:
        rows = function_symbols(elf, ".symtab")
        assert isinstance(rows, SymbolRows)
        assert (_SymbolTables([rows]).index().find(address) >= 0).any()

    return look_up


def kallsyms(count: int, _: Path) -> Work:
    """A module for each symbol, and many names of one address."""
    lines = [f"{0xFFFFFFFF81000000 + 16 * row:x} T f{row}\n" for row in range(count)]
    lines += [f"{0xFFFFFFFFB0000000:x} t alias_{row}\n" for row in range(count)]
    lines += [f"{0xFFFFFFFFC0000000 + 16 * row:x} t m{row}\t[mod{row}]\n" for row in range(count)]
    data = "".join(lines).encode()
    address = (np.uint64(0xFFFFFFFF81000000) + np.arange(0, 16 * count, 8, dtype=np.uint64)).astype(np.uint64)
    last = np.array([0xFFFFFFFFB0000004, 0xFFFFFFFFC0000004], np.uint64)
    return lambda: parse_kallsyms(data, "x").index().find(np.concatenate([address, last]))


ABBREVIATIONS = b"\x01\x11\x01\x11\x01\x12\x06\0\0" + b"\x02\x2e\0\x11\x01\x12\x06\x03\x08\0\0" + b"\0"


def _unit(low: int, functions: int, abbreviations: int = 0) -> bytes:
    body = b"\x01" + struct.pack("<QI", low, 16 * functions)
    body += b"".join(b"\x02" + struct.pack("<QI", low + 16 * row, 16) + b"f%d\0" % row for row in range(functions))
    return struct.pack("<IHBBI", len(body) + 9, 5, 1, 8, abbreviations) + body + b"\0"


def _found(
    info: bytes, abbreviations: bytes, address: np.ndarray, errors: list[str] | None = None, **others: bytes
) -> Work:
    parts = [TinySection(".debug_info", info), TinySection(".debug_abbrev", abbreviations)]
    parts += [TinySection(f".debug_{name}", data) for name, data in others.items()]
    data = tiny_elf(parts)

    def look_up() -> None:
        told: list[object] = []
        lines = AddressLookup(DebugFile(DebugSections(open_elf(data, "units"))), lambda unit: unit, told.append)
        assert len(lines.find(address).offsets) == len(address) + 1
        assert all(text in str(error) for text in errors or [] for error in told) and bool(told) == bool(errors)

    return look_up


def dwarf_units(count: int, _: Path) -> Work:
    info = b"".join(_unit(0x1000 + 64 * row, 4) for row in range(count))
    return _found(info, ABBREVIATIONS, np.arange(0x1000, 0x1000 + 64 * count, 16, dtype=np.uint64))


def dwarf_functions(count: int, _: Path) -> Work:
    return _found(_unit(0x1000, count), ABBREVIATIONS, np.arange(0x1000, 0x1000 + 16 * count, 8, dtype=np.uint64))


def _units(count: int, root: Callable[[int], bytes], abbreviations: Callable[[int], int] = lambda row: 0) -> bytes:
    bodies = [root(row) + b"\0" for row in range(count)]
    return b"".join(
        struct.pack("<IHBBI", len(body) + 8, 5, 1, 8, abbreviations(row)) + body for row, body in enumerate(bodies)
    )


def _low(row: int) -> bytes:
    return struct.pack("<QI", 0x1000 + 64 * row, 64)


def _inside(count: int) -> np.ndarray:
    return np.arange(0x1000, 0x1000 + 64 * count, 64, dtype=np.uint64)


def dwarf_tables(count: int, _: Path) -> Work:
    """Every unit takes another place in one table of abbreviations for the beginning of its own."""
    table = ABBREVIATIONS[:9] * count + b"\0"
    info = _units(count, lambda row: b"\x01" + _low(row), lambda row: 9 * row)
    return _found(info, table, _inside(count), ["abbreviations overlap"])


def dwarf_far(count: int, _: Path) -> Work:
    """Every unit's own abbreviation is the last of one table."""
    codes = [_uleb(row + 1) for row in range(count)]
    table = b"".join(code + ABBREVIATIONS[1:9] for code in codes) + b"\0"
    return _found(_units(count, lambda row: codes[-1] + _low(row)), table, _inside(count))


RANGED = b"\x01\x11\x01\x55\x17\0\0" + b"\x02\x11\x01\x11\x01\x12\x06\0\0" + b"\x03\x2e\0\x55\x17\0\0" + b"\0"


def _list(count: int) -> bytes:
    return b"".join(b"\x07" + struct.pack("<QB", 0x1000 + 64 * row, 64) for row in range(count)) + b"\0"


def dwarf_unit_ranges(count: int, _: Path) -> Work:
    """All units claim all code, by one list."""
    info = _units(count, lambda row: b"\x01" + bytes(4))
    return _found(info, RANGED, _inside(count), ["ranges of units overlap"], rnglists=_list(count))


def dwarf_function_ranges(count: int, _: Path) -> Work:
    """Every function has one list."""
    info = _units(1, lambda row: b"\x02" + struct.pack("<QI", 0x1000, 64 * count) + (b"\x03" + bytes(4)) * count)
    return _found(info, RANGED.replace(b"\x02\x11\0", b"\x02\x11\x01"), _inside(1), ["ranges overlap"],
                  rnglists=_list(count))  # fmt: skip


LINED = b"\x01\x11\0\x11\x01\x12\x06\x10\x17\0\0\0"


def _program(count: int) -> bytes:
    """Version 4, no files; from 0x1000 a row for each byte."""
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 10) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]) + bytes(2)
    program = b"\0\x09\x02" + struct.pack("<Q", 0x1000) + b"\x1e" * count + b"\0\x01\x01"
    return struct.pack("<IHI", len(header) + len(program) + 6, 4, len(header)) + header + program


def dwarf_lines(count: int, _: Path) -> Work:
    """All units have one line table."""
    info = _units(count, lambda row: b"\x01" + _low(row) + bytes(4))
    return _found(info, LINED, _inside(count), line=_program(16 * count))


def dwarf_line_overlaps(count: int, _: Path) -> Work:
    """Every unit has a header of its own for one program."""
    header, program = _program(0)[10:27], _program(16 * count)[27:]
    headers = b""
    for row in range(count):
        behind = 27 * (count - row) - 10
        headers += struct.pack("<IHI", behind + 6 + len(program), 4, behind) + header
    info = _units(count, lambda row: b"\x01" + _low(row) + WORD.pack(27 * row))
    return _found(info, LINED, _inside(count), ["line tables overlap"], line=headers + program)


def dwarf_names(count: int, _: Path) -> Work:
    """Every function has the same long name."""
    abbreviations = ABBREVIATIONS.replace(b"\x03\x08", b"\x03\x0e")
    functions = b"".join(b"\x02" + struct.pack("<QII", 0x1000 + 64 * row, 16, 0) for row in range(count))
    info = _units(1, lambda _: b"\x01" + struct.pack("<QI", 0x1000, 64 * count) + functions)
    return _found(info, abbreviations, _inside(count), str=bytes(1000 * count).replace(b"\0", b"n"))


def dwarf_directories(count: int, _: Path) -> Work:
    """One long directory that the compiler ran in, and many in it."""
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 10) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
    header += b"d\0" * count + b"\0" + b"f\0\1\0\0" * count + b"\0"
    line = struct.pack("<IHI", len(header) + 6, 4, len(header)) + header
    info = _units(1, lambda _: b"\x01" + _low(0) + bytes(8))
    return _found(info, LINED.replace(b"\x10\x17", b"\x10\x17\x1b\x0e"), _inside(1), line=line,
                  str=bytes(15 * count).replace(b"\0", b"n"))  # fmt: skip


def _uleb(number: int) -> bytes:
    return bytes([number & 0x7F | 0x80, number >> 7 & 0x7F | 0x80, number >> 14])


def tags(count: int, place: Path) -> Work:
    path = place / "tagged"
    path.write_bytes(forge.write_file(*threads(3)))
    profile = outputs.profile_of(path)
    return lambda: merge_profiles([profile] * count, [{"n": str(row)} for row in range(count)])


def numbers(count: int, place: Path) -> Work:
    """``--pid`` and ``--tid`` of all."""
    path = _recording(count, place)
    pids, tids = tuple(range(1, count // 3 + 1)), tuple(range(1, count + 1))
    return lambda: load([str(path)], LoadOptions(filters=Filters(pids=pids, tids=tids)))


def names(count: int, place: Path) -> Work:
    """As many ``--comm`` as threads."""
    path = _recording(count, place)
    return lambda: load([str(path)], LoadOptions(filters=Filters(comms=tuple(f"c{row}" for row in range(count)))))


def globs(count: int, place: Path) -> Work:
    path = _recording(count, place)
    return lambda: load([str(path)], LoadOptions(filters=Filters(comms=("c*1", "c?[2-5]*", "*7*7*"))))


def _recording(count: int, place: Path) -> Path:
    path = place / "perf.data"
    session, samples = threads(count)
    comms = [forge.Comm(pid=one.pid, tid=one.tid, comm=f"c{row}", stamp=STAMP) for row, one in enumerate(samples)]
    path.write_bytes(forge.write_file(session, [*comms, *(replace(one, time=1000 + one.time) for one in samples)]))
    return path


QUICK = {
    features: 200, topology: 2000, perf_map: 2000, jitdump: 500, symbols: 1000, kallsyms: 4000,
    dwarf_units: 200, dwarf_functions: 500, dwarf_tables: 300, dwarf_far: 300, dwarf_unit_ranges: 200,
    dwarf_function_ranges: 300, dwarf_lines: 100, dwarf_line_overlaps: 100, dwarf_names: 300, dwarf_directories: 1000,
    dwo_shared: 100, dwo_turns: 300, dwp_common: 150, dwp_overlaps: 300, dwp_packed: 400, one_unit_of_all: 100,
    frame_entries: 200, frame_program: 500, rule_columns: 1000, tags: 30, names: 700,
}  # fmt: skip
LONG = {
    features: 2000, topology: 4000, perf_map: 20000, jitdump: 4000, jitdump_shared: 700, symbols: 16000,
    kallsyms: 40000, dwarf_units: 2000, dwarf_functions: 5000, dwarf_tables: 3000, dwarf_far: 3000,
    dwarf_unit_ranges: 3000, dwarf_function_ranges: 3000, dwarf_lines: 2000, dwarf_line_overlaps: 700,
    dwarf_directories: 4000,
    dwo_shared: 1000, dwo_turns: 1000, dwp_common: 1000, dwp_overlaps: 1000, dwp_packed: 1000, one_unit_of_all: 300,
    frame_entries: 2000, frame_program: 5000, rule_columns: 10000, tags: 250, numbers: 6000,
    names: 6000, globs: 6000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("make", "count"),
    [*QUICK.items(), *LONG.items()],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_files(make: Callable[[int, Path], Work], count: int, tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("few", "many")]
    for place in places:
        place.mkdir()
    few, many = make(count, places[0]), make(4 * count, places[1])
    grows_no_faster(few, many)
