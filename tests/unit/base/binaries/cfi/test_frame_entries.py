"""Entries and their programs: by hand, damaged, and against pyelftools on the binaries of this machine."""

import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.cfi.byte_cursor import CfiCursor
from perf2x.base.binaries.cfi.frame_entries import FrameSection, fde_offsets, index_by_walking, index_from_header
from perf2x.base.binaries.cfi.run_instructions import CfiPrograms
from perf2x.base.binaries.cfi.section_rules import debug_frame_index, eh_frame_index
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, RuleKind, RuleTable
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.errors import ObjectError
from tests.support.frame_writer import (
    EH_FRAME_HDR,
    TEXT,
    Frame,
    FrameFile,
    advance,
    def_cfa,
    def_cfa_expression,
    offset,
    same_value,
    sleb,
    uleb,
    undefined,
)

INITIAL = def_cfa(7, 8) + offset(16, -8)


def rule_rows(section, fde, table) -> list[tuple[int, int]]:
    rows = CfiPrograms(section, fde.cie, table).rows(fde)
    return list(zip(rows.start, rows.rule_number, strict=True))


def rules_by_address(file, frame=0) -> tuple[dict, RuleTable]:
    index = eh_frame_index(open_elf(file.bytes()))
    table = RuleTable(17)
    rows = rule_rows(index.section, index.section.fde(int(index.offset[frame])), table)
    return {start: table.rules[rule] for start, rule in rows}, table


@given(st.integers(0, 2**64 - 1))
def test_unsigned_leb128(value) -> None:
    data = uleb(value)
    assert CfiCursor(data, 0, len(data)).uleb() == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_leb128(value) -> None:
    data = sleb(value)
    assert CfiCursor(data, 0, len(data)).sleb() == value


def test_a_function_with_prologue_and_epilogue() -> None:
    program = advance(1) + def_cfa(7, 16) + offset(3, -16) + b"\x0a" + advance(9) + b"\x0e\x08" + advance(1) + b"\x0b"
    rules, _ = rules_by_address(FrameFile([Frame(TEXT, 32, program)], initial=INITIAL))
    assert {start: (rule.cfa_register, rule.cfa_value) for start, rule in rules.items()} == {
        TEXT: (7, 8), TEXT + 1: (7, 16), TEXT + 10: (7, 8), TEXT + 11: (7, 16),
    }  # fmt: skip
    assert dict(rules[TEXT + 11].registers) == {3: (RuleKind.OFFSET, -16), 16: (RuleKind.OFFSET, -8)}


def test_restore_returns_to_the_rule_of_the_cie() -> None:
    program = advance(1) + undefined(16) + advance(1) + bytes([0xC0 | 16]) + advance(1) + same_value(16)
    rules, _ = rules_by_address(FrameFile([Frame(TEXT, 8, program)], initial=INITIAL))
    assert [dict(rule.registers).get(16) for rule in rules.values()] == [
        (RuleKind.OFFSET, -8), (RuleKind.UNDEFINED, 0), (RuleKind.OFFSET, -8), None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("instruction", "rule"),
    [
        (b"\x83" + uleb(2), (RuleKind.OFFSET, -16)),
        (b"\x05" + uleb(3) + uleb(2), (RuleKind.OFFSET, -16)),
        (b"\x11" + uleb(3) + sleb(-2), (RuleKind.OFFSET, 16)),
        (b"\x2f" + uleb(3) + uleb(2), (RuleKind.OFFSET, 16)),
        (b"\x14" + uleb(3) + uleb(2), (RuleKind.VAL_OFFSET, -16)),
        (b"\x15" + uleb(3) + sleb(2), (RuleKind.VAL_OFFSET, -16)),
        (b"\x15" + uleb(3) + sleb(-2), (RuleKind.VAL_OFFSET, 16)),
        (b"\x09" + uleb(3) + uleb(12), (RuleKind.REGISTER, 12)),
    ],
)
def test_offsets_are_multiplied_by_the_data_alignment(instruction, rule) -> None:
    """DWARF 5, 6.4.2.3: a factored offset of 2 is −16 bytes where the data alignment is −8."""
    rules, _ = rules_by_address(FrameFile([Frame(TEXT, 8, instruction)], initial=INITIAL))
    assert dict(rules[TEXT].registers).get(3) == rule


