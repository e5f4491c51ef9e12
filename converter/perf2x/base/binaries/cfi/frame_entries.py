"""Finds and decodes entries of .eh_frame and .debug_frame: an FDE for each range of code, a CIE that many FDEs share.

FDEs are found by address. The linker's sorted table (.eh_frame_hdr) is used as it is. Without that table, as for
.debug_frame and in old static objects, the entries are walked once, in a Python loop over at most a few hundred
thousand FDEs, to make columns of their addresses.

Sources: DWARF 5, section 6.4.1; Linux Standard Base, "Exception Frames" for the differences of .eh_frame, and
".eh_frame_hdr".
"""

from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi.cfi_numbers import PointerBase, PointerFormat
from perf2x.base.binaries.cfi.byte_cursor import FIXED, CfiCursor, to_signed
from perf2x.base.columnar import I64, U64, Frozen, argsort, as_int64, as_uint64, searchsorted
from perf2x.errors import ObjectError


class EntryHeader(NamedTuple):
    """The decoded first two words of an entry, which give its length and what it is."""

    body: int
    """Offset of the first byte after the header."""
    end: int
    """Offset of the next entry."""
    cie: int
    """Offset of the CIE that an FDE belongs to; −1 for a CIE."""


class Cie(NamedTuple):
    """A decoded Common Information Entry."""

    code_alignment: int
    data_alignment: int
    return_register: int
    pointer_encoding: int
    address_size: int
    segment_size: int
    has_augmentation_data: bool
    is_signal_frame: bool
    """Augmentation ``S``: a signal interrupted the caller, whose address is that of its next instruction to run."""
    instructions: tuple[int, int]
    """Offsets of the first instruction and of the end."""


class Fde(NamedTuple):
    """A decoded Frame Description Entry: rules for the code from ``start`` up to ``end`` (svma)."""

    cie: Cie
    start: int
    end: int
    instructions: tuple[int, int]


class FrameSection(Struct):
    """The bytes of one .eh_frame (``is_eh``) or .debug_frame; ``address`` is the svma of its first byte."""

    data: bytes
    address: int
    is_eh: bool
    byte_order: str
    address_size: int
    cies: dict[int, Cie] = field(default_factory=dict)

    def cursor(self, position: int, end: int) -> CfiCursor:
        """Return a cursor over the bytes between two offsets."""
        return CfiCursor(
            self.data, position, min(end, len(self.data)), self.byte_order, self.address_size, self.address
        )

    def header(self, offset: int) -> EntryHeader | None:
        """Decode the header of the entry at ``offset``; None at a terminator and outside the section.

        Raises ObjectError if the entry extends past the section.
        """
        if not 0 <= offset < len(self.data):
            return None
        cursor = self.cursor(offset, len(self.data))
        length, wide = cursor.fixed("I"), False
        if length == 0:
            return None
        if length == 0xFFFFFFFF:
            length, wide = cursor.fixed("Q"), True
        start = cursor.position
        identity = cursor.fixed("Q" if wide else "I")
        end = start + length
        if end > len(self.data) or end < cursor.position:
            raise ObjectError(f"call frame information: the entry at {offset:#x} is longer than its section")
        if identity == (0 if self.is_eh else 2**64 - 1 if wide else 2**32 - 1):
            return EntryHeader(cursor.position, end, -1)
        back = to_signed(identity) if wide else identity
        return EntryHeader(cursor.position, end, start - back if self.is_eh else identity)

    def cie(self, offset: int) -> Cie:
        """Return the CIE at ``offset``; each is decoded once. Raises ObjectError if there is no CIE."""
        found = self.cies.get(offset)
        if found is None:
            header = self.header(offset)
            if header is None or header.cie != -1:
                raise ObjectError(f"call frame information: there is no CIE at {offset:#x}")
            found = self.cies[offset] = self._decode_cie(header)
        return found

    def fde(self, offset: int) -> Fde:
        """Decode the FDE at ``offset``. Raises ObjectError if there is no FDE, or it is damaged."""
        header = self.header(offset)
        if header is None or header.cie == -1:
            raise ObjectError(f"call frame information: there is no FDE at {offset:#x}")
        cie = self.cie(header.cie)
        cursor = self.cursor(header.body, header.end)
        cursor.address_size = cie.address_size
        cursor.position += cie.segment_size
        start = cursor.pointer(cie.pointer_encoding)
        if start is None:
            raise ObjectError(f"call frame information: the FDE at {offset:#x} has no start address")
        size = cursor.pointer_value(cie.pointer_encoding & 0x0F)
        if size < 0 or start + size > 2**64 - 1:
            raise ObjectError(f"call frame information: the FDE at {offset:#x} extends past the address space")
        if cie.has_augmentation_data:
            cursor.block()
        return Fde(cie, start, start + size, (cursor.position, header.end))

    def _decode_cie(self, header: EntryHeader) -> Cie:
        cursor = self.cursor(header.body, header.end)
        version = cursor.u8()
        augmentation = cursor.cstring()
        address_size, segment_size = self.address_size, 0
        if version >= 4 and not self.is_eh:
            address_size, segment_size = cursor.u8(), cursor.u8()
        if address_size not in (4, 8):
            raise ObjectError(f"call frame information: unsupported address size of {address_size} bytes")
        if augmentation.startswith(b"eh"):
            cursor.native()
        code, data = cursor.uleb(), cursor.sleb()
        register = cursor.u8() if version == 1 else cursor.uleb()
        encoding = self._augmentation(cursor, augmentation)
        return Cie(
            code, data, register, encoding, address_size, segment_size,
            augmentation.startswith(b"z"), b"S" in augmentation, (cursor.position, header.end),
        )  # fmt: skip

    def _augmentation(self, cursor: CfiCursor, augmentation: bytes) -> int:
        """Parse the augmentation data up to the first instruction; return the pointer encoding of the FDEs."""
        encoding: int = PointerFormat.ABSPTR
        if not augmentation.startswith(b"z"):
            return encoding
        size = cursor.uleb()
        instructions = cursor.position + size
        for letter in augmentation[1:]:
            if letter == ord("R"):
                encoding = cursor.u8()
            elif letter == ord("P"):
                cursor.pointer(cursor.u8())
            elif letter == ord("L"):
                cursor.u8()
            elif letter not in b"SBG":
                break
        cursor.position = instructions
        return encoding


