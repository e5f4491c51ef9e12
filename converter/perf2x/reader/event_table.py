"""Keeps all events of a recording, and finds the event to which a record belongs: its owner.

A record has the id of a counter. Its place depends on the event's sample_type, which is not known before the id is
read; so perf requires the same place for all events. Follows evlist__event2evsel, evlist__event2id and
__perf_evsel__calc_id_pos in tools/perf/util.
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
# In the order of the sample_id trailer: one 64-bit word each.
TRAILER_FIELDS = (
    SampleType.TID, SampleType.TIME, SampleType.ID, SampleType.STREAM_ID, SampleType.CPU, SampleType.IDENTIFIER,
)  # fmt: skip


class EventTable(Struct):
    """Events by index and by id; a pipe adds them while it is read."""

    events: list[Event] = field(default_factory=list)
    _index_by_key: dict[bytes, int] = field(default_factory=dict)
    """The index of the first event with each id, by a secret key of the id (see base/columnar/hashing.py)."""
    _lookup: KeyNumbers | None = None
    change_count: int = 0
    """Number of times that events or ids were added. After each, a record may belong to another event."""

    def add(self, event: Event) -> None:
        """Append an event."""
        self.events.append(event)
        self._lookup = None
        self.change_count += 1
        for identifier in event.ids:
            self._index_by_key.setdefault(salted_key(identifier), event.index)

    def update(self, index: int, **fields: object) -> None:
        """Change fields of an event."""
        self.events[index] = replace(self.events[index], **fields)

    def add_id(self, index: int, identifier: int) -> None:
        """Add an id to an event; events that do not exist are ignored."""
        if index < len(self.events):
            self._index_by_key.setdefault(salted_key(identifier), index)
            self._lookup = None
            self.change_count += 1

    def event(self, owner: int) -> Event | None:
        """Return the event with this index; for −1, the first one, as perf does; None without events."""
        return self.events[max(owner, 0)] if self.events else None

    def index_of_id(self, identifier: int) -> int:
        """Return the index of the event with this id, −1 if none has it; 0 for id 0, or if no event has ids."""
        return self._index_by_key.get(salted_key(identifier), -1) if identifier and self._index_by_key else 0

    def owners_of_ids(self, identifiers: U64) -> I32:
        """Return (n,) index of the event with each id; −1 for unknown ids.

        Id 0, which perf writes into synthesized records, belongs to the first event, as do all ids if no event has ids.
        """
        if not self._index_by_key:
            return np.zeros(len(identifiers), np.int32)
        owners: I32 = self._indices_by_id().of(identifiers)
        is_synthesized = identifiers == 0
        return np.where(is_synthesized, np.int32(0), owners) if is_synthesized.any() else owners

    def owners_of_samples(self, block: Block) -> I32:
        """Return (n,) index of each sample's event; −1 for unknown ids."""
        offset = self._id_offset()
        return self._owners_at(block, offset, block.starts + (1 + offset))

    def owners_of_nonsamples(self, block: Block) -> I32:
        """Return (n,) index of the event of each record in a block without samples; −1 for unknown ids."""
        offset = self._id_offset_from_end()
        return self._owners_at(block, offset, block.starts + ((block.sizes >> 3) - offset))

    def _owners_at(self, block: Block, id_offset: int, id_words: I64) -> I32:
        """(n,) owners of the block's records; −1 for unknown ids, and if the id would be outside its record.

        ``id_words`` (n,) are the indices of the ids in ``block.words``; ``id_offset`` is −1 if records have no ids.
        """
        if len(self.events) <= 1 or id_offset < 0:
            return np.zeros(len(block.starts), np.int32)
        is_inside = (id_words > block.starts) & (id_words < block.starts + (block.sizes >> 3))
        owners = self.owners_of_ids(take(block.words, id_words, mode="clip"))
        return owners if is_inside.all() else np.where(is_inside, owners, np.int32(-1))

    def _indices_by_id(self) -> KeyNumbers:
        if self._lookup is None:
            ids = numbers_from_keys(self._index_by_key)
            order = argsort(ids)
            self._lookup = KeyNumbers(ids[order], np.fromiter(self._index_by_key.values(), np.int32, len(ids))[order])
        return self._lookup

    def _id_offset(self) -> int:
        """In words after the header; −1 without an id."""
        if not self.events:
            return -1
        sample_type = self.events[0].sample_type
        if sample_type & SampleType.IDENTIFIER:
            return 0
        return (sample_type & _BEFORE_ID).bit_count() if sample_type & SampleType.ID else -1

    def _id_offset_from_end(self) -> int:
        if not self.events or "sample_id_all" not in self.events[0].flags:
            return -1
        sample_type = self.events[0].sample_type
        if sample_type & SampleType.IDENTIFIER:
            return 1
        if not sample_type & SampleType.ID:
            return -1
        return 1 + (sample_type & (SampleType.STREAM_ID | SampleType.CPU)).bit_count()


def trailer_length(event: Event) -> int:
    """Count the words in the sample_id trailer."""
    if "sample_id_all" not in event.flags:
        return 0
    return sum(1 for bit in TRAILER_FIELDS if event.sample_type & bit)
