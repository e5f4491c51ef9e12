"""When records happened that do not say: at the time that the samples before them in the file had reached.

Only recordings without sample_id_all (kernels before 2.6.38, or perf told so) have such records. perf handles them at
once when it reads them, which is the same moment up to one round of its buffers (perf_session__process_event in
tools/perf/util/session.c). In a recording without any times everything stands at 0 and the file's order counts.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from perf2x.abi.uapi import SampleType
from perf2x.columnar.arrays import I64, U64
from perf2x.reader.block import Block
from perf2x.tables.events import Event

_BEFORE_TIME = SampleType.IDENTIFIER | SampleType.IP | SampleType.TID


def has_trailer(event: Event | None) -> bool:
    """Whether the records of this event that are no samples say when they were made, if samples do."""
    return event is not None and "sample_id_all" in event.flags


class FileClock(Struct):
    """The latest sample time up to each place of the block in hand."""

    _positions: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    _times: U64 = field(default_factory=lambda: np.zeros(1, np.uint64))
    """(positions + 1,) first what was reached before the block, then after each of its samples."""
    is_running: bool = False
    """There are records that only the clock knows the time of, if ``at`` is asked before the next block."""

    def pass_samples(self, block: Block, events: Sequence[Event]) -> None:
        """Take the times of a block of samples; nothing to do where every record has its own."""
        if not events or all(has_trailer(event) for event in events) or not events[0].sample_type & SampleType.TIME:
            return
        self.is_running = True
        place = block.starts + 1 + (events[0].sample_type & _BEFORE_TIME).bit_count()
        inside = place < block.starts + (block.sizes >> 3)
        times = np.where(inside, block.words.take(place, mode="clip"), np.uint64(0))
        self._times = np.maximum.accumulate(np.concatenate([self._times[-1:], times]))
        self._positions = block.positions

    def at(self, positions: I64, own: U64 | None = None) -> U64:
        """The time at these places of the block; what FORK and EXIT say themselves, where there are times at all."""
        if own is not None and self.is_running:
            return own
        return self._times[np.searchsorted(self._positions, positions)]
