"""Decodes the fields of a sample that have a variable length: READ, RAW, BRANCH_STACK, REGS, STACK_USER, AUX.

Each function starts at its field in every record, skips it, and returns its columns. Source of truth:
evsel__parse_sample in tools/perf/util/evsel.c.

PERF_SAMPLE_READ holds counters of a group. As perf does (deliver_sample_value in tools/perf/util/session.c), that
sample becomes one for each member of the group, whose period is the growth of its counter since the sample before;
members that did not grow are left out::

    sample          leader period 250000, group { cpu-clock: 1250000, page-faults: 12 }
    before          group { cpu-clock: 1000000, page-faults: 10 }
    delivered       cpu-clock period 250000, page-faults period 2
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

ENTRY_WORDS = 3
"""struct perf_branch_entry: from, to, flags."""
_BIG_ENDIAN_FLAGS = (
    (63, 1, 0), (62, 1, 1), (61, 1, 2), (60, 1, 3), (44, 16, 4), (40, 4, 20), (38, 2, 24), (34, 4, 26), (31, 3, 30),
)  # fmt: skip
"""Bit in the file, width, bit in Branches.flags; in this order: mispred, predicted, in_tx, abort, cycles, type, spec,
new_type, priv.
"""


def raw_bytes(at: FieldCursor, keep: bool) -> ListArray | None:
    """Read PERF_SAMPLE_RAW: { u32 size; u8 data[size]; }, where size + 4 is a multiple of 8."""
    size = at.split(at.peek())[0]
    return _sized_bytes(at, size, 4, keep)


def bytes_with_size(at: FieldCursor, keep: bool) -> ListArray | None:
    """Read PERF_SAMPLE_AUX: { u64 size; u8 data[size]; }."""
    return _sized_bytes(at, at.u64(), 0, keep)


def _sized_bytes(at: FieldCursor, size: U64, begin: int, keep: bool) -> ListArray | None:
    """Read ``size`` (n,) bytes, from byte ``begin`` of the next word on, and skip all words of these fields."""
    end = size + np.uint64(begin)
    first, lengths = at.counted((end >> np.uint64(3)) + ((end & np.uint64(7)) != 0))
    if not keep:
        return None
    return ListArray.of(at.block.data, first * 8 + begin, np.where(lengths > 0, as_int64(size), 0))


def branch_stack(at: FieldCursor, branch_sample_type: int, keep: bool) -> tuple[Branches | None, ListArray | None]:
    """Read BRANCH_STACK: { u64 nr; [u64 hw_idx]; { from, to, flags } [nr]; [u64 counters[nr]]; }."""
    count = at.u64()
    hw_index = at.u64() if branch_sample_type & BranchSampleType.HW_INDEX else None
    first, lengths = at.counted(count, words_each=ENTRY_WORDS)
    counters = None
    if branch_sample_type & BranchSampleType.COUNTERS:
        counter, lengths_again = at.counted(as_uint64(lengths))
        counters = at.ragged(counter, lengths_again) if keep else None
    if not keep:
        return None, None
    words = take(at.block.words, ranges(first, lengths * ENTRY_WORDS)).reshape(-1, ENTRY_WORDS)
    flags = words[:, 2].copy() if at.block.order == "<" else _flags_from_big_endian(words[:, 2])
    return Branches(offsets_of(lengths), words[:, 0].copy(), words[:, 1].copy(), flags, hw_index), counters


def _flags_from_big_endian(flags: U64) -> U64:
    """Move bit fields to the positions that a little-endian compiler uses."""
    moved = np.zeros(len(flags), np.uint64)
    for source, width, target in _BIG_ENDIAN_FLAGS:
        moved |= (flags >> np.uint64(source) & np.uint64((1 << width) - 1)) << np.uint64(target)
    return moved


def registers(at: FieldCursor, mask: int, keep: bool) -> tuple[U8, U64] | None:
    """Read PERF_SAMPLE_REGS_*: { u64 abi; if abi: u64 regs[popcount(mask)], and vector registers if abi has SIMD }.

    Returns (n,) abi without its SIMD bit and (n, popcount(mask)) values; rows without registers are zeros. Kernels
    after 7.2 make ``abi`` a bit field and may append { u16 nr_vectors, vector_qwords, nr_pred, pred_qwords; u64 data[]
    }, which is skipped. With any other bit in ``abi`` the length of the registers is unknown, and the rest of the
    record is skipped.
    """
    abi = at.u64()
    width = mask.bit_count()
    first, lengths = at.counted(np.where(abi != 0, np.uint64(width), np.uint64(0)))
    present = lengths == width
    if abi.max(initial=0) >= RegsAbi.SIMD:
        _skip_vector_registers(at, (abi & np.uint64(RegsAbi.SIMD)) != 0)
        unknown = (abi & ~np.uint64(RegsAbi.GENERAL | RegsAbi.SIMD)) != 0
        at.give_up(unknown)
        present &= ~unknown
        abi &= np.uint64(RegsAbi.GENERAL)
    if not keep:
        return None
    regs = take(at.block.words, first[:, None] + arange(width), mode="clip")
    regs[~present] = 0
    return np.where(present, abi, np.uint64(0)).astype(np.uint8), regs


def _skip_vector_registers(at: FieldCursor, has_some: Bools) -> None:
    """Skip vector and predicate registers: a word with two (count, width) pairs, and the words that these describe."""
    head, one = at.counted(as_uint64(has_some))
    word = np.where(one > 0, take(at.block.words, head, mode="clip"), np.uint64(0))
    first, second, third, fourth = (word >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48))
    at.counted(first * second + third * fourth)  # the pairs keep their order in either byte order


def user_stacks(
    at: FieldCursor, regs: tuple[U8, U64] | None, mask: int, requested: int, has_stack: bool, keep: bool
) -> UserStacks | None:
    """Read PERF_SAMPLE_STACK_USER, and join it with the registers: { u64 size; [u8 data[size]; u64 dyn_size]; }."""
    none = zeros(len(at))
    start, size = _stack(at) if has_stack else (none, none)
    if not keep:
        return None
    abi, values = (np.zeros(len(at), np.uint8), np.zeros((len(at), 0), np.uint64)) if regs is None else regs
    return UserStacks(abi, values, mask, at.block.words, start, size, requested)


def _stack(at: FieldCursor) -> tuple[I64, I64]:
    """Return (n,) first word of each copy, and (n,) bytes that the kernel filled (dyn_size)."""
    size = at.u64()
    at.bad |= size % np.uint64(8) != 0
    words = np.where(size > 0, (size >> np.uint64(3)) + np.uint64(1), np.uint64(0))
    first, lengths = at.counted(words)
    filled = take(at.block.words, first + np.maximum(lengths - 1, 0), mode="clip")
    used = np.where(lengths > 0, filled, np.uint64(0))
    too_much = used > np.where(lengths > 0, size, np.uint64(0))
    at.bad |= too_much
    return first, as_int64(np.where(too_much, np.uint64(0), used))


def read_values(at: FieldCursor, read_format: int) -> ReadValues:
    """Read { value, [enabled], [running], [id], [lost] } or, with GROUP, { nr, [enabled], [running], { … } [nr] }."""
    group = bool(read_format & ReadFormat.GROUP)
    head = at.u64()
    enabled = at.u64() if read_format & ReadFormat.TOTAL_TIME_ENABLED else None
    running = at.u64() if read_format & ReadFormat.TOTAL_TIME_RUNNING else None
    names = [name for bit, name in ((ReadFormat.ID, "id"), (ReadFormat.LOST, "lost")) if read_format & bit]
    if not group:
        columns = {"value": head} | {name: at.u64() for name in names}
        offsets = arange(len(at) + 1)
    else:
        width = 1 + len(names)
        first, lengths = at.counted(head, words_each=width)
        words = take(at.block.words, ranges(first, lengths * width)).reshape(-1, width)
        columns = {name: words[:, column].copy() for column, name in enumerate(["value", *names])}
        offsets = offsets_of(lengths)
    return ReadValues(offsets, enabled, running, columns["value"], columns.get("id"), columns.get("lost"))


class DeliveredSamples(Frozen):
    """Samples delivered from group reads of one block, in file order; ``position`` is that of their original sample."""

    position: I64
    event: I32
    period: U64


class CounterReadings(ColumnTable):
    """Counter values, one row per sample and member of the group."""

    position: I64
    time: U64
    event: I32
    """Event with this ``id``, −1 for none."""
    id: U64
    task: I32
    """The counter's thread if threads have counters of their own (``inherit``), otherwise 0."""
    value: U64


def delivered_samples(parts: Sequence[tuple[int, CounterReadings]], blocks: int) -> list[DeliveredSamples]:
    """Return the delivered samples of each block; increments need the values of all blocks in time order.

    ``parts`` are pairs of a block's number and the values of its samples of one layout.
    """
    numbers = np.concatenate([np.full(len(part), block, np.int64) for block, part in parts])
    whole = join_tables([part for _, part in parts])
    period = _growth(whole)
    order = flatnonzero((period > 0) & (whole.event >= 0))
    order = order[argsort(whole.position[order])]
    bounds = searchsorted(numbers[order], arange(blocks + 1))
    chosen = [order[first:last] for first, last in pairwise(bounds.tolist())]
    return [DeliveredSamples(whole.position[rows], whole.event[rows], period[rows]) for rows in chosen]


def _growth(readings: CounterReadings) -> U64:
    """Return (n,) each value minus the previous one of the same counter in time order; the first in full."""
    order = lexsort((readings.position, readings.time, readings.task, readings.id))
    value, identifier, task = readings.value[order], readings.id[order], readings.task[order]
    growth = np.empty(len(order), np.uint64)
    growth[order] = value - np.where(begins_run(identifier, task), np.uint64(0), of_previous(value, 0))
    return growth
