"""Sums of equal samples: same event, thread and stack, and any other columns requested.

In a timeline each sample has its own row, in columns that grow batch by batch.
"""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar import I32, I64, U64, ColumnTable, GrowableColumns, sorted_runs, sum_runs

_MIN_PENDING = 1 << 18
"""Rows are summed when at least this many are new, and at least as many as are already summed."""


class SampleRows(ColumnTable):
    """Rows of samples as columns (n,); columns that were not requested are None."""

    event: I32
    thread: I32
    stack: I32
    value: I64
    """Sum of periods."""
    count: I64
    """Number of samples."""
    cpu: I64 | None = None
    cgroup: I64 | None = None
    """The id's bits as int64."""
    data_src: I64 | None = None
    """The bits of the data source word."""


class SampleSums:
    """Collects rows, and sums equal ones from time to time."""

    def __init__(self, extra: Sequence[str]) -> None:
        """``extra``: columns by which samples also stay separate, out of ``cpu``, ``cgroup`` and ``data_src``."""
        self._extra = extra
        self._keys = GrowableColumns(np.int32, 3)
        self._values = GrowableColumns(np.int64, 2 + len(extra))
        """Columns: sum of values, number of samples, then the extra ones."""
        self._settled = 0

    def add(self, rows: SampleRows) -> None:
        """Append rows, and sum them when there are many."""
        self._keys.extend(rows.event, rows.thread, rows.stack)
        self._values.extend(rows.value, rows.count, *(getattr(rows, name) for name in self._extra))
        if len(self._keys) - self._settled > max(_MIN_PENDING, self._settled):
            self.settle()

    def rows(self) -> SampleRows:
        """Return all rows so far, of which some may be equal, as views that the next ``add`` may invalidate."""
        value, count, *extra = self._values.columns()
        event, thread, stack = self._keys.columns()
        return SampleRows(event, thread, stack, value, count, **dict(zip(self._extra, extra, strict=True)))

    def settle(self) -> None:
        """Sum all equal rows."""
        value, count, *extra = self._values.columns()
        keys = self._keys.columns()
        order, begins = sorted_runs([*keys, *extra])
        first = order[begins]
        for column in (value, count):
            column[: len(first)] = sum_runs(column, order, begins)
        for column in (*keys, *extra):
            column[: len(first)] = column[first]
        self._keys.shorten(len(first))
        self._values.shorten(len(first))
        self._settled = len(first)


class TimedRows(ColumnTable):
    """Samples as columns (n,); writable views of the collector's columns."""

    event: I32
    thread: I32
    stack: I32
    cpu: I32
    """−1 if samples have no CPU."""
    value: I64
    """The period."""
    time: U64
    """Nanoseconds; the position in the file if samples have no time."""
    cgroup: I64 | None = None
    """The id's bits; None if not requested."""
    data_src: I64 | None = None
    """The bits of the data source word; None if not requested."""
    position: I64 | None = None
    """Position of the record in the recording; None if not requested."""


class TimedSamples:
    """Collects the samples of a timeline without a second copy."""

    def __init__(self, extra: Sequence[str]) -> None:
        """``extra``: requested columns out of ``cgroup``, ``data_src`` and ``position``."""
        self._extra = extra
        self._small = GrowableColumns(np.int32, 4)
        self._large = GrowableColumns(np.int64, 2 + len(extra))

    def add(self, rows: TimedRows) -> None:
        """Append rows."""
        self._small.extend(rows.event, rows.thread, rows.stack, rows.cpu)
        self._large.extend(rows.value, rows.time.view(np.int64), *(getattr(rows, name) for name in self._extra))

    def rows(self) -> TimedRows:
        """Return all rows so far, as views that the next ``add`` may invalidate."""
        event, thread, stack, cpu = self._small.columns()
        value, time, *extra = self._large.columns()
        named = dict(zip(self._extra, extra, strict=True))
        return TimedRows(event, thread, stack, cpu, value, time.view(np.uint64), **named)
