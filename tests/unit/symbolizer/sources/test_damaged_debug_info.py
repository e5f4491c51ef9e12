"""Damaged debug info in several files gives a result or an ObjectError, never another exception or a hang."""

import contextlib
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.dwarf.address_lookup import AddressLookup, unit_ranges
from perf2x.base.binaries.dwarf.attribute_forms import AbbreviationTable, UnitEncoding
from perf2x.base.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.base.binaries.dwarf.debug_sections import DebugSections
from perf2x.base.binaries.dwarf.dwarf_functions import MAX_REFERENCES, function_chains
from perf2x.base.binaries.dwarf.dwp_package import DwoFiles, package_contributions
from perf2x.base.binaries.dwarf.line_table import LineTables
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.elf.elf_headers import CUT_MARK, MAX_STRING_SIZE, string_at
from perf2x.base.binaries.elf.relocate_module import relocate_debug_info
from perf2x.base.binaries.find.dwo_and_dwz_files import find_supplementary_file
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import ObjectError
from perf2x.symbolizer.sources.elf_source import ElfSource
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind, Symbols
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.examples import examples
from tests.support.profile_builder import make_session
from tests.support.source_chains import chains
from tests.support.tiny_elf import TinySection, tiny_elf

DATA = Path(__file__).parents[1] / "data" / "debug_info"
ADDRESSES = np.arange(0x300, 0x500, 3, dtype=np.uint64)


def context(directory) -> Context:
    places = SearchPaths(symfs=directory, system_debug_dir=None, proc=None)
    options = SymbolOptions(symfs=directory, cache_dir=directory / "cache")
    return Context(options, make_session(), Finder(places), Diagnostics())


def asked(directory, name) -> tuple[Symbols, Diagnostics]:
    """Every address of one program whose other files lie beside it; names have to come whatever happens."""
    made = context(directory)
    dso = Dso(f"/{name}", b"", DsoKind.FILE, 5, made.finder.find(f"/{name}", b""))
    return ElfSource(made).lookup(dso, ADDRESSES), made.diagnostics


def damaged(data, flips, length) -> bytes:
    data = bytearray(data)
    for position, value in flips:
        data[position % len(data)] = value
    return bytes(data[:length])


FLIPS = st.lists(st.tuples(st.integers(0, 1 << 14), st.integers(0, 255)), max_size=8)
LENGTH = st.integers(0, 1 << 12) | st.none()


@pytest.mark.parametrize(
    ("program", "parts", "hurt"),
    [
        ("gnu5.so", ["gnu5_one.dwo", "gnu5_two.dwo"], "gnu5_one.dwo"),
        ("gnu4.so", ["gnu4_one.dwo", "gnu4_two.dwo"], "gnu4_two.dwo"),
        ("clang5.so", ["clang5.so.dwp"], "clang5.so.dwp"),
        ("dwz_one.so", ["common.dwz"], "common.dwz"),
    ],
)
@settings(max_examples=examples(40), deadline=None)
@given(flips=FLIPS, length=LENGTH)
def test_damage_in_a_referenced_file_raises_no_other_exception(
    tmp_path_factory, program, parts, hurt, flips, length
) -> None:
    directory = tmp_path_factory.mktemp("parts")
    for name in [program, *parts]:
        data = (DATA / name).read_bytes()
        (directory / name).write_bytes(damaged(data, flips, length) if name == hurt else data)
    symbols, _ = asked(directory, program)
    assert "entry" in {function.system_name for function in symbols.functions}


@pytest.mark.parametrize("program", ["gnu5.so", "clang4.so", "dwz_one.so"])
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_damage_in_debug_sections_raises_no_other_exception(tmp_path_factory, program, data) -> None:
    """The headers of the file are whole, so damage meets the reader of debug info and nothing before it."""
    directory = tmp_path_factory.mktemp("parts")
    whole = (DATA / program).read_bytes()
    sections = [s for s in open_elf(whole).sections if s.name.startswith((".debug_", ".gnu_debugalt"))]
    hurt = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        section = data.draw(st.sampled_from(sections))
        hurt[section.offset + data.draw(st.integers(0, section.size - 1))] = data.draw(st.integers(0, 255))
    (directory / program).write_bytes(hurt)
    symbols, _ = asked(directory, program)
    assert "entry" in {function.system_name for function in symbols.functions}


