"""Go's tables of values by code address (lines, files), decoded for many functions at a time.

A table is a sequence of pairs of variable-length integers: the change of the value (zigzag, starting at −1) and the
number of instructions that it applies to. The table has no stored length: it ends at the first change of 0 other than
in the first pair, or at the end of the data.

::

    bytes    12 04   04 ac 02   01 0c   00          change 9, 4 instructions; 2, 300; −1, 12; end
    value    8       10         9
    end      4       304        316

Source of truth: src/runtime/symtab.go step() and pcvalue() of the Go distribution.
"""

import numpy as np

from perf2x.base.columnar import (
    I64,
    U64,
    Bools,
    ListArray,
    arange,
    argsort,
    as_int64,
    as_uint64,
    cumsum,
    flatnonzero,
    offsets_of,
    ranges,
    repeat,
    row_batches,
    row_numbers,
    searchsorted,
)
from perf2x.base.columnar.byte_streams import decode_leb128

# The longest number in bytes: no field is wider than 32 bits.
_LONGEST_NUMBER = 5
# The longest table of one function; generated code needs tens of thousands, and a hostile table must not take seconds.
_LONGEST = 1 << 20
# Bytes of a table to decode in the first attempt.
_FIRST_LOOK = 256
# Bytes of all tables that are decoded together.
_AT_ONCE = 1 << 20
# The longest function; larger offsets in a damaged table are clamped to this.
_FARTHEST = np.uint64(1 << 36)


def values_at(data: bytes, at: I64, quantum: int, table: I64, offset: U64) -> I64:
    """Look up values at code addresses; a result of 0 or less means that there is none.

    ``at`` (n,): offsets of tables in ``data``. For each of m lookups, ``table`` (m,) is an index into ``at`` and
    ``offset`` (m,) the distance from the entry of that table's function, in bytes. ``quantum``: bytes of the shortest
    instruction. Returns (m,) values.
    """
    ends, values = pc_values(data, at, quantum)
    end = np.minimum(ends.values, _FARTHEST)
    last = np.where(ends.lengths > 0, np.append(end, np.uint64(0))[ends.offsets[1:] - 1], np.uint64(0))
    # concatenate the tables; each one starts beyond any offset into the one before
    base = as_uint64(offsets_of(as_int64(last) + 1)[:-1])
    place = base[table] + np.minimum(offset, last[table])
    row = searchsorted(end + repeat(base, ends.lengths), place, "right")
    inside = row < ends.offsets[table + 1]
    result = np.zeros(len(table), np.int64)
    result[inside] = values[row[inside]]
    return result


def pc_values(data: bytes, at: I64, quantum: int) -> tuple[ListArray, I64]:
    """Decode tables into ranges of code and the value in each.

    Row i of the first result has the ends of table i's ranges, in bytes from the function's entry; the second has the
    values of all ranges, concatenated.
    """
    begin = np.clip(at, 0, len(data))
    longest = np.minimum(_LONGEST, len(data) - begin)
    length, todo = np.minimum(_FIRST_LOOK, longest), arange(len(at))
    finished, parts = [todo[:0]], list[ListArray]()
    while len(todo):
        unfinished = []
        for piece in row_batches(length[todo], _AT_ONCE):
            some = todo[piece]
            pairs, is_whole = _delta_pairs(data, begin[some], length[some])
            is_whole |= length[some] == longest[some]
            finished.append(some[is_whole])
            parts.append(pairs[flatnonzero(is_whole)])
            unfinished.append(some[~is_whole])
        todo = np.concatenate(unfinished)
        length[todo] = np.minimum(4 * length[todo], longest[todo])
    return _accumulate(ListArray.joined(parts)[argsort(np.concatenate(finished))], quantum)


def _delta_pairs(data: bytes, begin: I64, length: I64) -> tuple[ListArray, Bools]:
    """Return the alternating changes and run lengths of each table, and whether its end is within ``length`` bytes."""
    raw, starts = np.frombuffer(data, np.uint8)[ranges(begin, length)], offsets_of(length)
    last = flatnonzero(raw < 0x80)
    offsets = searchsorted(last, starts)  # index in last of each table's first complete number
    count = np.diff(offsets)
    first = np.append(0, last[:-1] + 1)[: len(last)]
    first[offsets[:-1][count > 0]] = starts[:-1][count > 0]
    read = decode_leb128(raw, first, np.minimum(last + 1, first + _LONGEST_NUMBER))
    place = arange(len(read)) - repeat(offsets[:-1], count)
    zeros = np.append(flatnonzero((read == 0) & (place >= 2) & (place % 2 == 0)), len(read))
    end = zeros[searchsorted(zeros, offsets[:-1])]
    has_end: Bools = end < offsets[1:]
    kept = np.where(has_end, end - offsets[:-1], count // 2 * 2)
    return ListArray.of(read, offsets[:-1], kept), has_end


def _accumulate(pairs: ListArray, quantum: int) -> tuple[ListArray, I64]:
    change, run = pairs.values[::2].view(np.int64), pairs.values[1::2]
    offsets = pairs.offsets // 2
    table = row_numbers(np.diff(offsets))
    value = np.append(0, cumsum(change >> 1 ^ -(change & 1)))
    end = np.append(np.uint64(0), np.cumsum(run, dtype=np.uint64))
    values = value[1:] - value[offsets[table]] - 1
    return ListArray(offsets, (end[1:] - end[offsets[table]]) * np.uint64(quantum)), values
