"""Finds and decodes the entries of .eh_frame and .debug_frame.

A Frame Description Entry (FDE) has the instructions that make the unwind rules of one range of code. A Common
Information Entry (CIE) has what many FDEs share, such as the instructions that run before those of each FDE.
.eh_frame_hdr has a table of FDEs sorted by address; without it, a loop walks over all entries.

Sources: DWARF 5, section 6.4.1; Linux Standard Base, "Exception Frames" and ".eh_frame_hdr".
"""

from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi.cfi_numbers import PointerBase, PointerFormat
from perf2x.base.binaries.cfi.byte_cursor import FIXED_SIZE_CODES, CfiCursor, to_signed
from perf2x.base.columnar import I64, U64, Frozen, argsort, as_int64, as_uint64, searchsorted
from perf2x.errors import ObjectError


class EntryHeader(NamedTuple):
    """The length and the CIE pointer of an entry, as offsets in the section."""

    body: int
    """Offset of the first byte after the header."""
    end: int
    """Offset of the next entry."""
    cie_offset: int
    """For an FDE, the offset of its CIE; for a CIE, −1."""


class Cie(NamedTuple):
    """A decoded Common Information Entry."""

    code_alignment: int
    """Distances in instructions that advance the address are multiplied by this."""
    data_alignment: int
    """Most offsets in instructions are multiplied by this; negative where the stack grows down."""
    return_register: int
    """The register whose rule gives the return address; the processor need not have a register of this number."""
    pointer_encoding: int
    """DW_EH_PE_* of addresses in the FDEs."""
    address_size: int
    segment_size: int
    """Bytes of the segment selector before the start address of an FDE."""
    has_augmentation_data: bool
    is_signal_frame: bool
    """Augmentation ``S``: a signal interrupted the caller, so the return address is the next instruction to run."""
    instructions: tuple[int, int]
    """Offsets of the first instruction and of the end."""


class Fde(NamedTuple):
    """A decoded Frame Description Entry: rules for the code from ``start`` up to ``end`` (svma)."""

    cie: Cie
    start: int
    end: int
    instructions: tuple[int, int]
    """Offsets of the first instruction and of the end."""


class FrameSection(Struct):
    """The bytes of an .eh_frame or a .debug_frame section, with decoders for its entries."""

    data: bytes
    address: int
    """svma of the first byte."""
    is_eh: bool
    """True for an .eh_frame, False for a .debug_frame."""
    byte_order: str
    address_size: int
    cies: dict[int, Cie] = field(default_factory=dict)

    def cursor(self, position: int, end: int) -> CfiCursor:
        """Return a cursor over the bytes from ``position`` up to ``end``."""
        return CfiCursor(
            self.data, position, min(end, len(self.data)), self.byte_order, self.address_size, self.address
        )

    def header(self, offset: int) -> EntryHeader | None:
        """Decode the header of the entry at ``offset``; None at a terminator and outside the section.

        Raises ObjectError if the entry extends past the section, or ends inside its own header.
        """
        if not 0 <= offset < len(self.data):
            return None
        cursor = self.cursor(offset, len(self.data))
        length, is_64 = cursor.fixed("I"), False
        if length == 0:
            return None
        if length == 0xFFFFFFFF:
            length, is_64 = cursor.fixed("Q"), True
        start = cursor.position
        cie_pointer = cursor.fixed("Q" if is_64 else "I")
        end = start + length
        if end > len(self.data) or end < cursor.position:
            raise ObjectError(f"call frame information: the entry at {offset:#x} is longer than its section")
        # a CIE has a mark in place of the pointer: 0 in .eh_frame, all ones in .debug_frame
        if cie_pointer == (0 if self.is_eh else 2**64 - 1 if is_64 else 2**32 - 1):
            return EntryHeader(cursor.position, end, -1)
        # in .eh_frame, the pointer is the distance back from itself to the CIE; in .debug_frame, it is an offset
        distance = to_signed(cie_pointer) if is_64 else cie_pointer
        return EntryHeader(cursor.position, end, start - distance if self.is_eh else cie_pointer)

    def cie(self, offset: int) -> Cie:
        """Return the CIE at ``offset``, decoded once. Raises ObjectError if there is none."""
        cie = self.cies.get(offset)
        if cie is None:
            header = self.header(offset)
            if header is None or header.cie_offset != -1:
                raise ObjectError(f"call frame information: there is no CIE at {offset:#x}")
            cie = self.cies[offset] = self._decode_cie(header)
        return cie

    def fde(self, offset: int) -> Fde:
        """Decode the FDE at ``offset``. Raises ObjectError if there is none, or it is damaged."""
        header = self.header(offset)
        if header is None or header.cie_offset == -1:
            raise ObjectError(f"call frame information: there is no FDE at {offset:#x}")
        cie = self.cie(header.cie_offset)
        cursor = self.cursor(header.body, header.end)
        cursor.address_size = cie.address_size
        cursor.position += cie.segment_size
        start = cursor.pointer(cie.pointer_encoding)
        if start is None:
            raise ObjectError(f"call frame information: the FDE at {offset:#x} has no start address")
        size = cursor.pointer_value(cie.pointer_encoding & 0x0F)  # stored in the format of pointers
        if size < 0 or start + size > 2**64 - 1:
            raise ObjectError(f"call frame information: the FDE at {offset:#x} extends past the address space")
        if cie.has_augmentation_data:
            cursor.block()
        return Fde(cie, start, start + size, (cursor.position, header.end))

    def _decode_cie(self, header: EntryHeader) -> Cie:
        cursor = self.cursor(header.body, header.end)
        version = cursor.u8()
        augmentation = cursor.c_string()
        address_size, segment_size = self.address_size, 0
        if version >= 4 and not self.is_eh:
            address_size, segment_size = cursor.u8(), cursor.u8()
        if address_size not in (4, 8):
            raise ObjectError(f"call frame information: unsupported address size of {address_size} bytes")
        if augmentation.startswith(b"eh"):  # GCC 2: a pointer to its exception table
            cursor.word()
        code_alignment, data_alignment = cursor.uleb(), cursor.sleb()
        return_register = cursor.u8() if version == 1 else cursor.uleb()
        encoding = self._pointer_encoding(cursor, augmentation)
        return Cie(
            code_alignment, data_alignment, return_register, encoding, address_size, segment_size,
            augmentation.startswith(b"z"), b"S" in augmentation, (cursor.position, header.end),
        )  # fmt: skip

    def _pointer_encoding(self, cursor: CfiCursor, augmentation: bytes) -> int:
        """Return the pointer encoding of the FDEs, and move the cursor over the augmentation data of the CIE.

        After ``z``, the letter ``R`` stands for the pointer encoding, ``P`` for the encoding and address of the
        personality routine, ``L`` for the encoding of language-specific data. ``S``, ``B`` and ``G`` have no data.
        """
        encoding: int = PointerFormat.ABSPTR
        if not augmentation.startswith(b"z"):
            return encoding
        size = cursor.uleb()
        data_end = cursor.position + size
        for letter in augmentation[1:]:
            if letter == ord("R"):
                encoding = cursor.u8()
            elif letter == ord("P"):
                cursor.pointer(cursor.u8())
            elif letter == ord("L"):
                cursor.u8()
            elif letter not in b"SBG":
                break
        cursor.position = data_end
        return encoding


