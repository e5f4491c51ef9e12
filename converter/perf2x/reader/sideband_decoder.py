"""Decodes side-band records (all but samples) of many blocks together, and collects them in tables."""

import numpy as np

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.unique import rows_by
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.recording.sideband import Sideband
from perf2x.reader.block import Block, copy_records, join_blocks
from perf2x.reader.event_table import EventTable
from perf2x.reader.file_clock import FileClock, has_trailer
from perf2x.reader.records.clamp_values import clamp_columns, note_implausible
from perf2x.reader.records.decoders import DECODERS, decode_records
from perf2x.reader.records.record_types import RECORD_NAMES
from perf2x.reader.sideband_tables import TABLES, TableBuilder, build_sideband

_MANY = 4096
"""Number of records that are decoded at once: a call costs by the block."""


class SidebandDecoder:
    """Takes the side-band records of one block after another; ``finish`` returns the tables.

    Records wait until there are enough of them. ``decode_waiting`` must come before anything that a record's meaning
    or the order of the diagnostics depends on: a new event, damage in the stream.
    """

    def __init__(self, events: EventTable, clock: FileClock, diagnostics: Diagnostics) -> None:
        self._events = events
        self._clock = clock
        self._diagnostics = diagnostics
        self._tables: dict[str, TableBuilder] = {}
        self._waiting: list[Block] = []

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
        """Decode all records so far, so that their damage is noted."""
        if self._waiting:
            self._decode(join_blocks(self._waiting))
            self._waiting.clear()

    def finish(self, counts: dict[int, int], end: int) -> Sideband:
        """Return the tables, with the number of records of each type by name; ``end`` is the end of the stream."""
        self.decode_waiting()
        named = {RECORD_NAMES.get(kind, f"UNKNOWN_{kind}"): counts[kind] for kind in sorted(counts)}
        return build_sideband(self._tables, named, end)

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
            self._diagnostics.add("records_malformed", Severity.LOSS, advice, number, RECORD_NAMES[kind])

    def _decode_of_event(self, block: Block, kind: int, owner: int) -> I64:
        """Decode records of one type and event; return the positions of malformed ones."""
        event = self._events.event(owner)
        columns, bad = decode_records(block, kind, event)
        columns, implausible = clamp_columns(columns)
        note_implausible(self._diagnostics, implausible)
        columns["event"] = np.full(len(block.sizes), owner, np.int32)
        if "owner_id" in columns:
            columns["event"] = self._events.owners_of(columns["owner_id"])
        if not has_trailer(event):
            columns["time"] = self._clock.at(columns["position"], columns.get("own_time"))
        table = DECODERS[kind].table
        self._tables.setdefault(table, TableBuilder(TABLES[table])).append(columns, ~bad)
        malformed: I64 = columns["position"][bad]
        return malformed
