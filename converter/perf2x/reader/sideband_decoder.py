"""Decodes side-band records (all but samples) of many blocks together, and collects them in tables.

Without sample_id_all (kernels before 2.6.38, or on request), side-band records have no time. They get the latest time
of the samples before them in the file. perf applies such a record to all samples after it in the file
(perf_session__process_event in tools/perf/util/session.c); this differs only for samples out of order.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.abi import SampleType, UserRecordType
from perf2x.base.columnar import (
    I64,
    U64,
    Bools,
    ColumnTable,
    ListInterner,
    SharedRows,
    as_int32,
    flatnonzero,
    join_tables,
    lexsort,
    rows_by,
    searchsorted,
    take,
    take_rows_of,
    zeros,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import NO_RECORDS, TABLES, DeferredChains, Event, Sideband
from perf2x.reader.event_table import EventTable
from perf2x.reader.record_block import Block, copy_records, join_blocks
from perf2x.reader.records.clamp_values import clamp_columns
from perf2x.reader.records.record_decoders import DECODERS, decode_records
from perf2x.reader.records.record_names import RECORD_NAMES

# fields before a sample's time, one word each
_BEFORE_TIME = SampleType.IDENTIFIER | SampleType.IP | SampleType.TID


def _has_trailer(event: Event | None) -> bool:
    return event is not None and "sample_id_all" in event.flags


class FileClock(Struct):
    """The latest sample time before each position of the current block."""

    _positions: I64 = field(default_factory=lambda: zeros(0))
    """(n,) positions of the block's samples."""
    _times: U64 = field(default_factory=lambda: np.zeros(1, np.uint64))
    """(n + 1,) latest time before the block, then the latest one up to each of its samples."""
    is_needed: bool = False
    """Whether samples have times, but some side-band records have none.

    Each block's records must then be decoded before the next block is read.
    """

    def read_times(self, block: Block, events: Sequence[Event]) -> None:
        """Read the times of a block of samples, unless every side-band record has its own time."""
        if not events or all(_has_trailer(event) for event in events) or not events[0].sample_type & SampleType.TIME:
            return
        self.is_needed = True
        # perf, too, takes the time to be at the same offset in samples of all events
        word = block.starts + 1 + (events[0].sample_type & _BEFORE_TIME).bit_count()
        is_inside = word < block.starts + (block.sizes >> 3)
        times = np.where(is_inside, take(block.words, word, mode="clip"), np.uint64(0))
        self._times = np.maximum.accumulate(np.concatenate([self._times[-1:], times]))
        self._positions = block.positions

    def times_at(self, positions: I64, own_times: U64 | None = None) -> U64:
        """Return the times (n,) of records without a trailer, at ``positions`` (n,) of the block.

        ``own_times`` (n,) are fields of FORK, EXIT and THROTTLE. They count only if samples have times.
        """
        if own_times is not None and self.is_needed:
            return own_times
        return self._times[searchsorted(self._positions, positions)]


class _TableBuilder(Struct):
    table_class: type[ColumnTable]
    parts: list[Any] = field(default_factory=list)
    chains: ListInterner = field(default_factory=ListInterner)
    """Distinct deferred chains: many are equal, because a long system call has one user stack."""

    def append(self, columns: dict[str, Any], is_kept: Bools) -> None:
        part: Any = self.table_class(**{name: columns[name] for name in self.table_class.__struct_fields__})
        if not is_kept.all():
            part = take_rows_of(part, flatnonzero(is_kept))
        if isinstance(part, DeferredChains):
            chains: Any = part.chain
            part = replace(part, chain=as_int32(self.chains.number_rows(chains)))
        self.parts.append(part)

    def finish(self) -> ColumnTable:
        table: ColumnTable = join_tables(self.parts)
        self.parts.clear()
        if isinstance(table, DeferredChains):
            numbers: Any = table.chain
            table = replace(table, chain=SharedRows(numbers, self.chains.table()))
        return sorted_table(table)