def test_an_expression_is_kept_by_number() -> None:
    rules, table = rules_by_address(FrameFile([Frame(TEXT, 8, def_cfa_expression(b"\x77\x08\x06"))], initial=INITIAL))
    assert rules[TEXT].cfa_register == CFA_BY_EXPRESSION
    assert len(table.expressions[rules[TEXT].cfa_value]) == 2


def test_equal_rules_are_one() -> None:
    file = FrameFile([Frame(TEXT, 8), Frame(TEXT + 16, 8), Frame(TEXT + 32, 8)], initial=INITIAL)
    index = eh_frame_index(open_elf(file.bytes()))
    table = RuleTable(17)
    for at in index.offset.tolist():
        rule_rows(index.section, index.section.fde(at), table)
    assert len(table.rules) == 1


@pytest.mark.parametrize("with_header", [True, False])
def test_the_header_and_a_walk_find_the_same_functions(with_header) -> None:
    frames = [Frame(TEXT + 64 * place, 32) for place in (3, 0, 2, 1)]
    index = eh_frame_index(open_elf(FrameFile(frames, initial=INITIAL, with_header=with_header).bytes()))
    assert index.start.tolist() == [TEXT + 64 * place for place in range(4)]
    assert [index.section.fde(at).start for at in index.offset.tolist()] == index.start.tolist()
    assert index.find(np.array([0, TEXT, TEXT + 70], np.uint64)).tolist() == [-1, 0, 1]


def test_debug_frame_has_absolute_addresses() -> None:
    file = FrameFile([], initial=INITIAL, debug=[Frame(TEXT, 16, advance(4) + def_cfa(7, 32))])
    index = debug_frame_index(open_elf(file.bytes()))
    table = RuleTable(17)
    rows = rule_rows(index.section, index.section.fde(int(index.offset[0])), table)
    assert [(start, table.rules[rule].cfa_value) for start, rule in rows] == [(TEXT, 8), (TEXT + 4, 32)]


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (b"\x0b", "never remembered"),
        (b"\x3f", "instruction 0x3f is unknown"),
        (b"\x0f\x7f", "past the end"),
        (b"\x0c\x07", "past the end"),
        (b"\x03\x07", "instruction 0x3 is unknown or cut off"),
        (b"\x0c\x63\x08", "CFA is in unsupported register 99"),
        (b"\x0c\x11\x08", "CFA is in unsupported register 17"),
        (def_cfa_expression(b"\x28\0\0"), "unknown operator 0x28"),
        (def_cfa_expression(b"\x30" * 300), "more than 256 steps"),
    ],
)
def test_damaged_programs_raise(program, sentence) -> None:
    frame = Frame(TEXT, 8, b"\0" * (-len(program) % 8 + 3) + program)  # nothing may pad what comes last
    with pytest.raises(ObjectError, match=sentence):
        rules_by_address(FrameFile([frame], initial=INITIAL))


