"""Decodes PERF_SAMPLE_READ: counter values in samples, and the samples that perf derives from them.

perf does not report such a sample as it stands. It splits it into one for each member of the group, whose period is the
growth of that member's counter since the sample before, and drops those that did not grow (deliver_sample_value in
tools/perf/util/session.c)::

    sample          leader period 250000, group { cpu-clock: 1250000, page-faults: 12 }
    before          group { cpu-clock: 1000000, page-faults: 10 }
    delivered       cpu-clock period 250000, page-faults period 2
"""

from itertools import pairwise

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi.uapi import ReadFormat
from perf2x.base.columnar.arrays import I32, I64, U64, begins_run, no_rows, of_previous
from perf2x.base.columnar.ragged import offsets_of, ranges
from perf2x.model.recording.events import ReadValues
from perf2x.reader.records.field_cursor import FieldCursor


def read_values(at: FieldCursor, read_format: int) -> ReadValues:
    """Read { value, [enabled], [running], [id], [lost] } or, with GROUP, { nr, [enabled], [running], { … } [nr] }."""
    group = bool(read_format & ReadFormat.GROUP)
    head = at.u64()
    enabled = at.u64() if read_format & ReadFormat.TOTAL_TIME_ENABLED else None
    running = at.u64() if read_format & ReadFormat.TOTAL_TIME_RUNNING else None
    names = [name for bit, name in ((ReadFormat.ID, "id"), (ReadFormat.LOST, "lost")) if read_format & bit]
    if not group:
        columns = {"value": head} | {name: at.u64() for name in names}
        offsets = np.arange(len(at) + 1, dtype=np.int64)
    else:
        width = 1 + len(names)
        first, lengths = at.counted(head, words_each=width)
        words = at.block.words.take(ranges(first, lengths * width)).reshape(-1, width)
        columns = {name: words[:, column].copy() for column, name in enumerate(["value", *names])}
        offsets = offsets_of(lengths)
    return ReadValues(enabled, running, offsets, columns["value"], columns.get("id"), columns.get("lost"))


class DeliveredSamples(Struct, frozen=True):
    """Derived samples of one block, in file order; ``position`` is that of the sample they come from."""

    position: I64
    event: I32
    period: U64


class CounterReadings(Struct, frozen=True):
    """Counter values, one row per sample and member of the group."""

    position: I64
    time: U64
    event: I32
    """Event that has ``id``, −1 for none."""
    id: U64
    task: I32
    """Thread of the counter if threads have their own (``inherit``), else 0."""
    value: U64


_COLUMNS = ("position", "time", "event", "id", "task", "value")


class GroupReadSplitter(Struct):
    """Collects the counter values of all samples in the index pass, since growth follows time, not file order."""

    parts: list[tuple[int, CounterReadings]] = field(default_factory=list)

    def add(self, block: int, readings: CounterReadings) -> None:
        """Add the counter values of one block's samples of one layout."""
        self.parts.append((block, readings))

    def finish(self, blocks: int) -> list[DeliveredSamples]:
        """Return the derived samples of each block."""
        if not self.parts:
            return [no_rows(DeliveredSamples)] * blocks
        numbers = np.concatenate([np.full(len(part.position), block) for block, part in self.parts])
        whole = CounterReadings(*(np.concatenate([getattr(part, name) for _, part in self.parts]) for name in _COLUMNS))
        period = _growth(whole)
        delivered = (period > 0) & (whole.event >= 0)
        order = np.flatnonzero(delivered)
        order = order[np.argsort(whole.position[order], kind="stable")]
        bounds = np.searchsorted(numbers[order], np.arange(blocks + 1))
        chosen = [order[first:last] for first, last in pairwise(bounds.tolist())]
        return [DeliveredSamples(whole.position[rows], whole.event[rows], period[rows]) for rows in chosen]


def _growth(readings: CounterReadings) -> U64:
    """Return (n,) each value minus the previous one of the same counter in time order; the first in full."""
    order = np.lexsort((readings.position, readings.time, readings.task, readings.id))
    value, identifier, task = readings.value[order], readings.id[order], readings.task[order]
    growth = np.empty(len(order), np.uint64)
    growth[order] = value - np.where(begins_run(identifier, task), np.uint64(0), of_previous(value, 0))
    return growth
