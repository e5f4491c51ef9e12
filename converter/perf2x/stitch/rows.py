"""Samples that are alike become one row: same event, thread, name, chain and picture of the process.

Nothing is looked up before this; afterwards every lookup costs per row, not per sample. Chains are kept once however
many rows share them.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from perf2x.model.arrays import I64, U64, Bools
from perf2x.model.growing import Growing
from perf2x.model.intern import (
    ChainTable,
    HashIndex,
    columns_equal,
    hash_columns,
    hash_rows,
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
    """Unique rows with their sums, numbered from 0."""

    def __init__(self) -> None:
        self.chains = ChainTable()
        self._index = HashIndex()
        self._columns = Growing(np.int64, len(Keys.NAMES) + 2)
        """Keys, number of the chain, moment of the first sample."""
        self._sums = Growing(np.int64, 2)
        """Values, counts."""

    def __len__(self) -> int:
        return len(self._columns)

    def add(self, keys: Keys, words: U64, starts: I64, lengths: I64, value: I64, moment: I64) -> I64:
        """Number every sample's row and add its value to the row's sum; returns the (n,) int64 row numbers."""
        columns, chain_hashes = keys.columns(), hash_rows(words, starts, lengths)

        def equal(rows: I64, numbers: I64) -> Bools:
            same = columns_equal(columns, rows, self.keys().columns(), numbers)
            return same & self.chains.same(words, starts[rows], lengths[rows], self.chain[numbers])

        def add(rows: I64) -> I64:
            chain = self.chains.number(words, starts[rows], lengths[rows], chain_hashes[rows])
            self._columns.extend(*(column[rows] for column in columns), chain, moment[rows])
            self._sums.extend(np.zeros(len(rows), np.int64), 0)
            return np.arange(len(self) - len(rows), len(self))

        numbers = self._index.number(hash_columns(*columns, chain_hashes), equal, add)
        np.add.at(self.values, numbers, value)
        np.add.at(self.counts, numbers, 1)
        return numbers

    def keys(self) -> Keys:
        """The key columns of all rows."""
        return Keys(*self._columns.columns()[: len(Keys.NAMES)])

    @property
    def chain(self) -> I64:
        """(rows,) number of each row's chain in ``chains``."""
        return self._columns[len(Keys.NAMES)]

    @property
    def moment(self) -> I64:
        """(rows,) moment of the first sample of each row."""
        return self._columns[len(Keys.NAMES) + 1]

    @property
    def values(self) -> I64:
        """(rows,) sum of the samples' values."""
        return self._sums[0]

    @property
    def counts(self) -> I64:
        """(rows,) number of samples."""
        return self._sums[1]