def section_of(*bodies, is_eh, wide) -> tuple[FrameSection, list[int]]:
    """Entries one behind the other; ``bodies`` (identity, bytes), an identity of None is that of a CIE."""
    data, offsets = b"", []
    for identity, body in bodies:
        offsets.append(len(data))
        place = len(data) + (12 if wide else 4)
        number = (0 if is_eh else -1) if identity is None else place - identity if is_eh else identity
        mask = 2**64 - 1 if wide else 2**32 - 1
        word = (number & mask).to_bytes(8 if wide else 4, "little")
        length = len(word) + len(body)
        data += (b"\xff" * 4 + length.to_bytes(8, "little") if wide else length.to_bytes(4, "little")) + word + body
    return FrameSection(data, 0x5000, is_eh, "<", 8), offsets


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("is_eh", [False, True])
def test_entries_of_either_format(is_eh, wide) -> None:
    """64-bit DWARF writes a length of 0xffffffff first, then eight bytes, and an identity of eight bytes."""
    cie = b"\x01\0" + uleb(1) + sleb(-8) + bytes([16]) + INITIAL
    body = (0x4000).to_bytes(8, "little") + (0x20).to_bytes(8, "little") + advance(4) + def_cfa(7, 32)
    section, (first, second) = section_of((None, cie), (0, body), is_eh=is_eh, wide=wide)
    fde = section.fde(second)
    assert (fde.start, fde.end, fde.cie.return_register, fde.cie.data_alignment) == (0x4000, 0x4020, 16, -8)
    table = RuleTable(17)
    rows = rule_rows(section, fde, table)
    assert [(start, table.rules[rule].cfa_value) for start, rule in rows] == [(0x4000, 8), (0x4004, 32)]
    assert fde_offsets(section, past_terminator=True) == [second]
    for nowhere in (first, -1, len(section.data)):
        with pytest.raises(ObjectError, match="no FDE"):
            section.fde(nowhere)
    for nowhere in (second, -1, len(section.data)):
        with pytest.raises(ObjectError, match="no CIE"):
            section.cie(nowhere)


@pytest.mark.parametrize(("start", "size", "fits"), [(2**64 - 9, 8, True), (2**64 - 8, 8, False), (0, 2**64 - 1, True)])
def test_code_ends_within_the_address_space(start, size, fits) -> None:
    cie = b"\x01\0" + uleb(1) + sleb(-8) + bytes([16])
    body = start.to_bytes(8, "little") + size.to_bytes(8, "little")
    section, (_, place) = section_of((None, cie), (0, body), is_eh=False, wide=False)
    if fits:
        assert section.fde(place).end == start + size
    else:
        with pytest.raises(ObjectError, match="extends past the address space"):
            section.fde(place)


@pytest.mark.parametrize("encoding", [0xFF, 0x9B])
def test_functions_with_an_indirect_start_are_left_out(encoding) -> None:
    """DW_EH_PE_omit and DW_EH_PE_indirect."""
    cie = b"\x01zR\0" + uleb(1) + sleb(-8) + bytes([16]) + uleb(1) + bytes([encoding])
    section, (_, place) = section_of((None, cie), (0, bytes(17)), is_eh=True, wide=False)
    with pytest.raises(ObjectError, match="has no start address"):
        section.fde(place)


def test_an_entry_may_end_with_its_section_but_not_after_it() -> None:
    cie = b"\x01\0" + uleb(1) + sleb(-8) + bytes([16])
    section, (place,) = section_of((None, cie), is_eh=True, wide=False)
    assert section.cie(place).code_alignment == 1
    section.data, section.cies = section.data[:-1], {}
    with pytest.raises(ObjectError, match="longer than its section"):
        section.cie(place)


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_a_table_has_room_for_all_its_entries(more, fits) -> None:
    file = FrameFile([Frame(TEXT, 8), Frame(TEXT + 16, 8)], initial=INITIAL)
    _, offsets = file.eh_frame()
    section = eh_frame_index(open_elf(file.bytes())).section
    header = bytearray(file.header(offsets))
    header[8:12] = (len(offsets) + more).to_bytes(4, "little")
    if fits:
        assert index_from_header(section, bytes(header), EH_FRAME_HDR).start.tolist() == [TEXT, TEXT + 16]
    else:
        with pytest.raises(ObjectError, match="3 entries do not fit"):
            index_from_header(section, bytes(header), EH_FRAME_HDR)


def test_a_header_with_too_many_entries_is_rejected() -> None:
    file = FrameFile([Frame(TEXT, 8)], initial=INITIAL)
    _, offsets = file.eh_frame()
    section = eh_frame_index(open_elf(file.bytes())).section
    header = bytearray(file.header(offsets))
    header[8:12] = b"\xff\xff\xff\x7f"
    with pytest.raises(ObjectError, match="do not fit"):
        index_from_header(section, bytes(header), EH_FRAME_HDR)


