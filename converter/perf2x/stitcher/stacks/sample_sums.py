"""Sums of samples that are alike: equal event, thread and stack (and cpu, cgroup and data source where requested)."""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, ColumnTable
from perf2x.base.columnar.growable import GrowableColumns
from perf2x.base.columnar.unique import sorted_runs, sum_runs

_MIN_PENDING = 1 << 18
"""Rows are summed up when at least this many are new, and as many as are summed up already."""


class SampleRows(ColumnTable, frozen=True):
    """Rows of samples as columns (n,); those that do not tell samples apart are None."""

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
    """The word's bits."""


class SampleSums:
    """Collects rows and now and then sums up those that are alike."""

    def __init__(self, by_cpu: bool = False, by_cgroup: bool = False, by_data_src: bool = False) -> None:
        asked = (("cpu", by_cpu), ("cgroup", by_cgroup), ("data_src", by_data_src))
        self._extra = [name for name, wanted in asked if wanted]
        self._keys = GrowableColumns(np.int32, 3)
        self._values = GrowableColumns(np.int64, 2 + len(self._extra))
        """Sum of values, number of samples; cpu, cgroup, data_src."""
        self._settled = 0

    def add(self, rows: SampleRows) -> None:
        """Append rows, and sum up when there are many."""
        self.append(rows)
        if len(self._keys) - self._settled > max(_MIN_PENDING, self._settled):
            self.settle()

    def append(self, rows: SampleRows) -> None:
        """Append rows without summing up."""
        self._keys.extend(rows.event, rows.thread, rows.stack)
        self._values.extend(rows.value, rows.count, *(getattr(rows, name) for name in self._extra))

    def rows(self) -> SampleRows:
        """All rows so far, of which some may be alike. Views that the next ``add`` may invalidate."""
        value, count, *extra = self._values.columns()
        event, thread, stack = self._keys.columns()
        return SampleRows(event, thread, stack, value, count, **dict(zip(self._extra, extra, strict=True)))

    def settle(self) -> None:
        """Sum up all rows that are alike."""
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
