"""Call frame information where there is no section table, and code at an address."""

import struct

import pytest

from perf2x.base.binaries.cfi.section_rules import eh_frame_index
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.errors import ObjectError
from tests.support.frame_writer import EH_FRAME, EH_FRAME_HDR, TEXT, Frame, FrameFile, def_cfa
from tests.support.tiny_elf import TinySection, tiny_elf

LOAD, EH_FRAME_SEGMENT = 1, 0x6474E550
FRAMES = [Frame(TEXT, 8), Frame(TEXT + 16, 8)]


def stripped(header, frames, at=EH_FRAME, skip=0) -> ElfObject:
    """An x86_64 object without sections: a PT_LOAD ``skip`` bytes in front of the frames, and the header's segment."""
    start = 64 + 2 * 56
    image = bytes(skip) + frames
    segments = [
        (LOAD, start, at - skip, len(image)),
        (EH_FRAME_SEGMENT, start + len(image), EH_FRAME_HDR, len(header)),
    ]
    table = b"".join(
        struct.pack("<IIQQQQQQ", kind, 4, offset, address, address, size, size, 8)
        for kind, offset, address, size in segments
    )
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    rest = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 64, 0, 0)
    return open_elf(ident + rest + table + image + header)


def parts() -> tuple[bytes, bytes]:
    file = FrameFile(FRAMES, initial=def_cfa(7, 8))
    frames, offsets = file.eh_frame()
    return file.header(offsets), frames


@pytest.mark.parametrize("skip", [0, 24])
def test_without_sections_the_segments_lead_to_the_frames(skip) -> None:
    """The header's pointer says where they begin within their PT_LOAD; they end with it."""
    header, frames = parts()
    index = eh_frame_index(stripped(header, frames, skip=skip))
    assert index.start.tolist() == [TEXT, TEXT + 16]
    assert [index.section.fde(at).start for at in index.offset.tolist()] == [TEXT, TEXT + 16]
    assert (index.section.address, index.section.data) == (EH_FRAME, frames)


def test_an_object_without_frames_has_no_index() -> None:
    assert eh_frame_index(open_elf(tiny_elf([TinySection(".text", b"\x90", TEXT, flags=6)]))) is None


@pytest.mark.parametrize("size", [0, 1, 4])
def test_a_header_that_ends_before_its_pointer_points_nowhere(size) -> None:
    header, frames = parts()
    with pytest.raises(ObjectError, match="points outside the file"):
        eh_frame_index(stripped(header[:size], frames))


def test_the_shortest_header_is_of_five_bytes() -> None:
    """A pointer of one byte (ULEB128), no number of entries and no table: the frames are walked."""
    _, frames = parts()
    assert len(eh_frame_index(stripped(b"\x01\x01\xff\xff\x10", frames, at=0x10)).start) == 2


def test_without_sections_and_without_a_table_the_frames_are_walked_up_to_the_terminator() -> None:
    """The rest of the segment belongs to another section, even if it looks like frames."""
    header, frames = parts()
    bare = b"\x01\x1b\xff\xff" + header[4:8]
    index = eh_frame_index(stripped(bare, frames + frames))
    assert index.start.tolist() == [TEXT, TEXT + 16]
    assert [index.section.fde(at).start for at in index.offset.tolist()] == [TEXT, TEXT + 16]


@pytest.mark.parametrize(("by", "fits"), [(-1, False), (0, True), (1, True)])
def test_a_pointer_in_front_of_the_frames_segment_points_nowhere(by, fits) -> None:
    _, frames = parts()
    elf = stripped(b"\x01\x01\xff\xff" + bytes([0x10 + by]), frames, at=0x10)
    if fits:
        assert eh_frame_index(elf).section.address == 0x10 + by
    else:
        with pytest.raises(ObjectError, match="points outside the file"):
            eh_frame_index(elf)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        (0xFFF, b""), (0x1000, b"\x01\x02\x03\x04"), (0x1006, b"\x07\x08"), (0x1007, b"\x08"),
        (0x1008, b"\x09\x0a"), (0x1009, b"\x0a"), (0x100A, b""),
    ],
)  # fmt: skip
def test_code_ends_with_its_segment_and_the_next_begins_there(address, code) -> None:
    """Eight bytes at 0x1000, two of another segment right behind them."""
    text = TinySection(".text", bytes(range(1, 9)), 0x1000, flags=6)
    elf = open_elf(tiny_elf([text, TinySection(".more", b"\x09\x0a", 0x1008, flags=6)]))
    assert elf.bytes_at(address, 4) == code
