"""Headers of Parquet's pages, as far as checks ask: PageHeader in parquet-format's parquet.thrift, compact protocol."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

_DATA, _DATA_V2 = 0, 3
_TRUE, _FALSE, _BYTE, _BINARY, _STRUCT = 1, 2, 3, 8, 12
_NUMBERS = (4, 5, 6)
_DEEPEST = 4
"""Structs in each other: the statistics of a page are the third."""
_LONGEST = 63
"""Bits of a number, but for the last seven."""


class Page(Struct, frozen=True):
    """A page of a column."""

    start: int
    """Its first byte behind the header, in the bytes that were walked."""
    size: int
    """Bytes there."""
    unpacked: int
    """Bytes when it is decompressed."""
    checksum: int | None
    """CRC-32 of the bytes there, None where the writer left it out."""
    values: int
    """Nulls included; 0 for a dictionary."""
    encoding: int


def pages(raw: bytes) -> Iterator[Page]:
    """Yield the pages that fill ``raw``, the bytes of a column in a group of rows; ValueError when they do not."""
    at = 0
    while at < len(raw):
        try:
            fields, at = _struct(raw, at, 0)
            page = _page(fields, at)
        except (IndexError, KeyError, TypeError, AttributeError):
            raise ValueError("a page's header cannot be read") from None
        if page.size < 0 or page.unpacked < 0 or page.values < 0 or page.start + page.size > len(raw):
            raise ValueError("a page has no room")
        yield page
        at += page.size


def _page(fields: dict[int, Any], start: int) -> Page:
    kind, unpacked, size, checksum = fields[1], fields[2], fields[3], fields.get(4)
    data: dict[int, int] = fields[5] if kind == _DATA else fields[8] if kind == _DATA_V2 else {}
    encoding = data.get(4 if kind == _DATA_V2 else 2, 0)
    return Page(start, size, unpacked, None if checksum is None else checksum & 0xFFFFFFFF, data.get(1, 0), encoding)


def _struct(raw: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """Numbers and structs of a struct by field, and where it ends."""
    if depth == _DEEPEST:
        raise ValueError("a page's header is too deep")
    fields: dict[int, Any] = {}
    field = 0
    while head := raw[at]:
        kind, field, at = head & 15, field + (head >> 4), at + 1
        if kind in _NUMBERS:
            number, at = _number(raw, at)
            fields[field] = number >> 1 ^ -(number & 1)
        elif kind == _STRUCT:
            fields[field], at = _struct(raw, at, depth + 1)
        elif kind == _BINARY:
            number, at = _number(raw, at)
            at += number
        elif kind == _BYTE:
            at += 1
        elif kind not in (_TRUE, _FALSE):
            raise ValueError("a page's header has a field of another kind")
    return fields, at + 1


def _number(raw: bytes, at: int) -> tuple[int, int]:
    number, shift = raw[at] & 127, 0
    while raw[at] > 127:
        at, shift = at + 1, shift + 7
        if shift > _LONGEST:
            raise ValueError("a page's header has too large a number")
        number |= (raw[at] & 127) << shift
    return number, at + 1
