"""Samples that are alike become one row: same event, thread, name, chain and picture of the process.

Nothing is looked up before this; afterwards every lookup costs per row, not per sample. Chains are kept once however
many rows share them.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from perf2x.model.arrays import I64, U64, Bools
from perf2x.model.intern import (
    ChainTable,
    HashIndex,
    columns_equal,
    distinct,
    hash_columns,
    hash_rows,
    rows_equal,
)


@dataclass(frozen=True, slots=True)
class Keys:
    """What makes samples alike, as (n,) int64 columns; see the stitcher for how each comes about."""

    event: I64
    pid: I64
    tid: I64
    comm: I64
    mode: I64
    user_epoch: I64
    kernel_epoch: I64
    deferred_chain: I64
    deferred_epoch: I64
    root: I64
    leaf: I64
    """The instruction pointer as int64 bits where it is all there is to show, else 0."""
    cpu: I64
    cgroup: I64

    NAMES: ClassVar[tuple[str, ...]] = (
        "event", "pid", "tid", "comm", "mode", "user_epoch", "kernel_epoch", "deferred_chain", "deferred_epoch",
        "root", "leaf", "cpu", "cgroup",
    )  # fmt: skip

    def columns(self) -> list[I64]:
        """All columns in the order of NAMES."""
        return [getattr(self, name) for name in self.NAMES]


class RowTable:
    """Unique rows with their sums, numbered from 0 in the order in which they first came."""

    def __init__(self) -> None:
        self.chains = ChainTable()
        self._index = HashIndex()
        self._parts: list[list[I64]] = []
        self._columns: list[I64] = [np.zeros(0, np.int64) for _ in range(len(Keys.NAMES) + 2)]
        self.values = np.zeros(0, np.int64)
        self.counts = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, keys: Keys, words: U64, starts: I64, lengths: I64, value: I64, moment: I64) -> I64:
        """Number every sample's row and add its value to the row's sum; returns the (n,) int64 row numbers."""
        columns = keys.columns()
        chain_hashes = hash_rows(words, starts, lengths)
        first, inverse = _distinct(columns, words, starts, lengths, hash_columns(*columns, chain_hashes))
        chain = self.chains.number(words, starts[first], lengths[first], chain_hashes[first])
        numbers = self._number([*(column[first] for column in columns), chain], moment[first])
        rows = numbers[inverse]
        # Twelve hundred samples may be one row: sum within the batch first, so that the table is touched per row.
        order = np.argsort(inverse, kind="stable")
        begins = np.searchsorted(inverse[order], np.arange(len(first)))
        np.add.at(self.values, numbers, np.add.reduceat(value[order], begins))
        np.add.at(self.counts, numbers, np.bincount(inverse, minlength=len(first)))
        return rows

    def keys(self) -> Keys:
        """The key columns of all rows."""
        return Keys(*self._flat()[: len(Keys.NAMES)])

    @property
    def chain(self) -> I64:
        """(rows,) number of each row's chain in ``chains``."""
        return self._flat()[-2]

    @property
    def moment(self) -> I64:
        """(rows,) moment of the first sample of each row."""
        return self._flat()[-1]

    def _number(self, columns: list[I64], moment: I64) -> I64:
        def equal(rows: I64, numbers: I64) -> Bools:
            return columns_equal(columns, rows, self._flat()[:-1], numbers)

        def add(rows: I64) -> I64:
            begin = len(self.values)
            self._parts.append([*(column[rows] for column in columns), moment[rows]])
            zeros = np.zeros(len(rows), np.int64)
            self.values, self.counts = np.concatenate([self.values, zeros]), np.concatenate([self.counts, zeros])
            return np.arange(begin, begin + len(rows))

        return self._index.number(hash_columns(*columns), equal, add)

    def _flat(self) -> list[I64]:
        if self._parts:
            stacked = zip(self._columns, *self._parts, strict=True)
            self._columns = [np.concatenate(column) for column in stacked]
            self._parts = []
        return self._columns


def _distinct(columns: list[I64], words: U64, starts: I64, lengths: I64, hashes: U64) -> tuple[I64, I64]:
    """First sample of every distinct row of a batch, and each sample's place among them."""

    def equal(rows: I64, others: I64) -> Bools:
        same = rows_equal(words, starts[rows], lengths[rows], words, starts[others], lengths[others])
        return same & columns_equal(columns, rows, columns, others)

    return distinct(hashes, equal)