def sorted_table(table: ColumnTable) -> ColumnTable:
    """Sort a table: deferred chains by cookie, thread, time and position, all others by position in the file."""
    # lexsort's last key is the first to sort by
    names = ("position", "time", "tid", "cookie") if isinstance(table, DeferredChains) else ("position",)
    order = lexsort([getattr(table, name) for name in names])
    return table if np.all(order[1:] > order[:-1]) else take_rows_of(table, order)


# fewer records than this are buffered, because each call that decodes has a fixed cost
_MIN_BATCH = 4096


class SidebandDecoder(Struct):
    """Decodes the side-band records of one block after another.

    Records are buffered until there are enough to decode. So ``note_damage``, which decodes them, must be called before
    events change, and before damage of the stream is reported.
    """

    _events: EventTable
    _clock: FileClock
    _diagnostics: Diagnostics
    _tables: "dict[str, _TableBuilder]" = {}
    _buffered: list[Block] = []
    _unreported: Diagnostics = field(default_factory=Diagnostics)  # damage found since the last note_damage

    def add(self, records: Block) -> None:
        """Add a block's side-band records, after the clock has read the block's samples."""
        if len(records.sizes) >= _MIN_BATCH or self._clock.is_needed:
            self._decode_buffered()
            self._decode(records)
            return
        self._buffered.append(copy_records(records))
        if sum(len(block.sizes) for block in self._buffered) >= _MIN_BATCH:
            self._decode_buffered()

    def _decode_buffered(self) -> None:
        if self._buffered:
            self._decode(join_blocks(self._buffered))
            self._buffered.clear()

    def note_damage(self) -> None:
        """Report the damage of all records so far, sorted by name, so that buffering does not change the order."""
        self._decode_buffered()
        self._diagnostics.absorb(sorted(self._unreported.counts.values(), key=lambda count: count.name))
        self._unreported.counts.clear()

    def finish(self, counts: dict[int, int], end: int) -> Sideband:
        """Return the tables.

        ``counts`` has the number of records by type; ``end`` is the position after the last record.
        """
        self.note_damage()
        counts_by_name = {RECORD_NAMES.get(kind, f"UNKNOWN_{kind}"): counts[kind] for kind in sorted(counts)}
        tables = {name: builder.finish() for name, builder in self._tables.items()}
        return replace(NO_RECORDS, **tables, record_counts=counts_by_name, stream_end=end)

    def _decode(self, block: Block) -> None:
        malformed: list[tuple[int, int, int]] = []  # first position, type, number of records
        types, owners = block.types, self._events.owners_of_nonsamples(block)
        for kind, rows_of_kind in rows_by(types):
            if kind not in DECODERS:
                continue
            for owner, rows in rows_by(owners[rows_of_kind]):
                positions = self._decode_of_event(block.only(rows_of_kind[rows]), kind, owner)
                malformed += [(int(positions[0]), kind, len(positions))] if len(positions) else []
        for _, kind, count in sorted(malformed):
            advice = "A record is cut short or damaged."
            self._unreported.add("records_malformed", advice, count, RECORD_NAMES[kind])

    def _decode_of_event(self, block: Block, kind: int, owner: int) -> I64:
        """Decode records of one type that belong to the event ``owner``; return the positions of malformed ones."""
        event = self._events.event(owner)
        columns, is_malformed = decode_records(block, kind, event)
        columns |= clamp_columns(columns, self._unreported)
        columns["event"] = np.full(len(block.sizes), owner, np.int32)
        if "owner_id" in columns:  # the record is about another event than the one in its trailer
            columns["event"] = self._events.owners_of_ids(columns["owner_id"])
        if not _has_trailer(event) and kind != UserRecordType.STAT_ROUND:
            columns["time"] = self._clock.times_at(columns["position"], columns.get("own_time"))
        table = DECODERS[kind].table
        self._tables.setdefault(table, _TableBuilder(TABLES[table])).append(columns, ~is_malformed)
        positions: I64 = columns["position"][is_malformed]
        return positions
