"""Stitches batches of samples into full stacks: joins deferred user chains, and numbers distinct stacks."""

from collections.abc import Callable, Mapping

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CALLCHAIN_CONTEXT_MAX
from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    DirectMappedCache,
    Frozen,
    ListArray,
    as_int32,
    as_int64,
    as_uint64,
    begins_run,
    cumsum,
    end_to_end,
    flatnonzero,
    minus_ones,
    offsets_of,
    take,
    take_rows_of,
    zeros,
)
from perf2x.model.profile import RecordedRows, RootFrame
from perf2x.model.recording import Samples, take_rows
from perf2x.model.value_limits import LAST_TIME
from perf2x.stitcher.deferred.cookie_matching import JoinOutcome
from perf2x.stitcher.deferred.deferred_join import DeferredJoin, DeferredTally
from perf2x.stitcher.history.process_history import ProcessHistory
from perf2x.stitcher.stacks.callchain import fill_empty_chains, split_cookies
from perf2x.stitcher.stacks.frame_keys import FrameKeys, SideTable
from perf2x.stitcher.stacks.raw_stack_cache import RawStackCache
from perf2x.stitcher.stacks.sample_stacks import SampleSpools
from perf2x.stitcher.stacks.sample_sums import SampleRows, SampleSums, TimedRows, TimedSamples
from perf2x.stitcher.stacks.stack_interner import StackInterner, ThreadRows
from perf2x.stitcher.stacks.stack_rows import StackInputs, StackRowBuilder


class SampleTotals(Frozen):
    """Time span and period of all samples, including those that ``deferred_missing`` drops."""

    first_ns: int | None = None
    """None if no sample has a time."""
    last_ns: int | None = None
    period: float = 0.0
    """A float, because the periods of a damaged file may add up to more than int64 holds."""

    def plus(self, other: "SampleTotals") -> "SampleTotals":
        """Return the totals of both."""
        first = [time for time in (self.first_ns, other.first_ns) if time is not None]
        last = [time for time in (self.last_ns, other.last_ns) if time is not None]
        return SampleTotals(min(first, default=None), max(last, default=None), self.period + other.period)


def _totals_of(samples: Samples) -> SampleTotals:
    period = float(samples.period.sum(dtype=float))
    time = np.zeros(0, np.uint64) if samples.time is None else samples.time
    valid_times = time if len(time) and time.max() < np.uint64(LAST_TIME) else time[time < np.uint64(LAST_TIME)]
    if not len(valid_times):
        return SampleTotals(period=period)
    return SampleTotals(int(valid_times.min()), int(valid_times.max()), period)


class StitchResult(Frozen):
    """Distinct threads and stacks of many samples, and sums of equal samples.

    Numbers are valid only within one result. Columns may be views of arrays that the next batch changes.
    """

    stacks: ListArray
    """Frame keys of every distinct stack, innermost first."""
    side_table: SideTable
    """Addresses outside the layout, which frame keys refer to by row."""
    is_hit: Bools
    """(recorded mappings + 1,) whether any frame is in each mapping; the last row is for none."""
    threads: ThreadRows
    samples: SampleRows
    """Sums; empty if there is a timeline."""
    timeline: TimedRows | None
    recorded_rows: RecordedRows | None  # thread and stack of each sample, in file order
    totals: SampleTotals
    deferred_tally: DeferredTally


_HALF_BITS = np.int64(32)
_LOW_HALF = np.int64(0xFFFFFFFF)


class ThreadLookup:
    """Finds the number of each sample's thread, and the epoch of the thread's process."""

    def __init__(self, history: ProcessHistory, interner: StackInterner, *, by_thread: bool) -> None:
        """Without ``by_thread``, one thread stands for all of one name (``namesakes``)."""
        self._history, self._interner, self._by_thread = history, interner, by_thread
        self._cache = DirectMappedCache(columns=2, bits=13)
        """(sequence number, pid << 32 | tid) → thread << 32 | epoch."""

    def find(self, pid: I64, tid: I64, sequence: I64) -> tuple[I32, I64]:
        """Return the thread of each sample, and the epoch of its process, −1 for unknown processes; shapes (n,).

        Only side-band records change these, so runs of one thread with equal sequence numbers share a lookup.
        """
        ids = pid << _HALF_BITS | tid & _LOW_HALF
        begins = begins_run(ids, sequence)
        rows = flatnonzero(begins)
        ids, pid, tid, sequence = ids[rows], pid[rows], tid[rows], sequence[rows]

        def look_up(rows: I64) -> I64:
            return self._look_up(pid[rows], tid[rows], sequence[rows])

        # one answer per run; shifting the low half up and down extends its sign
        answers = self._cache.answers(look_up, sequence, ids)
        run = cumsum(begins) - 1
        return take(as_int32(answers >> _HALF_BITS), run), take(answers << _HALF_BITS >> _HALF_BITS, run)

    def _look_up(self, pid: I64, tid: I64, sequence: I64) -> I64:
        """Look up thread << 32 | epoch (n,) for runs that are not in the cache."""
        names = self._history.names
        thread = as_int64(
            self._interner.intern_threads(pid, tid, names.at(tid, sequence), names.fork_sequence(tid, sequence))
        )
        self._interner.note_first_samples(thread, sequence)
        if not self._by_thread:
            thread = as_int64(self._interner.namesakes(thread))
        return thread << _HALF_BITS | self._history.spaces.epoch(pid, sequence) & _LOW_HALF


