"""Keeps all events of a recording, and finds the event to which a record belongs: its owner.

A record has an id, and an event has the ids of its counters. The id's place in a record depends on the event's
sample_type, which cannot be known before the id is read; so perf requires that the place is the same for all events.
Follows evlist__event2evsel, evlist__event2id and __perf_evsel__calc_id_pos in tools/perf/util.
"""

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.columnar import I32, I64, U64, KeyNumbers, argsort, take
from perf2x.base.columnar.hashing import numbers_from_keys, salted_key
from perf2x.model.recording import Event
from perf2x.reader.record_block import Block

_BEFORE_ID = SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.ADDR
# Fields that the sample_id trailer of records other than samples may have, in order: one 64-bit word each.
TRAILER_FIELDS = (
    SampleType.TID, SampleType.TIME, SampleType.ID, SampleType.STREAM_ID, SampleType.CPU, SampleType.IDENTIFIER,
)  # fmt: skip


class EventTable(Struct):
    """Events by index and by id; grows while a pipe is read, in which events are records."""

    events: list[Event] = field(default_factory=list)
    _owners: dict[bytes, int] = field(default_factory=dict)
    """Index of the first event with each id, by a secret key of the id (see base/columnar/hashing.py)."""
    _index_by_id: KeyNumbers | None = None
    changes: int = 0
    """Number of changes after which a record may belong to another event than before."""

    def add(self, event: Event) -> None:
        """Append an event."""
        self.events.append(event)
        self._index_by_id = None
        self.changes += 1
        for identifier in event.ids:
            self._owners.setdefault(salted_key(identifier), event.index)

    def update(self, index: int, **changes: object) -> None:
        """Change fields of an event."""
        self.events[index] = replace(self.events[index], **changes)

    def add_id(self, index: int, identifier: int) -> None:
        """Add an id to an event; events that do not exist are ignored."""
        if index < len(self.events):
            self._owners.setdefault(salted_key(identifier), index)
            self._index_by_id = None
            self.changes += 1

    def event(self, owner: int) -> Event | None:
        """Return the event with this index; for −1, the first one, as perf does; None while there are no events."""
        return self.events[max(owner, 0)] if self.events else None

    def by_id(self, identifier: int) -> int:
        """Return the index of the event with this id, −1 if none has it; 0 for id 0, or if no event has ids."""
        return self._owners.get(salted_key(identifier), -1) if identifier and self._owners else 0

    def owners_of_ids(self, identifiers: U64) -> I32:
        """Return (n,) index of the event with each id; −1 for unknown ids.

        Id 0, which perf writes into records that it synthesizes, belongs to the first event. If no event has ids, all
        records belong to the first one.
        """
        if not self._owners:
            return np.zeros(len(identifiers), np.int32)
        owners: I32 = self._indices().of(identifiers)
        is_synthesized = identifiers == 0
        return np.where(is_synthesized, np.int32(0), owners) if is_synthesized.any() else owners

    def owners_of_samples(self, block: Block) -> I32:
        """Return (n,) index of the event of each record of a block of samples; −1 for unknown ids."""
        position = self._id_position()
        return self._owners_at(block, position, block.starts + (1 + position))

    def owners_of_others(self, block: Block) -> I32:
        """Return (n,) index of the event of each record of a block without samples; −1 for unknown ids."""
        from_end = self._id_position_from_end()
        return self._owners_at(block, from_end, block.starts + ((block.sizes >> 3) - from_end))

    def _owners_at(self, block: Block, position: int, words: I64) -> I32:
        """Return (n,) owners of the block's records; −1 for unknown ids, and if the id would be outside its record.

        ``words`` (n,) are the indices in ``block.words`` of the records' ids. All records belong to the first event if
        there are no other events, or if records have no ids (``position`` is −1).
        """
        if len(self.events) <= 1 or position < 0:
            return np.zeros(len(block.starts), np.int32)
        is_inside = (words > block.starts) & (words < block.starts + (block.sizes >> 3))
        owners = self.owners_of_ids(take(block.words, words, mode="clip"))
        return owners if is_inside.all() else np.where(is_inside, owners, np.int32(-1))

    def _indices(self) -> KeyNumbers:
        """Return the indices of events by id. The kernel numbers ids in ascending order, so they are close together."""
        if self._index_by_id is None:
            ids = numbers_from_keys(self._owners)
            order = argsort(ids)
            self._index_by_id = KeyNumbers(ids[order], np.fromiter(self._owners.values(), np.int32, len(ids))[order])
        return self._index_by_id

    def _id_position(self) -> int:
        """Return the number of words between a sample's header and its id, −1 without an id."""
        if not self.events:
            return -1
        kind = self.events[0].sample_type
        if kind & SampleType.IDENTIFIER:
            return 0
        return (kind & _BEFORE_ID).bit_count() if kind & SampleType.ID else -1

    def _id_position_from_end(self) -> int:
        """Return the number of words from the id in a trailer to the end of the record, −1 without an id."""
        if not self.events or "sample_id_all" not in self.events[0].flags:
            return -1
        kind = self.events[0].sample_type
        if kind & SampleType.IDENTIFIER:
            return 1
        if not kind & SampleType.ID:
            return -1
        return 1 + (kind & (SampleType.STREAM_ID | SampleType.CPU)).bit_count()


def trailer_length(event: Event) -> int:
    """Return the number of words in the sample_id trailer of this event's records."""
    if "sample_id_all" not in event.flags:
        return 0
    return sum(1 for bit in TRAILER_FIELDS if event.sample_type & bit)