@settings(max_examples=examples(60), deadline=None)
@given(flips=FLIPS, length=st.integers(0, 12000))
def test_damaged_modules_raise_no_other_exception(flips, length) -> None:
    with contextlib.suppress(ObjectError):
        relocate_debug_info(open_elf(damaged((DATA / "module.ko").read_bytes(), flips, length)))


# one unit by hand: version 5, abbreviations 1 (unit), 2 (function), 3 (inlined function)

ABBREVIATIONS = (
    b"\x01\x11\x01\x11\x01\x12\x06\x00\x00"  # unit: low_pc addr, high_pc data4
    b"\x02\x2e\x01\x11\x01\x12\x06\x31\x13\x00\x00"  # function: low_pc, high_pc, abstract_origin ref4
    b"\x03\x1d\x00\x11\x01\x12\x06\x31\x10\x00\x00"  # inlined function: abstract_origin ref_addr
    b"\x00"
)
FIRST = 12  # where the unit's own entry begins


def entry(code, low, size, *rest) -> bytes:
    return bytes([code]) + struct.pack("<QI", low, size) + b"".join(struct.pack("<I", word) for word in rest)


def by_hand(*entries, abbreviations=ABBREVIATIONS, sections=()) -> Unit:
    """A program with one unit that holds 0x1000 to 0x1100, and its only unit."""
    body = entry(1, 0x1000, 0x100) + b"".join(entries)
    info = struct.pack("<IHBBI", len(body) + 8, 5, 1, 8, 0) + body
    parts = [TinySection(".debug_info", info), TinySection(".debug_abbrev", abbreviations), *sections]
    file = DebugFile(DebugSections(open_elf(tiny_elf(parts), "by hand")))
    return file.units[0]


SECOND = FIRST + 13


@pytest.mark.parametrize("target", [SECOND, FIRST])
def test_a_function_that_is_its_own_origin_has_no_name(target) -> None:
    unit = by_hand(entry(2, 0x1000, 0x20, target), entry(3, 0x1004, 4, SECOND), b"\0\0")
    chains = function_chains(unit, [0x1000, 0x1004])
    assert [[function.name for function in chain] for chain in chains] == [[""], ["", ""]]
    assert MAX_REFERENCES < 100


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ((entry(2, 0x1000, 0x20, 0xFFFF), b"\0\0"), "outside its unit"),
        ((entry(2, 0x1000, 0x20, SECOND), entry(3, 0x1004, 4, 0xFFFFFF), b"\0\0"), "does not exist"),
        ((b"\x09",), "undefined abbreviation"),
        ((entry(2, 0x1000, 0x20, SECOND)[:-2],), "cut off|points outside"),
        ((b"\x80" * 40,), "unterminated|cut off"),
    ],
)
def test_entries_with_dangling_references_have_no_name(entries, message) -> None:
    unit = by_hand(*entries)
    with pytest.raises(ObjectError, match=message):
        function_chains(unit, [0x1000, 0x1004, 0x1080])


def test_endlessly_nested_functions_end_in_time() -> None:
    unit = by_hand(*[entry(2, 0x1000, 0x20, SECOND)] * 5000)
    with pytest.raises(ObjectError, match="nested too deeply"):
        function_chains(unit, [0x1000])


def test_thousands_of_functions_at_every_address(monkeypatch) -> None:
    monkeypatch.setattr("perf2x.base.binaries.dwarf.dwarf_functions.MAX_FUNCTIONS", 1000)
    flat = ABBREVIATIONS.replace(b"\x02\x2e\x01", b"\x02\x2e\x00")
    unit = by_hand(*[entry(2, 0x1000, 0x20, SECOND)] * 50, b"\0", abbreviations=flat)
    with pytest.raises(ObjectError, match="too many"):
        function_chains(unit, list(range(0x1000, 0x1020)))


