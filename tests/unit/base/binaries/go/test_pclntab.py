"""Go's table of functions in all layouts, against the scalar reading of the same bytes, and damaged."""

import contextlib
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.go.find_pclntab import go_functions, has_go_table
from perf2x.base.binaries.go.pclntab import GoFunctions
from perf2x.base.binaries.go.pclntab_values import pc_values, values_at
from perf2x.errors import ObjectError
from tests.support.examples import examples
from tests.support.tiny_elf import TinySection, tiny_elf
from tests.support.tiny_go import TinyFunction, tiny_go_table, values

TEXT = 0x401000
FIRST = TinyFunction("main.main", TEXT, ((10, 4), (12, 300), (11, 12)), ((1, 316),), 9)
SECOND = TinyFunction("main.(*T).run", TEXT + 0x200, ((70, 8), (3, 8), (72, 16)), ((1, 8), (2, 8), (1, 16)), 69)
FILES = ["", "/src/main.go", "/src/inlined.go"]
LAYOUTS = [(v, w, o) for v in ("1.2", "1.16", "1.18", "1.20") for w in (4, 8) for o in "<>"]
CODE = TinySection(".text", b"\x90" * 0x400, TEXT, flags=6)


def table(version="1.20", word=8, order="<", quantum=1, **more) -> bytes:
    return tiny_go_table((FIRST, SECOND), TEXT + 0x300, FILES, version, word, order, quantum, TEXT, **more)


def values_of(found, function, column, points) -> list[int]:
    offset, entry = np.array([getattr(function, column)]), np.array([function.entry], np.uint64)
    return found.values(offset, entry, np.zeros(len(points), np.int64), points).tolist()


@pytest.mark.parametrize(("version", "word", "order"), LAYOUTS)
def test_every_layout_is_read(version, word, order) -> None:
    found = GoFunctions(table(version, word, order), TEXT, "x")
    points = np.array([TEXT - 1, TEXT, TEXT + 0x1FF, TEXT + 0x200, TEXT + 0x2FF, TEXT + 0x300, 2**64 - 1], np.uint64)
    assert found.find(points).tolist() == [-1, 0, 0, 1, 1, -1, -1]
    first, second = found.function(0), found.function(1)
    assert (first.name, first.entry, second.name) == ("main.main", TEXT, "main.(*T).run")
    assert second.start_line == (69 if version == "1.20" else 0)
    inside = np.array([0x200, 0x207, 0x208, 0x210, 0x21F, 0x220], np.uint64) + np.uint64(TEXT)
    assert values_of(found, second, "line_table_offset", inside) == [70, 70, 3, 72, 72, 0]
    numbers = values_of(found, second, "file_table_offset", inside[:3])
    assert [found.filename(int(n), second.first_file) for n in numbers] == ["/src/main.go", "/src/main.go", FILES[2]]


def test_offsets_count_instructions_of_four_bytes() -> None:
    found = GoFunctions(table(quantum=4), TEXT, "x")
    first = found.function(0)
    points = np.array([0, 15, 16, 16 + 1199, 16 + 1200], np.uint64) + np.uint64(TEXT)
    assert values_of(found, first, "line_table_offset", points) == [10, 10, 12, 12, 11]


def scalar_values(data, at, quantum) -> tuple[list[int], list[int]]:
    """Decode as the Go runtime's step() does, one number after the other."""
    ends, found, value, end, first = [], [], -1, 0, True

    def number() -> int:
        nonlocal at
        result = shift = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    while True:
        change = number()
        if change == 0 and not first:
            return ends, found
        first = False
        value += change >> 1 if not change & 1 else ~(change >> 1)
        end += number() * quantum
        ends.append(end)
        found.append(value)


RANGES = st.lists(st.tuples(st.integers(-1, 2**20), st.integers(1, 2**20)), min_size=1, max_size=600)


def without_repeats(ranges) -> list[tuple[int, int]]:
    return [pair for i, pair in enumerate(ranges) if i == 0 or pair[0] != ranges[i - 1][0]]


@given(st.lists(RANGES, min_size=1, max_size=4), st.sampled_from([1, 2, 4]), st.binary(max_size=9), st.data())
def test_values_equal_those_decoded_one_by_one(tables, quantum, behind, data) -> None:
    """Tables in any order, one asked for twice: their ranges, and what they say of some places."""
    body, at = b"\0\1", []
    for ranges in tables:
        at.append(len(body))
        body += values(without_repeats(ranges))
    body += behind
    at = np.array(data.draw(st.permutations([*at, at[0]])))
    ends, found = pc_values(body, at, quantum)
    expected = [scalar_values(body, int(one), quantum) for one in at]
    assert [row.tolist() for row in ends.rows()] == [end for end, _ in expected]
    assert found.tolist() == [value for _, row in expected for value in row]
    places = st.tuples(st.integers(0, len(at) - 1), st.integers(0, 2**22) | st.just(2**64 - 1))
    asked = data.draw(st.lists(places, max_size=9))
    asked += [(row, place + step) for row, (end, _) in enumerate(expected) for place in end[:9] for step in (-1, 0)]
    table = np.array([row for row, _ in asked], np.int64)
    offset = np.array([place for _, place in asked], np.uint64)
    said = [next((value for end, value in zip(*expected[row], strict=True) if place < end), 0) for row, place in asked]
    assert values_at(body, at, quantum, table, offset).tolist() == said


