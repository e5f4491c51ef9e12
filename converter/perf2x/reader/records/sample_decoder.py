"""Decodes PERF_RECORD_SAMPLE, one column per field.

The attributes of an event determine which fields its samples have (``SampleLayout``). Samples of one layout are decoded
together. ``Want`` selects the larger or rarer columns.

Source of truth: evsel__parse_sample in tools/perf/util/evsel.c and perf_output_sample in kernel/events/core.c.
"""

from functools import cache
from typing import Any

import numpy as np

from perf2x.base.abi import MISC_CPUMODE_MASK, CpuMode, SampleType
from perf2x.base.columnar import I32, U64, Bools, Frozen, ListArray, take
from perf2x.model.recording import Event, Samples, Want
from perf2x.reader.record_block import Block
from perf2x.reader.records.field_cursor import FieldCursor
from perf2x.reader.records.variable_fields import (
    branch_stack,
    bytes_with_size,
    raw_bytes,
    read_values,
    registers,
    user_stacks,
)

_Columns = dict[str, Any]


class SampleLayout(Frozen):
    """Attributes with which a sample's fields are decoded."""

    sample_type: int
    read_format: int
    branch_sample_type: int
    regs_user: int
    regs_intr: int
    stack_user: int


def sample_layout(event: Event) -> SampleLayout:
    """Return the layout of an event's samples; attributes of fields that they lack count as 0."""
    sample_type = event.sample_type
    return SampleLayout(
        sample_type,
        event.read_format if sample_type & SampleType.READ else 0,
        event.branch_sample_type if sample_type & SampleType.BRANCH_STACK else 0,
        event.sample_regs_user if sample_type & SampleType.REGS_USER else 0,
        event.sample_regs_intr if sample_type & SampleType.REGS_INTR else 0,
        event.sample_stack_user if sample_type & SampleType.STACK_USER else 0,
    )


def decode_samples(
    block: Block, event: I32, layout: SampleLayout, periods: U64, want: Want
) -> tuple[Samples, Bools, Bools | None]:
    """Decode the samples of a block that contains only samples of one layout.

    ``event`` (n,) is each sample's event. ``periods`` (events,) are for samples that do not record one. Returns the
    samples; (n,) whether each is complete; and (n,) whether its registers have an unknown layout (None if all are
    known). Later fields of such a sample could not be read; it counts as complete all the same. ``want`` does not
    change which samples are complete.
    """
    cursor = FieldCursor(block)
    columns: _Columns = {"time": None, "cpu": None, "addr": None, "extra": {}}
    _fixed_fields(cursor, layout.sample_type, want, columns)
    if "ip" not in columns:
        columns["ip"] = np.zeros(len(cursor), np.uint64)
    if "pid" not in columns:
        columns["pid"] = columns["tid"] = np.full(len(cursor), -1, np.int32)
    if "period" not in columns:
        columns["period"] = take(periods, event)
    _read_and_callchain(cursor, layout, want, columns)
    _variable_fields(cursor, layout, want, columns)
    _last_fields(cursor, layout, want, columns)
    mode = (block.misc & MISC_CPUMODE_MASK).astype(np.uint8)
    mode[mode > max(CpuMode)] = CpuMode.UNKNOWN  # modes 6 and 7 are undefined; perf treats both like 0
    columns["cpumode"] = mode
    if Want.EXTRA not in want:
        columns["extra"] = {}
    return Samples(event=event, position=block.positions, **columns), cursor.is_complete, cursor.is_unreadable


def _fixed_fields(cursor: FieldCursor, sample_type: int, want: Want, columns: _Columns) -> None:
    for name in _fixed_names(sample_type):
        if name == "tid":
            columns["pid"], columns["tid"] = cursor.i32_pair()
        elif name == "cpu":
            columns["cpu"] = cursor.i32()
        elif name in _IDS:
            columns["extra"][name] = _word(cursor, Want.EXTRA in want)
        elif name == "addr":
            columns["addr"] = _word(cursor, bool(want & (Want.ADDR | Want.EXTRA)))
        else:
            columns[name] = cursor.u64()


