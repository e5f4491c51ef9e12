"""The index pass: reads every record once, decodes the side-band, and keeps each sample's event for the sample pass.

Other fields of samples are skipped, with two exceptions: times, if some side-band records have none of their own; and
counter values of group reads (PERF_SAMPLE_READ), because a period is what a counter grew by since the previous sample
in time, which may be anywhere in the file.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perf2x.base.abi import HeaderFeature, ReadFormat, RecordType, SampleType, UserRecordType
from perf2x.base.columnar import (
    I32,
    U32,
    Frozen,
    as_int32,
    bincount,
    flatnonzero,
    minus_ones,
    row_numbers,
    rows_by,
    searchsorted,
    sum_of,
    unique,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import Event, Session, Sideband, shown_path
from perf2x.reader.event_table import EventTable
from perf2x.reader.first_walk import FirstWalk, TraceBlock
from perf2x.reader.loss_notes import note_losses
from perf2x.reader.open_input import OpenedInput
from perf2x.reader.record_block import Block, RecordStream
from perf2x.reader.records.field_cursor import FieldCursor, as_i32
from perf2x.reader.records.perf_stat import note_counts, with_thread_names
from perf2x.reader.records.record_decoders import DECODERS
from perf2x.reader.records.record_names import RECORD_NAMES, SESSION_RECORDS
from perf2x.reader.records.sample_decoder import SampleLayout, sample_layout, words_before_read
from perf2x.reader.records.variable_fields import CounterReadings, DeliveredSamples, delivered_samples, read_values
from perf2x.reader.session_builder import SessionBuilder
from perf2x.reader.sideband_decoder import FileClock, SidebandDecoder

# Takes the bytes read so far, and the total.
Progress = Callable[[int, int], None]
# (samples of a block,) row of Session.events, −1 for an unknown id.
Owners = npt.NDArray[np.int16] | I32


class RecordingIndex(Frozen, eq=False):
    """The result of the index pass."""

    session: Session
    sideband: Sideband
    stream: RecordStream
    sample_count: int
    """The number of samples that perf script prints.

    A group read counts once for each of its counters that grew. Samples of unknown events do not count.
    """
    owners: list[Owners]
    """One entry per block: the events of its samples."""
    other_rows: list[I32]
    """One entry per block: the rows of its records that are not samples."""
    delivered: list[DeliveredSamples] | None
    """One entry per block: the samples delivered from group reads; None if the recording has none."""
    traces: list[TraceBlock]
    late_events: EventTable | None
    """All events, if some were defined after records that may belong to them; otherwise None.

    The events of those records must then be looked up in a second index pass, with this table.
    """


def run_index_pass(
    opened: OpenedInput,
    diagnostics: Diagnostics,
    progress: Progress | None,
    events: EventTable | None = None,
) -> RecordingIndex:
    """Read all records once; count damage in file order.

    ``events`` are the ``late_events`` of an earlier index pass; without them, a sample's event is one of those defined
    so far. Raises FormatError for more records than a file of this size can have.
    """
    index_builder = _IndexBuilder(opened.builder, diagnostics, events)
    walk = FirstWalk(opened.sections, opened.builder.byte_order, index_builder.note_damage)
    for block, done in walk.blocks():
        index_builder.add(block)
        if progress is not None:
            progress(done, walk.total_bytes)
    for data in walk.findings.tracing_data:
        opened.builder.add_feature(HeaderFeature.TRACING_DATA, data.tobytes())
    if walk.findings.kallsyms is not None:
        opened.builder.kallsyms = walk.findings.kallsyms.tobytes()
    index = index_builder.finish(walk)
    _note_unknown(index_builder, diagnostics)
    note_losses(index.session, index.sideband, diagnostics)
    return index


def _note_unknown(index_builder: "_IndexBuilder", diagnostics: Diagnostics) -> None:
    unknown = sum(count for kind, count in index_builder.counts.items() if kind not in RECORD_NAMES)
    diagnostics.add("records_of_unknown_type", "Written by a newer perf; skipped by their size.", count=unknown)
    diagnostics.add(
        "samples_of_unknown_event",
        "Samples carry an id that no event of the file has; they cannot be decoded.",
        count=index_builder.undecodable_count,
    )  # fmt: skip


class _IndexBuilder:
    def __init__(self, builder: SessionBuilder, diagnostics: Diagnostics, events: EventTable | None) -> None:
        self.counts = Counter[int]()
        self.undecodable_count = 0
        """The number of samples of unknown events, whose layout is unknown, too."""
        self._builder = builder
        self._diagnostics = diagnostics
        self._events = events or builder.events
        self._change_count = self._events.change_count
        self._has_late_events = False
        """Whether events changed after records that may belong to them."""
        self._owners: list[Owners] = []
        self._other_rows: list[I32] = []
        self._clock = FileClock()
        self._sideband = SidebandDecoder(self._events, self._clock, diagnostics)
        self._readings: list[tuple[int, CounterReadings]] = []
        """Numbers of blocks, and the values of group reads in them."""

    def add(self, block: Block) -> None:
        types = block.types
        others = flatnonzero(types != RecordType.SAMPLE)
        distinct_types = unique(types[others])
        present_types = frozenset(distinct_types.tolist())
        has_kernel_records = any(kind < UserRecordType.HEADER_ATTR for kind in self.counts)
        self._count(len(types) - len(others), types[others], distinct_types)
        if present_types & SESSION_RECORDS:
            self._sideband.note_damage()
            self._builder.add_records(block)
            self._has_late_events |= self._events.change_count > self._change_count and has_kernel_records
            self._change_count = self._events.change_count
        samples = block.only(flatnonzero(types == RecordType.SAMPLE)) if len(others) else block
        owners = self._events.owners_of_samples(samples)
        self.undecodable_count += int(np.count_nonzero(owners < 0))
        self._clock.read_times(samples, self._events.events)
        if present_types & DECODERS.keys():
            self._sideband.add(block.only(others))
        block_number = len(self._owners)
        self._readings += ((block_number, part) for part in _read_counters(samples, owners, self._events))
        self._other_rows.append(as_int32(others))
        self._owners.append(narrow_owners(owners))

    def note_damage(self, *damage: Any) -> None:
        """Report damage of the stream after earlier damage that the side-band decoder found."""
        self._sideband.note_damage()
        self._diagnostics.add(*damage)

    def finish(self, walk: FirstWalk) -> RecordingIndex:
        stream = walk.finish()
        self.counts.update(walk.findings.counts_outside_blocks)
        delivered = delivered_samples(self._readings, len(self._owners)) if self._readings else None
        session, sideband = self._builder.session(), self._sideband.finish(self.counts, stream.end)
        sample_count = self._count_samples(session, delivered)
        if len(sideband.readings) and not sample_count:  # perf stat record
            session, sideband = replace(session, is_perf_stat=True), with_thread_names(sideband, session)
            note_counts(sideband, session, self._diagnostics)
        if session.recorded_files:
            names = sideband.mmaps.filename.mapped(shown_path)
            sideband = replace(sideband, mmaps=replace(sideband.mmaps, filename=names))
        return RecordingIndex(
            session=session,
            sideband=sideband,
            stream=stream,
            sample_count=sample_count,
            owners=self._owners,
            other_rows=self._other_rows,
            delivered=delivered,
            traces=walk.findings.traces,
            late_events=self._events if self._has_late_events else None,
        )

    def _count(self, sample_count: int, types: U32, distinct_types: U32) -> None:
        counts = bincount(searchsorted(distinct_types, types), len(distinct_types))
        if sample_count:
            self.counts[int(RecordType.SAMPLE)] += sample_count
        self.counts.update(dict(zip(distinct_types.tolist(), counts.tolist(), strict=True)))

    def _count_samples(self, session: Session, delivered: list[DeliveredSamples] | None) -> int:
        """Group reads count as often as samples are delivered from them."""
        recorded = sum(map(len, self._owners)) - self.undecodable_count
        group_events = [event.index for event in session.events if is_group_read(event)]
        group_reads = sum(sum_of(np.isin(owners, group_events)) for owners in self._owners) if group_events else 0
        return recorded - group_reads + sum(len(of_block.event) for of_block in delivered or [])


def _read_counters(samples: Block, owners: I32, table: EventTable) -> Iterator[CounterReadings]:
    """Yield the values of group reads, one layout at a time."""
    events = table.events
    if not any(is_group_read(event) for event in events):
        return
    layout_numbers: dict[SampleLayout, int] = {}
    first_events: list[Event] = []
    event_layouts = minus_ones(len(events) + 1)  # −1: not a group read; the last entry is for owner −1
    for index, event in enumerate(events):
        if is_group_read(event):
            event_layouts[index] = layout_numbers.setdefault(sample_layout(event), len(layout_numbers))
            first_events += [event] * (len(layout_numbers) - len(first_events))
    for layout, rows in rows_by(event_layouts[owners]):
        if layout >= 0:
            yield _counter_readings(samples.only(rows), first_events[layout], table)


def _counter_readings(block: Block, event: Event, table: EventTable) -> CounterReadings:
    """One row per sample and group member."""
    sample_type = event.sample_type
    first_fields, read_field = FieldCursor(block), FieldCursor(block)
    read_field.skip(words_before_read(sample_type))
    values = read_values(read_field, event.read_format)
    first_fields.skip((sample_type & (SampleType.IDENTIFIER | SampleType.IP)).bit_count())
    no_tid = np.zeros(len(block.starts), np.int32)
    tid = as_i32(first_fields.u32_pair()[1]) if sample_type & SampleType.TID else no_tid
    time = first_fields.u64() if sample_type & SampleType.TIME else no_tid.astype(np.uint64)
    sample = row_numbers(np.diff(values.offsets))
    identifier = values.id if values.id is not None else np.zeros(len(sample), np.uint64)
    # with inherit, each thread has its own counters (perf_evsel__attr_has_per_thread_sample_period)
    task = tid if "inherit" in event.flags else no_tid
    owners = np.where(identifier == 0, np.int32(-1), table.owners_of_ids(identifier))
    return CounterReadings(block.positions[sample], time[sample], owners, identifier, task[sample], values.value)


def narrow_owners(owners: I32) -> Owners:
    """Store indices in 16 bits if they fit, and as a single one if all are equal."""
    if len(owners) and (owners == owners[0]).all():
        return np.broadcast_to(owners[:1].copy(), len(owners))  # stride 0: the memory of one index
    return owners.astype(np.int16) if owners.max(initial=0) <= np.iinfo(np.int16).max else owners


def is_group_read(event: Event) -> bool:
    """Return whether an event's samples are delivered from group reads, as increments of counters."""
    return bool(event.sample_type & SampleType.READ and event.read_format & ReadFormat.ID)
