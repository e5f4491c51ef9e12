"""What the rows of samples come to: threads, stacks of locations, and sums; all that is kept of them.

Rows hold chains as recorded, which hardly repeat where programs lie at random addresses. Gathering them now and then
keeps their table small; what it leaves behind repeats much more.
"""

import numpy as np

from perf2x.classes import dataclass
from perf2x.model.arrays import I32, I64, Bools
from perf2x.model.growing import Growing
from perf2x.model.intern import Distinct, columns_equal, first_alike, hash_columns, hash_rows, rows_equal
from perf2x.model.ragged import Ragged
from perf2x.stitch.comms import ThreadNames
from perf2x.stitch.frames import Resolver
from perf2x.stitch.places import Located
from perf2x.stitch.rows import Keys, RowTable

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class SampleRows:
    """Rows of samples, as columns; cpu and cgroup where they are told apart by them."""

    event: I32
    thread: I32
    stack: I32
    value: I64
    count: I64
    cpu: I64 | None = None
    cgroup: I64 | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What was gathered in one process, on its way to another."""

    located: Located
    hit: Bools
    stacks: Ragged
    threads: list[I64]
    moments: I64
    samples: SampleRows


class Gathered:
    """Takes in tables of rows one after the other."""

    def __init__(
        self, resolver: Resolver, names: ThreadNames, deferred_chains: Ragged, with_places: bool = False
    ) -> None:
        self.resolver = resolver
        self._names, self._deferred_chains = names, deferred_chains
        self.threads = Distinct(3)
        """pid, tid, index of the name."""
        self._seen = Growing(np.int64, 2)
        """Of each thread: moment of its first sample, the process's name then."""
        self._rows = Growing(np.int32, 3)
        """Event, thread, stack."""
        self._facts = Growing(np.int64, 4 if with_places else 2)
        """Sum of values, number of samples; cpu, cgroup."""

    @property
    def process(self) -> I64:
        """(threads,) index of the name that each thread's process had when the thread was sampled first."""
        return self._seen[1]

    def samples(self) -> SampleRows:
        """What was taken in, in order; rows may be alike."""
        return SampleRows(*self._rows.columns(), *self._facts.columns())

    def take_in(self, rows: RowTable) -> I64:
        """Resolve ``rows``; returns the (rows,) row of ``samples`` of each."""
        keys, first = rows.keys(), len(self._rows)
        self._rows.extend(keys.event, self._threads(keys, rows.moment), self._stacks(keys, rows.chains()))
        places = (keys.cpu, keys.cgroup) if rows.with_places else ()
        self._facts.extend(rows.values, rows.counts, *places)
        return np.arange(first, len(self._rows))

    def _stacks(self, keys: Keys, chains: Ragged) -> I64:
        """(rows,) the stack of each; what threads have in common is resolved once."""
        starts, lengths = chains.offsets[:-1], chains.lengths
        columns = [
            keys.mode, keys.user_epoch, keys.kernel_epoch, keys.deferred_chain, keys.deferred_epoch, keys.root,
            keys.leaf,
        ]  # fmt: skip

        def equal(rows: I64, others: I64) -> Bools:
            words = chains.values
            same = rows_equal(words, starts[rows], lengths[rows], words, starts[others], lengths[others])
            return same & columns_equal(columns, rows, columns, others)

        kept, place = first_alike(hash_columns(*columns, hash_rows(chains.values, starts, lengths)), equal)
        return self.resolver.resolve(keys.take(kept), chains.take(kept), self._deferred_chains)[place]

    def _threads(self, keys: Keys, moment: I64) -> I64:
        thread = self.threads.number(keys.pid, keys.tid, keys.comm)
        self._see(thread, moment)
        return thread

    def _see(self, thread: I64, moment: I64) -> None:
        """Note when threads were sampled; the order in which they are seen does not matter."""
        if more := len(self.threads) - len(self._seen):
            self._seen.extend(np.full(more, _NEVER), -1)
        first, name = self._seen.columns()
        before = first.copy()
        np.minimum.at(first, thread, moment)
        earlier = np.flatnonzero(first < before)
        pid = self.threads.columns()[0]
        name[earlier] = self._names.at(pid[earlier], first[earlier])

    def found(self) -> Found:
        """All of it, to be added to another one's."""
        stacks = self.resolver.stacks()
        return Found(
            self.resolver.located(), self.resolver.hit(), stacks,
            [column.copy() for column in self.threads.columns()], self._seen[0].copy(),
            self.samples(),
        )  # fmt: skip

    def absorb(self, found: Found) -> int:
        """Add what another one found in the same recording; returns the row of ``samples`` that its rows begin at."""
        stack = self.resolver.absorb(found.located, found.hit, found.stacks)
        thread = self.threads.number(*found.threads)
        self._see(thread, found.moments)
        first, rows = len(self._rows), found.samples
        self._rows.extend(rows.event, thread[rows.thread], stack[rows.stack])
        places = () if rows.cpu is None or rows.cgroup is None else (rows.cpu, rows.cgroup)
        self._facts.extend(rows.value, rows.count, *places)
        return first