_IDS = frozenset({"id", "stream_id"})
# fields before READ, in the order of the record
_FIXED = (
    (SampleType.IDENTIFIER, "id"), (SampleType.IP, "ip"), (SampleType.TID, "tid"), (SampleType.TIME, "time"),
    (SampleType.ADDR, "addr"), (SampleType.ID, "id"), (SampleType.STREAM_ID, "stream_id"), (SampleType.CPU, "cpu"),
    (SampleType.PERIOD, "period"),
)  # fmt: skip


@cache
def _fixed_names(sample_type: int) -> tuple[str, ...]:
    return tuple(name for bit, name in _FIXED if sample_type & bit)


def words_before_read(sample_type: int) -> int:
    """Number of words between a sample's header and its field READ."""
    return len(_fixed_names(sample_type))


def _read_and_callchain(cursor: FieldCursor, layout: SampleLayout, want: Want, columns: _Columns) -> None:
    if layout.sample_type & SampleType.READ:
        columns["extra"]["read"] = read_values(cursor, layout.read_format)
    if layout.sample_type & SampleType.CALLCHAIN:
        first_word, lengths = cursor.array_extents(cursor.u64())
        if Want.CHAIN in want:
            columns["chain"] = cursor.copy_arrays(first_word, lengths)
    if "chain" not in columns:
        columns["chain"] = ListArray.of_empty_rows(len(cursor), np.uint64)


def _variable_fields(cursor: FieldCursor, layout: SampleLayout, want: Want, columns: _Columns) -> None:
    sample_type = layout.sample_type
    if sample_type & SampleType.RAW:
        columns["raw"] = raw_bytes(cursor, Want.RAW in want)
    if sample_type & SampleType.BRANCH_STACK:
        branches, counters = branch_stack(cursor, layout.branch_sample_type, Want.BRANCHES in want)
        columns["branches"], columns["extra"]["branch_counters"] = branches, counters
    keep = Want.STACKS in want
    regs = registers(cursor, layout.regs_user, keep) if sample_type & SampleType.REGS_USER else None
    if sample_type & (SampleType.REGS_USER | SampleType.STACK_USER):
        has_dumps = bool(sample_type & SampleType.STACK_USER)
        columns["user_stacks"] = user_stacks(cursor, regs, layout.regs_user, layout.stack_user, has_dumps, keep)


def _last_fields(cursor: FieldCursor, layout: SampleLayout, want: Want, columns: _Columns) -> None:
    sample_type, extra = layout.sample_type, columns["extra"]
    wants_extra = Want.EXTRA in want
    wants_memory = wants_extra or Want.MEMORY in want
    if sample_type & (SampleType.WEIGHT | SampleType.WEIGHT_STRUCT):
        word = _word(cursor, wants_memory)
        columns["weight"] = word
        if word is not None and sample_type & SampleType.WEIGHT_STRUCT:
            # union perf_sample_weight { u32 var1_dw; u16 var2_w, var3_w; }: var1_dw is the low half in either byte
            # order
            columns["weight"] = word & np.uint64(0xFFFFFFFF)
            extra["ins_lat"], extra["weight3"] = word >> np.uint64(32) & np.uint64(0xFFFF), word >> np.uint64(48)
    if sample_type & SampleType.DATA_SRC:
        columns["data_src"] = _word(cursor, wants_memory)
    if sample_type & SampleType.TRANSACTION:
        extra["transaction"] = _word(cursor, wants_extra)
    if sample_type & SampleType.REGS_INTR:
        regs = registers(cursor, layout.regs_intr, wants_extra)
        extra["regs_intr_abi"], extra["regs_intr"] = regs or (None, None)
    for bit, name in _LAST_WORDS:
        if sample_type & bit:
            extra[name] = _word(cursor, wants_extra or (name == "cgroup" and Want.CGROUP in want))
    if sample_type & SampleType.AUX:
        extra["aux"] = bytes_with_size(cursor, wants_extra)
    if Want.CGROUP in want:
        columns["cgroup"] = extra.get("cgroup")


def _word(cursor: FieldCursor, keep: bool) -> U64 | None:
    if keep:
        return cursor.u64()
    cursor.skip(1)
    return None


_LAST_WORDS = (  # between REGS_INTR and AUX, in the order of the record
    (SampleType.PHYS_ADDR, "phys_addr"),
    (SampleType.CGROUP, "cgroup"),
    (SampleType.DATA_PAGE_SIZE, "data_page_size"),
    (SampleType.CODE_PAGE_SIZE, "code_page_size"),
)
