"""Checks the pages of a Parquet file before an engine reads it: their checksums, and how much they unpack to.

Engines believe what headers say, and DuckDB verifies no checksum. What is walked here is what any of them decodes.

Headers of Parquet's pages are read as far as checks ask: PageHeader in parquet-format's parquet.thrift, compact
protocol.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

from msgspec import Struct

from perf2x.base.errors import DamagedFileError, FormatError
from perf2x.base.files.unpack_limit import too_large

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12, "BYTE_ARRAY": 8}
"""Bytes of a value in memory; of a text, where it begins and which one it is."""
_LEVELS = 4
"""Bytes of a value's place in lists."""
_DELTA_BYTE_ARRAY = 7


def check_pages(path: object, metadata: Any, source: Any, limit: int, groups: Iterable[int] | None = None) -> int:
    """Return the bytes that the values of a file take at least in memory, each text counted once.

    ``source`` is the file, as one of Arrow's, ``metadata`` what pyarrow read of it, ``groups`` those of its rows that
    will be read (None: all). FormatError, with ``path``, when a page is damaged, pages do not fit the metadata, or they
    take more than ``limit`` bytes.
    """
    whole, unpacked = source.size(), 0
    left, everything = whole, range(metadata.num_row_groups)
    widths = [_width(metadata.schema.column(number)) for number in range(metadata.num_columns)]
    if sum(metadata.row_group(number).num_rows for number in everything) != metadata.num_rows:
        raise DamagedFileError(f"{path}: damaged: it has another number of rows")
    for group in map(metadata.row_group, everything if groups is None else groups):
        for number, (width, is_flat) in enumerate(widths):
            chunk = group.column(number)
            start, size = _start(chunk), chunk.total_compressed_size
            left -= size
            if left < 0 or not 0 <= start <= whole - size:
                raise DamagedFileError(f"{path}: damaged: {chunk.path_in_schema} lies outside the file")
            try:
                values, packed = _checked(source.read_at(size, start))
                if values != chunk.num_values or (is_flat and values != group.num_rows):
                    raise ValueError("it has another number of values")
            except ValueError as error:
                raise DamagedFileError(f"{path}: damaged: {chunk.path_in_schema}: {error}") from None
            unpacked += packed + values * width
            if unpacked > limit:
                raise FormatError(*too_large(f"{path}: ", whole, limit))
    return unpacked


def _start(chunk: Any) -> int:
    """Where the pages of a column begin; writers say 0 for one that is not there."""
    return min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)), default=0)


def _width(column: Any) -> tuple[int, bool]:
    """Bytes of a column's value in memory, and whether each row has one."""
    is_flat = not column.max_repetition_level
    width = column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS[column.physical_type]
    return int(width) + (0 if is_flat else _LEVELS), is_flat


def _checked(raw: bytes) -> tuple[int, int]:
    """Number of values, and unpacked bytes, of all pages; ValueError for a damaged one."""
    view, values, unpacked = memoryview(raw), 0, 0
    for page in pages(raw):
        if page.checksum is not None and crc32(view[page.start : page.start + page.size]) != page.checksum:
            raise ValueError("a page has another checksum")
        if page.encoding == _DELTA_BYTE_ARRAY:  # values grow with each other, to any size
            raise ValueError("its encoding, DELTA_BYTE_ARRAY, is none of datasets")
        values += page.values
        unpacked += page.unpacked
    return values, unpacked


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
