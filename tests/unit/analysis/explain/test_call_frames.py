"""Coverage of call frame information: forged files, and real ones compared with pyelftools."""

import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from perf2x.analysis.explain import call_frames
from perf2x.analysis.explain.call_frames import frame_tables
from perf2x.analysis.explain.code_coverage import code_of, name_tables
from perf2x.binaries.elf.elf_file import open_elf
from tests.support.frame_writer import EH_FRAME, EH_FRAME_HDR, Frame, FrameFile
from tests.support.recordings import CORPUS
from tests.support.tiny_elf import TinySection, tiny_elf
from tests.unit.analysis.explain.forged import EMPTY_TEXT, TEXT

DEMO = CORPUS / "common" / "symfs" / "demo"
PROGRAMS = ["calls", "frames", "shapes", "family"]


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
