"""JSON as bytes: compact, in raw UTF-8 (Perfetto refuses surrogate escapes), whole columns at a time."""

import json
from collections.abc import Iterable, Iterator

from perf2x.model.arrays import AnyArray

_NUMBERS_PER_PIECE = 1 << 16


def json_bytes(value: object) -> bytes:
    """Any plain value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def json_column(values: AnyArray) -> Iterator[bytes]:
    """An array of numbers, some ten thousand at a time."""
    yield b"["
    for start in range(0, len(values), _NUMBERS_PER_PIECE):
        yield (b"," if start else b"") + json_numbers(values[start : start + _NUMBERS_PER_PIECE])
    yield b"]"


def json_numbers(values: AnyArray) -> bytes:
    """Numbers with commas between, no brackets; what ``repr`` makes of a whole list is a fifth cheaper than joining."""
    return repr(values.tolist()).encode().translate(None, b" ")[1:-1]


def json_table(columns: Iterable[tuple[str, AnyArray]], length: int | None = None) -> Iterator[bytes]:
    """An object of columns, as ``{"a":[…],"b":[…]}``; with ``length`` first when it is given."""
    yield b"{" if length is None else b'{"length":%d' % length
    comma = b"" if length is None else b","
    for name, values in columns:
        yield comma + json_bytes(name) + b":"
        yield from json_column(values)
        comma = b","
    yield b"}"
