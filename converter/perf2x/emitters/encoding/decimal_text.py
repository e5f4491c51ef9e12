"""Whole numbers as decimal text, a column at a time: one table lookup gives four digits of every row.

::

    numbers    7                 120034
    cells      ,··· ···· ···7    ,··· ··12 0034      a row of words each; unused bytes are NUL (·)
    text       ,7,120034                             all cells concatenated, without the NULs

Longer texts are put together from *chunks*, bytes objects in an array, each of which is made once. numpy gathers a
million of them in a tenth of the time that a list takes.
"""

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

from perf2x.base.columnar import I64, U32, U64, AnyArray, Bools, as_int32, as_int64, flatnonzero, take, unique_inverse

MIN_MILLIONTHS, MAX_MILLIONTHS = 100, 10**15
"""The least and the largest number that `millionths_cells` can format, besides 0."""
_TEN_THOUSAND = 10_000
_THOUSAND, _MILLION = 1_000, 1_000_000
_SEPARATOR = b"\1"
"""Precedes each chunk while many are one bytes object, which is then split at this byte."""


def decimal_cells(values: AnyArray, before: bytes) -> U32:
    """Return (n, words) uint32, each four bytes of text: ``before`` (at most three bytes), a minus sign, the digits.

    ``values`` are whole numbers of any dtype. Unused bytes of a cell are NUL.
    """
    is_negative = values < 0 if values.dtype.kind == "i" and values.min(initial=0) < 0 else None
    rest = _magnitudes(values, is_negative)  # the digits that are not written yet
    largest = int(rest.max(initial=0))
    if largest < 1 << 32:
        rest = rest.astype(np.uint32)
    digit_words = max(1, -(-len(str(largest)) // 4))
    cells = np.empty((len(rest), 1 + digit_words), np.uint32)
    cells[:, 0] = _prefixes(before, is_negative)
    leading, units = _digit_tables()
    ten_thousand = rest.dtype.type(_TEN_THOUSAND)
    for word in range(digit_words, 0, -1):
        quotient = rest // ten_thousand if word > 1 else None
        # 10,000 is added where other digits precede the last four, so that leading zeros are written
        index = rest if quotient is None else rest - quotient * ten_thousand + (quotient > 0) * ten_thousand
        index = index if index.dtype == np.uint32 else index.view(np.int64)  # numpy 2.0 cannot index with uint64
        cells[:, word] = take((units if word == digit_words else leading), index)
        rest = rest if quotient is None else quotient
    return cells


def nullable_cells(values: AnyArray, before: bytes) -> U32:
    """Return the cells of `decimal_cells`, with ``null`` instead of negative numbers."""
    cells = decimal_cells(np.maximum(values, 0), before)
    rows = flatnonzero(values < 0)
    cells[rows, 1:-1], cells[rows, -1] = 0, np.array([b"null"], "S4").view(np.uint32)[0]
    return cells


def millionths_cells(values: I64, before: bytes) -> U32:
    """Return (n, words) uint32: the text of ``values / 1e6``, as Python writes floats (``12.5``), after ``before``.

    ``values`` are 0, or from `MIN_MILLIONTHS` to `MAX_MILLIONTHS`. Python writes smaller ones with an exponent, and
    larger ones are not exact.
    """
    quotient = values // _MILLION
    decimals = as_int32(values - quotient * _MILLION)
    first_three = decimals // _THOUSAND
    last_three = decimals - first_three * _THOUSAND
    cells = decimal_cells(quotient, before)
    first_texts, last_texts = _decimal_tables()
    first_three[last_three > 0] += _THOUSAND
    return np.column_stack([cells, take(first_texts, first_three), take(last_texts, last_three)])


def without_nuls(cells: AnyArray) -> bytes:
    """Return all cells, concatenated without NULs."""
    return cells.tobytes().translate(None, b"\0")


def _magnitudes(values: AnyArray, is_negative: Bools | None) -> AnyArray:
    """Return magnitudes as uint64, which has room for that of the smallest int64."""
    if is_negative is None:
        return values if values.dtype.kind == "u" else as_int64(values).view(np.uint64)
    signed = as_int64(values)
    magnitudes: U64 = np.where(is_negative, -signed, signed).view(np.uint64)
    return magnitudes


def _prefixes(before: bytes, is_negative: Bools | None) -> AnyArray:
    plain, with_sign = np.array([before, before + b"-"], "S4").view(np.uint32)
    prefixes: AnyArray = plain if is_negative is None else np.where(is_negative, with_sign, plain)
    return prefixes


@cache
def _digit_tables() -> tuple[U32, U32]:
    """Return the texts of four digits: for any word except the last, and for the last word of a number.

    Entries 0 … 9999 are without leading zeros, entries 10000 + i with them.
    """
    number = np.arange(_TEN_THOUSAND, dtype=np.uint16)
    with_zeros = np.empty((_TEN_THOUSAND, 4), np.uint8)
    for digit in range(3, -1, -1):
        with_zeros[:, digit] = number % 10 + ord("0")
        number //= 10
    without_zeros = with_zeros.copy()
    for digit in range(4):
        without_zeros[: 10 ** (3 - digit), digit] = 0
    leading = np.concatenate([without_zeros, with_zeros]).view(np.uint32).reshape(-1)
    units = leading.copy()
    units[0] = np.array([b"0"], "S4").view(np.uint32)[0]
    return leading, units


@cache
def _decimal_tables() -> tuple[U32, U32]:
    """Return the texts of the first three decimals, with the point, and of the next three, without trailing zeros.

    Entries 1000 + i of the first table have all digits, for numbers whose next decimals are not 0.
    """
    three_digits = [b"%03d" % number for number in range(_THOUSAND)]
    stripped = [digits.rstrip(b"0") for digits in three_digits]
    first = [b"." + (digits or b"0") for digits in stripped] + [b"." + digits for digits in three_digits]
    return np.array(first, "S4").view(np.uint32), np.array(stripped, "S4").view(np.uint32)


def chunk_array(chunks: Iterable[bytes]) -> AnyArray:
    """Return (n,) chunks as an array of objects."""
    chunk_list = chunks if isinstance(chunks, list) else list(chunks)
    return np.fromiter(chunk_list, np.object_, len(chunk_list))


def number_chunks(values: AnyArray, end: bytes = b"", between: U32 | None = None) -> AnyArray:
    """Return (n,) chunks: whole numbers as decimal text, each followed by ``between`` and ``end``.

    ``end`` has no byte 0 or 1; ``between`` (n,) are cells.
    """
    end_words = np.frombuffer(end + b"\0" * (-len(end) % 4), np.uint32)
    cells = [decimal_cells(values, _SEPARATOR), np.broadcast_to(end_words, (len(values), len(end_words)))]
    if between is not None:
        cells.insert(1, between[:, None])
    return chunk_array(without_nuls(np.hstack(cells)).split(_SEPARATOR)[1:])


def shared_chunks(values: AnyArray, text_of: Callable[[int], str]) -> AnyArray:
    """Return (n,) the chunk of each value; ``text_of`` is called once for each distinct value."""
    distinct, index = unique_inverse(values)
    return chunk_array([text_of(value).encode() for value in distinct.tolist()])[index]


def interleaved(*columns: AnyArray | bytes) -> bytes:
    """Join equally long columns of chunks row by row; bytes are repeated in every row."""
    count = max(len(column) for column in columns if not isinstance(column, bytes))
    chunks = [b""] * (len(columns) * count)
    for start, column in enumerate(columns):
        chunks[start :: len(columns)] = [column] * count if isinstance(column, bytes) else column.tolist()
    return b"".join(chunks)


def joined_chunks(*columns: AnyArray | bytes) -> AnyArray:
    """Return (n,) the chunks of each row joined; bytes are repeated in every row. No chunk may have the byte 1."""
    return chunk_array(interleaved(_SEPARATOR, *columns).split(_SEPARATOR)[1:])
