"""Reads numbers and strings from the bytes of a header section or a record, never past their end."""

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

from perf2x.base.abi import ByteOrder

Row = TypeVar("Row")


class SectionError(Exception):
    """The section or record is cut short, or contradicts itself."""


class SectionReader(Struct):
    """Reads the bytes of a header section or a record in order. All methods raise SectionError if too few are left."""

    data: bytes
    byte_order: ByteOrder
    offset: int = 0

    @property
    def bytes_left(self) -> int:
        """Number of bytes not read yet."""
        return len(self.data) - self.offset

    def take(self, size: int) -> bytes:
        """Read ``size`` bytes."""
        if size < 0 or size > self.bytes_left:
            raise SectionError(f"{size} bytes expected at {self.offset:#x}, {self.bytes_left} left")
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def numbers(self, codes: str) -> tuple[Any, ...]:
        """Read numbers by their codes in Python's struct module ("2IQ": two u32, a u64), without padding."""
        layout = struct.Struct(self.byte_order + codes)
        return layout.unpack(self.take(layout.size))

    def named_numbers(self, codes: str, *names: str) -> dict[str, Any]:
        """Read numbers by struct codes, one for each name."""
        return dict(zip(names, self.numbers(codes), strict=True))

    def entries(self, min_size: int, read: Callable[["SectionReader"], Row]) -> list[Row]:
        """Read a u32 count, and that many entries of at least ``min_size`` bytes by ``read``."""
        return [read(self) for _ in range(self.count(min_size))]

    def number_tuples(self, codes: str) -> list[tuple[Any, ...]]:
        """Read a u64 count, and that many tuples of numbers."""
        return [
            self.numbers(codes) for _ in range(self.checked_count(self.u64(), struct.calcsize(self.byte_order + codes)))
        ]

    def u32(self) -> int:
        """Read a u32."""
        number: int = self.numbers("I")[0]
        return number

    def u64(self) -> int:
        """Read a u64."""
        number: int = self.numbers("Q")[0]
        return number

    def count(self, min_size: int) -> int:
        """Read a u32 count of entries of at least ``min_size`` bytes each."""
        return self.checked_count(self.u32(), min_size)

    def checked_count(self, count: int, size: int) -> int:
        """Return ``count``. Raises SectionError if fewer entries of ``size`` bytes are left."""
        if count * size > self.bytes_left:
            raise SectionError(f"{count} entries of {size} bytes do not fit in {self.bytes_left} bytes")
        return count

    def string(self) -> str:
        """Read struct perf_header_string: u32 size, then a NUL-terminated string and padding."""
        return decode_string(self.take(self.u32()))

    def nul_terminated(self) -> str:
        """Read a string that ends with a NUL."""
        end = self.data.find(b"\0", self.offset)
        if end < 0:
            raise SectionError("an unterminated string")
        return decode_string(self.take(end + 1 - self.offset))

    def strings(self) -> list[str]:
        """Read struct perf_header_string_list: u32 count, strings."""
        return self.entries(4, SectionReader.string)


def decode_string(raw: bytes) -> str:
    """Decode up to the first NUL; bytes that are not UTF-8 become surrogate escapes."""
    return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
