"""Keeps all events of a recording, and finds the event to which a record belongs.

Follows evlist__event2evsel, evlist__event2id and __perf_evsel__calc_id_pos in tools/perf/util.
"""

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.columnar import I32, I64, U64, KeyNumbers, argsort, take
from perf2x.base.columnar.hashing import numbers_from_keys, secret_key
from perf2x.model.recording import Event
from perf2x.reader.record_block import Block

_BEFORE_ID = SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.ADDR
TRAILER_FIELDS = (
    SampleType.TID, SampleType.TIME, SampleType.ID, SampleType.STREAM_ID, SampleType.CPU, SampleType.IDENTIFIER,
)  # fmt: skip
"""Fields that the sample_id trailer of records other than samples may have: one 64-bit word each."""


class EventTable(Struct):
    """Events by index and id; grows while a pipe is read."""

    events: list[Event] = field(default_factory=list)
    _owners: dict[bytes, int] = field(default_factory=dict)
    """The first event with each id, by the id's key (see base/columnar/hashing.py)."""
    _ids: KeyNumbers | None = None
    changes: int = 0
    """Incremented when records may belong to different events than before."""

    def add(self, event: Event) -> None:
        """Append an event."""
        self.events.append(event)
        self._ids = None
        self.changes += 1
        for identifier in event.ids:
            self._owners.setdefault(secret_key(identifier), event.index)

    def update(self, index: int, **changes: object) -> None:
        """Change fields of an event."""
        self.events[index] = replace(self.events[index], **changes)

    def own(self, index: int, identifier: int) -> None:
        """Give an event another id."""
        if index < len(self.events):
            self._owners.setdefault(secret_key(identifier), index)
            self._ids = None
            self.changes += 1

    def event(self, owner: int) -> Event | None:
        """Return the event with this index; for −1 the first one, as perf does; None before any is known."""
        return self.events[max(owner, 0)] if self.events else None

    def by_id(self, identifier: int) -> int:
        """Return the index of the event with this id, −1 for none."""
        return self._owners.get(secret_key(identifier), -1) if identifier and self._owners else 0

    def owners_of(self, identifiers: U64) -> I32:
        """Return (n,) event of each id; −1 for unknown ids, the first event for id 0, as perf writes it."""
        if not self._owners:
            return np.zeros(len(identifiers), np.int32)
        owners: I32 = self._known_ids().of(identifiers)
        synthesized = identifiers == 0
        return np.where(synthesized, np.int32(0), owners) if synthesized.any() else owners

    def of_samples(self, block: Block) -> I32:
        """Return (n,) event of each record of a block of samples; −1 for unknown ids."""
        position = self._id_position()
        return self._owners_at(block, position, block.starts + (1 + position))

    def of_others(self, block: Block) -> I32:
        """Return (n,) event of each record that is not a sample, from its trailer; −1 for unknown ids."""
        back = self._id_position_from_end()
        return self._owners_at(block, back, block.starts + ((block.sizes >> 3) - back))

    def _owners_at(self, block: Block, place: int, positions: I64) -> I32:
        if len(self.events) <= 1 or place < 0:
            return np.zeros(len(block.starts), np.int32)
        inside = (positions > block.starts) & (positions < block.starts + (block.sizes >> 3))
        owners = self.owners_of(take(block.words, positions, mode="clip"))
        return owners if inside.all() else np.where(inside, owners, np.int32(-1))

    def _known_ids(self) -> KeyNumbers:
        """Return events by id. The kernel assigns ids in ascending order, so they are close together."""
        if self._ids is None:
            ids = numbers_from_keys(self._owners)
            order = argsort(ids)
            self._ids = KeyNumbers(ids[order], np.fromiter(self._owners.values(), np.int32, len(ids))[order])
        return self._ids

    def _id_position(self) -> int:
        """Words between a sample's header and its id, −1 without an id; equal for all events, as perf assumes."""
        if not self.events:
            return -1
        kind = self.events[0].sample_type
        if kind & SampleType.IDENTIFIER:
            return 0
        return (kind & _BEFORE_ID).bit_count() if kind & SampleType.ID else -1

    def _id_position_from_end(self) -> int:
        """Words from the id in a trailer to the record's end, −1 without an id."""
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