@settings(deadline=None)
@given(st.data())
def test_damage_raises_object_errors_only(data) -> None:
    file = FrameFile([Frame(TEXT + 64 * place, 32, advance(3) + def_cfa(6, 16)) for place in range(4)], initial=INITIAL)
    section = eh_frame_index(open_elf(file.bytes())).section
    damaged = bytearray(section.data)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    section.data = bytes(damaged[: data.draw(st.integers(8, len(damaged)))])
    section.cies.clear()
    for at in [*fde_offsets(section, past_terminator=True), *index_by_walking(section).offset.tolist()]:
        try:
            rule_rows(section, section.fde(at), RuleTable(17))
        except ObjectError:
            continue


def native_objects() -> list[Path]:
    """ELF files that this interpreter runs from."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    paths = {
        Path(line.split(maxsplit=5)[5]) for line in lines if " r-xp " in line and line.endswith((".so", ".6", ".2"))
    }
    paths = {path for path in {*paths, Path(sys.executable).resolve()} if path.is_file()}
    return sorted((path for path in paths if path.stat().st_size < 2_500_000), key=lambda path: -path.stat().st_size)[
        :2
    ]


@pytest.mark.parametrize("path", native_objects(), ids=lambda path: path.name)
def test_rows_agree_with_pyelftools(path) -> None:
    elf = open_elf(path)
    index = eh_frame_index(elf)
    with path.open("rb") as stream:
        entries = ELFFile(stream).get_dwarf_info(relocate_dwarf_sections=False).EH_CFI_entries()
        expected = {entry["initial_location"]: entry for entry in entries if isinstance(entry, FDE)}
        checked = 0
        for start, at in islice(zip(index.start.tolist(), index.offset.tolist(), strict=True), 0, 4000, 10):
            rows = decoded(expected.get(start))
            if rows is not None:
                compare(index.section, at, expected[start], rows)
                checked += 1
    assert checked > 10


def decoded(entry) -> dict[int, dict] | None:
    """pyelftools' rows by address; None where it does not know an instruction (it has not heard of them all)."""
    if entry is None:
        return None
    try:
        return {row["pc"]: row for row in entry.get_decoded().table}
    except ValueError:
        return None


def compare(section, at, entry, theirs) -> None:
    table = RuleTable(17)
    fde = section.fde(at)
    assert fde.end - fde.start == entry["address_range"]
    mine = {start: table.rules[rule] for start, rule in rule_rows(section, fde, table)}
    assert mine.keys() == theirs.keys()
    for pc, rule in mine.items():
        cfa = theirs[pc]["cfa"]
        if cfa.expr is None:
            assert (rule.cfa_register, rule.cfa_value) == (cfa.reg, cfa.offset)
        else:
            assert rule.cfa_register == CFA_BY_EXPRESSION
        registers = {number: saved for number, saved in theirs[pc].items() if isinstance(number, int) and number < 17}
        named = {number: how for number, how in registers.items() if how.type != "SAME_VALUE"}
        assert {number: how.kind.name for number, how in rule.registers} == {n: how.type for n, how in named.items()}
        offsets = {number: how.arg for number, how in named.items() if how.type == "OFFSET"}
        assert {n: how.value for n, how in rule.registers if how.kind is RuleKind.OFFSET} == offsets


def cfi(program, code_alignment=4, version=1, extra=b"", before=b"") -> list[tuple[int, int, int, tuple | None]]:
    """Rows of one function at 0x4000 of an object whose entries are written by hand: (address, CFA) and register 3."""
    head = bytes([version, 0]) + extra + uleb(code_alignment) + sleb(-8) + bytes([16]) + INITIAL
    body = before + (0x4000).to_bytes(8, "little") + (0x8000).to_bytes(8, "little") + program
    section, (_, place) = section_of((None, head), (0, body), is_eh=False, wide=False)
    table = RuleTable(17)
    rows = rule_rows(section, section.fde(place), table)
    rules = [table.rules[rule] for _, rule in rows]
    return [
        (start, rule.cfa_register, rule.cfa_value, dict(rule.registers).get(3))
        for (start, _), rule in zip(rows, rules, strict=True)
    ]


