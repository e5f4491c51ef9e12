"""Coverage of symbol tables and call frames: forged files, and real ones compared with pyelftools."""

import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from perf2x.binary.elf.file import open_elf
from perf2x.explain import call_frames
from perf2x.explain.call_frames import frame_tables
from perf2x.explain.coverage import Code, code_of, union
from perf2x.explain.sframe import sframe_ranges
from perf2x.explain.symbol_tables import name_tables
from tests.support.frame_writer import EH_FRAME, EH_FRAME_HDR, Frame, FrameFile
from tests.support.recordings import CORPUS
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.unit.explain.forged import EMPTY_TEXT, NOTE, TEXT, sframe, with_symbols

DEMO = CORPUS / "common" / "symfs" / "demo"
PROGRAMS = ["calls", "frames", "shapes", "family"]


def ranges(*pairs) -> tuple[np.ndarray, ...]:
    return tuple(np.array(column, np.uint64) for column in zip(*pairs, strict=True))


def test_overlapping_ranges_count_once() -> None:
    start, end = union(*ranges((30, 40), (0, 10), (5, 20), (20, 25), (50, 50)))
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == [(0, 25), (30, 40)]


def test_the_share_of_the_code_is_measured() -> None:
    code = Code(".text", *ranges((100, 200), (300, 400)))
    assert code.size == 200
    assert code.share(*ranges((0, 1000))) == 1
    assert code.share(*ranges((150, 350))) == 0.5
    assert code.share(*ranges((90, 110), (195, 205), (399, 500))) == (10 + 5 + 1) / 200
    assert code.share(np.zeros(0, np.uint64), np.zeros(0, np.uint64)) == 0
    assert Code("code", *union(*ranges((5, 5)))).share(*ranges((0, 9))) == 0


@pytest.mark.parametrize("seed", range(5))
def test_shares_equal_a_count_of_single_bytes(seed) -> None:
    draw = np.random.default_rng(seed)
    start = draw.integers(0, 180, 12)
    end = start + draw.integers(0, 25, 12)
    code = Code(".text", *union(*ranges((20, 60), (70, 71), (90, 150))))
    held = np.zeros(256, np.bool_)
    for first, last in zip(start, end, strict=True):
        held[first:last] = True
    wanted = held[20:60].sum() + held[70] + held[90:150].sum()
    assert code.share(start.astype(np.uint64), end.astype(np.uint64)) == wanted / 101


def test_code_is_text_else_sections_else_segments() -> None:
    init = TinySection(".init", b"\x90" * 16, 0x800, flags=6)
    assert (code_of(open_elf(tiny_elf([init, TEXT]))).what, code_of(open_elf(tiny_elf([init, TEXT]))).size) == (
        ".text",
        256,
    )
    assert (code_of(open_elf(tiny_elf([init]))).what, code_of(open_elf(tiny_elf([init]))).size) == ("code", 16)
    assert code_of(open_elf(tiny_elf([EMPTY_TEXT]))).size == 256
    bare = bytearray(tiny_elf([TEXT]))
    bare[40:48], bare[60:64] = bytes(8), bytes(4)  # no section headers
    assert code_of(open_elf(bytes(bare))).size == 256
    assert code_of(open_elf(tiny_elf([NOTE]))).size == 0


def test_code_beyond_the_address_space_does_not_count() -> None:
    assert code_of(open_elf(tiny_elf([TinySection(".text", b"\x90" * 64, 2**64 - 16, flags=6)]))).size == 0


def test_code_of_a_relocatable_file_lies_in_several_sections() -> None:
    more = [TinySection(".text.unlikely", b"\x90" * 16, flags=6), TinySection(".init.text", b"\x90" * 16, flags=6)]
    assert code_of(open_elf(tiny_elf([TEXT, *more], kind=1))).size == 0x110


@pytest.mark.parametrize(("is_64", "order"), [(True, "<"), (True, ">"), (False, "<"), (False, ">")])
def test_functions_are_counted_in_every_word_size_and_byte_order(is_64, order) -> None:
    symbols = [
        TinySymbol("f", 0x1000, 0x40),
        TinySymbol("g", 0x1080, 0x40, type=10),
        TinySymbol("data", 0x1000, 8, type=1),
    ]
    elf = open_elf(tiny_elf([TEXT, *symbol_sections(symbols, 2, is_64, order)], is_64, order))
    (table,) = name_tables(elf, code_of(elf))
    assert (table.name, table.functions, table.share, table.broken) == (".symtab", 2, 0.5, "")


