"""All events of a recording, and the question which of them a record belongs to.

Source of truth: evlist__event2evsel, evlist__event2id and __perf_evsel__calc_id_pos in tools/perf/util.
"""

from dataclasses import field, replace

import numpy as np

from perf2x.abi.uapi import SampleType
from perf2x.classes import dataclass
from perf2x.model.arrays import I32, I64, U64
from perf2x.model.events import Event
from perf2x.reader.block import Block

_BEFORE_ID = SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.ADDR
TRAILER_FIELDS = (
    SampleType.TID, SampleType.TIME, SampleType.ID, SampleType.STREAM_ID, SampleType.CPU, SampleType.IDENTIFIER,
)  # fmt: skip
"""struct sample_id: one word each."""


@dataclass(slots=True)
class EventTable:
    """Grows while a pipe is read; events keep their order and index."""

    events: list[Event] = field(default_factory=list)
    _ids: U64 | None = None
    _owners: I32 | None = None

    def add(self, event: Event) -> None:
        """A further event."""
        self.events.append(event)
        self._ids = None

    def update(self, index: int, **changes: object) -> None:
        """Change fields of one event."""
        self.events[index] = replace(self.events[index], **changes)  # type: ignore[arg-type]

    def event(self, owner: int) -> Event | None:
        """The event with this index; the first one for −1, as perf takes it; None before any is known."""
        return self.events[max(owner, 0)] if self.events else None

    def by_id(self, identifier: int) -> int:
        """Index of the event with this id, −1 for none."""
        return int(self._lookup(np.array([identifier], np.uint64))[0])

    def owners_of(self, identifiers: U64) -> I32:
        """(n,) event that each id belongs to; −1 for nobody's, the first event for id 0."""
        return self._lookup(identifiers)

    def of_samples(self, block: Block, rows: I64) -> I32:
        """(n,) event of each sample; −1 where the id is nobody's."""
        position = self._id_position()
        if len(self.events) <= 1 or position < 0:
            return np.zeros(len(rows), np.int32)
        return self._owners_at(block, block.starts.take(rows) + 1 + position, rows)

    def of_others(self, block: Block, rows: I64) -> I32:
        """(n,) event of each record that is no sample, told by its trailer; −1 where the id is nobody's."""
        back = self._id_position_from_end()
        if len(self.events) <= 1 or back < 0:
            return np.zeros(len(rows), np.int32)
        return self._owners_at(block, block.starts.take(rows) + (block.sizes.take(rows) >> 3) - back, rows)

    def _owners_at(self, block: Block, places: I64, rows: I64) -> I32:
        inside = (places > block.starts.take(rows)) & (places < block.starts.take(rows) + (block.sizes.take(rows) >> 3))
        owners = self._lookup(block.words.take(places, mode="clip"))
        return np.where(inside, owners, np.int32(-1))

    def _lookup(self, wanted: U64) -> I32:
        """Owners of ids; id 0 is what perf writes into the records that it makes up, and means the first event."""
        ids, owners = self._sorted_ids()
        if not len(ids):
            return np.zeros(len(wanted), np.int32)
        rank = np.searchsorted(ids, wanted)
        rank[rank == len(ids)] = 0
        found = np.where(ids[rank] == wanted, owners[rank], np.int32(-1))
        return np.where(wanted == 0, np.int32(0), found)

    def _sorted_ids(self) -> tuple[U64, I32]:
        if self._ids is None or self._owners is None:
            pairs = {identifier: event.index for event in reversed(self.events) for identifier in event.ids}
            self._ids = np.array(sorted(pairs), np.uint64)
            self._owners = np.array([pairs[identifier] for identifier in sorted(pairs)], np.int32)
        return self._ids, self._owners

    def _id_position(self) -> int:
        """Words between a sample's header and its id, −1 without one; the same for all events, as perf assumes."""
        if not self.events:
            return -1
        kind = self.events[0].sample_type
        if kind & SampleType.IDENTIFIER:
            return 0
        return (kind & _BEFORE_ID).bit_count() if kind & SampleType.ID else -1

    def _id_position_from_end(self) -> int:
        """The same for trailers: words from the id to the record's end."""
        if not self.events or "sample_id_all" not in self.events[0].flags:
            return -1
        kind = self.events[0].sample_type
        if kind & SampleType.IDENTIFIER:
            return 1
        if not kind & SampleType.ID:
            return -1
        return 1 + (kind & (SampleType.STREAM_ID | SampleType.CPU)).bit_count()


def trailer_length(event: Event) -> int:
    """Words of the sample_id trailer on this event's records."""
    if "sample_id_all" not in event.flags:
        return 0
    return sum(1 for bit in TRAILER_FIELDS if event.sample_type & bit)
