"""Decodes PERF_RECORD_SAMPLE, in the field order of perf's parser.

Source of truth: evsel__parse_sample in tools/perf/util/evsel.c and perf_output_sample in kernel/events/core.c.
Samples of one layout are decoded together, one column per field.
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
    """Attributes of an event that determine the positions of its samples' fields."""

    sample_type: int
    read_format: int
    branch_sample_type: int
    regs_user: int
    regs_intr: int
    stack_user: int


def sample_layout(event: Event) -> SampleLayout:
    """Return the event's layout; attributes of fields that its samples lack are 0."""
    kind = event.sample_type
    return SampleLayout(
        kind,
        event.read_format if kind & SampleType.READ else 0,
        event.branch_sample_type if kind & SampleType.BRANCH_STACK else 0,
        event.sample_regs_user if kind & SampleType.REGS_USER else 0,
        event.sample_regs_intr if kind & SampleType.REGS_INTR else 0,
        event.sample_stack_user if kind & SampleType.STACK_USER else 0,
    )


def decode_samples(
    block: Block, event: I32, layout: SampleLayout, periods: U64, want: Want
) -> tuple[Samples, Bools, Bools | None]:
    """Decode the samples of a block that contains only samples of one layout.

    Returns the samples, (n,) complete ones, and (n,) those whose registers have a newer kernel's layout and whose later
    fields are missing (None if there are none). ``periods`` (events,) are for samples without a period. Unwanted fields
    are skipped but checked: which samples are complete does not depend on ``want``.
    """
    at = FieldCursor(block)
    columns: _Columns = {"time": None, "cpu": None, "addr": None, "extra": {}}
    _fixed_fields(at, layout.sample_type, want, columns)
    if "ip" not in columns:
        columns["ip"] = np.zeros(len(at), np.uint64)
    if "pid" not in columns:
        columns["pid"] = columns["tid"] = np.full(len(at), -1, np.int32)
    if "period" not in columns:
        columns["period"] = take(periods, event)
    _read_and_callchain(at, layout, want, columns)
    _variable_fields(at, layout, want, columns)
    _last_fields(at, layout, want, columns)
    mode = (block.misc & MISC_CPUMODE_MASK).astype(np.uint8)
    mode[mode > max(CpuMode)] = CpuMode.UNKNOWN  # versions 6 and 7 are undefined; perf treats both like 0
    columns["cpumode"] = mode
    if Want.EXTRA not in want:
        columns["extra"] = {}
    return Samples(event=event, position=block.positions, **columns), at.whole, at.given_up


def _fixed_fields(at: FieldCursor, kind: int, want: Want, columns: _Columns) -> None:
    """Read the fields before READ: one word each."""
    for name in _fixed_names(kind):
        if name == "tid":
            columns["pid"], columns["tid"] = at.i32_pair()
        elif name == "cpu":
            columns["cpu"] = at.i32()
        elif name in _IDS:
            columns["extra"][name] = _word(at, Want.EXTRA in want)
        elif name == "addr":
            columns["addr"] = _word(at, bool(want & (Want.ADDR | Want.EXTRA)))
        else:
            columns[name] = at.u64()


_IDS = frozenset({"id", "stream_id"})
_FIXED = (
    (SampleType.IDENTIFIER, "id"), (SampleType.IP, "ip"), (SampleType.TID, "tid"), (SampleType.TIME, "time"),
    (SampleType.ADDR, "addr"), (SampleType.ID, "id"), (SampleType.STREAM_ID, "stream_id"), (SampleType.CPU, "cpu"),
    (SampleType.PERIOD, "period"),
)  # fmt: skip
"""The fields before READ, in order."""


@cache
def _fixed_names(kind: int) -> tuple[str, ...]:
    return tuple(name for bit, name in _FIXED if kind & bit)


def words_before_read(kind: int) -> int:
    """Return the number of words before READ."""
    return len(_fixed_names(kind))


def _read_and_callchain(at: FieldCursor, layout: SampleLayout, want: Want, columns: _Columns) -> None:
    """Read READ, and CALLCHAIN: { u64 nr; u64 ips[nr]; }."""
    if layout.sample_type & SampleType.READ:
        columns["extra"]["read"] = read_values(at, layout.read_format)
    if layout.sample_type & SampleType.CALLCHAIN:
        first, lengths = at.counted(at.u64())
        if Want.CHAIN in want:
            columns["chain"] = at.ragged(first, lengths)
    if "chain" not in columns:
        columns["chain"] = ListArray.of_empty_rows(len(at), np.uint64)


def _variable_fields(at: FieldCursor, layout: SampleLayout, want: Want, columns: _Columns) -> None:
    """Read RAW, BRANCH_STACK, REGS_USER and STACK_USER."""
    kind = layout.sample_type
    if kind & SampleType.RAW:
        columns["raw"] = raw_bytes(at, Want.RAW in want)
    if kind & SampleType.BRANCH_STACK:
        branches, counters = branch_stack(at, layout.branch_sample_type, Want.BRANCHES in want)
        columns["branches"], columns["extra"]["branch_counters"] = branches, counters
    has_stacks = Want.STACKS in want
    regs = registers(at, layout.regs_user, has_stacks) if kind & SampleType.REGS_USER else None
    if kind & (SampleType.REGS_USER | SampleType.STACK_USER):
        has_dumps = bool(kind & SampleType.STACK_USER)
        columns["user_stacks"] = user_stacks(at, regs, layout.regs_user, layout.stack_user, has_dumps, has_stacks)


def _last_fields(at: FieldCursor, layout: SampleLayout, want: Want, columns: _Columns) -> None:
    """Read WEIGHT or WEIGHT_STRUCT, DATA_SRC, TRANSACTION, REGS_INTR, PHYS_ADDR, CGROUP, page sizes and AUX."""
    kind, extra = layout.sample_type, columns["extra"]
    has_extra = Want.EXTRA in want
    has_memory = has_extra or Want.MEMORY in want
    if kind & (SampleType.WEIGHT | SampleType.WEIGHT_STRUCT):
        word = _word(at, has_memory)
        columns["weight"] = word
        if word is not None and kind & SampleType.WEIGHT_STRUCT:
            # union perf_sample_weight: var1 is the low half in either byte order, var2 and var3 lie above it
            columns["weight"] = word & np.uint64(0xFFFFFFFF)
            extra["ins_lat"], extra["weight3"] = word >> np.uint64(32) & np.uint64(0xFFFF), word >> np.uint64(48)
    if kind & SampleType.DATA_SRC:
        columns["data_src"] = _word(at, has_memory)
    if kind & SampleType.TRANSACTION:
        extra["transaction"] = _word(at, has_extra)
    if kind & SampleType.REGS_INTR:
        regs = registers(at, layout.regs_intr, has_extra)
        extra["regs_intr_abi"], extra["regs_intr"] = regs or (None, None)
    for bit, name in _LAST_WORDS:
        if kind & bit:
            extra[name] = _word(at, has_extra or (name == "cgroup" and Want.CGROUP in want))
    if kind & SampleType.AUX:
        extra["aux"] = bytes_with_size(at, has_extra)
    if Want.CGROUP in want:
        columns["cgroup"] = extra.get("cgroup")


def _word(at: FieldCursor, keep: bool) -> U64 | None:
    if keep:
        return at.u64()
    at.skip(1)
    return None


_LAST_WORDS = (
    (SampleType.PHYS_ADDR, "phys_addr"),
    (SampleType.CGROUP, "cgroup"),
    (SampleType.DATA_PAGE_SIZE, "data_page_size"),
    (SampleType.CODE_PAGE_SIZE, "code_page_size"),
)
