"""Samples that are alike summed up: same event, thread and stack (and cpu and cgroup where asked for)."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I32, I64
from perf2x.columnar.growable import GrowableColumns
from perf2x.columnar.unique import group_rows

_PENDING = 1 << 18
"""Rows are worth summing up when there are at least so many new ones, and as many as there were."""


class SampleRows(Struct, frozen=True):
    """Rows of samples, as columns; cpu and cgroup where they are told apart by them."""

    event: I32
    thread: I32
    stack: I32
    value: I64
    count: I64
    cpu: I64 | None = None
    cgroup: I64 | None = None

    def __len__(self) -> int:
        return len(self.event)


def in_turn(parts: Sequence[SampleRows]) -> SampleRows:
    """The rows of every part, one part behind the other."""
    rows = Sums(with_places=bool(parts) and parts[0].cpu is not None)
    for part in parts:
        rows.append(part)
    return rows.rows()


class Sums:
    """Takes rows in as they come, and now and then makes one of those that are alike.

    ``with_places``: told apart by cpu and cgroup, which rows then have.
    """

    def __init__(self, with_places: bool = False) -> None:
        self._rows = GrowableColumns(np.int32, 3)
        self._facts = GrowableColumns(np.int64, 4 if with_places else 2)
        """Sum of values, number of samples; cpu, cgroup."""
        self._settled = 0

    def add(self, rows: SampleRows) -> None:
        """Append rows, and sum up when there are many."""
        self.append(rows)
        if len(self._rows) - self._settled > max(_PENDING, self._settled):
            self.settle()

    def append(self, rows: SampleRows) -> None:
        """Append rows and leave it at that."""
        places = () if rows.cpu is None or rows.cgroup is None else (rows.cpu, rows.cgroup)
        self._rows.extend(rows.event, rows.thread, rows.stack)
        self._facts.extend(rows.value, rows.count, *places)

    def rows(self) -> SampleRows:
        """Everything so far; rows may be alike. Views that the next ``add`` may make stale."""
        return SampleRows(*self._rows.columns(), *self._facts.columns())

    def settle(self) -> None:
        """Make rows that are alike one."""
        places = self._facts.columns()[2:]
        first, kind = group_rows([*(column.astype(np.int64) for column in self._rows.columns()), *places])
        for column in self._facts.columns()[:2]:
            total = np.zeros(len(first), np.int64)
            np.add.at(total, kind, column)
            column[: len(first)] = total
        for column in (*self._rows.columns(), *places):
            column[: len(first)] = column[first]
        for table in (self._rows, self._facts):
            table.shorten(len(first))
        self._settled = len(first)
