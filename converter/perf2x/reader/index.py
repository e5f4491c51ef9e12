"""The index pass: every record is met once, side-band is decoded, and what samples need later is kept: their event."""

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from perf2x.abi.perffile import UserRecordType
from perf2x.abi.uapi import ReadFormat, RecordType, SampleType
from perf2x.columnar.arrays import I32, I64, U32
from perf2x.columnar.ragged import row_numbers
from perf2x.columnar.unique import rows_by, unique
from perf2x.reader.block import Block, join_blocks, moved
from perf2x.reader.file_clock import FileClock, has_trailer
from perf2x.reader.header.session_builder import Draft
from perf2x.reader.records.clamp import note, plausible_columns
from perf2x.reader.records.decoders import DECODERS, decode_records
from perf2x.reader.records.field_cursor import Cursor, as_i32
from perf2x.reader.records.read_counters import Delivered, Readings, Splitter, read_values
from perf2x.reader.records.samples import Layout, layout_of, words_before_read
from perf2x.reader.sideband_tables import TABLES, TableBuilder, build_sideband
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.events import Event, Sideband

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

_MANY = 4096
"""So many side-band records are decoded at once."""


class Index(Struct):
    """Grows block by block with ``add``; ``sideband`` and ``delivered`` are for afterwards."""

    draft: Draft
    diagnostics: Diagnostics
    counts: dict[int, int] = field(default_factory=dict)
    owners: list[npt.NDArray[np.int16] | I32] = field(default_factory=list)
    """For each block the events of its samples, −1 where the id is nobody's."""
    others: list[I32] = field(default_factory=list)
    """For each block the rows that are no samples."""
    _builders: dict[str, TableBuilder] = field(default_factory=dict)
    _splitter: Splitter = field(default_factory=Splitter)
    _clock: FileClock = field(default_factory=FileClock)
    _waiting: list[Block] = field(default_factory=list)
    """Side-band records of the blocks before that are not decoded yet."""

    def add(self, block: Block) -> None:
        """All records of the next block."""
        types = block.types
        others = np.flatnonzero(types != RecordType.SAMPLE)
        present = self._count(len(types) - len(others), types[others])
        if present & SESSION_RECORDS:
            self.settle()
            self._read_session_records(block)
        samples = block.only(np.flatnonzero(types == RecordType.SAMPLE)) if len(others) else block
        owners = self.draft.events.of_samples(samples)
        self._clock.pass_samples(samples, self.draft.events.events)
        if present & DECODERS.keys():
            self._take_others(block.only(others))
        self._read_counters(samples, owners)
        self.others.append(others.astype(np.int32))
        self.owners.append(narrow(owners))

    def settle(self) -> None:
        """Decode what is still waiting, so that all trouble in the blocks so far is noted."""
        if self._waiting:
            self._decode(join_blocks(self._waiting))
            self._waiting.clear()

    def _count(self, samples: int, others: U32) -> frozenset[int]:
        """Count records by type; the types that there are beside samples."""
        kinds = unique(others)
        numbers = np.bincount(kinds.searchsorted(others), minlength=len(kinds))
        if samples:
            self.counts[int(RecordType.SAMPLE)] = self.counts.get(RecordType.SAMPLE, 0) + samples
        for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
            self.counts[kind] = self.counts.get(kind, 0) + number
        return frozenset(kinds.tolist())

    def _take_others(self, others: Block) -> None:
        """Side-band records: where they are few they wait for those of further blocks, as calls cost by the block."""
        if len(others.sizes) >= _MANY or self._clock.is_running:
            self.settle()
            self._decode(others)
        else:
            self._waiting.append(moved(others))
            if sum(len(waiting.sizes) for waiting in self._waiting) >= _MANY:
                self.settle()

    def sideband(self, counts: dict[int, int], end: int) -> Sideband:
        """The tables, with record counts by name."""
        self.settle()
        named = {NAMES.get(kind, f"UNKNOWN_{kind}"): counts[kind] for kind in sorted(counts)}
        return build_sideband(self._builders, named, end)

    def delivered(self) -> list[Delivered] | None:
        """For each block what its samples with counter values are delivered as; None when there are none."""
        return self._splitter.finish(len(self.owners)) if self._splitter.parts else None

    def _read_session_records(self, block: Block) -> None:
        types, misc = block.types, block.misc
        for row in np.flatnonzero(np.isin(types, list(SESSION_RECORDS))).tolist():
            start = int(block.starts[row]) * 8
            payload = block.data[start + 8 : start + int(block.sizes[row])].tobytes()
            self.draft.add_record(int(types[row]), int(misc[row]), payload)

    def _decode(self, block: Block) -> None:
        """Side-band records by type, and by event where trailers differ between events."""
        malformed: list[tuple[int, int, int]] = []
        types, owners = block.types, self.draft.events.of_others(block)
        for kind, of_kind in rows_by(types):
            if kind not in DECODERS:
                continue
            for owner, rows in rows_by(owners[of_kind]):
                bad = self._decode_of_event(block.only(of_kind[rows]), kind, owner)
                malformed += [(int(bad[0]), kind, len(bad))] if len(bad) else []
        for _, kind, number in sorted(malformed):
            advice = "A record is cut short or damaged."
            self.diagnostics.add("records_malformed", Severity.LOSS, advice, number, NAMES[kind])

    def _decode_of_event(self, block: Block, kind: int, owner: int) -> I64:
        """Positions of those that are malformed."""
        event = self.draft.events.event(owner)
        columns, bad = decode_records(block, kind, event)
        columns, implausible = plausible_columns(columns)
        note(self.diagnostics, implausible)
        columns["event"] = np.full(len(block.sizes), owner, np.int32)
        if "owner_id" in columns:
            columns["event"] = self.draft.events.owners_of(columns["owner_id"])
        if not has_trailer(event):
            columns["time"] = self._clock.at(columns["position"], columns.get("own_time"))
        table = DECODERS[kind].table
        self._builders.setdefault(table, TableBuilder(TABLES[table])).append(columns, ~bad)
        malformed: I64 = columns["position"][bad]
        return malformed

    def _read_counters(self, samples: Block, owners: I32) -> None:
        """Values of samples with PERF_SAMPLE_READ, by layout."""
        events = self.draft.events.events
        if not any(is_split(event) for event in events):
            return
        numbers: dict[Layout, int] = {}
        firsts: list[Event] = []
        kind_of_event = np.full(len(events) + 1, -1, np.int64)  # the last is of owner −1
        for row, event in enumerate(events):
            if is_split(event):
                kind_of_event[row] = numbers.setdefault(layout_of(event), len(numbers))
                firsts += [event] * (len(numbers) - len(firsts))
        for kind, rows in rows_by(kind_of_event[owners]):
            if kind >= 0:
                self._split(samples.only(rows), layout_of(firsts[kind]), has_task_counters(firsts[kind]))

    def _split(self, block: Block, layout: Layout, by_task: bool) -> None:
        kind = layout.sample_type
        head, at = Cursor(block), Cursor(block)
        at.skip(words_before_read(kind))
        values = read_values(at, layout.read_format)
        head.skip((kind & (SampleType.IDENTIFIER | SampleType.IP)).bit_count())
        tid = as_i32(head.u32_pair()[1]) if kind & SampleType.TID else np.zeros(len(at), np.int32)
        time = head.u64() if kind & SampleType.TIME else np.zeros(len(at), np.uint64)
        sample = row_numbers(np.diff(values.offsets))
        identifier = values.id if values.id is not None else np.zeros(len(sample), np.uint64)
        task = tid if by_task else np.zeros(len(at), np.int32)
        owners = np.where(identifier == 0, np.int32(-1), self.draft.events.owners_of(identifier))
        readings = Readings(block.positions[sample], time[sample], owners, identifier, task[sample], values.value)
        self._splitter.add(len(self.owners), readings)


def narrow(owners: I32) -> npt.NDArray[np.int16] | I32:
    """Half the memory wherever there are no more than 32,768 events."""
    return owners.astype(np.int16) if owners.max(initial=0) <= np.iinfo(np.int16).max else owners


def is_split(event: Event) -> bool:
    """Whether samples of this event are delivered by the growth of the counters in them."""
    return bool(event.sample_type & SampleType.READ and event.read_format & ReadFormat.ID)


def has_task_counters(event: Event) -> bool:
    """perf_evsel__attr_has_per_thread_sample_period: inherited counters are each thread's own."""
    return "inherit" in event.flags and bool(event.sample_type & SampleType.TID)
