"""Reads numbers and counted strings from header sections, never past the end."""

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

from perf2x.base.abi import ByteOrder

Row = TypeVar("Row")


class SectionError(Exception):
    """The section is truncated, or inconsistent."""


class SectionReader(Struct):
    """Reads a section's bytes in order. Raises SectionError at their end."""

    data: bytes
    order: ByteOrder
    at: int = 0

    @property
    def left(self) -> int:
        """Number of bytes not read yet."""
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        """Read ``size`` bytes."""
        if size < 0 or size > self.left:
            raise SectionError(f"{size} bytes expected at {self.at:#x}, {self.left} left")
        self.at += size
        return self.data[self.at - size : self.at]

    def numbers(self, codes: str) -> tuple[Any, ...]:
        """Read numbers by struct codes, without padding."""
        layout = struct.Struct(self.order + codes)
        return layout.unpack(self.take(layout.size))

    def named(self, codes: str, *names: str) -> dict[str, Any]:
        """Read numbers by struct codes, one for each name."""
        return dict(zip(names, self.numbers(codes), strict=True))

    def rows(self, least: int, read: Callable[["SectionReader"], Row]) -> list[Row]:
        """Read a u32 count, and that many entries of at least ``least`` bytes each."""
        return [read(self) for _ in range(self.count(least))]

    def entries(self, codes: str) -> list[tuple[Any, ...]]:
        """Read a u64 count, and that many entries with these struct codes."""
        return [self.numbers(codes) for _ in range(self.fitting(self.u64(), struct.calcsize(self.order + codes)))]

    def u32(self) -> int:
        """Read a u32."""
        number: int = self.numbers("I")[0]
        return number

    def u64(self) -> int:
        """Read a u64."""
        number: int = self.numbers("Q")[0]
        return number

    def count(self, least: int) -> int:
        """Read a u32 count of entries of at least ``least`` bytes each. Raises SectionError if they cannot fit."""
        return self.fitting(self.u32(), least)

    def fitting(self, count: int, size: int) -> int:
        """Return ``count`` if that many entries of ``size`` bytes are left. Raises SectionError otherwise."""
        if count * size > self.left:
            raise SectionError(f"{count} entries of {size} bytes do not fit in {self.left} bytes")
        return count

    def string(self) -> str:
        """Read struct perf_header_string: u32 length with padding, then NUL-terminated bytes."""
        return text(self.take(self.u32()))

    def terminated(self) -> str:
        """Read bytes up to a NUL, and the NUL."""
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise SectionError("an unterminated string")
        return text(self.take(end + 1 - self.at))

    def strings(self) -> list[str]:
        """Read struct perf_header_string_list: u32 count, strings."""
        return self.rows(4, SectionReader.string)


def text(raw: bytes) -> str:
    """Decode bytes up to the first NUL; bytes that are not UTF-8 become surrogate escapes."""
    return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
