"""One order for everything that changes the picture of processes: by time, then by position in the file.

A *rank* is a small integer: how many of the changes happened before. Times are compared once here; everywhere else
ranks are, which also serves recordings without timestamps (all times 0: the position alone decides).
"""

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I64, U64


class EventOrder(Struct, frozen=True):
    """Sorted times and positions of all changes; see ``order_events``."""

    times: U64
    next_times: U64
    """The time of the next change after each rank: ``times``, and one more that is never compared with."""
    positions: I64
    """In file order, for ranking."""
    tie_keys: I64
    """(time slot, rank of position) of each change as one rising number."""
    slots: U64
    """Distinct times, rising."""

    def rank(self, time: U64 | None, position: I64) -> I64:
        """(n,) changes before each (time, position); a change at the very same time counts when it stands earlier."""
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
    """The order, and for each change the rank from which on it is in force (its rank plus one)."""
    order = np.lexsort((position, time))
    in_force = np.empty(len(order), np.int64)
    in_force[order] = np.arange(1, len(order) + 1)
    slots, slot = np.unique(time, return_inverse=True)
    ranks = np.searchsorted(np.sort(position), position)
    keys = slot.reshape(-1) * (len(order) + 1) + ranks
    times = time[order]
    return EventOrder(times, np.append(times, np.uint64(0)), np.sort(position), np.sort(keys), slots), in_force
