"""Decodes side-band records (all but samples) of many blocks together, and collects them in tables.

Records without a time get the latest time of the samples before them in the file. Only recordings without sample_id_all
(kernels before 2.6.38, or on request) have such records. perf handles them as it reads them, which amounts to the same
within one round of its buffers (perf_session__process_event in tools/perf/util/session.c). In a recording without any
times, all times are 0 and the file's order counts.
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
from perf2x.reader.records.clamp_values import clamped
from perf2x.reader.records.record_decoders import DECODERS, decode_records
from perf2x.reader.records.record_names import RECORD_NAMES

_BEFORE_TIME = SampleType.IDENTIFIER | SampleType.IP | SampleType.TID


def _has_trailer(event: Event | None) -> bool:
    """Return whether an event's records other than samples have a sample_id trailer, and so a time if samples do."""
    return event is not None and "sample_id_all" in event.flags


class FileClock(Struct):
    """The latest sample time up to each position of the current block."""

    _positions: I64 = field(default_factory=lambda: zeros(0))
    _times: U64 = field(default_factory=lambda: np.zeros(1, np.uint64))
    """(positions + 1,) latest time before the block, then after each of its samples."""
    is_running: bool = False
    """Whether records get their time from this clock; ``at`` must then be called before the next block."""

    def pass_samples(self, block: Block, events: Sequence[Event]) -> None:
        """Read the times of a block of samples, unless every record has its own time."""
        if not events or all(_has_trailer(event) for event in events) or not events[0].sample_type & SampleType.TIME:
            return
        self.is_running = True
        word = block.starts + 1 + (events[0].sample_type & _BEFORE_TIME).bit_count()
        inside = word < block.starts + (block.sizes >> 3)
        times = np.where(inside, take(block.words, word, mode="clip"), np.uint64(0))
        self._times = np.maximum.accumulate(np.concatenate([self._times[-1:], times]))
        self._positions = block.positions

    def at(self, positions: I64, own: U64 | None = None) -> U64:
        """Return the time at positions in the block, or, if the clock is used, ``own`` times (of FORK and EXIT)."""
        if own is not None and self.is_running:
            return own
        return self._times[searchsorted(self._positions, positions)]


class _TableBuilder(Struct):
    """Builds one table from decoded parts, in order."""

    kind: type[ColumnTable]
    parts: list[Any] = field(default_factory=list)
    chains: ListInterner = field(default_factory=ListInterner)
    """Unique deferred chains, because a long system call repeats one user stack a thousand times."""

    def append(self, columns: dict[str, Any], keep: Bools) -> None:
        """Add the rows of ``columns`` where ``keep`` (n,) is True; columns that the table lacks are dropped."""
        part: Any = self.kind(**{name: columns[name] for name in self.kind.__struct_fields__})
        if not keep.all():
            part = take_rows_of(part, flatnonzero(keep))
        if isinstance(part, DeferredChains):
            chains: Any = part.chain
            part = replace(part, chain=as_int32(self.chains.number_rows(chains)))
        self.parts.append(part)

    def finish(self) -> ColumnTable:
        """Return the sorted table, and empty the builder."""
        table: ColumnTable = join_tables(self.parts)
        self.parts.clear()
        if isinstance(table, DeferredChains):
            numbers: Any = table.chain
            table = replace(table, chain=SharedRows(numbers, self.chains.table()))
        return in_order(table)


def in_order(table: ColumnTable) -> ColumnTable:
    """Sort a table by its kind: deferred chains by cookie, thread and time, others as in the file."""
    names = ("position", "time", "tid", "cookie") if isinstance(table, DeferredChains) else ("position",)
    order = lexsort([getattr(table, name) for name in names])
    return table if np.all(order[1:] > order[:-1]) else take_rows_of(table, order)


_MANY = 4096
"""Number of records to decode at once, because each call has a fixed cost."""


class SidebandDecoder(Struct):
    """Decodes the side-band records of one block after another; ``finish`` returns the tables.

    Records are buffered until there are enough. ``note_damage`` must be called before anything that affects a record's
    meaning or the order of diagnostics: a new event, or damage in the stream.
    """

    _events: EventTable
    _clock: FileClock
    _diagnostics: Diagnostics
    _tables: "dict[str, _TableBuilder]" = {}
    _waiting: list[Block] = []
    _pending: Diagnostics = field(default_factory=Diagnostics)

    def add(self, records: Block) -> None:
        """Add the side-band records of a block; the clock must have passed the block's samples."""
        if len(records.sizes) >= _MANY or self._clock.is_running:
            self.decode_waiting()
            self._decode(records)
            return
        self._waiting.append(copy_records(records))
        if sum(len(waiting.sizes) for waiting in self._waiting) >= _MANY:
            self.decode_waiting()

    def decode_waiting(self) -> None:
        """Decode all records so far."""
        if self._waiting:
            self._decode(join_blocks(self._waiting))
            self._waiting.clear()

    def note_damage(self) -> None:
        """Report the damage of all records so far, in an order independent of how many were decoded at once."""
        self.decode_waiting()
        self._diagnostics.absorb(sorted(self._pending.counts.values(), key=lambda count: count.name))
        self._pending.counts.clear()

    def finish(self, counts: dict[int, int], end: int) -> Sideband:
        """Return the tables, with the number of records of each type by name; ``end`` is the end of the stream."""
        self.note_damage()
        named = {RECORD_NAMES.get(kind, f"UNKNOWN_{kind}"): counts[kind] for kind in sorted(counts)}
        tables = {name: builder.finish() for name, builder in self._tables.items()}
        return replace(NO_RECORDS, **tables, record_counts=named, stream_end=end)

    def _decode(self, block: Block) -> None:
        """Decode records by type, and by event if trailers differ between events."""
        malformed: list[tuple[int, int, int]] = []
        types, owners = block.types, self._events.of_others(block)
        for kind, of_kind in rows_by(types):
            if kind not in DECODERS:
                continue
            for owner, rows in rows_by(owners[of_kind]):
                bad = self._decode_of_event(block.only(of_kind[rows]), kind, owner)
                malformed += [(int(bad[0]), kind, len(bad))] if len(bad) else []
        for _, kind, number in sorted(malformed):
            advice = "A record is cut short or damaged."
            self._pending.add("records_malformed", advice, number, RECORD_NAMES[kind])

    def _decode_of_event(self, block: Block, kind: int, owner: int) -> I64:
        """Decode records of one type and event; return the positions of malformed ones."""
        event = self._events.event(owner)
        columns, bad = decode_records(block, kind, event)
        columns |= clamped(columns, self._pending)
        columns["event"] = np.full(len(block.sizes), owner, np.int32)
        if "owner_id" in columns:
            columns["event"] = self._events.owners_of(columns["owner_id"])
        if not _has_trailer(event) and kind != UserRecordType.STAT_ROUND:
            columns["time"] = self._clock.at(columns["position"], columns.get("own_time"))
        table = DECODERS[kind].table
        self._tables.setdefault(table, _TableBuilder(TABLES[table])).append(columns, ~bad)
        malformed: I64 = columns["position"][bad]
        return malformed
