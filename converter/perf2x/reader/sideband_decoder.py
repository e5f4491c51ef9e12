"""Decodes side-band records (all but samples) of many blocks together, and collects them in tables.

Builds the side-band tables from decoded columns, block by block.
"""

from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.abi import UserRecordType
from perf2x.base.columnar import (
    I64,
    Bools,
    ColumnTable,
    RaggedInterner,
    SharedRows,
    flatnonzero,
    join_tables,
    lexsort,
    rows_by,
    take_rows_of,
)
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.recording import NO_RECORDS, TABLES, DeferredChains, Sideband
from perf2x.reader.block import Block, copy_records, join_blocks
from perf2x.reader.event_table import EventTable
from perf2x.reader.file_clock import FileClock, has_trailer
from perf2x.reader.records.clamp_values import clamped
from perf2x.reader.records.decoders import DECODERS, decode_records
from perf2x.reader.records.record_types import RECORD_NAMES


class TableBuilder(Struct):
    """One table in the making: the decoded parts, in order."""

    kind: type[ColumnTable]
    parts: list[Any] = field(default_factory=list)
    chains: RaggedInterner = field(default_factory=RaggedInterner)
    """Of deferred chains, each once: a long system call repeats one user stack a thousand times."""

    def append(self, columns: dict[str, Any], keep: Bools) -> None:
        """Add the rows of ``columns`` where ``keep`` (n,) holds; columns that the table lacks are dropped."""
        part: Any = self.kind(**{name: columns[name] for name in self.kind.__struct_fields__})
        if not keep.all():
            part = take_rows_of(part, flatnonzero(keep))
        if isinstance(part, DeferredChains):
            chains: Any = part.chain
            part = replace(part, chain=self.chains.number_rows(chains).astype(np.int32))
        self.parts.append(part)

    def finish(self) -> ColumnTable:
        """Return the table, sorted; empties the builder."""
        table: ColumnTable = join_tables(self.parts)
        self.parts.clear()
        if isinstance(table, DeferredChains):
            numbers: Any = table.chain
            table = replace(table, chain=SharedRows(numbers, self.chains.table()))
        return in_order(table)


def in_order(table: ColumnTable) -> ColumnTable:
    """Return a table in the order of its kind: deferred chains by cookie, thread and time, others as in the file."""
    names = ("position", "time", "tid", "cookie") if isinstance(table, DeferredChains) else ("position",)
    order = lexsort([getattr(table, name) for name in names])
    return table if np.all(order[1:] > order[:-1]) else take_rows_of(table, order)


_MANY = 4096
"""Number of records that are decoded at once: a call costs by the block."""


class SidebandDecoder:
    """Takes the side-band records of one block after another; ``finish`` returns the tables.

    Records wait until there are enough of them. ``note_damage`` must come before anything that a record's meaning or
    the order of the diagnostics depends on: a new event, damage in the stream.
    """

    def __init__(self, events: EventTable, clock: FileClock, diagnostics: Diagnostics) -> None:
        self._events = events
        self._clock = clock
        self._diagnostics = diagnostics
        self._tables: dict[str, TableBuilder] = {}
        self._waiting: list[Block] = []
        self._noted = Diagnostics()

    def add(self, records: Block) -> None:
        """Add the side-band records of a block; the clock has passed the block's samples."""
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
        """Note the damage of all records so far, in an order that does not depend on how many were decoded at once."""
        self.decode_waiting()
        self._diagnostics.absorb(sorted(self._noted.counts.values(), key=lambda count: count.name))
        self._noted.counts.clear()

    def finish(self, counts: dict[int, int], end: int) -> Sideband:
        """Return the tables, with the number of records of each type by name; ``end`` is the end of the stream."""
        self.note_damage()
        named = {RECORD_NAMES.get(kind, f"UNKNOWN_{kind}"): counts[kind] for kind in sorted(counts)}
        tables = {name: builder.finish() for name, builder in self._tables.items()}
        return replace(NO_RECORDS, **tables, record_counts=named, stream_end=end)

    def _decode(self, block: Block) -> None:
        """Decode records by type, and by event where trailers differ between events."""
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
            self._noted.add("records_malformed", Severity.LOSS, advice, number, RECORD_NAMES[kind])

    def _decode_of_event(self, block: Block, kind: int, owner: int) -> I64:
        """Decode records of one type and event; return the positions of malformed ones."""
        event = self._events.event(owner)
        columns, bad = decode_records(block, kind, event)
        columns |= clamped(columns, self._noted)
        columns["event"] = np.full(len(block.sizes), owner, np.int32)
        if "owner_id" in columns:
            columns["event"] = self._events.owners_of(columns["owner_id"])
        if not has_trailer(event) and kind != UserRecordType.STAT_ROUND:
            columns["time"] = self._clock.at(columns["position"], columns.get("own_time"))
        table = DECODERS[kind].table
        self._tables.setdefault(table, TableBuilder(TABLES[table])).append(columns, ~bad)
        malformed: I64 = columns["position"][bad]
        return malformed
