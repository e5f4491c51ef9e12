"""Reads call frame information: integers of fixed size, LEB128 numbers, encoded pointers.

An encoded pointer has one of several formats and bases, which its DW_EH_PE_* byte states. A read past the end of the
entry raises ObjectError.
"""

import struct

from msgspec import Struct

from perf2x.base.abi.cfi_numbers import POINTER_INDIRECT, POINTER_OMIT, PointerBase, PointerFormat
from perf2x.errors import ObjectError

MAX_U64 = 2**64 - 1
# The letters of `struct` for formats of a fixed size; numpy dtypes share them.
FIXED_SIZE_CODES: dict[int, str] = {
    PointerFormat.UDATA2: "H", PointerFormat.UDATA4: "I", PointerFormat.UDATA8: "Q",
    PointerFormat.SDATA2: "h", PointerFormat.SDATA4: "i", PointerFormat.SDATA8: "q",
}  # fmt: skip


class CfiCursor(Struct):
    """A position in the bytes of an entry; each method reads something there, and moves past it."""

    data: bytes
    position: int
    """Offset in ``data``."""
    end: int
    """Offset of the first byte that must not be read."""
    byte_order: str = "<"
    address_size: int = 8
    # svma of the first byte of ``data``; used only by DW_EH_PE_pcrel and DW_EH_PE_aligned pointers
    address: int = 0

    def fixed(self, code: str) -> int:
        """Read an integer in a format of `struct` (``B``, ``h``, ``Q`` …)."""
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
        return self._leb()[0] & MAX_U64

    def sleb(self) -> int:
        """Read a signed LEB128 number, truncated to 64 bits."""
        value, bit_count, last_byte = self._leb()
        is_negative = last_byte & 0x40 and bit_count < 64
        return to_signed(value - (1 << bit_count) if is_negative else value)

    def _leb(self) -> tuple[int, int, int]:
        """Return (value without sign, at least its low 64 bits; number of bits read; last byte)."""
        value = bit_count = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << bit_count if bit_count < 64 else 0
            bit_count += 7
            if byte < 0x80:
                return value, bit_count, byte

    def operand(self, kind: str) -> int:
        """Read an operand of an instruction or of a DWARF expression.

        ``kind`` is ``u`` or ``s`` for LEB128 without or with sign, ``a`` for an address, or a letter of `struct`.
        """
        read = {"u": self.uleb, "s": self.sleb, "a": self.word}.get(kind)
        return read() if read is not None else self.fixed(kind)

    def block(self) -> bytes:
        """Read a length as an unsigned LEB128 number, then that many bytes."""
        length = self.uleb()
        start = self.position
        if length > self.end - start:
            raise ObjectError(f"call frame information: a block of {length} bytes runs past the end of its entry")
        self.position = start + length
        return self.data[start : self.position]

    def word(self) -> int:
        """Read an address of ``address_size`` bytes."""
        return self.fixed("Q" if self.address_size == 8 else "I")

    def c_string(self) -> bytes:
        """Read bytes up to the next NUL, and skip it."""
        stop = self.data.find(b"\0", self.position, self.end)
        if stop < 0:
            raise ObjectError("call frame information: an unterminated string")
        characters = self.data[self.position : stop]
        self.position = stop + 1
        return characters

    def pointer(self, encoding: int, data_base: int = 0) -> int | None:
        """Read a pointer and return the svma that it points to.

        ``encoding`` is its DW_EH_PE_* byte. ``data_base`` is the svma that DW_EH_PE_datarel pointers are relative to.
        Returns None if the pointer is omitted or indirect, or has an unsupported base.
        """
        if encoding == POINTER_OMIT:
            return None
        base = encoding & 0x70
        if base == PointerBase.ALIGNED:
            self.position += -(self.address + self.position) % self.address_size
        svma_of_pointer = self.address + self.position
        value = self.pointer_value(encoding)
        base_svma = {
            PointerBase.ABSOLUTE: 0,
            PointerBase.ALIGNED: 0,
            PointerBase.PCREL: svma_of_pointer,
            PointerBase.DATAREL: data_base,
        }
        if base not in base_svma or encoding & POINTER_INDIRECT:
            return None
        return (value + base_svma[PointerBase(base)]) & (MAX_U64 if self.address_size == 8 else 2**32 - 1)

    def pointer_value(self, encoding: int) -> int:
        """Read the stored value of an encoded pointer, without adding its base."""
        number_format = encoding & 0x0F
        if number_format == PointerFormat.ABSPTR:
            return self.word()
        if number_format == PointerFormat.ULEB128:
            return self.uleb()
        if number_format == PointerFormat.SLEB128:
            return self.sleb()
        if number_format not in FIXED_SIZE_CODES:
            raise ObjectError(f"call frame information: unknown pointer encoding {encoding:#x}")
        return self.fixed(FIXED_SIZE_CODES[number_format])


def to_signed(value: int) -> int:
    """Return the lower 64 bits of a number, read as two's complement."""
    value &= MAX_U64
    return value - (1 << 64) if value >> 63 else value