class StitchOptions(Frozen):
    """Options for combining samples."""

    timeline: bool = False
    """Keep one row per sample, in time order."""
    by_thread: bool = True
    """Sum samples by thread; otherwise by the thread's name, if it has one. All threads are listed in either case."""
    extra_columns: tuple[str, ...] = ()
    """Columns to keep besides event, thread and stack; samples that differ in them are not summed.

    Possible columns are ``cgroup`` and ``data_src``; without a timeline, ``cpu``; with one, ``position``.
    """
    per_process: bool = False
    """Keep the addresses of each process, as in a history built with ``per_process``."""
    deferred_missing: str = "mark"
    """What becomes of samples whose deferred record is missing.

    ``mark``: they get a root frame; ``kernel-only``: they get none; ``drop``: they are dropped.
    """
    keep_samples: bool = False
    """Keep the thread and stack of each sample, in file order, in addition to the sums."""
    merge_callchains: bool = True
    """Join samples with their deferred user chains; otherwise a root frame marks these samples."""
    user_only: frozenset[int] = frozenset()
    """Indices of events that exclude the kernel. Since Linux 7.3, their samples in the kernel have address 0."""


class Stitcher:
    """Converts samples to interned stacks: ``add`` every batch, in any order, then take the ``result``."""

    def __init__(self, history: ProcessHistory, options: StitchOptions) -> None:
        self._history = history
        self._options = options
        self._join = DeferredJoin(history.deferred_records, options.merge_callchains)
        self._keys = FrameKeys(history.spaces, history.merged_mappings, history.layout, options.per_process)
        self._builder = StackRowBuilder(self._keys, history.sideband.deferred.chain, history.has_call_addresses)
        self._cache = RawStackCache()
        self._interner = StackInterner()
        self._sums = SampleSums(() if options.timeline else options.extra_columns)
        self._threads = ThreadLookup(history, self._interner, by_thread=options.by_thread)
        self._timeline = TimedSamples(options.extra_columns if options.timeline else ())
        self.sample_spools = SampleSpools() if options.keep_samples else None
        self._totals = SampleTotals()

    def add(self, samples: Samples, root: U8 | None = None) -> None:
        """Add a batch; ``root`` (n,) has the RootFrame of samples whose unwound chain is not complete, else 0."""
        if not len(samples):
            return
        chain = samples.chain
        starts = chain.offsets[:-1]
        lengths, cookies, has_cookie = split_cookies(chain.values, starts, chain.lengths)
        record, outcome = self._join.join(samples, cookies, has_cookie)
        roots = self._roots(outcome, has_cookie, root)
        if has_cookie.any():
            chain = ListArray(offsets_of(lengths), end_to_end(chain.values, starts, lengths))
        chain = fill_empty_chains(chain, samples.ip, (lengths == 0) & (record < 0))
        if self._options.user_only:
            is_candidate = (record < 0) & (roots == RootFrame.NONE)
            roots[self._kernel_hidden_rows(samples, chain, is_candidate)] = RootFrame.KERNEL_HIDDEN
        self._totals = self._totals.plus(_totals_of(samples))
        kept_rows: I64 | slice = slice(None)
        all_samples = samples
        if self._options.deferred_missing == "drop":
            kept_rows = flatnonzero(outcome < JoinOutcome.MISSING)
            samples = take_rows(replace(samples, chain=chain), kept_rows)
            chain, record, roots = samples.chain, record[kept_rows], roots[kept_rows]
        thread_and_stack = self._add_rows(samples, chain, record, roots)
        if self.sample_spools is not None:
            self.sample_spools.add(all_samples, kept_rows, *thread_and_stack)

    def intern_ips(self, samples: Samples) -> I32:
        """Return (n,) the number of a stack with the instruction pointer alone; samples are not counted."""
        no_roots = zeros(len(samples))
        chain = ListArray(np.arange(len(samples) + 1, dtype=np.int64), samples.ip)
        sequence, (pid, tid) = self._history.sequence_of(samples), (as_int64(samples.pid), as_int64(samples.tid))
        _, epoch = self._threads.find(pid, tid, sequence)
        return self._stacks(samples, chain, no_roots - 1, no_roots, sequence, epoch)  # record −1: none

    def result(self) -> StitchResult:
        """Return the result of all batches so far; the cache of raw stacks is emptied."""
        self._cache.clear()
        self._sums.sum_all()
        return StitchResult(
            stacks=self._interner.stacks(),
            side_table=self._keys.side_table(),
            is_hit=self._keys.is_hit,
            threads=self._interner.threads(),
            samples=self._sums.rows(),
            timeline=self._timeline.rows() if self._options.timeline else None,
            recorded_rows=None if self.sample_spools is None else self.sample_spools.rows(),
            totals=self._totals,
            deferred_tally=self._join.tally,
        )

    def absorb(self, result: StitchResult) -> None:
        """Add the result of a stitcher for other batches, with the same history and options."""
        side_numbers = self._keys.absorb(result.side_table, result.is_hit)
        by_thread = self._options.by_thread
        renumbering = self._interner.absorb(result.stacks, result.threads, side_numbers, by_thread=by_thread)
        self._sums.add(renumbering.renumber(result.samples))
        if result.timeline is not None:
            self._timeline.add(renumbering.renumber(result.timeline))
        if result.recorded_rows is not None and self.sample_spools is not None:
            self.sample_spools.absorb(result.recorded_rows.renumber(renumbering.thread, renumbering.stack))
        self._join.absorb(result.deferred_tally)
        self._totals = self._totals.plus(result.totals)

    def _roots(self, outcome: I64, has_cookie: Bools, root: U8 | None) -> I64:
        roots = zeros(len(outcome)) if root is None else as_int64(root)
        if not self._options.merge_callchains:
            roots[has_cookie] = RootFrame.USER_DEFERRED
        if self._options.deferred_missing == "mark":
            roots[outcome >= JoinOutcome.MISSING] = RootFrame.USER_MISSING
        return roots

    def _kernel_hidden_rows(self, samples: Samples, chain: ListArray, is_candidate: Bools) -> I64:
        """Rows of candidates from ``user_only`` events, with address 0 and only markers in the chain."""
        rows = flatnonzero(is_candidate & (samples.ip == np.uint64(0)))
        rows = rows[np.isin(samples.event[rows], list(self._options.user_only))]
        chains = chain[rows]
        addresses_before = cumsum(np.append(0, chains.values < np.uint64(CALLCHAIN_CONTEXT_MAX)))[chains.offsets]
        hidden_rows: I64 = rows[np.diff(addresses_before) == 0]
        return hidden_rows

    def _add_rows(self, samples: Samples, chain: ListArray, record: I64, roots: I64) -> tuple[I32, I32]:
        sequence = self._history.sequence_of(samples)
        pid, tid = as_int64(samples.pid), as_int64(samples.tid)
        thread, epoch = self._threads.find(pid, tid, sequence)
        stack = self._stacks(samples, chain, record, roots, sequence, epoch)
        event, value = as_int32(samples.event), as_int64(samples.period)
        extra = {name: _EXTRA_COLUMNS[name](samples) for name in self._options.extra_columns}
        if self._options.timeline:
            time = as_uint64(samples.position) if samples.time is None else samples.time
            self._timeline.add(TimedRows(event, thread, stack, as_int32(samples.cpus), value, time, **extra))
        else:
            self._sums.add(SampleRows(event, thread, stack, value, np.ones(len(samples), np.int64), **extra))
        return thread, stack

    def _stacks(self, samples: Samples, chain: ListArray, record: I64, roots: I64, sequence: I64, epoch: I64) -> I32:
        is_joined = record >= 0
        history = self._history
        inputs = StackInputs(
            chain=chain,
            mode=samples.cpumode,
            user_epoch=epoch,
            kernel_epoch=history.spaces.kernel_epoch(sequence),
            deferred_chain=_take_valid(history.sideband.deferred.chain.indices, record, is_joined),
            deferred_epoch=_take_valid(history.deferred_epoch, record, is_joined),
            root=roots,
        )

        def build(rows: I64) -> I32:
            return self._interner.intern_stacks(self._builder.rows(take_rows_of(inputs, rows)))

        return self._cache.stacks(inputs, build)


_EXTRA_COLUMNS: Mapping[str, Callable[[Samples], I64]] = {
    "cpu": lambda samples: as_int64(samples.cpus),
    "cgroup": lambda samples: _bits(samples.cgroup, len(samples), -1),
    "data_src": lambda samples: _bits(samples.data_src, len(samples), 0),
    "position": lambda samples: samples.position,
}


def _bits(words: U64 | None, count: int, default: int) -> I64:
    return np.full(count, default, np.int64) if words is None else words.view(np.int64)


def _take_valid(values: I32 | I64, index: I64, is_valid: Bools) -> I64:
    """``values`` may be empty if no index is valid; results that are not valid are −1."""
    result = minus_ones(len(index))
    result[is_valid] = values[index[is_valid]]
    return result
