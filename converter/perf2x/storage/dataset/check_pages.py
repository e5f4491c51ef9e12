"""Checks the pages of a Parquet file before an engine reads it: their checksums, and how much they unpack to.

Engines believe what headers say, and DuckDB verifies no checksum. What is walked here is what any of them decodes.
"""

from collections.abc import Iterable
from typing import Any
from zlib import crc32

from perf2x.base.errors import FormatError
from perf2x.base.files.unpack_limit import too_large
from perf2x.storage.dataset.page_headers import pages

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
        raise FormatError(f"{path}: damaged: it has another number of rows")
    for group in map(metadata.row_group, everything if groups is None else groups):
        for number, (width, is_flat) in enumerate(widths):
            chunk = group.column(number)
            start, size = _start(chunk), chunk.total_compressed_size
            left -= size
            if left < 0 or not 0 <= start <= whole - size:
                raise FormatError(f"{path}: damaged: {chunk.path_in_schema} lies outside the file")
            try:
                values, packed = _checked(source.read_at(size, start))
                if values != chunk.num_values or (is_flat and values != group.num_rows):
                    raise ValueError("it has another number of values")
            except ValueError as error:
                raise FormatError(f"{path}: damaged: {chunk.path_in_schema}: {error}") from None
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
