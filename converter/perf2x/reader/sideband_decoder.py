"""Decodes side-band records (all but samples) of many blocks together, and collects them in tables.

Builds the side-band tables from decoded columns, block by block.
"""

from typing import Any, get_origin

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import UserRecordType
from perf2x.base.columnar import (
    I64,
    Bools,
    ColumnTable,
    Ragged,
    RaggedInterner,
    SharedRows,
    Texts,
    column_type,
    concatenate,
    flatnonzero,
    lexsort,
    rows_by,
)
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.recording import DeferredChains, Sideband
from perf2x.reader.block import Block, copy_records, join_blocks
from perf2x.reader.event_table import EventTable
from perf2x.reader.file_clock import FileClock, has_trailer
from perf2x.reader.records.clamp_values import clamp_columns, note_implausible
from perf2x.reader.records.decoders import DECODERS, decode_records
from perf2x.reader.records.record_types import RECORD_NAMES

_SHARED = "chain"
"""Ragged column whose equal rows are stored once: a long system call repeats one user stack a thousand times."""
_ORDER: dict[type, tuple[str, ...]] = {DeferredChains: ("position", "time", "tid", "cookie")}
"""Sort columns by table, most significant last (numpy.lexsort); tables that are not listed are in file order."""
TABLES: dict[str, type[ColumnTable]] = {
    name: kind
    for name, kind in Sideband.__annotations__.items()
    if isinstance(kind, type) and issubclass(kind, ColumnTable)
}


class TableBuilder(Struct):
    """One table in the making: the decoded parts of each column, in order."""

    row_type: type[Struct]
    parts: dict[str, list[Any]] = field(default_factory=dict)
    chains: RaggedInterner = field(default_factory=RaggedInterner)

    def append(self, columns: dict[str, Any], keep: Bools) -> None:
        """Add the rows of ``columns`` where ``keep`` (n,) holds; columns that the table lacks are dropped."""
        whole = bool(keep.all())
        for column in self.row_type.__struct_fields__:
            value = columns[column] if whole else take_rows(columns[column], flatnonzero(keep))
            if column == _SHARED:
                value = self.chains.number_rows(value).astype(np.int32)
            self.parts.setdefault(column, []).append(value)

    def finish(self) -> Any:
        """Return the table, sorted; empties the builder."""
        columns = {
            column: self._joined(column, self.parts.pop(column, [])) for column in self.row_type.__struct_fields__
        }
        if _SHARED in columns:
            columns[_SHARED] = SharedRows(columns[_SHARED], self.chains.table())
        order = lexsort([columns[name] for name in _ORDER.get(self.row_type, ("position",))])
        if np.all(order[1:] > order[:-1]):
            return self.row_type(**columns)
        return self.row_type(**{name: take_rows(columns.pop(name), order) for name in list(columns)})

    def _joined(self, column: str, parts: list[Any]) -> Any:
        kind: Any = self.row_type.__annotations__[column]
        if kind is Ragged:
            return concatenate(parts)
        if get_origin(kind) is Texts:
            return Texts.joined(parts)
        dtype = np.int32 if column == _SHARED else column_type(self.row_type, column)
        return np.concatenate([np.zeros(0, dtype), *(part.astype(dtype, copy=False) for part in parts)])


def take_rows(value: Any, rows: I64) -> Any:
    """Return the rows of a column, in the order given."""
    if isinstance(value, Ragged | SharedRows):
        return value.take(rows)
    return value[rows]


def build_sideband(builders: dict[str, TableBuilder], counts: dict[str, int], end: int) -> Sideband:
    """Finish all tables, empty ones too."""
    tables = {name: builders.get(name, TableBuilder(kind)).finish() for name, kind in TABLES.items()}
    return Sideband(**tables, record_counts=counts, stream_end=end)


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
            self._noted.add("records_malformed", Severity.LOSS, advice, number, RECORD_NAMES[kind])

    def _decode_of_event(self, block: Block, kind: int, owner: int) -> I64:
        """Decode records of one type and event; return the positions of malformed ones."""
        event = self._events.event(owner)
        columns, bad = decode_records(block, kind, event)
        columns, implausible = clamp_columns(columns)
        note_implausible(self._noted, implausible)
        columns["event"] = np.full(len(block.sizes), owner, np.int32)
        if "owner_id" in columns:
            columns["event"] = self._events.owners_of(columns["owner_id"])
        if not has_trailer(event) and kind != UserRecordType.STAT_ROUND:
            columns["time"] = self._clock.at(columns["position"], columns.get("own_time"))
        table = DECODERS[kind].table
        self._tables.setdefault(table, TableBuilder(TABLES[table])).append(columns, ~bad)
        malformed: I64 = columns["position"][bad]
        return malformed
