"""Go's tables of values by code address (lines, numbers of files), decoded for many functions at a time.

A table divides the code of one function into ranges, and has a value for each. It is a sequence of pairs of
variable-length integers: the change of the value (zigzag-encoded; the first change is added to −1), and the length of
the range in units of the shortest instruction (the *quantum*). The table ends at the first change of 0 after the first
pair, or at the end of the data. With a quantum of 1::

    bytes    12 04     04 ac 02     01 0c      00
    pairs    +9, 4     +2, 300      −1, 12     end
    value    8         10           9
    end      4         304          316

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

# Bytes of the longest integer: none has more than 32 bits.
_MAX_NUMBER_SIZE = 5
# Maximum bytes of a table to read. Generated code needs tens of thousands; a hostile table must not take seconds.
_MAX_TABLE_SIZE = 1 << 20
# Bytes of a table to decode in the first attempt; each further attempt decodes four times as many.
_FIRST_ATTEMPT_SIZE = 256
# Bytes of tables that are decoded together.
_BATCH_SIZE = 1 << 20
# Maximum bytes of a function; larger ends of ranges, in a damaged table, are reduced to this.
_MAX_FUNCTION_SIZE = np.uint64(1 << 36)


def values_at(data: bytes, table_offset: I64, quantum: int, table: I64, code_offset: U64) -> I64:
    """Look up values at code addresses; a result of 0 or less means that there is none. Shape: (m,).

    ``table_offset`` (n,) has the offsets of tables in ``data``. For each lookup, ``table`` (m,) is an index into
    ``table_offset``, and ``code_offset`` (m,) the address, in bytes from the entry of the table's function.
    ``quantum``: bytes of the shortest instruction.
    """
    ends, values = pc_values(data, table_offset, quantum)
    end = np.minimum(ends.values, _MAX_FUNCTION_SIZE)
    # the end of each table's last range; 0 for an empty table
    function_size = np.where(ends.lengths > 0, np.append(end, np.uint64(0))[ends.offsets[1:] - 1], np.uint64(0))
    # Lay all tables end to end, so that one search serves all lookups: table i covers base[i] to base[i] +
    # function_size[i], and base[i + 1] is one higher.
    base = as_uint64(offsets_of(as_int64(function_size) + 1)[:-1])
    key = base[table] + np.minimum(code_offset, function_size[table])
    row = searchsorted(end + repeat(base, ends.lengths), key, "right")
    is_inside = row < ends.offsets[table + 1]
    result = np.zeros(len(table), np.int64)
    result[is_inside] = values[row[is_inside]]
    return result


def pc_values(data: bytes, table_offset: I64, quantum: int) -> tuple[ListArray, I64]:
    """Decode tables into ranges of code and the value in each.

    ``table_offset`` (n,) has the offsets of tables in ``data``. Row i of the first result has the ends of the ranges of
    table i, in bytes from the function's entry; the second result has the values of all ranges, table after table.
    """
    begin = np.clip(table_offset, 0, len(data))
    max_size = np.minimum(_MAX_TABLE_SIZE, len(data) - begin)
    size, remaining_tables = np.minimum(_FIRST_ATTEMPT_SIZE, max_size), arange(len(table_offset))
    finished_tables, finished_pairs = [remaining_tables[:0]], list[ListArray]()
    while len(remaining_tables):
        still_remaining_tables = []
        for batch in row_batches(size[remaining_tables], _BATCH_SIZE):
            tables = remaining_tables[batch]
            pairs, is_finished = _delta_pairs(data, begin[tables], size[tables])
            is_finished |= size[tables] == max_size[tables]
            finished_tables.append(tables[is_finished])
            finished_pairs.append(pairs[flatnonzero(is_finished)])
            still_remaining_tables.append(tables[~is_finished])
        remaining_tables = np.concatenate(still_remaining_tables)
        size[remaining_tables] = np.minimum(4 * size[remaining_tables], max_size[remaining_tables])
    # tables were not finished in the order of ``table_offset``: sort them
    return _accumulate(ListArray.joined(finished_pairs)[argsort(np.concatenate(finished_tables))], quantum)


def _delta_pairs(data: bytes, begin: I64, size: I64) -> tuple[ListArray, Bools]:
    """Read the first ``size`` bytes of tables; return the numbers of each, and whether its end is among these bytes.

    The numbers are change (zigzag-encoded), length, change, length … The list array has a row per table.
    """
    raw, starts = np.frombuffer(data, np.uint8)[ranges(begin, size)], offsets_of(size)
    last_byte = flatnonzero(raw < 0x80)  # the offset of each number's last byte
    offsets = searchsorted(last_byte, starts)  # (tables + 1,) index in last_byte of each table's first number
    count = np.diff(offsets)
    # a number begins after the one before it, or at the start of its table
    first_byte = np.append(0, last_byte[:-1] + 1)[: len(last_byte)]
    first_byte[offsets[:-1][count > 0]] = starts[:-1][count > 0]
    decoded = decode_leb128(raw, first_byte, np.minimum(last_byte + 1, first_byte + _MAX_NUMBER_SIZE))
    # a table ends at a 0 in the place of a change, except the first one
    index_in_table = arange(len(decoded)) - repeat(offsets[:-1], count)
    is_end = (decoded == 0) & (index_in_table >= 2) & (index_in_table % 2 == 0)
    all_ends = np.append(flatnonzero(is_end), len(decoded))
    end = all_ends[searchsorted(all_ends, offsets[:-1])]
    has_end: Bools = end < offsets[1:]
    length = np.where(has_end, end - offsets[:-1], count // 2 * 2)
    return ListArray.of(decoded, offsets[:-1], length), has_end


def _accumulate(pairs: ListArray, quantum: int) -> tuple[ListArray, I64]:
    """Sum up the changes and lengths in ``pairs``, table by table; return what `pc_values` returns."""
    change, length = pairs.values[::2].view(np.int64), pairs.values[1::2]
    offsets = pairs.offsets // 2
    table = row_numbers(np.diff(offsets))
    # running sums over all tables; the sum before a table is subtracted from the sums in it
    value = np.append(0, cumsum(change >> 1 ^ -(change & 1)))  # zigzag: 0, 1, 2, 3, 4 stand for 0, −1, 1, −2, 2
    end = np.append(np.uint64(0), np.cumsum(length, dtype=np.uint64))
    values = value[1:] - value[offsets[table]] - 1
    return ListArray(offsets, (end[1:] - end[offsets[table]]) * np.uint64(quantum)), values
