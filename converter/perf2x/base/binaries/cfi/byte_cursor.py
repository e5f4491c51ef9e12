"""Reads call frame information byte by byte: integers of fixed size, LEB128 numbers, encoded pointers.

Every read is checked against the end of the entry: a damaged entry raises ObjectError, and is never read beyond its
end.
"""

import struct

from msgspec import Struct

from perf2x.base.abi.cfi_numbers import POINTER_INDIRECT, POINTER_OMIT, PointerBase, PointerFormat
from perf2x.errors import ObjectError

MASK = 2**64 - 1
FIXED: dict[int, str] = {
    PointerFormat.UDATA2: "H", PointerFormat.UDATA4: "I", PointerFormat.UDATA8: "Q",
    PointerFormat.SDATA2: "h", PointerFormat.SDATA4: "i", PointerFormat.SDATA8: "q",
}  # fmt: skip
"""``struct`` letters of the fixed-size encodings."""


class CfiCursor(Struct):
    """Reads ``data`` from ``position`` up to ``end``; ``address`` is the svma of byte 0, or 0 if it does not matter."""

    data: bytes
    position: int
    end: int
    byte_order: str = "<"
    address_size: int = 8
    address: int = 0

    def fixed(self, code: str) -> int:
        """Read an integer by its struct letter (``B``, ``h``, ``Q`` …)."""
        start = self.position
        self.position = start + struct.calcsize("=" + code)
        if self.position > self.end:
            raise ObjectError(f"call frame information: byte {start:#x} lies past the end of its entry")
        value: int = struct.unpack_from(self.byte_order + code, self.data, start)[0]
        return value

    def u8(self) -> int:
        """Read a byte."""
        if self.position >= self.end:
            raise ObjectError(f"call frame information: byte {self.position:#x} lies past the end of its entry")
        self.position += 1
        return self.data[self.position - 1]

    def uleb(self) -> int:
        """Read an unsigned LEB128 number, truncated to 64 bits."""
        return self._leb()[0] & MASK

    def sleb(self) -> int:
        """Read a signed LEB128 number, truncated to 64 bits."""
        value, shift, last = self._leb()
        return to_signed(value - (1 << shift) if last & 0x40 and shift < 64 else value)

    def _leb(self) -> tuple[int, int, int]:
        """Read a LEB128 number; return its bits as far as they fit, the number of bits read, and the last byte."""
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift if shift < 64 else 0
            shift += 7
            if byte < 0x80:
                return value, shift, byte

    def operand(self, kind: str) -> int:
        """Read an integer: ``u`` and ``s`` are LEB128 without and with sign, ``a`` an address, others as in struct."""
        read = {"u": self.uleb, "s": self.sleb, "a": self.native}.get(kind)
        return read() if read is not None else self.fixed(kind)

    def block(self) -> bytes:
        """Read a block: its length as an unsigned LEB128 number, then that many bytes."""
        length = self.uleb()
        start = self.position
        if length > self.end - start:
            raise ObjectError(f"call frame information: a block of {length} bytes runs past the end of its entry")
        self.position = start + length
        return self.data[start : self.position]

    def native(self) -> int:
        """Read an address of ``address_size`` bytes."""
        return self.fixed("Q" if self.address_size == 8 else "I")

    def cstring(self) -> bytes:
        """Read bytes up to the next NUL, and skip the NUL."""
        stop = self.data.find(b"\0", self.position, self.end)
        if stop < 0:
            raise ObjectError("call frame information: an unterminated string")
        text = self.data[self.position : stop]
        self.position = stop + 1
        return text

    def pointer(self, encoding: int, data_base: int = 0) -> int | None:
        """Read an encoded pointer and return the svma; None if the pointer is omitted or needs memory of the process.

        ``data_base`` is the svma that DW_EH_PE_datarel pointers are relative to.
        """
        if encoding == POINTER_OMIT:
            return None
        base = encoding & 0x70
        if base == PointerBase.ALIGNED:
            self.position += -(self.address + self.position) % self.address_size
        here = self.address + self.position
        value = self.pointer_value(encoding)
        bases = {
            PointerBase.ABSOLUTE: 0,
            PointerBase.ALIGNED: 0,
            PointerBase.PCREL: here,
            PointerBase.DATAREL: data_base,
        }
        if base not in bases or encoding & POINTER_INDIRECT:
            return None
        return (value + bases[PointerBase(base)]) & (MASK if self.address_size == 8 else 2**32 - 1)

    def pointer_value(self, encoding: int) -> int:
        """Read the stored value of an encoded pointer, without adding its base."""
        form = encoding & 0x0F
        if form == PointerFormat.ABSPTR:
            return self.native()
        if form == PointerFormat.ULEB128:
            return self.uleb()
        if form == PointerFormat.SLEB128:
            return self.sleb()
        if form not in FIXED:
            raise ObjectError(f"call frame information: unknown pointer encoding {encoding:#x}")
        return self.fixed(FIXED[form])


def to_signed(value: int) -> int:
    """Return the lower 64 bits of a number, read as two's complement."""
    value &= MASK
    return value - (1 << 64) if value >> 63 else value
