"""Samples that are alike become one row: same event, thread, name, chain and picture of the process.

Nothing is looked up before this; afterwards every lookup costs per row, not per sample. Chains are kept once however
many rows share them.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from perf2x.classes import dataclass
from perf2x.model.arrays import I64, U64, Bools
from perf2x.model.growing import Growing
from perf2x.model.intern import columns_equal, first_alike, hash_columns, hash_rows, rows_equal
from perf2x.model.ragged import Ragged, end_to_end, offsets_of

_LOW = np.int64(0xFFFFFFFF)


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

    def __len__(self) -> int:
        return len(self.event)

    def columns(self) -> list[I64]:
        """All columns in the order of NAMES."""
        return [getattr(self, name) for name in self.NAMES]

    def take(self, rows: I64) -> "Keys":
        """The named rows in the order given."""
        return Keys(*(column[rows] for column in self.columns()))


def packed(keys: Keys, with_places: bool) -> list[I64]:
    """Keys in few columns, since every column is hashed and compared on its own.

    Numbers of processes, names, events, epochs and chains fit 32 bits, modes and roots 8. Cpu and cgroup are left out
    unless ``with_places``; they are all −1 then.
    """
    columns = [
        _pair(keys.pid, keys.tid),
        _pair(keys.comm, keys.user_epoch),
        _pair(keys.event, keys.kernel_epoch),
        _pair(keys.deferred_chain, keys.deferred_epoch),
        keys.mode << 8 | keys.root,
        keys.leaf,
    ]
    return [*columns, keys.cpu, keys.cgroup] if with_places else columns


def unpacked(columns: Sequence[I64]) -> Keys:
    """``packed``, back again."""
    process, user, event, deferred, kind, leaf = columns[:6]
    none = np.full(len(kind), -1, np.int64)
    cpu, cgroup = columns[6:] or (none, none)
    return Keys(
        event=event >> 32, pid=process >> 32, tid=_second(process), comm=user >> 32, mode=kind >> 8,
        user_epoch=_second(user), kernel_epoch=_second(event), deferred_chain=deferred >> 32,
        deferred_epoch=_second(deferred), root=kind & 0xFF, leaf=leaf, cpu=cpu, cgroup=cgroup,
    )  # fmt: skip


def _pair(first: I64, second: I64) -> I64:
    return first << 32 | second & _LOW


def _second(pair: I64) -> I64:
    """The lower half with its sign."""
    return pair << 32 >> 32


class RowTable:
    """Rows with their sums. What is added stays pending until ``fold`` makes one row of those that are alike.

    ::

        rows     | settled, distinct | pending as added |      fold      | settled, distinct + what was new |

    ``with_places``: told apart by cpu and cgroup.
    """

    def __init__(self, with_places: bool = False) -> None:
        self.with_places = with_places
        self._keys = Growing(np.int64, 8 if with_places else 6)
        self._facts = Growing(np.int64, 3)
        """Moment of the earliest sample, sum of values, number of samples."""
        self._hashes = Growing(np.uint64)
        self._words = Growing(np.uint64)
        self._spans = Growing(np.int64, 2)
        """Start and length of each row's chain in ``_words``."""
        self._settled = self._settled_words = 0

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def pending(self) -> int:
        """Rows that were added since the last fold."""
        return len(self) - self._settled

    @property
    def words(self) -> int:
        """Words of all chains."""
        return len(self._words)

    def add(self, keys: Keys, words: U64, starts: I64, lengths: I64, value: I64, moment: I64) -> I64:
        """Append samples whose chains are words[start : start + length]; (n,) their numbers until the next fold."""
        columns, first = packed(keys, self.with_places), len(self)
        laid = end_to_end(words, starts, lengths)
        begins = offsets_of(lengths)
        self._hashes.extend(hash_columns(*columns, hash_rows(laid, begins[:-1], lengths)))
        self._keys.extend(*columns)
        self._facts.extend(moment, value, 1)
        self._spans.extend(begins[:-1] + len(self._words), lengths)
        self._words.extend(laid)
        return np.arange(first, len(self))

    def fold(self) -> I64:
        """Make rows that are alike one; (pending,) the numbers of those that were pending. Settled ones keep theirs."""
        kept, place = first_alike(self._hashes[0], self._equal)
        numbers, fresh = place[self._settled :], kept[kept >= self._settled]
        self._add_up(kept[numbers])
        for table in (self._keys, self._facts, self._hashes, self._spans):
            for column in table.columns():
                column[self._settled : len(kept)] = column[fresh]
            table.shorten(len(kept))
        starts, lengths = self._spans[0][self._settled :], self._spans[1][self._settled :]
        laid = end_to_end(self._words[0], starts, lengths).copy()
        starts[:] = offsets_of(lengths)[:-1] + self._settled_words
        self._words.shorten(self._settled_words)
        self._words.extend(laid)
        self._settled, self._settled_words = len(kept), len(self._words)
        return numbers

    def _equal(self, rows: I64, others: I64) -> Bools:
        columns = self._keys.columns()
        same = columns_equal(columns, rows, columns, others)
        start, length = self._spans.columns()
        words = self._words[0]
        return same & rows_equal(words, start[rows], length[rows], words, start[others], length[others])

    def _add_up(self, stands: I64) -> None:
        """Add what each pending row has to the row that stands for it."""
        np.minimum.at(self._facts[0], stands, self._facts[0][self._settled :])
        for sums in self._facts.columns()[1:]:
            pending = sums[self._settled :].copy()
            sums[self._settled :] = 0
            np.add.at(sums, stands, pending)

    def keys(self) -> Keys:
        """The keys of all rows."""
        return unpacked(self._keys.columns())

    def chains(self) -> Ragged:
        """The chain of each row; what was folded lies end to end."""
        return Ragged(offsets_of(self._spans[1]), self._words[0])

    @property
    def moment(self) -> I64:
        """(rows,) moment of the earliest sample of each row."""
        return self._facts[0]

    @property
    def values(self) -> I64:
        """(rows,) sum of the samples' values."""
        return self._facts[1]

    @property
    def counts(self) -> I64:
        """(rows,) number of samples."""
        return self._facts[2]