def test_a_symbol_without_a_size_extends_to_the_next() -> None:
    elf = open_elf(
        with_symbols(TEXT, [TinySymbol("f", 0x1000), TinySymbol("g", 0x1080, 0x10), TinySymbol("h", 0x1090)])
    )
    assert name_tables(elf, code_of(elf))[0].share == 0x90 / 0x100


def test_an_inconsistent_symbol_table_is_reported_in_a_sentence() -> None:
    elf = open_elf(tiny_elf([TEXT, TinySection(".symtab", bytes(48), type="SYMTAB", link=77, entry_size=24)]), "prog")
    (table,) = name_tables(elf, code_of(elf))
    assert (table.functions, table.broken) == (0, "its string table is section 77")


def frames_of(elf) -> dict[str, Any]:
    return {table.name: table for table in frame_tables(elf, code_of(elf))}


@pytest.mark.parametrize("with_header", [True, False])
def test_entries_of_eh_frame_and_debug_frame_are_counted(with_header) -> None:
    frames = [Frame(0x1000, 0x1000), Frame(0x2000, 0x800), Frame(0x2400, 0x100)]
    file = FrameFile(frames, with_header=with_header, debug=[Frame(0x1000, 0x200)])
    found = frames_of(open_elf(file.bytes()))
    assert (found[".eh_frame"].functions, found[".eh_frame"].share) == (3, 0x1800 / 0x4000)
    assert (found[".debug_frame"].functions, found[".debug_frame"].share) == (1, 0x200 / 0x4000)


def test_a_truncated_entry_is_skipped() -> None:
    file = FrameFile([Frame(0x1000, 0x1000), Frame(0x2000, 0x1000)])
    frames, offsets = file.eh_frame()
    sections = [TinySection(".text", file.text, 0x1000, flags=6),
                TinySection(".eh_frame", frames[: offsets[-1] + 12], EH_FRAME, flags=2),
                TinySection(".eh_frame_hdr", file.header(offsets), EH_FRAME_HDR, flags=2)]  # fmt: skip
    found = frames_of(open_elf(tiny_elf(sections)))[".eh_frame"]
    assert (found.functions, found.share) == (1, 0x1000 / 0x4000)


def test_an_entry_with_a_64_bit_length_is_skipped() -> None:
    file = FrameFile([Frame(0x1000, 0x1000)])
    frames, offsets = file.eh_frame()
    wide = b"\xff\xff\xff\xff" + (24).to_bytes(8, "little") + (len(frames) + 12).to_bytes(8, "little") + bytes(16)
    pairs = struct.pack("<4i", 0x1000 - EH_FRAME_HDR, EH_FRAME + offsets[0] - EH_FRAME_HDR,
                        0x2000 - EH_FRAME_HDR, EH_FRAME + len(frames) - EH_FRAME_HDR)  # fmt: skip
    header = b"\x01\x1b\x03\x3b" + struct.pack("<iI", 0, 2) + pairs
    sections = [TinySection(".text", file.text, 0x1000, flags=6),
                TinySection(".eh_frame", frames + wide, EH_FRAME, flags=2),
                TinySection(".eh_frame_hdr", header, EH_FRAME_HDR, flags=2)]  # fmt: skip
    assert frames_of(open_elf(tiny_elf(sections)))[".eh_frame"].functions == 1


def test_sframe_with_an_auxiliary_header_is_read() -> None:
    data = bytearray(sframe([(0x1000, 0x40)], 0x9000).data)
    data[7] = 4
    data[28:28] = b"\xff" * 4
    found = frames_of(open_elf(tiny_elf([TEXT, TinySection(".sframe", bytes(data), 0x9000, flags=2)])))[".sframe"]
    assert (found.functions, found.share) == (1, 0.25)


@pytest.mark.parametrize(("version", "flags"), [(2, 0), (2, 4), (3, 0)])
def test_entries_of_sframe_are_counted(version, flags) -> None:
    index = sframe([(0x1000, 0x40), (0x1080, 0x40)], 0x9000, version, flags)
    found = frames_of(open_elf(tiny_elf([TEXT, index])))[".sframe"]
    assert (found.functions, found.share, found.broken) == (2, 0.5, "")