FIRST = (0x4000, 7, 8, None)


@pytest.mark.parametrize(
    ("move", "address"),
    [
        (bytes([0x40 | 3]), 0x400C),
        (b"\x02\x05", 0x4014),
        (b"\x03\x00\x01", 0x4400),
        (b"\x04\x00\x01\x00\x00", 0x4400),
        (b"\x1d" + (256).to_bytes(8, "little"), 0x4400),
        (b"\x01" + (0x4444).to_bytes(8, "little"), 0x4444),
    ],
)
def test_rows_begin_where_instructions_say(move, address) -> None:
    """Distances count code units of four bytes here; DW_CFA_set_loc is an address."""
    assert cfi(move + def_cfa(7, 16)) == [FIRST, (address, 7, 16, None)]


@pytest.mark.parametrize(
    ("change", "register", "value"),
    [
        (def_cfa(6, 24), 6, 24),
        (b"\x12" + uleb(6) + sleb(-2), 6, 16),
        (b"\x0d" + uleb(6), 6, 8),
        (b"\x0e" + uleb(24), 7, 24),
        (b"\x13" + sleb(-4), 7, 32),
        (b"\x2e" + uleb(200) + b"\x0e" + uleb(24), 7, 24),  # GNU_args_size says nothing about the frame
        (b"\x2d\x00" + b"\x0e" + uleb(24), 7, 24),  # nor does what signs addresses
        (b"\x0a\x0e" + uleb(24) + b"\x0b", 7, 8),
    ],
)
def test_instructions_that_define_the_frame(change, register, value) -> None:
    assert cfi(bytes([0x41]) + change) == [FIRST, (0x4004, register, value, None)]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (undefined(3), (RuleKind.UNDEFINED, 0)),
        (bytes([0x80 | 3]) + uleb(2) + same_value(3), None),
        (bytes([0x80 | 3]) + uleb(2) + b"\x06" + uleb(3), None),
        (bytes([0x80 | 3]) + uleb(2) + bytes([0xC0 | 3]), None),
        (b"\x10" + uleb(3) + b"\x01\x30", (RuleKind.EXPRESSION, 0)),
        (b"\x16" + uleb(3) + b"\x01\x30", (RuleKind.VAL_EXPRESSION, 0)),
        (b"\x05" + uleb(200) + uleb(1), None),  # a register of another processor
    ],
)
def test_instructions_that_define_a_register_rule(change, rule) -> None:
    assert cfi(change) == [(0x4000, 7, 8, rule)]


def test_a_change_before_the_frame_is_defined_is_damage() -> None:
    for change in (b"\x0d\x06", b"\x0e\x08", def_cfa_expression(b"\x30") + b"\x0e\x08"):
        with pytest.raises(ObjectError, match="before defining it as a register and an offset"):
            cfi(change if change[0] == 0x0F else def_cfa_expression(b"\x30") + change)


def test_no_row_is_empty() -> None:
    """An instruction may advance by nothing."""
    assert cfi(bytes([0x40]) + def_cfa(7, 16)) == [(0x4000, 7, 16, None)]
    assert cfi(bytes([0x41, 0x40]) + def_cfa(7, 16)) == [FIRST, (0x4004, 7, 16, None)]


def test_version_4_has_address_and_segment_sizes() -> None:
    assert cfi(b"", version=4, extra=bytes([8, 0])) == [FIRST]
    assert cfi(b"", version=4, extra=bytes([8, 2]), before=b"\xaa\xbb") == [FIRST]
    with pytest.raises(ObjectError, match="unsupported address size of 2 bytes"):
        cfi(b"", version=4, extra=bytes([2, 0]))