class FrameIndex(Frozen):
    """The FDEs of a section, sorted by start address."""

    section: FrameSection
    start: U64
    """(n,) svma"""
    offset: I64
    """(n,) offset of the FDE in ``section``."""

    def find(self, svma: U64) -> I64:
        """Return (n,) the index of the last FDE that starts at or before each svma, −1 if there is none.

        That FDE may end before the svma.
        """
        return searchsorted(self.start, svma, "right") - 1


def index_from_header(section: FrameSection, header: bytes, address: int) -> FrameIndex | None:
    """Return the index that .eh_frame_hdr contains; ``header`` is its contents, ``address`` its svma.

    Returns None if it has no table, or one in an unsupported format.
    """
    cursor = FrameSection(header, address, True, section.byte_order, section.address_size).cursor(0, len(header))
    version, frame_format, count_format, table_format = cursor.u8(), cursor.u8(), cursor.u8(), cursor.u8()
    cursor.pointer(frame_format, address)
    count = cursor.pointer(count_format, address)
    code = FIXED.get(table_format ^ PointerBase.DATAREL)
    if version != 1 or not count or code is None:
        return None
    dtype = np.dtype(section.byte_order + code)
    if count * 2 * dtype.itemsize > len(header) - cursor.position:
        raise ObjectError(f".eh_frame_hdr: {count} entries do not fit in its {len(header)} bytes")
    pairs = as_int64(np.frombuffer(header, dtype, count * 2, cursor.position).reshape(count, 2)).view(np.uint64)
    start = pairs[:, 0] + np.uint64(address)
    offset = (pairs[:, 1] + np.uint64((address - section.address) % 2**64)).view(np.int64)
    return _sorted_index(section, start, offset)


def index_by_walking(section: FrameSection, past_terminator: bool = True) -> FrameIndex:
    """Build the index by walking the entries; skip damaged FDEs, and all entries after a damaged header."""
    starts, offsets = [], []
    for offset in fde_offsets(section, past_terminator):
        try:
            fde = section.fde(offset)
        except ObjectError:
            continue
        if 0 < fde.start < fde.end:  # start 0: the linker discarded the function
            starts.append(fde.start)
            offsets.append(offset)
    return _sorted_index(section, as_uint64(starts), as_int64(offsets))


def fde_offsets(section: FrameSection, past_terminator: bool) -> list[int]:
    """Return the offsets of all FDEs in order.

    ``past_terminator``: walk on after a terminator (a length of 0); otherwise the terminator ends the walk.
    """
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
        order = argsort(start)
        start, offset = start[order], offset[order]
    return FrameIndex(section, start, offset)
