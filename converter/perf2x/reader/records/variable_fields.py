"""Decodes the fields of a sample that have a variable length: READ, RAW, BRANCH_STACK, REGS, STACK_USER, AUX.

Each function with a cursor reads its field in every record and returns its columns. If ``keep`` is False, it skips the
field, and returns None in place of the columns. Source of truth: evsel__parse_sample in tools/perf/util/evsel.c.

With PERF_FORMAT_GROUP, READ contains the counters of a group of events. As perf does, we make one sample for each
member of the group (deliver_sample_value in tools/perf/util/session.c). Its period is the growth of the member's
counter since the previous sample; members that did not grow get no sample.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from perf2x.base.abi import BranchSampleType, ReadFormat, RegsAbi
from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    ColumnTable,
    Frozen,
    ListArray,
    arange,
    argsort,
    as_int64,
    as_uint64,
    begins_run,
    flatnonzero,
    join_tables,
    lexsort,
    of_previous,
    offsets_of,
    ranges,
    searchsorted,
    take,
    zeros,
)
from perf2x.model.recording import Branches, ReadValues, UserStacks
from perf2x.reader.records.field_cursor import FieldCursor

# from, to, flags of struct perf_branch_entry, in 64-bit words
BRANCH_ENTRY_WORDS = 3
_BIG_ENDIAN_FLAGS = (
    (63, 1, 0), (62, 1, 1), (61, 1, 2), (60, 1, 3), (44, 16, 4), (40, 4, 20), (38, 2, 24), (34, 4, 26), (31, 3, 30),
)  # fmt: skip
"""Bit fields of perf_branch_entry.flags: lowest bit in a big-endian file, width, lowest bit in a little-endian one.

