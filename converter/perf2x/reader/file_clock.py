"""Times of records without one: the latest time of the samples before them in the file.

Only recordings without sample_id_all (kernels before 2.6.38, or perf told so) have such records. perf handles them at
once when it reads them, which is that time up to one round of its buffers (perf_session__process_event in
tools/perf/util/session.c). In a recording without any times, all times are 0 and the file's order counts.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import SampleType
from perf2x.base.columnar import I64, U64, searchsorted, take, zeros
from perf2x.model.recording import Event
from perf2x.reader.block import Block

_BEFORE_TIME = SampleType.IDENTIFIER | SampleType.IP | SampleType.TID


def has_trailer(event: Event | None) -> bool:
    """Tell whether records of this event that are no samples have a sample_id trailer, and so a time if samples do."""
    return event is not None and "sample_id_all" in event.flags


class FileClock(Struct):
    """Latest sample time up to each position of the current block."""

    _positions: I64 = field(default_factory=lambda: zeros(0))
    _times: U64 = field(default_factory=lambda: np.zeros(1, np.uint64))
    """(positions + 1,) latest time before the block, then after each of its samples."""
    is_running: bool = False
    """Some records take their time from the clock; ``at`` must be called before the next block."""

    def pass_samples(self, block: Block, events: Sequence[Event]) -> None:
        """Read the times of a block of samples, unless every record has its own time."""
        if not events or all(has_trailer(event) for event in events) or not events[0].sample_type & SampleType.TIME:
            return
        self.is_running = True
        word = block.starts + 1 + (events[0].sample_type & _BEFORE_TIME).bit_count()
        inside = word < block.starts + (block.sizes >> 3)
        times = np.where(inside, take(block.words, word, mode="clip"), np.uint64(0))
        self._times = np.maximum.accumulate(np.concatenate([self._times[-1:], times]))
        self._positions = block.positions

    def at(self, positions: I64, own: U64 | None = None) -> U64:
        """Return the time at positions in the block; ``own`` times (of FORK and EXIT) if the clock runs."""
        if own is not None and self.is_running:
            return own
        return self._times[searchsorted(self._positions, positions)]
