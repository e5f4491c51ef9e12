"""JSON as bytes: compact, in raw UTF-8 (Perfetto refuses surrogate escapes), whole columns at a time."""

import json
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from perf2x.base.columnar import I64, AnyArray, row_slices
from perf2x.emitters.encoding.decimal_text import (
    MAX_MILLIONTHS,
    MIN_MILLIONTHS,
    decimal_cells,
    millionths_cells,
    nullable_cells,
    without_nuls,
)

JsonObject = dict[str, object]
_NUMBERS_PER_PIECE = 1 << 16
_FEW = 256
"""Up to this many values, ``repr`` of a list is faster than a dozen numpy calls."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def json_bytes(value: object) -> bytes:
    """Encode a value of Python's own types: str, int, float, None, list, dict …"""
    return _ENCODER.encode(value).encode()


def json_numbers(values: AnyArray) -> bytes:
    """Encode whole numbers, comma-separated, without brackets."""
    if len(values) <= _FEW:
        return repr(values.tolist()).encode().translate(None, b" ")[1:-1]
    return without_nuls(decimal_cells(values, b","))[1:]


def json_nullable(values: I64) -> bytes:
    """Encode row numbers, comma-separated, without brackets; −1 is ``null``."""
    if len(values) <= _FEW:
        return json_numbers(values).replace(b"-1", b"null")
    return without_nuls(nullable_cells(values, b","))[1:]


def json_milliseconds(nanoseconds: I64) -> bytes:
    """Encode ``nanoseconds / 1e6``, comma-separated, without brackets, as Python writes floats."""
    are_few = len(nanoseconds) <= _FEW
    if are_few or nanoseconds.max() >= MAX_MILLIONTHS or np.any((nanoseconds < MIN_MILLIONTHS) & (nanoseconds != 0)):
        return repr((nanoseconds / 1e6).tolist()).encode().translate(None, b" ")[1:-1]
    return without_nuls(millionths_cells(nanoseconds, b","))[1:]


def _json_column(values: AnyArray, encode: Callable[[AnyArray], bytes] = json_numbers) -> Iterator[bytes]:
    yield b"["
    for rows in row_slices(len(values), _NUMBERS_PER_PIECE):
        yield (b"," if rows.start else b"") + encode(values[rows])
    yield b"]"


def json_member(name: str, values: AnyArray, encode: Callable[[AnyArray], bytes] = json_numbers) -> Iterator[bytes]:
    """Yield a comma and a member of an object, an array of numbers. It must not be the object's first member."""
    yield b',"%b":' % name.encode()
    yield from _json_column(values, encode)


def json_table(columns: Iterable[tuple[str, AnyArray]]) -> Iterator[bytes]:
    """Yield an object of columns, as ``{"a":[…],"b":[…]}``."""
    comma = b"{"
    for name, values in columns:
        yield comma + json_bytes(name) + b":"
        yield from _json_column(values)
        comma = b","
    yield b"}"
