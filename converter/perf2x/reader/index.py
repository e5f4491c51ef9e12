"""The index pass: every record is met once, side-band is decoded, and what samples need later is kept: their event."""

from dataclasses import field

import numpy as np
import numpy.typing as npt

from perf2x.abi.perffile import UserRecordType
from perf2x.abi.uapi import ReadFormat, RecordType, SampleType
from perf2x.classes import dataclass
from perf2x.model.arrays import I32, I64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.events import Event, Sideband
from perf2x.model.ordering import unique
from perf2x.model.ragged import row_numbers
from perf2x.reader.block import Block
from perf2x.reader.columns import Cursor, as_i32
from perf2x.reader.draft import Draft
from perf2x.reader.file_clock import FileClock, has_trailer
from perf2x.reader.readings import Delivered, Readings, Splitter, read_values
from perf2x.reader.records import DECODERS, decode_rows
from perf2x.reader.samples import Layout, layout_of, words_before_read
from perf2x.reader.tables import TABLES, TableBuilder, build_sideband

SESSION_RECORDS = frozenset(
    {
        UserRecordType.HEADER_ATTR,
        UserRecordType.HEADER_EVENT_TYPE,
        UserRecordType.HEADER_BUILD_ID,
        UserRecordType.EVENT_UPDATE,
        UserRecordType.HEADER_FEATURE,
    }
)
"""Records that say what header sections say in files."""
NAMES = {int(kind): kind.name for family in (RecordType, UserRecordType) for kind in family}
"""Record type to its kernel name without PERF_RECORD_."""


@dataclass(slots=True)
class Index:
    """Grows block by block with ``add``; ``sideband`` and ``delivered`` are for afterwards."""

    draft: Draft
    diagnostics: Diagnostics
    counts: dict[int, int] = field(default_factory=dict)
    owners: list[npt.NDArray[np.int16]] = field(default_factory=list)
    """For each block the events of its samples, −1 where the id is nobody's."""
    _builders: dict[str, TableBuilder] = field(default_factory=dict)
    _splitter: Splitter = field(default_factory=Splitter)
    _clock: FileClock = field(default_factory=FileClock)

    def add(self, block: Block) -> None:
        """All records of the next block."""
        kinds, numbers = np.unique(block.types, return_counts=True)
        for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
            self.counts[kind] = self.counts.get(kind, 0) + number
        present = frozenset(kinds.tolist())
        if present & SESSION_RECORDS:
            self._read_session_records(block)
        rows = np.flatnonzero(block.types == RecordType.SAMPLE)
        owners = self.draft.events.of_samples(block, rows)
        self._clock.pass_block(block, rows, self.draft.events.events)
        for kind in sorted(present & DECODERS.keys()):
            self._decode(block, kind)
        self._read_counters(block, rows, owners)
        self.owners.append(owners.astype(np.int16))

    def sideband(self, counts: dict[int, int], end: int) -> Sideband:
        """The tables, with record counts by name."""
        named = {NAMES.get(kind, f"UNKNOWN_{kind}"): counts[kind] for kind in sorted(counts)}
        return build_sideband(self._builders, named, end)

    def delivered(self) -> list[Delivered] | None:
        """For each block what its samples with counter values are delivered as; None when there are none."""
        return self._splitter.finish(len(self.owners)) if self._splitter.parts else None

    def _read_session_records(self, block: Block) -> None:
        rows = np.flatnonzero(np.isin(block.types, list(SESSION_RECORDS)))
        for row in rows.tolist():
            start = int(block.starts[row]) * 8
            payload = block.data[start + 8 : start + int(block.sizes[row])].tobytes()
            self.draft.add_record(int(block.types[row]), int(block.misc[row]), payload)

    def _decode(self, block: Block, kind: int) -> None:
        """Side-band records of one type; by event where trailers differ between events."""
        rows = np.flatnonzero(block.types == kind)
        owners = self.draft.events.of_others(block, rows)
        for owner in unique(owners).tolist():
            self._decode_of_event(block, kind, rows[owners == owner], owner)

    def _decode_of_event(self, block: Block, kind: int, rows: I64, owner: int) -> None:
        event = self.draft.events.event(owner)
        columns, bad = decode_rows(block, rows, kind, event)
        columns["event"] = np.full(len(rows), owner, np.int32)
        if "owner_id" in columns:
            columns["event"] = self.draft.events.owners_of(columns["owner_id"])
        if not has_trailer(event):
            columns["time"] = self._clock.at(columns["position"], columns.get("own_time"))
        self.diagnostics.add(
            "records_malformed", Severity.LOSS, "A record is cut short or damaged.",
            count=int(bad.sum()), where=NAMES[kind],
        )  # fmt: skip
        table = DECODERS[kind].table
        self._builders.setdefault(table, TableBuilder(TABLES[table])).append(columns, ~bad)

    def _read_counters(self, block: Block, rows: I64, owners: I32) -> None:
        """Values of samples with PERF_SAMPLE_READ, by layout."""
        events = [event for event in self.draft.events.events if is_split(event)]
        for layout in dict.fromkeys(layout_of(event) for event in events):
            mine = [event for event in events if layout_of(event) == layout]
            chosen = np.isin(owners, [event.index for event in mine])
            if chosen.any():
                self._split(block, rows[chosen], layout, has_task_counters(mine[0]))

    def _split(self, block: Block, rows: I64, layout: Layout, by_task: bool) -> None:
        kind = layout.sample_type
        head, at = Cursor(block, rows), Cursor(block, rows)
        at.skip(words_before_read(kind))
        values = read_values(at, layout.read_format)
        head.skip((kind & (SampleType.IDENTIFIER | SampleType.IP)).bit_count())
        tid = as_i32(head.u32_pair()[1]) if kind & SampleType.TID else np.zeros(len(rows), np.int32)
        time = head.u64() if kind & SampleType.TIME else np.zeros(len(rows), np.uint64)
        sample = row_numbers(np.diff(values.offsets))
        identifier = values.id if values.id is not None else np.zeros(len(sample), np.uint64)
        task = tid if by_task else np.zeros(len(rows), np.int32)
        owners = np.where(identifier == 0, np.int32(-1), self.draft.events.owners_of(identifier))
        readings = Readings(block.positions[rows][sample], time[sample], owners, identifier, task[sample], values.value)
        self._splitter.add(len(self.owners), readings)


def is_split(event: Event) -> bool:
    """Whether samples of this event are delivered by the growth of the counters in them."""
    return bool(event.sample_type & SampleType.READ and event.read_format & ReadFormat.ID)


def has_task_counters(event: Event) -> bool:
    """perf_evsel__attr_has_per_thread_sample_period: inherited counters are each thread's own."""
    return "inherit" in event.flags and bool(event.sample_type & SampleType.TID)