def test_one_damaged_unit_leaves_the_others() -> None:
    good = by_hand(entry(2, 0x1000, 0x20, SECOND), b"\0\0").file.sections.info
    bad = good.replace(entry(2, 0x1000, 0x20, SECOND), b"\x09" + bytes(16))
    bad = bad.replace(struct.pack("<Q", 0x1000), struct.pack("<Q", 0x3000))
    parts = [TinySection(".debug_info", bad + good), TinySection(".debug_abbrev", ABBREVIATIONS)]
    errors = []
    lines = AddressLookup(DebugFile(DebugSections(open_elf(tiny_elf(parts), "two"))), lambda unit: unit, errors.append)
    found = chains(lines.find(np.array([0x1004, 0x3004, 0x9000], np.uint64)))
    assert [len(chain) for chain in found] == [1, 0, 0] and len(errors) == 1


@pytest.mark.parametrize(
    "data", [b"", b"\x01", b"\x01\x11\x00\x03\x08", b"\x01\x11\x00\x03\x16\x00\x00\x00", b"\x01\x11\x00\x03\xff\x7f"]
)
def test_invalid_abbreviations_are_refused(data) -> None:
    with pytest.raises(ObjectError):
        AbbreviationTable(data, 0, UnitEncoding("<", 8, 4, 5), ReadBudget("", len(data), times=2), {}).all()


@pytest.mark.parametrize("data", [b"", b"\xff" * 12, struct.pack("<IHIBB", 40, 2, 0, 8, 0), bytes(64)])
def test_invalid_address_ranges_are_refused(data) -> None:
    assert unit_ranges(DebugSections(open_elf(tiny_elf([TinySection(".debug_aranges", data)]), "x"))) == {}


@pytest.mark.parametrize(
    "data",
    [(), (2, 1 << 20, 1 << 20, 1 << 20), (9, 0, 0, 0), (5, 1, 1, 1)],
)
def test_invalid_package_indexes_are_refused(data) -> None:
    data = struct.pack(f"<{len(data)}I", *data)
    with pytest.raises(ObjectError, match="index"):
        package_contributions(open_elf(tiny_elf([TinySection(".debug_cu_index", data)]), "x.dwp"))


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (b"x.dwz\0" + b"\xaa" * 20, "the file itself"),
        (b"x.dwz\0", "cut off"),
        (b"", "cut off"),
        (b"\xff" * 30, "cut off"),
    ],
)
def test_dangling_dwz_links_are_refused(link, message) -> None:
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + b"\xaa" * 20
    parts = [TinySection(".gnu_debugaltlink", link), TinySection(".note.gnu.build-id", note, type="NOTE")]
    finder = Finder(SearchPaths(system_debug_dir=None, proc=None))
    with pytest.raises(ObjectError, match=message):
        find_supplementary_file(finder, open_elf(tiny_elf(parts), "x"))


def test_a_line_table_of_too_many_files_and_one_that_is_cut_off() -> None:
    header = struct.pack("<HBBIBBBbBB", 5, 8, 0, 40, 1, 1, 1, -5, 14, 1)
    unit = by_hand(
        abbreviations=b"\x01\x11\x00\x10\x06\x11\x01\x00\x00\x00",
        sections=[TinySection(".debug_line", struct.pack("<I", 60) + header + b"\x01\x01\x08\xff\xff\xff\xff\x0f")],
    )
    unit.__dict__["root"] = {0x10: (0x17, 0)}
    with pytest.raises(ObjectError, match="files"):
        LineTables(unit.file).whole_table(unit)
    unit.__dict__["root"] = {0x10: (0x17, 30)}
    with pytest.raises(ObjectError, match=r"cut off|points outside|version"):
        LineTables(unit.file).whole_table(unit)


LINED = b"\x01\x11\x00\x11\x01\x12\x06\x10\x17\x1b\x08\x00\x00\x00"  # low_pc, high_pc, stmt_list, comp_dir string


def lined(low, comp_dir) -> bytes:
    body = b"\x01" + struct.pack("<QII", low, 0x10, 0) + comp_dir + b"\0"
    return struct.pack("<IHBBI", len(body) + 8, 5, 1, 8, 0) + body


def zlib_gnu(name, data) -> TinySection:
    """A section as older GNU tools compress it."""
    packed = b"ZLIB" + len(data).to_bytes(8, "big") + zlib.compress(data)
    return TinySection(name.replace(".debug_", ".zdebug_"), packed)