def test_sframe_of_binutils_2_47_is_read() -> None:
    """Two functions, of 7 bytes at 0x1000 and 3 bytes at 0x1007, as readelf --sframe says."""
    data = bytes.fromhex(
        "e2de03050300f80002000000050000001c000000000000002000000094efffffffffffff07000000000000008befffffffffffff"
        "03000000140000000400000000000308010510f0040410f0060508f00100000000000308"
    )
    start, end = sframe_ranges(open_elf(tiny_elf([TEXT, TinySection(".sframe", data, 0x2050, flags=2)])))
    assert [(a, b) for a, b in zip(start.tolist(), end.tolist(), strict=True)] == [(0x1000, 0x1007), (0x1007, 0x100A)]


@pytest.mark.parametrize(("index", "said"), [
    (sframe([(0x1000, 1)], 0x9000, count=2**31), "2147483648 functions do not fit in its 48 bytes"),
    (sframe([], 0x9000, version=9), "version 9 is not known"),
    (TinySection(".sframe", b"\xe2\xde\x02", 0x9000, flags=2), "no SFrame header"),
])  # fmt: skip
def test_inconsistent_sframe_is_reported_in_a_sentence(index, said) -> None:
    assert frames_of(open_elf(tiny_elf([TEXT, index])))[".sframe"].broken == said


def test_inconsistent_call_frames_are_reported_in_a_sentence() -> None:
    header = TinySection(".eh_frame_hdr", b"\x01\x1b\x03\x3b" + b"\xff" * 8, 0x4000, flags=2)
    elf = tiny_elf([TEXT, TinySection(".eh_frame", b"\xff" * 64, 0x3000, flags=2), header])
    assert "4294967295 entries do not fit" in frames_of(open_elf(elf))[".eh_frame"].broken


@pytest.mark.parametrize("header", [None, b"\x01\x1b\x03\x3b" + bytes(8)])
def test_a_large_section_without_a_table_is_not_walked(header, monkeypatch) -> None:
    more = [] if header is None else [TinySection(".eh_frame_hdr", header, 0x4000, flags=2)]
    elf = open_elf(tiny_elf([TEXT, TinySection(".eh_frame", bytes(200), 0x3000, flags=2), *more]))
    assert frames_of(elf)[".eh_frame"].broken == ""
    monkeypatch.setattr(call_frames, "LARGEST_WALK", 199)
    assert frames_of(elf)[".eh_frame"].broken == "200 bytes without a sorted table, which were not read"


def test_a_debug_files_segments_are_ignored() -> None:
    elf = open_elf(tiny_elf([EMPTY_TEXT, TinySection(".eh_frame", bytes(8), 0x3000, type="NOBITS", flags=2)]))
    assert frames_of(elf) == {}


def test_a_relocatable_file_has_no_addresses() -> None:
    file = tiny_elf([TEXT, TinySection(".eh_frame", bytes(64)), TinySection(".debug_frame", bytes(64))], kind=1)
    assert {name: one.broken for name, one in frames_of(open_elf(file)).items()} == {
        ".eh_frame": "not linked yet, so it has no addresses", ".debug_frame": "not linked yet, so it has no addresses",
    }  # fmt: skip


@pytest.mark.parametrize("path", [*(DEMO / name for name in PROGRAMS), sys.executable], ids=str)
def test_counts_equal_those_of_pyelftools(path) -> None:
    if Path(path).read_bytes()[:4] != b"\x7fELF":
        pytest.skip("no ELF file here")
    elf = open_elf(path)
    code = code_of(elf)
    with Path(path).open("rb") as stream:
        file = ELFFile(stream)
        text = file.get_section_by_name(".text")
        for table in name_tables(elf, code):
            rows = file.get_section_by_name(table.name).iter_symbols()
            kinds = ("STT_FUNC", "STT_LOOS", "STT_GNU_IFUNC")
            named = [row for row in rows if row["st_info"]["type"] in kinds and row["st_shndx"] != "SHN_UNDEF"]
            assert table.functions == len(named)
        found = frames_of(elf).get(".eh_frame")
        if found is None or found.functions > 1000:
            return
        entries = [entry for entry in file.get_dwarf_info().EH_CFI_entries() if isinstance(entry, FDE)]
        held = np.zeros(text["sh_size"], np.bool_)
        for entry in entries:
            first = entry["initial_location"] - text["sh_addr"]
            held[max(first, 0) : max(first + entry["address_range"], 0)] = True
    assert found.functions == len(entries)
    assert found.share == held.mean()