def test_long_and_unterminated_tables_are_read() -> None:
    long = values([(line, 1) for line in range(1, 2000)])
    body = b"\x02\x01" + values([(7, 3)]) + long + long[:-1] + b"\x80"
    at = np.array([5 + len(long), 2, 5, 10**9, 0, 5])
    ends, _ = pc_values(body, at, 1)
    whole = [scalar_values(body, 2, 1), scalar_values(body, 5, 1)]
    assert ends.row(1).tolist() == whole[0][0] and ends.row(2).tolist() == ends.row(5).tolist() == whole[1][0]
    assert ends.row(0).tolist() == whole[1][0] and not len(ends.row(3))
    assert values_at(body, at[3:4], 1, np.zeros(1, np.int64), np.zeros(1, np.uint64)).tolist() == [0]


@settings(max_examples=examples(300))
@given(st.sampled_from(LAYOUTS), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=5), st.data())
def test_damaged_tables_give_a_value_or_an_object_error(layout, flips, data) -> None:
    whole = bytearray(table(*layout))
    for position, value in flips:
        whole[position % len(whole)] = value
    with contextlib.suppress(ObjectError):
        found = GoFunctions(bytes(whole[: data.draw(st.integers(0, len(whole)))]), TEXT, "x")
        for row in range(min(len(found), 5)):
            function = found.function(row)
            if function is not None:
                numbers = values_of(found, function, "file_table_offset", np.array([TEXT, 2**64 - 1], np.uint64))
                assert all(isinstance(found.filename(int(n), function.first_file), str) for n in numbers)


@pytest.mark.parametrize("version", ["1.16", "1.18", "1.20"])
def test_a_values_offset_beyond_the_table_gives_no_values(version: str) -> None:
    whole = bytearray(table(version))
    at = 8 + 8 * (5 if version == "1.16" else 6)  # the word that states where values begin
    whole[at : at + 8] = (2**63).to_bytes(8, "little")
    found = GoFunctions(bytes(whole), TEXT, "x")
    function = found.function(0)
    assert function is not None
    assert values_of(found, function, "line_table_offset", np.array([TEXT], np.uint64)) == [0]


@pytest.mark.parametrize("name", [".gopclntab", ".data.rel.ro.gopclntab"])
def test_a_table_in_its_own_section_is_found(name) -> None:
    elf = open_elf(tiny_elf([CODE, TinySection(name, table(), 0x500000, flags=2)]))
    assert go_functions(elf).find(np.array([TEXT + 5], np.uint64)).tolist() == [0]


def test_a_table_within_a_go_programs_data_is_found() -> None:
    body = b"\xf1\xff\xff\xff\0\0\x09\x08" + b"\0" * 24 + table()
    sections = [CODE, TinySection(".data.rel.ro", body, 0x500000, flags=2)]
    assert not has_go_table(open_elf(tiny_elf(sections)))
    elf = open_elf(tiny_elf([*sections, TinySection(".go.buildinfo", b"\0" * 32, 0x600000, flags=2)]))
    assert len(go_functions(elf)) == 2


def test_the_start_of_the_text_is_relocated() -> None:
    relocation = struct.pack("<QQQ", 0x500000 + 8 + 16, 8, TEXT)
    moved = TinySection(".text", CODE.data, TEXT - 0x100, flags=6)
    sections = [moved, TinySection(".gopclntab", table(stated_text=0), 0x500000, flags=2)]
    assert go_functions(open_elf(tiny_elf(sections))).function(0).entry == TEXT - 0x100
    relocations = TinySection(".rela.dyn", relocation, 0x700000, "RELA", 2, entry_size=24)
    assert go_functions(open_elf(tiny_elf([*sections, relocations]))).function(0).entry == TEXT


def test_the_start_of_the_text_is_read_from_moduledata() -> None:
    module = struct.pack("<23Q", 0x500000, *[0] * 21, TEXT)
    moved = TinySection(".text", CODE.data, TEXT - 0x100, flags=6)
    sections = [moved, TinySection(".gopclntab", table(stated_text=0), 0x500000, flags=2)]
    own = TinySection(".go.module", module, 0x800000, flags=2)
    assert go_functions(open_elf(tiny_elf([*sections, own]))).function(0).entry == TEXT
    other = TinySection(".go.module", b"\1" + module[1:], 0x800000, flags=2)
    assert go_functions(open_elf(tiny_elf([*sections, other]))).function(0).entry == TEXT - 0x100
