"""Looks up unwind rules by address in one section of call frame information.

The section is found in an ELF file by name or, if the section table was stripped, by segment.
"""

from array import array
from bisect import bisect_right

from msgspec import Struct

from perf2x.base.binaries.cfi.frame_entries import Cie, FrameIndex, FrameSection, index_by_walking, index_from_header
from perf2x.base.binaries.cfi.run_instructions import CfiPrograms, FunctionRows
from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, RuleTable
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.columnar import I32, U64, as_int32
from perf2x.errors import ObjectError

_NO_ROWS = FunctionRows(0, array("Q"), array("i"))


class SectionRules(Struct):
    """One section's index of FDEs, and the rows of the functions decoded so far.

    A sentence is added to the caller's list ``_problems`` for each damaged entry.
    """

    _index: FrameIndex
    _rule_table: RuleTable
    _problems: list[str]
    _rows_of_fde: dict[int, FunctionRows] = {}
    _programs: dict[Cie, CfiPrograms] = {}

    def find(self, svma: U64) -> I32:
        """Return the number of the rule at each address, NO_RULE outside functions. Shapes: (n,) → (n,)."""
        fde_rows = self._index.find(svma).tolist()
        return as_int32([self._rule_number(row, address) for row, address in zip(fde_rows, svma.tolist(), strict=True)])

    def _rule_number(self, fde_row: int, svma: int) -> int:
        if fde_row < 0:
            return NO_RULE
        rows = self._rows_of_fde.get(fde_row)
        if rows is None:
            rows = self._rows_of_fde[fde_row] = self._decode(int(self._index.offset[fde_row]))
        row_count = bisect_right(rows.start, svma)
        return rows.rule_number[row_count - 1] if row_count and svma < rows.end else NO_RULE

    def _decode(self, offset: int) -> FunctionRows:
        section = self._index.section
        try:
            fde = section.fde(offset)
            if fde.cie not in self._programs:
                self._programs[fde.cie] = CfiPrograms(section, fde.cie, self._rule_table)
            return self._programs[fde.cie].rows(fde)
        except ObjectError as error:
            self._problems.append(str(error))
            return _NO_ROWS


def eh_frame_index(elf: ElfObject) -> FrameIndex | None:
    """Build the index of .eh_frame; None if the file has neither the section nor the segment.

    Raises ObjectError if .eh_frame or .eh_frame_hdr cannot be read.
    """
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
    """Build the index of .debug_frame; None if the file has no such section."""
    section = elf.section(".debug_frame")
    # the section is not loaded, so no pointer is relative to its address
    return index_by_walking(_frame_section(elf, elf.data(section), 0, False)) if section is not None else None


def _frame_section(elf: ElfObject, data: bytes, address: int, is_eh: bool) -> FrameSection:
    return FrameSection(data, address, is_eh, elf.byte_order, 8 if elf.is_64 else 4)


def _index_by_segment(elf: ElfObject) -> FrameIndex | None:
    """Build the index of .eh_frame from the segment PT_GNU_EH_FRAME, which is .eh_frame_hdr.

    It has the address of .eh_frame, but not the size: another section may follow the terminator.
    """
    header = next((segment for segment in elf.segments if segment.type == "PT_GNU_EH_FRAME"), None)
    if header is None:
        return None
    data = elf.read(header.offset, header.file_size)
    cursor = _frame_section(elf, data, header.address, True).cursor(0, len(data))
    cursor.position = 4  # after the version and three encodings; byte 1 is the encoding of the address of .eh_frame
    address = cursor.pointer(data[1], header.address) if len(data) > 4 else None
    if address is None or not (entries := elf.bytes_at(address, elf.size)):
        raise ObjectError(f"{elf.name}: its .eh_frame_hdr points outside the file")
    frames = _frame_section(elf, entries, address, True)
    index = index_from_header(frames, data, header.address)
    return index_by_walking(frames, past_terminator=False) if index is None else index
