"""Coverage of call frame information: the functions that can be unwound without frame pointers.

Starts come from the sorted table that linkers write, lengths are read from the entries as a column: an entry costs
nanoseconds, so that objects with a million functions take milliseconds. ``.sframe``, a format that the kernel can
unwind with, has an index of its functions: binutils include/sframe.h, versions 1 to 3 of the format.
"""

from itertools import islice

import numpy as np

from perf2x.analysis.explain.code_coverage import Code, FunctionTable, broken_table
from perf2x.base.abi.callframe import PointerFormat
from perf2x.base.columnar.arrays import I64, U64, AnyArray, arange
from perf2x.base.columnar.unique import rows_by, unique_inverse
from perf2x.base.errors import ObjectError
from perf2x.binaries.cfi.frame_entries import FrameIndex, FrameSection, index_by_walking, index_from_header
from perf2x.binaries.cfi.function_rules import debug_frame_index, eh_frame_index
from perf2x.binaries.elf.elf_file import ElfObject

LARGEST_WALK = 1 << 22
"""Bytes of a section without a sorted table, whose entries have to be read one by one."""
COMMON_ENTRIES_AT_MOST = 1 << 14
_WIDTHS: dict[int, int] = {
    PointerFormat.UDATA2: 2, PointerFormat.UDATA4: 4, PointerFormat.UDATA8: 8,
    PointerFormat.SDATA2: 2, PointerFormat.SDATA4: 4, PointerFormat.SDATA8: 8,
}  # fmt: skip


def frame_tables(elf: ElfObject, code: Code) -> list[FunctionTable]:
    """Return the tables of one file; one that cannot be read has the error in ``broken``."""
    found = []
    for name, ranges in ((".eh_frame", _eh_frame), (".debug_frame", _debug_frame), (".sframe", sframe_ranges)):
        try:
            pair = ranges(elf)
        except ObjectError as error:
            found.append(broken_table(error, elf, name))
            continue
        if pair is not None:
            found.append(FunctionTable(name, elf.name, len(pair[0]), code.share(*pair)))
    return found


def _eh_frame(elf: ElfObject) -> tuple[U64, U64] | None:
    section = elf.section(".eh_frame")
    if section is None and elf.sections:  # the segments of a debug file describe another file
        return None
    if section is None:
        index = eh_frame_index(elf)
        return None if index is None else _entry_ranges(index)
    header = elf.section(".eh_frame_hdr")
    frames = FrameSection(elf.data(section), section.address, True, elf.byte_order, 8 if elf.is_64 else 4)
    index = None if header is None else index_from_header(frames, elf.data(header), header.address)
    if index is None:
        _check(elf, section.name, len(frames.data))
        index = index_by_walking(frames)
    return _entry_ranges(index)


def _debug_frame(elf: ElfObject) -> tuple[U64, U64] | None:
    section = elf.section(".debug_frame") or elf.section(".zdebug_frame")
    if section is None:
        return None
    _check(elf, section.name, len(elf.data(section)))
    index = debug_frame_index(elf)
    return None if index is None else _entry_ranges(index)


def _check(elf: ElfObject, name: str, size: int) -> None:
    if elf.type == "ET_REL":
        raise ObjectError(f"{elf.name}, {name}: not linked yet, so it has no addresses")
    if size > LARGEST_WALK:
        raise ObjectError(f"{elf.name}, {name}: {size:,} bytes without a sorted table, which were not read")


def _entry_ranges(index: FrameIndex) -> tuple[U64, U64]:
    """Return (n,) start and end of each entry, without entries of unknown length."""
    section, offset = index.section, index.offset
    data = np.frombuffer(section.data, np.uint8)
    whole = (offset >= 0) & (offset + 8 <= len(data))
    offset, start = offset[whole], index.start[whole]
    length, identity = (_read_integers(data, offset + at, 4, section.byte_order) for at in (0, 4))
    narrow = length != 2**32 - 1
    offset, start, identity = offset[narrow], start[narrow], identity[narrow].astype(np.int64)
    common, which = unique_inverse(offset + 4 - identity if section.is_eh else identity)
    size = np.zeros(len(offset), np.uint64)
    for number, rows in islice(rows_by(which), COMMON_ENTRIES_AT_MOST):
        width, skip = _width(section, int(common[number]))
        rows = rows[offset[rows] + 8 + skip + 2 * width <= len(data)] if width else rows[:0]
        size[rows] = _read_integers(data, offset[rows] + 8 + skip + width, width, section.byte_order)
    kept = (size > 0) & (start + size > start)
    return start[kept], (start + size)[kept]


def _width(section: FrameSection, place: int) -> tuple[int, int]:
    """Return the size of an entry's addresses by its CIE (0: variable or unknown), and of the segment before them."""
    try:
        cie = section.cie(place)
    except ObjectError:
        return 0, 0
    code = cie.pointer_encoding & 0x0F
    return (cie.address_size if code == PointerFormat.ABSPTR else _WIDTHS.get(code, 0)), cie.segment_size


def _read_integers(data: AnyArray, at: I64, width: int, byte_order: str) -> U64:
    """Return (n,) integers of ``width`` bytes at offsets ``at``."""
    if not width:
        return np.zeros(len(at), np.uint64)
    parts = np.ascontiguousarray(data[at[:, None] + arange(width)])
    return parts.view(f"{byte_order}u{width}").reshape(-1).astype(np.uint64)


MAGIC = 0xDEE2
HEADER_SIZE = 28
_FROM_THE_FIELD = 0x4
"""Starts are relative to their own field (SFRAME_F_FDE_FUNC_START_PCREL), not to the section."""
_ROWS = {1: ("i4", 17), 2: ("i4", 20), 3: ("i8", 16)}
"""{version: (type of the start, bytes of a row)}; the function's size, 32 bits, follows the start."""


def sframe_ranges(elf: ElfObject) -> tuple[U64, U64] | None:
    """Return (n,) start and end of each function; None without the section, ObjectError when it cannot be read."""
    section = elf.section(".sframe")
    if section is None:
        return None
    data, order = elf.data(section), elf.byte_order
    if len(data) < HEADER_SIZE or int(np.frombuffer(data, order + "u2", 1)[0]) != MAGIC:
        raise ObjectError(f"{elf.name}, .sframe: no SFrame header")
    version, flags, more = data[2], data[3], data[7]
    if version not in _ROWS:
        raise ObjectError(f"{elf.name}, .sframe: version {version} is not known")
    if elf.type == "ET_REL":
        raise ObjectError(f"{elf.name}, .sframe: not linked yet, so it has no addresses")
    count, _, _, first, _ = np.frombuffer(data, order + "u4", 5, 8).tolist()
    code, step = _ROWS[version]
    at = HEADER_SIZE + more + first
    if at + count * step > len(data):
        raise ObjectError(f"{elf.name}, .sframe: {count} functions do not fit in its {len(data)} bytes")
    layout = np.dtype({"names": ["start", "size"], "formats": [order + code, order + "u4"],
                       "offsets": [0, int(code[1])], "itemsize": step})  # fmt: skip
    rows = np.frombuffer(data, layout, count, at)
    start = rows["start"].astype(np.int64).view(np.uint64) + np.uint64(section.address)
    if flags & _FROM_THE_FIELD or version == 3:
        start = start + arange(count).astype(np.uint64) * np.uint64(step) + np.uint64(at)
    return start, start + rows["size"].astype(np.uint64)
