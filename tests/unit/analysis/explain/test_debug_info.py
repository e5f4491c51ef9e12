"""Summaries of debug info: forged units, those of two compilers, and inconsistent files."""

import struct
import time
from pathlib import Path

import pytest

from perf2x.analysis.explain import debug_info as module
from perf2x.analysis.explain.abbreviations import declaration
from perf2x.analysis.explain.debug_info import DebugInfo, debug_info
from perf2x.binaries.elf.elf_file import open_elf
from tests.support.tiny_elf import TinySection, tiny_elf
from tests.unit.analysis.explain.forged import (
    COMPILE_UNIT,
    DATA2,
    LANGUAGE,
    PARTIAL_UNIT,
    PRODUCER,
    STRING,
    TEXT,
    compiled,
    debug_sections,
    split,
    unit,
)  # fmt: skip

FILES = Path(__file__).parents[2] / "symbolizer" / "data" / "debug_info"


def told(info, table, **facts) -> DebugInfo:
    return debug_info(open_elf(tiny_elf([TEXT, *debug_sections(info, table)], **facts)))


def test_an_object_without_debug_info_has_no_summary() -> None:
    assert debug_info(open_elf(tiny_elf([TEXT]))) is None


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_version_producer_and_language_are_read(version) -> None:
    info, table = compiled(version=version)
    found = told(info * 3, table)
    assert found is not None
    assert (found.units, found.whole, found.broken) == (3, True, "")
    assert (found.versions, found.producers, found.languages) == ({str(version): 3}, {"GNU C17 12.2.0": 3}, {"C99": 3})


def test_big_endian_files_are_read() -> None:
    info, table = unit([(PRODUCER, STRING, b"cc\0"), (LANGUAGE, DATA2, b"\0\x0c")], order=">")
    found = told(info, table, byte_order=">")
    assert found is not None and (found.producers, found.languages) == ({"cc": 1}, {"C99": 1})


def test_units_with_frame_pointers_are_counted() -> None:
    keeps, table = compiled("GNU C17 -fno-omit-frame-pointer -g")
    found = told(keeps + compiled("GNU C17 -g")[0], table)
    assert found is not None and (found.units, found.frame_pointers) == (2, 1)


@pytest.mark.parametrize(("number", "name"), [(0x1A, "C++11"), (0x1C, "Rust"), (0x8001, "assembler"),
                                              (0x7777, "language 0x7777")])  # fmt: skip
def test_languages_have_names(number, name) -> None:
    found = told(*compiled(language=number))
    assert found is not None and found.languages == {name: 1}


def test_partial_units_are_counted_separately() -> None:
    found = told(*unit([], tag=PARTIAL_UNIT))
    assert found is not None and (found.units, found.partial) == (0, 1)


def test_long_paths_are_cut() -> None:
    found = told(*split("d/" * 50_000 + "one.dwo"))
    assert found is not None and len(found.split[0].name) == module.LONGEST_TEXT


def test_split_units_name_their_files() -> None:
    found = told(*split("one.dwo"))
    assert found is not None
    assert [(one.folder, one.name) for one in found.split] == [("/src", "one.dwo")]
    assert found.producers == {}


def test_a_units_abbreviation_may_follow_many_others() -> None:
    values = [(PRODUCER, STRING, b"late\0"), (LANGUAGE, DATA2, b"\x0c\0")]
    found = told(*unit(values, others=1000))
    assert found is not None and found.producers == {"late": 1}


def test_declarations_are_found_by_code() -> None:
    table = b"\x05\x11\0\x03\x08\0\0" + b"\x06\x34\x01\x0b\x21\x7f\0\0" + b"\0"
    assert declaration(table, 6) == b"\x06\x34\x01\x0b\x21\x7f\0\0"
    assert declaration(table, 7) is None
    assert declaration(table[:9], 6) is None


@pytest.mark.parametrize("name", ["clang4.so", "clang5.so", "gnu4.so", "gnu5.so"])
def test_split_units_of_compilers_are_listed(name) -> None:
    found = debug_info(open_elf(FILES / name))
    assert found is not None and found.broken == ""
    assert found.versions == {name[-4]: 2}
    assert sorted(one.name for one in found.split) == [f"{name[:-3]}_one.dwo", f"{name[:-3]}_two.dwo"]


