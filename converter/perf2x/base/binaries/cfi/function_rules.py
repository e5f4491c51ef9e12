"""Rules of one section of call frame information by address; functions are decoded when an address falls into them.

Many are decoded at once, as columns of rule rows (an address, and the rule from there on). The few that have something
unusual in them, or damage, are decoded one by one (`run_instructions.rule_rows`), which also words what is wrong. Both
ways give the same rows.

Finds call frame information in an ELF file: by section, or by segment where the section table was stripped.
"""

import numpy as np

from perf2x.base.binaries.cfi.entry_columns import FdeColumns, fde_columns
from perf2x.base.binaries.cfi.frame_entries import FrameIndex, FrameSection, index_by_walking, index_from_header
from perf2x.base.binaries.cfi.instruction_columns import Bodies, read_instructions
from perf2x.base.binaries.cfi.row_columns import Aligned, RowColumns, row_columns
from perf2x.base.binaries.cfi.run_instructions import rule_rows
from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, RuleTable
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Frozen,
    GrowableColumns,
    argsort,
    as_int32,
    as_int64,
    as_uint64,
    bincount,
    cumsum,
    flatnonzero,
    join_tables,
    minus_ones,
    no_rows,
    offsets_of,
    row_batches,
    trues,
    unique,
    zeros,
)
from perf2x.base.errors import ObjectError


class FrameSource:
    """The index of one section, and the rule rows of the functions decoded so far."""

    def __init__(self, index: FrameIndex) -> None:
        self.index = index
        count = len(index.start)
        self._first: I64 = minus_ones(count)
        """(n,) first row of each function, −1 before it is decoded"""
        self._stop: I64 = zeros(count)
        self._end: U64 = np.zeros(count, np.uint64)
        """(n,) svma behind each function"""
        self._start, self._rule = GrowableColumns(np.uint64), GrowableColumns(np.int32)

    def find(self, svma: U64, table: RuleTable, problems: list[str]) -> I32:
        """(n,) rule numbers of addresses, NO_RULE outside functions."""
        result = np.full(len(svma), NO_RULE, np.int32)
        function = self.index.find(svma)
        rows = flatnonzero(function >= 0)
        function = function[rows]
        new = unique(function[self._first[function] < 0])
        for begin in range(0, len(new), MOST):
            self._decode(new[begin : begin + MOST], table, problems)
        inside = svma[rows] < self._end[function]
        rows, function = rows[inside], function[inside]
        row = self._last_row(function, svma[rows])
        known = row >= self._first[function]
        result[rows[known]] = self._rule[0][row[known]]
        return result

    def _last_row(self, function: I64, svma: U64) -> I64:
        """(n,) the last row of each function that starts at or before an address; by bisection, all side by side."""
        low, high, start = self._first[function], self._stop[function], self._start[0]
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            goes_on = (low < high) & (start[np.minimum(middle, len(start) - 1)] <= svma)
            high = np.where(goes_on, high, middle)
            low = np.where(goes_on, middle + 1, low)
        return low - 1

    def _decode(self, function: I64, table: RuleTable, problems: list[str]) -> None:
        found = decode_functions(self.index.section, self.index.offset[function], table, problems)
        first = len(self._start) + found.offsets
        self._first[function], self._stop[function], self._end[function] = first[:-1], first[1:], found.end
        self._start.extend(found.start)
        self._rule.extend(found.rule)


FEW = 10
"""So many functions are decoded one by one in the time that all the numpy calls take."""
BATCH = 1 << 17
"""Bytes of programs that are decoded together: columns of instructions take some hundred bytes for each of them."""
LARGEST = BATCH // 4
"""Bytes of a program; a larger one is decoded by itself."""
MOST, ALL = 256, 16 * BATCH
"""Functions to decode at once, and bytes of their programs: the rows of hostile ones take 150 MB meanwhile."""


class CfiFunctions(Frozen):
    """``n`` decoded functions: the rule rows of function i are offsets[i] to offsets[i + 1], rising from its start."""

    offsets: I64
    start: U64
    rule: I32
    end: U64
    """(n,) svma; 0 for a damaged entry, which has no rows"""


def decode_functions(section: FrameSection, offset: I64, table: RuleTable, problems: list[str]) -> CfiFunctions:
    """Decode the FDEs at ``offset`` (n,); a damaged one adds a sentence to ``problems``."""
    end = np.zeros(len(offset), np.uint64)
    left = trues(len(offset))
    parts: list[RowColumns] = []
    if len(offset) > FEW and section.byte_order == "<":
        fdes = fde_columns(section, offset)
        end[fdes.is_plain] = fdes.end[fdes.is_plain]
        for part, sound in _side_by_side(section, fdes, table):
            parts.append(part)
            left[sound] = False
    parts += [_one(section, offset, number, end, table, problems) for number in flatnonzero(left).tolist()]
    return _joined(parts, end)


def _one(
    section: FrameSection, offset: I64, number: int, end: U64, table: RuleTable, problems: list[str]
) -> RowColumns:
    """Decode one function; puts its end into ``end``."""
    rows, end[number] = list[tuple[int, int]](), 0
    try:
        fde = section.fde(int(offset[number]))
        rows, end[number] = rule_rows(section, fde, table), fde.end
    except ObjectError as error:
        problems.append(str(error))
    start, rule = as_uint64(rows).reshape(-1, 2).T
    return RowColumns(np.full(len(rows), number, np.int64), start, as_int32(rule))


def _side_by_side(section: FrameSection, fdes: FdeColumns, table: RuleTable) -> list[tuple[RowColumns, I64]]:
    """Decode the plain functions, batch by batch: the rows of each, and the functions that they are the rows of."""
    cie_start, cie_stop = as_int64([cie.instructions for cie in fdes.cies]).reshape(-1, 2).T
    bytes_of_cie = np.maximum(cie_stop - cie_start, 0)
    known = np.array([cie.return_register < table.register_count for cie in fdes.cies], np.bool_)
    size = bytes_of_cie[fdes.cie] + np.maximum(fdes.stop - fdes.instructions, 0)
    plain = flatnonzero(fdes.is_plain & known[fdes.cie] & (size <= LARGEST))
    plain, found = plain[cumsum(size[plain]) <= ALL], []
    for rows in row_batches(size[plain], BATCH):
        which = plain[rows]
        cie = fdes.cie[which]
        bodies = Bodies(cie_start[cie], cie_start[cie] + bytes_of_cie[cie], fdes.instructions[which], fdes.stop[which])
        of = read_instructions(np.frombuffer(section.data, np.uint8), bodies)
        part, sound = row_columns(of, Aligned(fdes.cies, cie, fdes.start[which]), table)
        found.append((RowColumns(which[part.function], part.start, part.rule), which[sound]))
    return found


def _joined(parts: list[RowColumns], end: U64) -> CfiFunctions:
    """Put the rows in order of their functions; the rows of each function are in order in one part."""
    rows = join_tables([no_rows(RowColumns), *parts])
    order, offsets = argsort(rows.function), offsets_of(bincount(rows.function, len(end)))
    return CfiFunctions(offsets, rows.start[order], rows.rule[order], end)


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
    """The index of .debug_frame; None without one."""
    section = elf.section(".debug_frame")
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
    if address is None or not (entries := elf.code_at(address, elf.size)):
        raise ObjectError(f"{elf.name}: its .eh_frame_hdr points nowhere")
    frames = _frame_section(elf, entries, address, True)
    index = index_from_header(frames, data, header.address)
    return index_by_walking(frames, past_terminator=False) if index is None else index
