"""Sums equal samples: those with the same event, thread, stack, and requested columns."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar import I32, I64, U64, ColumnTable, GrowableColumns, sorted_runs, sum_runs

# rows are summed when more than this are new, and more than were summed already
_MIN_NEW_ROWS = 1 << 18


class SampleRows(ColumnTable):
    """Sums of equal samples as columns (n,); columns that were not requested are None."""

    event: I32
    thread: I32
    stack: I32
    value: I64
    """Sum of periods."""
    count: I64
    cpu: I64 | None = None
    cgroup: I64 | None = None
    """Bits of PERF_SAMPLE_CGROUP's id as int64."""
    data_src: I64 | None = None
    """Bits of PERF_SAMPLE_DATA_SRC's word as int64."""


class SampleSums:
    """Collects rows, and sums equal ones from time to time."""

    def __init__(self, extra: Sequence[str]) -> None:
        """``extra`` are columns that also keep samples apart."""
        self._extra = extra
        self._int32_columns = GrowableColumns(np.int32, 3)  # event, thread, stack
        self._int64_columns = GrowableColumns(np.int64, 2 + len(extra))  # value, count, then the extra ones
        self._summed_count = 0

    def add(self, rows: SampleRows) -> None:
        """Append rows, and sum them when there are many."""
        self._int32_columns.extend(rows.event, rows.thread, rows.stack)
        self._int64_columns.extend(rows.value, rows.count, *(getattr(rows, name) for name in self._extra))
        if len(self._int32_columns) - self._summed_count > max(_MIN_NEW_ROWS, self._summed_count):
            self.sum_all()

    def rows(self) -> SampleRows:
        """Return all rows so far, not all distinct, as views that the next ``add`` may invalidate."""
        value, count, *extra = self._int64_columns.columns()
        event, thread, stack = self._int32_columns.columns()
        return SampleRows(event, thread, stack, value, count, **dict(zip(self._extra, extra, strict=True)))

    def sum_all(self) -> None:
        """Sum all equal rows, in place."""
        value, count, *extra = self._int64_columns.columns()
        keys = self._int32_columns.columns()
        order, begins = sorted_runs([*keys, *extra])
        first = order[begins]
        for column in (value, count):
            column[: len(first)] = sum_runs(column, order, begins)
        for column in (*keys, *extra):
            column[: len(first)] = column[first]
        self._int32_columns.shorten(len(first))
        self._int64_columns.shorten(len(first))
        self._summed_count = len(first)


class TimedRows(ColumnTable):
    """Samples as columns (n,), in order of arrival; the columns of `TimedSamples.rows` are writable views."""

    event: I32
    thread: I32
    stack: I32
    cpu: I32
    """−1 if samples have no CPU."""
    value: I64
    """Period."""
    time: U64
    """Nanoseconds; the position in the file if samples have no time."""
    cgroup: I64 | None = None
    """Bits of PERF_SAMPLE_CGROUP's id; None if not requested."""
    data_src: I64 | None = None
    """Bits of PERF_SAMPLE_DATA_SRC's word; None if not requested."""
    position: I64 | None = None
    """Position of the record in the recording; None if not requested."""


class TimedSamples:
    """Collects the samples of a timeline, in memory that the profile takes over."""

    def __init__(self, extra: Sequence[str]) -> None:
        """``extra`` are requested columns out of ``cgroup``, ``data_src`` and ``position``."""
        self._extra = extra
        self._int32_columns = GrowableColumns(np.int32, 4)  # event, thread, stack, cpu
        self._int64_columns = GrowableColumns(np.int64, 2 + len(extra))  # value, time, then the extra ones

    def add(self, rows: TimedRows) -> None:
        """Append rows."""
        self._int32_columns.extend(rows.event, rows.thread, rows.stack, rows.cpu)
        self._int64_columns.extend(rows.value, rows.time.view(np.int64), *(getattr(rows, name) for name in self._extra))

    def rows(self) -> TimedRows:
        """Return all rows so far, as views that the next ``add`` may invalidate."""
        event, thread, stack, cpu = self._int32_columns.columns()
        value, time, *extra = self._int64_columns.columns()
        named = dict(zip(self._extra, extra, strict=True))
        return TimedRows(event, thread, stack, cpu, value, time.view(np.uint64), **named)