def test_relocations_of_a_module_are_applied() -> None:
    found = debug_info(open_elf(FILES / "module.ko"))
    assert found is not None and (found.units, found.producers) == (2, {"GNU C17 12.2.0": 2})


def test_strings_are_read_from_a_dwz_file() -> None:
    found = debug_info(open_elf(FILES / "dwz_one.so"), open_elf(FILES / "common.dwz"))
    assert found is not None and found.producers == {"GNU C++17 12.2.0": 2}


def test_a_split_file_has_its_own_version() -> None:
    found = debug_info(open_elf(FILES / "gnu5_one.dwo"))
    assert found is not None and (found.versions, found.unreadable) == ({"5": 1}, 1)


def test_units_beyond_the_limit_are_reported(monkeypatch) -> None:
    monkeypatch.setattr(module, "UNITS_AT_MOST", 10)
    info, table = compiled()
    exact, more = told(info * 10, table), told(info * 11, table)
    assert exact is not None and more is not None
    assert (exact.units, exact.whole, more.units, more.whole) == (10, True, 10, False)


def test_reading_stops_at_the_limit(monkeypatch) -> None:
    monkeypatch.setattr(module, "ENTRY_BYTES_AT_MOST", 1000)
    info, table = compiled()
    found = told(info * 100, table)
    assert found is not None
    assert not found.whole and 0 < found.units < 100 and "exceed the limit" in found.broken


def test_the_unit_at_the_limit_does_not_count_as_unreadable(monkeypatch) -> None:
    monkeypatch.setattr(module, "ENTRY_BYTES_AT_MOST", 1000)
    info, table = compiled("x" * 600)
    found = told(info * 3, table)
    assert found is not None and (found.units, found.unreadable) == (1, 0)


def test_relocations_of_a_large_file_are_not_applied(monkeypatch) -> None:
    monkeypatch.setattr(module, "LARGEST_OBJECT", 1000)
    found = debug_info(open_elf(FILES / "module.ko"))
    assert found is not None and "whose relocations were not applied" in found.broken


@pytest.mark.parametrize(("info", "table"), [
    (b"\xff" * 64, b"\x01\x11\0\0\0\0"),
    (struct.pack("<I", 2**31) + compiled()[0][4:], compiled()[1]),
    (compiled()[0][:9], compiled()[1]),
    (compiled()[0], b""),
    (compiled()[0], b"\xff" * 4096),
    (struct.pack("<IHBBI", 8, 5, 1, 8, 2**31), compiled()[1]),
    (struct.pack("<IHBBI", 8, 77, 1, 8, 0), compiled()[1]),
    (unit([(PRODUCER, 0x0A, b"\xff\xff")])[0], unit([(PRODUCER, 0x0A, b"")])[1]),
    (unit([(PRODUCER, 0x0E, b"\xff" * 4)])[0], unit([(PRODUCER, 0x0E, b"")])[1]),
    (unit([(PRODUCER, 0x1A, b"\x05")])[0], unit([(PRODUCER, 0x1A, b"")])[1]),
    (unit([(PRODUCER, 0x99, b"\x05")])[0], unit([(PRODUCER, 0x99, b"")])[1]),
])  # fmt: skip
def test_inconsistent_debug_info_is_reported_in_a_sentence(info, table) -> None:
    start = time.process_time()
    found = told(info, table)
    assert time.process_time() - start < 5
    assert found is not None and (found.broken or found.unreadable or "unknown" in found.producers)


def test_compressed_debug_info_is_read() -> None:
    import zlib

    info, table = compiled()
    packed = struct.pack("<IIQQ", 1, 0, len(info), 1) + zlib.compress(info)
    old = b"ZLIB" + len(info).to_bytes(8, "big") + zlib.compress(info)
    rest = TinySection(".debug_abbrev", table)
    new = debug_info(open_elf(tiny_elf([TEXT, TinySection(".debug_info", packed, flags=0x800), rest])))
    gnu = debug_info(open_elf(tiny_elf([TEXT, TinySection(".zdebug_info", old), rest])))
    none = debug_info(open_elf(tiny_elf([TEXT, TinySection(".zdebug_info", old[1:] + b"x"), rest])))
    assert none is not None and "no ZLIB header" in none.broken
    for found in (new, gnu):
        assert found is not None and (found.units, found.compressed, found.broken) == (1, True, "")
    assert COMPILE_UNIT == 0x11