def with_lines(address, *units, more=b"", section=TinySection) -> tuple[AddressLookup, list[str]]:
    """Three units' worth of rows, one for every byte from 0x1000, in file.c; ``address`` is the program's operand."""
    files = b"\0file.c\0\0\0\0\0"
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 10) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]) + files
    program = b"\0" + bytes([len(address) + 1, 2]) + address + b"\x1e" * 0x30 + b"\0\x01\x01" + more
    line = struct.pack("<IHI", len(header) + len(program) + 6, 4, len(header)) + header + program
    parts = [(".debug_info", b"".join(units)), (".debug_abbrev", LINED), (".debug_line", line)]
    errors = []
    file = DebugFile(DebugSections(open_elf(tiny_elf([section(*part) for part in parts]), "lines")))
    return AddressLookup(file, lambda unit: unit, errors.append), errors


def test_units_that_share_a_line_table_keep_their_directories() -> None:
    units = [lined(0x1000, b"/a"), lined(0x1010, b"/b"), lined(0x1020, b"/b")]
    lines, errors = with_lines(struct.pack("<Q", 0x1000), *units)
    found = chains(lines.find(np.array([0x1004, 0x1014, 0x1024], np.uint64)))
    assert [[(one.path, line) for one, line in chain] for chain in found] == [
        [("/a/file.c", 5)], [("/b/file.c", 21)], [("/b/file.c", 37)]
    ] and not errors  # fmt: skip


def test_sections_that_older_tools_compressed_are_read() -> None:
    lines, errors = with_lines(struct.pack("<Q", 0x1000), lined(0x1000, b"/a"), section=zlib_gnu)
    ((function, line),) = chains(lines.find(np.array([0x1004], np.uint64)))[0]
    assert (function.path, line) == ("/a/file.c", 5) and not errors


def test_a_row_of_an_earlier_sequence_counts_where_a_later_one_has_ended() -> None:
    more = b"\0\x09\x02" + struct.pack("<Q", 0x1008) + b"\x1e\x1e\0\x01\x01"
    lines, errors = with_lines(struct.pack("<Q", 0x1000), lined(0x1000, b"/a"), more=more)
    found = chains(lines.find(np.array([0x1004, 0x1009, 0x100C], np.uint64)))
    assert [chain[0][1] for chain in found] == [5, 2, 13] and not errors


def test_an_address_of_many_bytes_in_a_line_table() -> None:
    lines, errors = with_lines(bytes(100), lined(0x1000, b"/a"))
    assert chains(lines.find(np.array([0x1004], np.uint64))) == [[]] and "an address of 100 bytes" in str(errors[0])


@pytest.mark.parametrize("tail", [b"", b"\0", b"\0more"])
def test_the_longest_name_is_kept_whole(tail) -> None:
    assert string_at(b"xy" + b"n" * (MAX_STRING_SIZE - 1) + tail, 1) == "y" + "n" * (MAX_STRING_SIZE - 1)


def test_a_longer_name_is_cut_and_marked() -> None:
    assert string_at(b"n" * (MAX_STRING_SIZE + 1) + b"\0", 0) == "n" * MAX_STRING_SIZE + CUT_MARK


def test_an_invalid_split_file_is_refused_once(tmp_path) -> None:
    path, files = tmp_path / "x.dwo", DwoFiles()
    path.write_bytes(b"no object")
    with pytest.raises(ObjectError, match=r"x\.dwo"):
        files.unit(path, 1)
    assert files.unit(path, 1) is None


def test_an_id_of_a_split_file_that_is_longer_than_64_bits() -> None:
    abbreviations = b"\x01\x11\x00\xb1\x42\x0f\x00\x00\x00"  # GNU_dwo_id udata
    body = b"\x01" + b"\x85" + b"\x80" * 9 + b"\x01"
    info = struct.pack("<IHIB", len(body) + 7, 4, 0, 8) + body
    parts = [TinySection(".debug_info", info), TinySection(".debug_abbrev", abbreviations)]
    file = DebugFile(DebugSections(open_elf(tiny_elf(parts))))
    assert file.unit_of_id(5) is file.units[0] and file.unit_of_id(6) is None
