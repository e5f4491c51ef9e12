"""PERF_RECORD_SAMPLE, in the parser's field order.

Source of truth: evsel__parse_sample in tools/perf/util/evsel.c and perf_output_sample in kernel/events/core.c.
Samples of one layout are decoded together, so that the kinds of fields are plain numbers and their values columns.
"""

from typing import Any

import numpy as np

from perf2x.abi.uapi import MISC_CPUMODE_MASK, SampleType
from perf2x.classes import dataclass
from perf2x.model.arrays import I32, I64, U64, Bools
from perf2x.model.events import Event, Samples, Want
from perf2x.model.ragged import Ragged
from perf2x.reader.block import Block
from perf2x.reader.columns import Cursor, as_i32
from perf2x.reader.payloads import branch_stack, bytes_with_size, raw_bytes, registers, user_stacks
from perf2x.reader.readings import read_values

_ALL_TAILS = Want.RAW | Want.BRANCHES | Want.STACKS | Want.MEMORY | Want.CGROUP | Want.EXTRA
Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """What decides where the fields of a sample lie."""

    sample_type: int
    read_format: int
    branch_sample_type: int
    regs_user: int
    regs_intr: int
    stack_user: int


def layout_of(event: Event) -> Layout:
    """Events that differ only in what their samples do not hold have the same layout."""
    kind = event.sample_type
    return Layout(
        kind,
        event.read_format if kind & SampleType.READ else 0,
        event.branch_sample_type if kind & SampleType.BRANCH_STACK else 0,
        event.sample_regs_user if kind & SampleType.REGS_USER else 0,
        event.sample_regs_intr if kind & SampleType.REGS_INTR else 0,
        event.sample_stack_user if kind & SampleType.STACK_USER else 0,
    )


def decode_samples(
    block: Block, rows: I64, event: I32, layout: Layout, periods: U64, want: Want
) -> tuple[Samples, Bools]:
    """The samples in ``rows``, all of one layout; and which of them are whole.

    ``periods``: what each event's samples stand for when they do not say.
    """
    at = Cursor(block, rows)
    columns: Columns = {"ip": np.zeros(len(at), np.uint64), "time": None, "cpu": None, "addr": None, "extra": {}}
    columns["pid"] = columns["tid"] = np.full(len(at), -1, np.int32)
    columns["period"] = periods.take(event)
    columns |= _fixed_fields(at, layout.sample_type, columns["extra"])
    _read_and_callchain(at, layout, want, columns)
    if want & _ALL_TAILS:
        _variable_fields(at, layout, want, columns)
        _last_fields(at, layout, want, columns)
    columns["cpumode"] = (block.misc.take(rows) & MISC_CPUMODE_MASK).astype(np.uint8)
    if not want & (Want.ADDR | Want.EXTRA):
        columns["addr"] = None
    if Want.EXTRA not in want:
        columns["extra"] = {}
    return Samples(event=event, position=block.positions.take(rows), **columns), ~at.bad


def _fixed_fields(at: Cursor, kind: int, extra: Columns) -> Columns:
    """The fields in front of READ: one word each."""
    columns: Columns = {}
    if kind & SampleType.IDENTIFIER:
        extra["id"] = at.u64()
    if kind & SampleType.IP:
        columns["ip"] = at.u64()
    if kind & SampleType.TID:
        columns["pid"], columns["tid"] = at.i32_pair()
    if kind & SampleType.TIME:
        columns["time"] = at.u64()
    if kind & SampleType.ADDR:
        columns["addr"] = at.u64()
    if kind & SampleType.ID:
        extra["id"] = at.u64()
    if kind & SampleType.STREAM_ID:
        extra["stream_id"] = at.u64()
    if kind & SampleType.CPU:
        columns["cpu"] = as_i32(at.u32_pair()[0])
    if kind & SampleType.PERIOD:
        columns["period"] = at.u64()
    return columns


def words_before_read(kind: int) -> int:
    """How many words ``_fixed_fields`` passes."""
    fixed = (
        SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.ADDR | SampleType.ID
        | SampleType.STREAM_ID | SampleType.CPU | SampleType.PERIOD
    )  # fmt: skip
    return (kind & fixed).bit_count()


def _read_and_callchain(at: Cursor, layout: Layout, want: Want, columns: Columns) -> None:
    """READ, and CALLCHAIN: { u64 nr; u64 ips[nr]; }."""
    if layout.sample_type & SampleType.READ:
        columns["extra"]["read"] = read_values(at, layout.read_format)
    columns["chain"] = Ragged(np.zeros(len(at) + 1, np.int64), np.zeros(0, np.uint64))
    if layout.sample_type & SampleType.CALLCHAIN:
        first, lengths = at.counted(at.u64())
        if Want.CHAIN in want:
            columns["chain"] = at.ragged(first, lengths)


def _variable_fields(at: Cursor, layout: Layout, want: Want, columns: Columns) -> None:
    """RAW, BRANCH_STACK, REGS_USER, STACK_USER."""
    kind = layout.sample_type
    if kind & SampleType.RAW:
        columns["raw"] = raw_bytes(at, Want.RAW in want)
    if kind & SampleType.BRANCH_STACK:
        branches, counters = branch_stack(at, layout.branch_sample_type, Want.BRANCHES in want)
        columns["branches"], columns["extra"]["branch_counters"] = branches, counters
    regs = registers(at, layout.regs_user) if kind & SampleType.REGS_USER else None
    if kind & (SampleType.REGS_USER | SampleType.STACK_USER):
        has_stack = bool(kind & SampleType.STACK_USER)
        stacks = user_stacks(at, regs, layout.regs_user, layout.stack_user, has_stack)
        columns["user_stacks"] = stacks if Want.STACKS in want else None


def _last_fields(at: Cursor, layout: Layout, want: Want, columns: Columns) -> None:
    """WEIGHT or WEIGHT_STRUCT, DATA_SRC, TRANSACTION, REGS_INTR, PHYS_ADDR, CGROUP, page sizes, AUX."""
    kind, extra = layout.sample_type, columns["extra"]
    if kind & (SampleType.WEIGHT | SampleType.WEIGHT_STRUCT):
        word = at.u64()
        columns["weight"] = word
        if kind & SampleType.WEIGHT_STRUCT:
            # union perf_sample_weight: var1 is the low half in either byte order, var2 and var3 lie above it
            columns["weight"] = word & np.uint64(0xFFFFFFFF)
            extra["ins_lat"], extra["weight3"] = word >> np.uint64(32) & np.uint64(0xFFFF), word >> np.uint64(48)
    if kind & SampleType.DATA_SRC:
        columns["data_src"] = at.u64()
    if kind & SampleType.TRANSACTION:
        extra["transaction"] = at.u64()
    if kind & SampleType.REGS_INTR:
        extra["regs_intr_abi"], extra["regs_intr"] = registers(at, layout.regs_intr)
    for bit, name in _LAST_WORDS:
        if kind & bit:
            extra[name] = at.u64()
    if kind & SampleType.AUX and Want.EXTRA in want:
        extra["aux"] = bytes_with_size(at)
    if Want.CGROUP in want:
        columns["cgroup"] = extra.get("cgroup")
    if not want & (Want.MEMORY | Want.EXTRA):
        columns.pop("weight", None)
        columns.pop("data_src", None)


_LAST_WORDS = (
    (SampleType.PHYS_ADDR, "phys_addr"),
    (SampleType.CGROUP, "cgroup"),
    (SampleType.DATA_PAGE_SIZE, "data_page_size"),
    (SampleType.CODE_PAGE_SIZE, "code_page_size"),
)
