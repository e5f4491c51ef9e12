"""Index of call frame entries by address: the sorted table of .eh_frame_hdr, or one built by walking the section.

The linker's table is used as it is (Linux Standard Base, ".eh_frame_hdr"). Without one (.debug_frame, old static
objects) the entries are walked once: a loop over functions, a few hundred thousand at most, that reads their headers;
their start addresses become columns.
"""

import numpy as np
from msgspec import Struct

from perf2x.base.abi.callframe import PointerBase, PointerFormat
from perf2x.base.columnar.arrays import I64, U64
from perf2x.base.errors import ObjectError
from perf2x.binaries.cfi.frame_entries import FrameSection

TABLE_FORMATS = {
    PointerBase.DATAREL | PointerFormat.SDATA4: "i4",
    PointerBase.DATAREL | PointerFormat.UDATA4: "u4",
    PointerBase.DATAREL | PointerFormat.SDATA8: "i8",
}


class FrameIndex(Struct, frozen=True):
    """FDEs by start address: ``start`` (n,) svma, sorted; ``offset`` (n,) of the FDE in ``section``."""

    section: FrameSection
    start: U64
    offset: I64

    def find(self, svma: U64) -> I64:
        """(n,) the last FDE that starts at or before each svma, −1 for none; it may end before the svma."""
        return np.searchsorted(self.start, svma, "right") - 1


def index_from_header(section: FrameSection, header: bytes, address: int) -> FrameIndex | None:
    """The index in .eh_frame_hdr (``header``, at svma ``address``); None without a table in a supported format."""
    at = FrameSection(header, address, True, section.byte_order, section.address_size).cursor(0, len(header))
    version, frame_format, count_format, table_format = at.u8(), at.u8(), at.u8(), at.u8()
    at.pointer(frame_format, address)
    count = at.pointer(count_format, address)
    code = TABLE_FORMATS.get(table_format)
    if version != 1 or not count or code is None:
        return None
    dtype = np.dtype(section.byte_order + code)
    if count * 2 * dtype.itemsize > len(header) - at.position:
        raise ObjectError(f".eh_frame_hdr: {count} entries do not fit in its {len(header)} bytes")
    pairs = np.frombuffer(header, dtype, count * 2, at.position).reshape(count, 2).astype(np.int64).view(np.uint64)
    start = pairs[:, 0] + np.uint64(address)
    offset = (pairs[:, 1] + np.uint64((address - section.address) % 2**64)).view(np.int64)
    return _sorted_index(section, start, offset)


def index_by_walking(section: FrameSection, past_terminator: bool = True) -> FrameIndex:
    """Build the index of a section without a table; leaves out damaged FDEs and entries after a damaged header."""
    starts, offsets = [], []
    for offset in fde_offsets(section, past_terminator):
        try:
            fde = section.fde(offset)
        except ObjectError:
            continue
        if 0 < fde.start < fde.end:  # 0: of a function that the linker discarded
            starts.append(fde.start)
            offsets.append(offset)
    return _sorted_index(section, np.array(starts, np.uint64), np.array(offsets, np.int64))


def fde_offsets(section: FrameSection, past_terminator: bool = True) -> list[int]:
    """Offsets of all FDEs of a section, in order; terminators of linked parts are skipped or end the walk."""
    found, offset = [], 0
    while offset + 8 <= len(section.data):
        try:
            header = section.header(offset)
        except ObjectError:
            break
        if header is None:
            if not past_terminator:
                break
            offset += 4
            continue
        if header.cie != -1:
            found.append(offset)
        offset = header.end
    return found


def _sorted_index(section: FrameSection, start: U64, offset: I64) -> FrameIndex:
    if len(start) > 1 and not bool(np.all(start[1:] >= start[:-1])):
        order = np.argsort(start, kind="stable")
        start, offset = start[order], offset[order]
    return FrameIndex(section, start, offset)
