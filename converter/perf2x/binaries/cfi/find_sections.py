"""Finds call frame information in an ELF file: by section, or by segment where the section table was stripped."""

from perf2x.base.errors import ObjectError
from perf2x.binaries.cfi.frame_entries import FrameIndex, FrameSection, index_by_walking, index_from_header
from perf2x.binaries.elf.elf_file import ElfObject


def eh_frame_index(elf: ElfObject) -> FrameIndex | None:
    """The index of .eh_frame, None without one. Raises ObjectError if it cannot be read."""
    section, header = elf.section(".eh_frame"), elf.section(".eh_frame_hdr")
    if section is None:
        return _index_by_segment(elf)
    frames = _frame_section(elf, elf.data(section), section.address, True)
    if header is not None:
        index = index_from_header(frames, elf.data(header), header.address)
        if index is not None:
            return index
    return index_by_walking(frames)


def debug_frame_index(elf: ElfObject) -> FrameIndex | None:
    """The index of .debug_frame, or of .zdebug_frame as older Go linkers write it; None without one."""
    section = elf.section(".debug_frame") or elf.section(".zdebug_frame")
    return index_by_walking(_frame_section(elf, elf.data(section), 0, False)) if section is not None else None


def _frame_section(elf: ElfObject, data: bytes, address: int, is_eh: bool) -> FrameSection:
    return FrameSection(data, address, is_eh, elf.byte_order, 8 if elf.is_64 else 4)


def _index_by_segment(elf: ElfObject) -> FrameIndex | None:
    """PT_GNU_EH_FRAME is .eh_frame_hdr; .eh_frame, which it points to, ends with its PT_LOAD at the latest.

    Without a table the entries are walked up to the terminator; other sections follow it.
    """
    header = next((segment for segment in elf.segments if segment.type == "PT_GNU_EH_FRAME"), None)
    if header is None:
        return None
    data = elf.read(header.offset, header.file_size)
    at = _frame_section(elf, data, header.address, True).cursor(0, len(data))
    at.position = 4
    address = at.pointer(data[1], header.address) if len(data) > 4 else None
    load = elf.load_of(address) if address is not None else None
    if load is None or address is None:
        raise ObjectError(f"{elf.name}: its .eh_frame_hdr points nowhere")
    skip = address - load.address
    frames = _frame_section(elf, elf.read(load.offset + skip, load.file_size - skip), address, True)
    index = index_from_header(frames, data, header.address)
    return index_by_walking(frames, past_terminator=False) if index is None else index


def code_at(elf: ElfObject, svma: int, size: int) -> bytes:
    """Up to ``size`` bytes at a svma; b"" where the file has none."""
    load = elf.load_of(svma)
    if load is None:
        return b""
    skip = svma - load.address
    return elf.read(load.offset + skip, min(size, load.file_size - skip))
