"""PERF_RECORD_SAMPLE, in the parser's field order.

Source of truth: evsel__parse_sample in tools/perf/util/evsel.c and perf_output_sample in kernel/events/core.c.
Samples of one layout are decoded together, so that the kinds of fields are plain numbers and their values columns.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from perf2x.abi.uapi import MISC_CPUMODE_MASK, ReadFormat, SampleType
from perf2x.model.arrays import I32, I64, U64, Bools
from perf2x.model.events import Event, Samples, Want
from perf2x.model.ragged import Ragged
from perf2x.read.block import Block
from perf2x.read.columns import Cursor, as_i32


@dataclass(frozen=True, slots=True)
class Layout:
    """What decides where the fields of a sample lie."""

    sample_type: int
    read_format: int
    branch_sample_type: int
    regs_user: int
    regs_intr: int


def layout_of(event: Event) -> Layout:
    """Events that differ only in what their samples do not hold have the same layout."""
    kind = event.sample_type
    return Layout(
        kind,
        event.read_format if kind & SampleType.READ else 0,
        event.branch_sample_type if kind & SampleType.BRANCH_STACK else 0,
        event.sample_regs_user if kind & SampleType.REGS_USER else 0,
        event.sample_regs_intr if kind & SampleType.REGS_INTR else 0,
    )


def decode_samples(
    block: Block, rows: I64, event: I32, layout: Layout, periods: U64, want: Want
) -> tuple[Samples, Bools]:
    """The samples in ``rows``, all of one layout; and which of them are whole.

    ``periods``: what each event's samples stand for when they do not say.
    """
    at = Cursor(block, rows)
    columns: dict[str, Any] = {"ip": np.zeros(len(at), np.uint64), "time": None, "cpu": None, "addr": None}
    columns["pid"] = columns["tid"] = np.full(len(at), -1, np.int32)
    columns["period"] = periods.take(event)
    columns |= _fixed_fields(at, layout.sample_type)
    if layout.sample_type & SampleType.READ:
        _skip_read(at, layout.read_format)
    columns["chain"] = _callchain(at, layout.sample_type, want)
    columns["cpumode"] = (block.misc.take(rows) & MISC_CPUMODE_MASK).astype(np.uint8)
    if Want.ADDR not in want:
        columns["addr"] = None
    return Samples(event=event, position=block.positions.take(rows), **columns), ~at.bad


def _fixed_fields(at: Cursor, kind: int) -> dict[str, Any]:
    """The fields in front of READ: one word each."""
    columns: dict[str, Any] = {}
    if kind & SampleType.IDENTIFIER:
        at.skip(1)
    if kind & SampleType.IP:
        columns["ip"] = at.u64()
    if kind & SampleType.TID:
        columns["pid"], columns["tid"] = at.i32_pair()
    if kind & SampleType.TIME:
        columns["time"] = at.u64()
    if kind & SampleType.ADDR:
        columns["addr"] = at.u64()
    if kind & SampleType.ID:
        at.skip(1)
    if kind & SampleType.STREAM_ID:
        at.skip(1)
    if kind & SampleType.CPU:
        columns["cpu"] = as_i32(at.u32_pair()[0])
    if kind & SampleType.PERIOD:
        columns["period"] = at.u64()
    return columns


def _callchain(at: Cursor, kind: int, want: Want) -> Ragged:
    """PERF_SAMPLE_CALLCHAIN: { u64 nr; u64 ips[nr]; }."""
    if kind & SampleType.CALLCHAIN:
        first, lengths = at.counted(at.u64())
        if Want.CHAIN in want:
            return at.ragged(first, lengths)
    return Ragged(np.zeros(len(at) + 1, np.int64), np.zeros(0, np.uint64))


def _skip_read(at: Cursor, read_format: int) -> None:
    """PERF_SAMPLE_READ: { value, [enabled], [running], [id], [lost] } or { nr, [enabled], [running], {…}[nr] }."""
    times = (read_format & (ReadFormat.TOTAL_TIME_ENABLED | ReadFormat.TOTAL_TIME_RUNNING)).bit_count()
    each = 1 + (read_format & (ReadFormat.ID | ReadFormat.LOST)).bit_count()
    if not read_format & ReadFormat.GROUP:
        at.skip(times + each)
        return
    members = at.u64()
    at.skip(times)
    at.counted(members, words_each=each)
