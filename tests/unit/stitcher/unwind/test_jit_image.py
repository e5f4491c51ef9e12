"""Unwinding information in dumps, valid and damaged."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.binaries.cfi.frame_entries import Cie
from perf2x.base.binaries.cfi.section_rules import eh_frame_index
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.errors import ObjectError
from perf2x.stitcher.unwind.jit_image import JitFunction, jit_image
from perf2x.symbolizer.sources.parse_jitdump import JitDump, parse_jitdump
from tests.support.jitdump_writer import CIE, FDE, code_load, header, move, unwinding
from tests.unit.symbolizer.sources.test_parse_jitdump import CODE


def dump_of(*names, **more) -> bytes:
    data = header()
    for number, name in enumerate(names):
        data += unwinding(**more) + code_load(1, CODE + 0x100 * number, name, number)
    return data


def image(data) -> tuple[JitDump, ElfObject | None]:
    dump = parse_jitdump(data, "test")
    pieces = [JitFunction(code.offset, code.size, code.eh_frame) for code in dump.codes if code.eh_frame]
    return dump, jit_image(data, dump.machine, pieces, "test")


def test_each_piece_of_code_has_its_entry_at_its_offset_in_the_dump() -> None:
    data = dump_of("f", "longer name") + move(2, CODE, CODE + 0x1000, 0) + code_load(3, CODE + 0x300, "bare", 2)
    dump, elf = image(data)
    index = eh_frame_index(elf)
    offsets = [code.offset for code in dump.codes if code.name in ("f", "longer name")]
    assert index.start.tolist() == sorted({*offsets}) and len(index.start) == 2
    for row, offset in enumerate(sorted({*offsets})):
        fde = index.section.fde(int(index.offset[row]))
        assert (fde.start, fde.end) == (offset, offset + 16)
        assert index.section.data[slice(*fde.instructions)] == FDE[17:]
        assert elf.read(offset, 16) == b"\x90" * 16
    assert elf.offset_to_svma(index.start)[0].tolist() == index.start.tolist()


def test_a_dump_without_unwinding_information_has_no_image() -> None:
    assert image(header() + code_load(1, CODE, "f", 1))[1] is None
    assert image(dump_of("f", frames=CIE))[1] is None
    assert image(dump_of("f", frames=bytes(4) + CIE + FDE))[1] is None
    assert image(dump_of("f", frames=CIE[:8] + b"\1zR"))[1] is None


def found(elf) -> list[tuple[int, int, bytes, bool]]:
    """(start, end, instructions, is of a signal frame) of each entry, by address."""
    index = eh_frame_index(elf)
    fdes = [index.section.fde(offset) for offset in index.offset.tolist()]
    return [
        (fde.start, fde.end, index.section.data[slice(*fde.instructions)].rstrip(b"\0"), fde.cie.is_signal_frame)
        for fde in fdes
    ]


V8_CIE = bytes.fromhex("1800000000000000037a4c520001781002ff1b0c0708900100000000")


@pytest.mark.parametrize(
    ("cie", "is_signal"),
    [(CIE, False), (V8_CIE, False), (CIE[:10] + b"RS\0\1\x78\x10\1\x1b\x0c\7\x08\x90\1\0", True)],
    ids=["CPython", "V8", "signal"],
)
def test_runtimes_write_their_common_entries_in_several_ways(cie, is_signal) -> None:
    rules = FDE[17:]
    entry = struct.pack("<IiIB", len(cie) + 4, 0, 16, 0) + rules
    dump, elf = image(dump_of("f", frames=cie + struct.pack("<I", len(entry)) + entry))
    (code,) = dump.codes
    assert found(elf) == [(code.offset, code.offset + 16, rules.rstrip(b"\0"), is_signal)]
    cie_of = eh_frame_index(elf).section.fde(int(eh_frame_index(elf).offset[0])).cie
    assert (cie_of.code_alignment, cie_of.data_alignment, cie_of.return_register) == (1, -8, 16)


def two_entries(first, second) -> bytes:
    """A CIE and two entries: each (start in the code of 16 bytes, size, CFA offset)."""
    frames = CIE
    for start, size, cfa in (first, second):
        here = 16 + len(frames) + 8
        rules = bytes([0x0E, cfa, 0])
        frames += struct.pack("<IIiIB", 16, len(frames) + 4, start - here, size, 0) + rules
    return frames


def test_several_entries_keep_the_places_that_they_state() -> None:
    dump, elf = image(dump_of("f", frames=two_entries((0, 6, 16), (6, 10, 24))))
    at = dump.codes[0].offset
    assert [row[:3] for row in found(elf)] == [(at, at + 6, b"\x0e\x10"), (at + 6, at + 16, b"\x0e\x18")]


def test_entries_outside_the_code_are_left_out() -> None:
    dump, elf = image(dump_of("f", frames=two_entries((-8, 8, 16), (8, 8, 24))))
    assert [row[0] for row in found(elf)] == [dump.codes[0].offset + 8]
    assert image(dump_of("f", frames=two_entries((-8, 8, 16), (12, 5, 24))))[1] is None


def entry_of(section_of: ElfObject, row: int) -> Cie:
    index = eh_frame_index(section_of)
    return index.section.fde(int(index.offset[row])).cie


def with_length(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


def test_each_piece_has_its_own_common_entry() -> None:
    """Factors and registers of more than seven bits, and a machine of 32-bit addresses."""
    large = with_length(bytes.fromhex("00000000 03 7a5200 8001 9c7f c801 01 1b 0c0708"))
    small = with_length(bytes.fromhex("00000000 01 00 01 40 08 0c0404"))
    frames = large + with_length(struct.pack("<IiIB", len(large) + 4, 0, 16, 0) + FDE[17:])
    pieces = [JitFunction(100, 16, frames), JitFunction(200, 16, CIE + FDE)]
    elf = jit_image(bytes(300), 62, pieces, "test")
    cies = [entry_of(elf, row) for row in range(2)]
    facts = [(cie.code_alignment, cie.data_alignment, cie.return_register) for cie in cies]
    assert facts == [(128, -100, 200), (1, -8, 16)]
    frames = small + with_length(struct.pack("<III", len(small) + 4, 16, 16) + b"\0")
    frames += with_length(struct.pack("<III", len(frames) + 4, 4, 8) + b"\x0e\x08")
    elf = jit_image(bytes(300), 3, [JitFunction(100, 16, frames)], "test")
    assert [row[:3] for row in found(elf)] == [(104, 112, b"\x0e\x08")]
    assert entry_of(elf, 0).data_alignment == -64


def test_equal_common_entries_are_written_once() -> None:
    small, large = (image(dump_of(*names))[1] for names in ("f", "fg"))
    sizes = [elf.section(".eh_frame").size for elf in (small, large)]
    fde = 4 + 4 + 8 + 8 + 1 + len(FDE[17:])
    assert sizes[1] - sizes[0] == fde + -fde % 8


WHOLE = dump_of("f", "g")


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(WHOLE)))
def test_flipped_and_truncated_dumps_raise_no_other_exception(flips, length) -> None:
    data = bytearray(WHOLE)
    for position, value in flips:
        data[position] = value
    with contextlib.suppress(ObjectError):
        _, elf = image(bytes(data[:length]))
        if elf is not None:
            index = eh_frame_index(elf)
            for offset in index.offset.tolist():
                index.section.fde(offset)
