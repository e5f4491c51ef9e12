"""Whole numbers as decimal text, a column at a time: one table lookup gives four digits of every row.

::

    numbers    7   120034                   cells   ,··· 7···          unused bytes are NUL (·)
    words      7      12  0034                      ,···   12 0034
    text       ,7,120034                    all cells concatenated, without the NULs

Text made of shared chunks: each distinct chunk is made once, and rows refer to it by index.

Chunks are kept in arrays of objects: numpy gathers a million of them in a tenth of the time that a list takes.
"""

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

from perf2x.base.columnar import I64, U32, U64, AnyArray, Bools, as_int32, as_int64, flatnonzero, take, unique_inverse

FEW_MILLIONTHS, MANY_MILLIONTHS = 100, 10**15
_TEN_THOUSAND = 10_000
_THOUSAND, _MILLION = 1_000, 1_000_000
_START = b"\1"
"""Precedes each text until the texts are split."""


def decimal_cells(values: AnyArray, before: bytes) -> U32:
    """Return (n, words) uint32, each four bytes of text: ``before`` (at most three bytes), a minus sign, the digits.

    ``values`` are whole numbers of any dtype. Unused bytes of a cell are NUL.
    """
    less = values < 0 if values.dtype.kind == "i" and values.min(initial=0) < 0 else None
    rest = _magnitudes(values, less)
    largest = int(rest.max(initial=0))
    if largest < 1 << 32:
        rest = rest.astype(np.uint32)
    count = max(1, -(-len(str(largest)) // 4))
    cells = np.empty((len(rest), 1 + count), np.uint32)
    cells[:, 0] = _prefixes(before, less)
    leading, units = _tables()
    ten_thousand = rest.dtype.type(_TEN_THOUSAND)
    for place in range(count, 0, -1):
        above = rest // ten_thousand if place > 1 else None
        word = rest if above is None else rest - above * ten_thousand + (above > 0) * ten_thousand
        index = word if word.dtype == np.uint32 else word.view(np.int64)  # numpy 2.0 cannot index with uint64
        cells[:, place] = take((units if place == count else leading), index)
        rest = rest if above is None else above
    return cells


def nullable_cells(values: AnyArray, before: bytes) -> U32:
    """Return `decimal_cells`, with ``null`` instead of negative numbers."""
    cells = decimal_cells(np.maximum(values, 0), before)
    rows = flatnonzero(values < 0)
    cells[rows, 1:-1], cells[rows, -1] = 0, np.array([b"null"], "S4").view(np.uint32)[0]
    return cells


def million_cells(values: I64, before: bytes) -> U32:
    """Return (n, words) uint32: whole numbers divided by a million, as Python writes floats.

    ``values`` are 0, or from `FEW_MILLIONTHS` to `MANY_MILLIONTHS`: Python writes smaller ones with an exponent, and
    larger ones are not exact.
    """
    whole = values // _MILLION
    rest = as_int32(values - whole * _MILLION)
    upper = rest // _THOUSAND
    rest -= upper * _THOUSAND
    cells = decimal_cells(whole, before)
    first, last = _decimals()
    upper[rest > 0] += _THOUSAND
    return np.column_stack([cells, take(first, upper), take(last, rest)])


def without_nulls(cells: AnyArray) -> bytes:
    """Return the text of all cells in order, without NULs."""
    return cells.tobytes().translate(None, b"\0")


def _magnitudes(values: AnyArray, less: Bools | None) -> AnyArray:
    """Return magnitudes as uint64, so that the smallest int64 fits."""
    if less is None:
        return values if values.dtype.kind == "u" else as_int64(values).view(np.uint64)
    wide = as_int64(values)
    magnitudes: U64 = np.where(less, -wide, wide).view(np.uint64)
    return magnitudes


def _prefixes(before: bytes, less: Bools | None) -> AnyArray:
    """Return the text before each number."""
    plain, signed = np.array([before, before + b"-"], "S4").view(np.uint32)
    heads: AnyArray = plain if less is None else np.where(less, signed, plain)
    return heads


@cache
def _tables() -> tuple[U32, U32]:
    """Return the texts of four digits: 0 … 9999 without leading zeros, 10000 + i with them.

    In the first table 0 is empty if more digits follow; as the last word it is a zero.
    """
    number = np.arange(_TEN_THOUSAND, dtype=np.uint16)
    full = np.empty((_TEN_THOUSAND, 4), np.uint8)
    for place in range(3, -1, -1):
        full[:, place] = number % 10 + ord("0")
        number //= 10
    bare = full.copy()
    for place in range(4):
        bare[: 10 ** (3 - place), place] = 0
    leading = np.concatenate([bare, full]).view(np.uint32).reshape(-1)
    units = leading.copy()
    units[0] = np.array([b"0"], "S4").view(np.uint32)[0]
    return leading, units


@cache
def _decimals() -> tuple[U32, U32]:
    """Return the texts of the first three decimals, with the point, and of the next three.

    Trailing zeros are omitted, except for the first decimal; ``1000 + i`` are digits followed by others.
    """
    three = [b"%03d" % number for number in range(_THOUSAND)]
    bare = [digits.rstrip(b"0") for digits in three]
    first = [b"." + (digits or b"0") for digits in bare] + [b"." + digits for digits in three]
    return np.array(first, "S4").view(np.uint32), np.array(bare, "S4").view(np.uint32)


def chunk_array(texts: Iterable[bytes]) -> AnyArray:
    """Return (n,) chunks as an array of objects."""
    listed = texts if isinstance(texts, list) else list(texts)
    return np.fromiter(listed, np.object_, len(listed))


def number_chunks(values: AnyArray, end: bytes = b"", between: U32 | None = None) -> AnyArray:
    """Return (n,) chunks: whole numbers as decimal text, each followed by ``end``, which has no byte 0 or 1.

    ``between`` (n,) is a cell of text between each number and ``end``.
    """
    last = np.frombuffer(end + b"\0" * (-len(end) % 4), np.uint32)
    cells = [decimal_cells(values, _START), np.broadcast_to(last, (len(values), len(last)))]
    if between is not None:
        cells.insert(1, between[:, None])
    return chunk_array(without_nulls(np.hstack(cells)).split(_START)[1:])


def shared_texts(values: AnyArray, text: Callable[[int], str]) -> AnyArray:
    """Return (n,) the chunk of each value; each distinct chunk is made once."""
    found, place = unique_inverse(values)
    return chunk_array([text(value).encode() for value in found.tolist()])[place]


def interleaved(*columns: AnyArray | bytes) -> bytes:
    """Join equally long columns of chunks row by row; bytes are repeated in every row."""
    count = max(len(column) for column in columns if not isinstance(column, bytes))
    flat = [b""] * (len(columns) * count)
    for place, column in enumerate(columns):
        flat[place :: len(columns)] = [column] * count if isinstance(column, bytes) else column.tolist()
    return b"".join(flat)


def joined_chunks(*columns: AnyArray | bytes) -> AnyArray:
    """Return (n,) the chunks of each row joined, without byte 1 in them; bytes are repeated in every row."""
    return chunk_array(interleaved(_START, *columns).split(_START)[1:])
