"""Reads the little structures of header sections: numbers and counted strings, never past the end."""

import struct
from typing import Any

from perf2x.abi.layouts import ByteOrder


class SectionError(Exception):
    """The section ends before its contents do, or contradicts itself."""


class SectionReader:
    """A place in a section's bytes."""

    def __init__(self, data: bytes, order: ByteOrder) -> None:
        self.data = data
        self.order = order
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        if size < 0 or size > self.left:
            raise SectionError(f"{size} bytes wanted at {self.at:#x}, {self.left} left")
        self.at += size
        return self.data[self.at - size : self.at]

    def numbers(self, codes: str) -> tuple[Any, ...]:
        """Numbers as in struct, without padding."""
        layout = struct.Struct(self.order + codes)
        return layout.unpack(self.take(layout.size))

    def u32(self) -> int:
        """The next u32."""
        number: int = self.numbers("I")[0]
        return number

    def u64(self) -> int:
        """The next u64."""
        number: int = self.numbers("Q")[0]
        return number

    def count(self, least: int) -> int:
        """A u32 count of things that take ``least`` bytes each at the least."""
        return self.fitting(self.u32(), least)

    def fitting(self, count: int, size: int) -> int:
        """``count``, when so many things of ``size`` bytes are left; SectionError when not."""
        if count * size > self.left:
            raise SectionError(f"{count} entries of {size} bytes in {self.left}")
        return count

    def string(self) -> str:
        """struct perf_header_string: u32 length with padding, then NUL-terminated bytes."""
        return text(self.take(self.u32()))

    def strings(self) -> list[str]:
        """struct perf_header_string_list: u32 count, strings."""
        return [self.string() for _ in range(self.count(4))]


def text(raw: bytes) -> str:
    """Bytes up to the first NUL as text; what is no UTF-8 is kept as surrogate escapes."""
    return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
