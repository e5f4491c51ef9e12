"""ELF headers against files that a linker wrote and against bytes that nobody should trust."""

import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.elf import elf_headers as abi
from perf2x.base.binaries.elf.build_id_notes import gnu_build_id
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.errors import ObjectError
from tests.support.examples import examples
from tests.support.tiny_elf import TinySection, tiny_elf

NOTE = struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes(range(20))
TEXT = TinySection(".text", b"\x90" * 64, 0x1040, flags=6)


@pytest.mark.parametrize("is_64", [True, False])
@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_sections_and_segments_of_every_word_size_and_byte_order(is_64, byte_order) -> None:
    note = struct.pack(byte_order + "III", 4, 20, 3) + b"GNU\0" + bytes(range(20))
    elf = open_elf(tiny_elf([TinySection(".note.gnu.build-id", note, 0x300, "NOTE", 2), TEXT], is_64, byte_order))
    assert (elf.is_64, elf.byte_order, elf.type) == (is_64, byte_order, "ET_DYN")
    assert [section.name for section in elf.sections] == ["", ".note.gnu.build-id", ".text", ".shstrtab"]
    text = elf.section(".text")
    assert text is not None and text.address == 0x1040 and elf.data(text) == b"\x90" * 64
    assert elf.build_id == bytes(range(20))
    assert [segment.address for segment in elf.segments if segment.type == "PT_LOAD"] == [0x300, 0x1040]


def test_a_section_called_like_a_compressed_one_is_not_decompressed() -> None:
    elf = open_elf(tiny_elf([TinySection(".zeros", bytes(8), 0x1040, flags=6)]))
    section = elf.section(".zeros")
    assert section is not None and elf.data(section) == bytes(8)


def test_a_missing_section_is_none() -> None:
    assert open_elf(tiny_elf([TEXT])).section(".data") is None


def test_file_offsets_become_stated_addresses() -> None:
    elf = open_elf(tiny_elf([TEXT]))
    text = elf.section(".text")
    assert text is not None
    offsets = np.array([text.offset, text.offset + 63, 1 << 40, 2**64 - 1], np.uint64)
    svma, found = elf.offset_to_svma(offsets)
    assert found.tolist() == [True, True, False, False]
    assert svma.dtype == np.uint64 and svma.tolist()[:2] == [0x1040, 0x107F]


def test_a_compressed_section_is_decompressed() -> None:
    plain = b"abc" * 1000
    for is_64, header in ((True, struct.pack("<IIQQ", 1, 0, 3000, 1)), (False, struct.pack("<III", 1, 3000, 1))):
        section = TinySection(".debug_frame", header + zlib.compress(plain), flags=0x800)
        elf = open_elf(tiny_elf([section], is_64))
        found = elf.section(".debug_frame")
        assert found is not None and elf.data(found) == plain


@pytest.mark.parametrize("size", [0, 1, 10, 23])
def test_a_truncated_compression_header_is_an_object_error(size) -> None:
    elf = open_elf(tiny_elf([TinySection(".debug_frame", bytes(size), flags=0x800)]))
    with pytest.raises(ObjectError, match="compression header is cut off"):
        elf.data(elf.section(".debug_frame"))


def test_a_compressed_section_with_a_huge_size_is_refused() -> None:
    header = struct.pack("<IIQQ", 1, 0, 2**62, 1)
    elf = open_elf(tiny_elf([TinySection(".debug_frame", header + zlib.compress(b"x"), flags=0x800)]))
    with pytest.raises(ObjectError):
        elf.data(elf.sections[1])


def test_the_running_python_is_readable() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("no ELF files on this platform")
    elf = open_elf(Path(sys.executable))
    assert elf.section(".dynsym") is not None and elf.segments


OBJECTS = sorted({Path(sys.executable).resolve(), *sorted(Path("/usr/lib").glob("*/*.so.?"))[:25]})


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.name)
def test_headers_equal_those_of_pyelftools(path) -> None:
    """A second opinion on every binary that happens to be here."""
    with path.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            pytest.skip("no ELF file")
        theirs, ours = ELFFile(stream), open_elf(path)
        assert (ours.machine, ours.type, ours.entry) == (theirs["e_machine"], theirs["e_type"], theirs["e_entry"])
        known = set(abi._SECTION_TYPES.values()) | set(abi._SEGMENT_TYPES.values())
        keys = ["flags", "addr", "offset", "size", "link", "info", "addralign", "entsize"]
        sections = [(s.name, s["sh_type"], *(s[f"sh_{key}"] for key in keys)) for s in theirs.iter_sections()]
        assert [s if s.type in known else (s.name, *s[2:]) for s in ours.sections] == [
            row if row[1] in known else (row[0], *row[2:]) for row in sections
        ]
        keys = ["flags", "offset", "vaddr", "filesz", "memsz", "align"]
        segments = [(s["p_type"], *(s[f"p_{key}"] for key in keys)) for s in theirs.iter_segments()]
        assert [s if s.type in known else s[1:] for s in ours.segments] == [
            row if row[0] in known else row[1:] for row in segments
        ]


@pytest.mark.parametrize("is_64", [True, False])
@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_counts_too_large_for_the_header_are_in_section_0(is_64, byte_order) -> None:
    data = bytearray(tiny_elf([TEXT], is_64, byte_order))
    plain = open_elf(bytes(data))
    word, counts = ("Q", 54) if is_64 else ("I", 42)  # e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx
    _, segments, _, sections, names = struct.unpack_from(byte_order + "5H", data, counts)
    table = struct.unpack_from(byte_order + word, data, 40 if is_64 else 32)[0]
    struct.pack_into(byte_order + "H", data, counts + 2, 0xFFFF)
    struct.pack_into(byte_order + "2H", data, counts + 6, 0, 0xFFFF)
    at = table + (32 if is_64 else 20)
    struct.pack_into(byte_order + word + "II", data, at, sections, names, segments)
    moved = open_elf(bytes(data))
    assert moved.sections[1:] == plain.sections[1:] and moved.segments == plain.segments


def test_missing_file_is_an_object_error(tmp_path) -> None:
    with pytest.raises(ObjectError, match="No such file"):
        open_elf(tmp_path / "absent")


WHOLE = tiny_elf([TinySection(".note.gnu.build-id", NOTE, 0x300, "NOTE", 2), TEXT])


@given(st.integers(0, len(WHOLE) - 1))
def test_truncated_files_are_object_errors(length) -> None:
    with pytest.raises(ObjectError):
        open_elf(WHOLE[:length])


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_flipped_bytes_give_an_object_or_an_object_error(flips) -> None:
    data = bytearray(WHOLE)
    for position, value in flips:
        data[position] = value
    try:
        elf = open_elf(bytes(data))
        elf.offset_to_svma(np.array([0, 0x40, 2**64 - 1], np.uint64))
        for section in elf.sections:
            elf.data(section)
    except ObjectError:
        pass


@given(st.binary(max_size=80), st.sampled_from(["<", ">"]), st.sampled_from([0, 4, 8]))
def test_any_bytes_can_be_parsed_as_notes(data, byte_order, alignment) -> None:
    assert len(gnu_build_id(data, byte_order, alignment)) <= 64