In order: mispred, predicted, in_tx, abort, cycles, type, spec, new_type, priv.
"""


def raw_bytes(cursor: FieldCursor, keep: bool) -> ListArray | None:
    """Read PERF_SAMPLE_RAW: { u32 size; u8 data[size]; }, where size + 4 is a multiple of 8."""
    size = cursor.split(cursor.peek())[0]
    return _sized_bytes(cursor, size, 4, keep)  # the size is in the same word


def bytes_with_size(cursor: FieldCursor, keep: bool) -> ListArray | None:
    """Read PERF_SAMPLE_AUX: { u64 size; u8 data[size]; }."""
    return _sized_bytes(cursor, cursor.u64(), 0, keep)


def _sized_bytes(cursor: FieldCursor, size: U64, first_byte: int, keep: bool) -> ListArray | None:
    end = size + np.uint64(first_byte)
    first_word, lengths = cursor.array_extents((end >> np.uint64(3)) + ((end & np.uint64(7)) != 0))
    if not keep:
        return None
    return ListArray.of(cursor.block.data, first_word * 8 + first_byte, np.where(lengths > 0, as_int64(size), 0))


def branch_stack(cursor: FieldCursor, branch_sample_type: int, keep: bool) -> tuple[Branches | None, ListArray | None]:
    """Read BRANCH_STACK: { u64 nr; [u64 hw_idx]; { from, to, flags } [nr]; [u64 counters[nr]]; }.

    Returns the branches and their counters (None if not recorded).
    """
    count = cursor.u64()
    hw_index = cursor.u64() if branch_sample_type & BranchSampleType.HW_INDEX else None
    first_word, lengths = cursor.array_extents(count, words_per_entry=BRANCH_ENTRY_WORDS)
    counters = None
    if branch_sample_type & BranchSampleType.COUNTERS:
        first_counter, counter_counts = cursor.array_extents(as_uint64(lengths))
        counters = cursor.copy_arrays(first_counter, counter_counts) if keep else None
    if not keep:
        return None, None
    words = take(cursor.block.words, ranges(first_word, lengths * BRANCH_ENTRY_WORDS)).reshape(-1, BRANCH_ENTRY_WORDS)
    flags = words[:, 2].copy() if cursor.block.byte_order == "<" else _flags_from_big_endian(words[:, 2])
    return Branches(offsets_of(lengths), words[:, 0].copy(), words[:, 1].copy(), flags, hw_index), counters


def _flags_from_big_endian(flags: U64) -> U64:
    moved = np.zeros(len(flags), np.uint64)
    for source, width, target in _BIG_ENDIAN_FLAGS:
        moved |= (flags >> np.uint64(source) & np.uint64((1 << width) - 1)) << np.uint64(target)
    return moved


def registers(cursor: FieldCursor, mask: int, keep: bool) -> tuple[U8, U64] | None:
    """Read PERF_SAMPLE_REGS_*: { u64 abi; if abi: u64 regs[popcount(mask)], and vector registers if abi has SIMD }.

    Returns (n,) abi without its SIMD bit, and (n, popcount(mask)) values; both are 0 without registers. In kernels
    after 7.2, ``abi`` is a bit field. With SIMD, { u16 nr_vectors, vector_qwords, nr_pred, pred_qwords; u64 data[] } is
    skipped; after an unknown bit, the rest of the record is skipped.
    """
    abi = cursor.u64()
    width = mask.bit_count()
    first_word, lengths = cursor.array_extents(np.where(abi != 0, np.uint64(width), np.uint64(0)))
    has_registers = lengths == width
    if abi.max(initial=0) >= RegsAbi.SIMD:
        _skip_vector_registers(cursor, (abi & np.uint64(RegsAbi.SIMD)) != 0)
        has_unknown_bits = (abi & ~np.uint64(RegsAbi.GENERAL | RegsAbi.SIMD)) != 0
        cursor.skip_to_end(has_unknown_bits)
        has_registers &= ~has_unknown_bits
        abi &= np.uint64(RegsAbi.GENERAL)
    if not keep:
        return None
    regs = take(cursor.block.words, first_word[:, None] + arange(width), mode="clip")
    regs[~has_registers] = 0
    return np.where(has_registers, abi, np.uint64(0)).astype(np.uint8), regs


def _skip_vector_registers(cursor: FieldCursor, has_simd: Bools) -> None:
    """Skip vector and predicate registers where ``has_simd`` (n,) holds.

    A word has two pairs of u16, a count and a width in words; the registers follow.
    """
    pairs_at, pair_words = cursor.array_extents(as_uint64(has_simd))  # an array of one word, or of none
    word = np.where(pair_words > 0, take(cursor.block.words, pairs_at, mode="clip"), np.uint64(0))
    # On big-endian machines, all u16 come in reverse, which changes neither products nor sum.
    first, second, third, fourth = (word >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48))
    cursor.array_extents(first * second + third * fourth)


def user_stacks(
    cursor: FieldCursor, regs: tuple[U8, U64] | None, mask: int, requested: int, has_dumps: bool, keep: bool
) -> UserStacks | None:
    """Read PERF_SAMPLE_STACK_USER: { u64 size; [u8 data[size]; u64 dyn_size]; }. Join it with the registers.

    ``regs`` come from ``registers`` with this ``mask``. ``requested`` is attr.sample_stack_user. Unless ``has_dumps``,
    samples have registers alone.
    """
    none = zeros(len(cursor))
    start, size = _stack_dumps(cursor) if has_dumps else (none, none)
    if not keep:
        return None
    abi, values = (np.zeros(len(cursor), np.uint8), np.zeros((len(cursor), 0), np.uint64)) if regs is None else regs
    return UserStacks(abi, values, mask, cursor.block.words, start, size, requested)


def _stack_dumps(cursor: FieldCursor) -> tuple[I64, I64]:
    """Return (n,) first word of each dump, and (n,) bytes that the kernel filled (dyn_size)."""
    size = cursor.u64()
    cursor.is_malformed |= size % np.uint64(8) != 0
    word_count = np.where(size > 0, (size >> np.uint64(3)) + np.uint64(1), np.uint64(0))  # data and dyn_size
    first_word, lengths = cursor.array_extents(word_count)
    last_words = take(cursor.block.words, first_word + np.maximum(lengths - 1, 0), mode="clip")
    dyn_size = np.where(lengths > 0, last_words, np.uint64(0))
    too_large = dyn_size > np.where(lengths > 0, size, np.uint64(0))
    cursor.is_malformed |= too_large
    return first_word, as_int64(np.where(too_large, np.uint64(0), dyn_size))


def read_values(cursor: FieldCursor, read_format: int) -> ReadValues:
    """Read PERF_SAMPLE_READ; fields in brackets depend on ``read_format``.

    With GROUP: { nr, [enabled], [running], { value, [id], [lost] } [nr] }; otherwise: { value, [enabled], [running],
    [id], [lost] }.
    """
    is_group = bool(read_format & ReadFormat.GROUP)
    value_or_nr = cursor.u64()
    enabled = cursor.u64() if read_format & ReadFormat.TOTAL_TIME_ENABLED else None
    running = cursor.u64() if read_format & ReadFormat.TOTAL_TIME_RUNNING else None
    names = [name for bit, name in ((ReadFormat.ID, "id"), (ReadFormat.LOST, "lost")) if read_format & bit]
    if not is_group:
        columns = {"value": value_or_nr} | {name: cursor.u64() for name in names}
        offsets = arange(len(cursor) + 1)
    else:
        width = 1 + len(names)
        first_word, lengths = cursor.array_extents(value_or_nr, words_per_entry=width)
        words = take(cursor.block.words, ranges(first_word, lengths * width)).reshape(-1, width)
        columns = {name: words[:, column].copy() for column, name in enumerate(["value", *names])}
        offsets = offsets_of(lengths)
    return ReadValues(offsets, enabled, running, columns["value"], columns.get("id"), columns.get("lost"))


class DeliveredSamples(Frozen):
    """Samples made from the group reads of one block, in file order; columns are (samples,).

    ``position`` is that of the recorded sample.
    """

    position: I64
    event: I32
    period: U64


class CounterReadings(ColumnTable):
    """Counter values in group reads, one row per sample and member of the group; columns are (n,)."""

    position: I64
    time: U64
    event: I32
    """−1 if no event has this ``id``."""
    id: U64
    """The kernel's id of the counter."""
    task: I32
    """Thread id of the counter if each thread has its own counter under this id (``inherit``); otherwise 0."""
    value: U64


