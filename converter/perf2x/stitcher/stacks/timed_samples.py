"""Samples of a timeline: one row each, in columns that grow batch by batch."""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64, ColumnTable
from perf2x.base.columnar.growable import GrowableColumns


class TimedRows(ColumnTable, frozen=True):
    """Samples as columns (n,); they are writable, and views of whatever collected them."""

    event: I32
    thread: I32
    stack: I32
    cpu: I32
    """−1 where samples do not say."""
    value: I64
    """The period."""
    time: U64
    """Nanoseconds; the position in the file where samples carry no time."""
    cgroup: I64 | None
    """The id's bits; None where it is not asked for."""
    data_src: I64 | None = None
    """The word's bits, likewise."""


class TimedSamples:
    """Collects the samples of a timeline; there is not room for millions of them twice."""

    def __init__(self, by_cgroup: bool = False, by_data_src: bool = False) -> None:
        self._extra = [name for name, wanted in (("cgroup", by_cgroup), ("data_src", by_data_src)) if wanted]
        self._small = GrowableColumns(np.int32, 4)
        self._large = GrowableColumns(np.int64, 2 + len(self._extra))

    def add(self, rows: TimedRows) -> None:
        """Append rows."""
        self._small.extend(rows.event, rows.thread, rows.stack, rows.cpu)
        self._large.extend(rows.value, rows.time.view(np.int64), *(getattr(rows, name) for name in self._extra))

    def rows(self) -> TimedRows:
        """All rows so far, as views that the next ``add`` may invalidate."""
        event, thread, stack, cpu = self._small.columns()
        value, time, *extra = self._large.columns()
        named = dict(zip(self._extra, extra, strict=True))
        return TimedRows(
            event, thread, stack, cpu, value, time.view(np.uint64), named.get("cgroup"), named.get("data_src")
        )
