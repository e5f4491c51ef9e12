"""Total order of the side-band events: by time, then by position in the file.

The *rank* of a record is the number of events before it. Times are compared once, here; all other modules compare these
small integers, which also serves recordings without timestamps (all times are 0: the position alone decides).
"""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U64


class EventOrder(Struct, frozen=True):
    """Sorted times and positions of all events; made by ``order_events``."""

    times: U64
    next_times: U64
    """(events + 1,) the time of the next event after each rank; the last is a sentinel."""
    positions: I64
    """Rising, for ranking."""
    tie_keys: I64
    """(time slot, rank of position) of each event packed into one integer, rising."""
    slots: U64
    """Distinct times, rising."""

    def rank(self, time: U64 | None, position: I64) -> I64:
        """(n,) number of events before each (time, position); of events at the same time, those earlier in the file."""
        if time is None:
            time = np.zeros(len(position), np.uint64)
        rank = np.searchsorted(self.times, time, "left")
        tied = np.flatnonzero(self.next_times.take(rank) == time)
        if len(tied):
            rank[tied] = np.searchsorted(self.tie_keys, self._tie_key(time[tied], position[tied]), "left")
        return rank

    def _tie_key(self, time: U64, position: I64) -> I64:
        slot = np.searchsorted(self.slots, time)
        return slot * (len(self.positions) + 1) + np.searchsorted(self.positions, position, "left")


def order_events(time: U64, position: I64) -> tuple[EventOrder, I64]:
    """The order, and (n,) the rank from which each event is in force: the number of events up to and including it."""
    order = np.lexsort((position, time))
    in_force = np.empty(len(order), np.int64)
    in_force[order] = np.arange(1, len(order) + 1)
    slots, slot = np.unique(time, return_inverse=True)
    ranks = np.searchsorted(np.sort(position), position)
    keys = slot.reshape(-1) * (len(order) + 1) + ranks
    times = time[order]
    return EventOrder(times, np.append(times, np.uint64(0)), np.sort(position), np.sort(keys), slots), in_force