class FrameIndex(Frozen):
    """The FDEs of a section, sorted by start address."""

    section: FrameSection
    start: U64
    """(n,) svma"""
    offset: I64
    """(n,) offset of the FDE in ``section``."""

    def find(self, svma: U64) -> I64:
        """Return the row of the last FDE that starts at or before each address, −1 if there is none: (n,) → (n,).

        That FDE may end before the address.
        """
        return searchsorted(self.start, svma, "right") - 1


def index_from_header(section: FrameSection, header: bytes, header_address: int) -> FrameIndex | None:
    """Read the table in .eh_frame_hdr; ``header`` is that section, ``header_address`` its svma.

    The table has pairs (start of a function, address of its FDE), relative to ``header_address``. Returns None if there
    is no table, or its format is not supported. Raises ObjectError if it is cut off.
    """
    cursor = FrameSection(header, header_address, True, section.byte_order, section.address_size).cursor(0, len(header))
    version, frame_encoding, count_encoding, table_encoding = cursor.u8(), cursor.u8(), cursor.u8(), cursor.u8()
    cursor.pointer(frame_encoding, header_address)  # the address of .eh_frame
    count = cursor.pointer(count_encoding, header_address)
    # The format must have a fixed size and be relative to .eh_frame_hdr (DW_EH_PE_datarel).
    number_format = FIXED_SIZE_CODES.get(table_encoding ^ PointerBase.DATAREL)
    if version != 1 or not count or number_format is None:
        return None
    dtype = np.dtype(section.byte_order + number_format)
    if count * 2 * dtype.itemsize > len(header) - cursor.position:
        raise ObjectError(f".eh_frame_hdr: {count} entries do not fit in its {len(header)} bytes")
    pairs = as_int64(np.frombuffer(header, dtype, count * 2, cursor.position).reshape(count, 2)).view(np.uint64)
    start = pairs[:, 0] + np.uint64(header_address)
    offset = (pairs[:, 1] + np.uint64((header_address - section.address) % 2**64)).view(np.int64)
    return _sorted_index(section, start, offset)


def index_by_walking(section: FrameSection, past_terminator: bool = True) -> FrameIndex:
    """Build the index by walking over the entries; skip damaged FDEs, and all entries after a damaged header."""
    starts, offsets = [], []
    for offset in fde_offsets(section, past_terminator):
        try:
            fde = section.fde(offset)
        except ObjectError:
            continue
        if 0 < fde.start < fde.end:  # the linker stores 0 for a discarded function
            starts.append(fde.start)
            offsets.append(offset)
    return _sorted_index(section, as_uint64(starts), as_int64(offsets))


def fde_offsets(section: FrameSection, past_terminator: bool) -> list[int]:
    """Return the offsets of all FDEs in the order in which they are stored.

    Unless ``past_terminator``, the first terminator (a length of 0) ends the walk.
    """
    offsets, offset = [], 0
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
        if header.cie_offset != -1:
            offsets.append(offset)
        offset = header.end
    return offsets


def _sorted_index(section: FrameSection, start: U64, offset: I64) -> FrameIndex:
    if len(start) > 1 and not bool(np.all(start[1:] >= start[:-1])):
        sorted_rows = argsort(start)
        start, offset = start[sorted_rows], offset[sorted_rows]
    return FrameIndex(section, start, offset)