def delivered_samples(parts: Sequence[tuple[int, CounterReadings]], blocks: int) -> list[DeliveredSamples]:
    """Make samples from the group reads of each of ``blocks`` blocks.

    ``parts`` are a block's number, and readings of its samples. All blocks are needed at once: in time order, a
    counter's previous value may be in any block.
    """
    block_numbers = np.concatenate([np.full(len(part), block, np.int64) for block, part in parts])
    readings = join_tables([part for _, part in parts])
    period = _growth(readings)
    rows = flatnonzero((period > 0) & (readings.event >= 0))
    rows = rows[argsort(readings.position[rows])]  # in file order, and so by block
    bounds = searchsorted(block_numbers[rows], arange(blocks + 1))
    rows_by_block = [rows[first:last] for first, last in pairwise(bounds.tolist())]
    return [
        DeliveredSamples(readings.position[of_block], readings.event[of_block], period[of_block])
        for of_block in rows_by_block
    ]


def _growth(readings: CounterReadings) -> U64:
    order = lexsort((readings.position, readings.time, readings.task, readings.id))
    value, identifier, task = readings.value[order], readings.id[order], readings.task[order]
    growth = np.empty(len(order), np.uint64)
    growth[order] = value - np.where(begins_run(identifier, task), np.uint64(0), of_previous(value, 0))
    return growth
