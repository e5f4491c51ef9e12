"""Stitches batches of samples into full stacks: joins deferred user chains, and interns the frames of each sample.

Data flows in one direction::

    Samples ─ split_cookies ─▶ chains, cookies ─ DeferredJoin ─▶ record of each sample
                                                                     │
    StitchResult ◀─ StackInterner ◀─ frame keys ◀─ StackRowBuilder ◀─┴ StackInputs (unless RawStackCache knows them)

One lookup finds a sample's thread and its process's epoch, because both change only with records of the side-band::

    samples   pid 7  tid 8  at 3        one lookup: the name of 8 and the epoch of 7 as of sequence number 3
              pid 7  tid 8  at 3        the same thread and epoch
              pid 7  tid 8  at 4        another lookup: a mapping or a name changed in between
"""

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
from perf2x.stitcher.stacks.callchain import split_cookies, with_sampled_addresses
from perf2x.stitcher.stacks.frame_keys import FrameKeys, SideTable
from perf2x.stitcher.stacks.raw_stack_cache import RawStackCache
from perf2x.stitcher.stacks.sample_stacks import RecordedSpools
from perf2x.stitcher.stacks.sample_sums import SampleRows, SampleSums, TimedRows, TimedSamples
from perf2x.stitcher.stacks.stack_interner import StackInterner, ThreadRows
from perf2x.stitcher.stacks.stack_rows import StackInputs, StackRowBuilder


class SampleTotals(Frozen):
    """Time span and period of all samples, including dropped ones."""

    first_ns: int | None = None
    """The earliest time; None if no sample has a time."""
    last_ns: int | None = None
    period: float = 0.0
    """The sum of all periods as a float, which shows whether it exceeds int64."""

    def plus(self, other: "SampleTotals") -> "SampleTotals":
        """Return the totals of both."""
        first = [time for time in (self.first_ns, other.first_ns) if time is not None]
        last = [time for time in (self.last_ns, other.last_ns) if time is not None]
        return SampleTotals(min(first, default=None), max(last, default=None), self.period + other.period)


def _totals_of(samples: Samples) -> SampleTotals:
    """Return the totals of one batch; the last possible time means that a sample has no time."""
    period = float(samples.period.sum(dtype=float))
    time = np.zeros(0, np.uint64) if samples.time is None else samples.time
    known = time if len(time) and time.max() < np.uint64(LAST_TIME) else time[time < np.uint64(LAST_TIME)]
    if not len(known):
        return SampleTotals(period=period)
    return SampleTotals(int(known.min()), int(known.max()), period)


class StitchResult(Frozen):
    """Distinct threads and stacks of many samples, and sums of equal samples.

    Numbers of threads, stacks and side-table addresses are valid only within one result. Columns may be views of the
    stitcher's own arrays, so call ``Stitcher.result`` after the last batch.
    """

    stacks: ListArray
    """Frame keys of every distinct stack, innermost first."""
    side_table: SideTable
    """Addresses that frame keys refer to by number."""
    is_hit: Bools
    """(recorded mappings + 1,) whether a frame is in each mapping; the last row is for none."""
    threads: ThreadRows
    samples: SampleRows
    """Sums; empty if there is a timeline."""
    timeline: TimedRows | None
    recorded: RecordedRows | None
    totals: SampleTotals
    deferred: DeferredTally


_HALF = np.int64(32)
_LOW = np.int64(0xFFFFFFFF)


class ThreadEpochs:
    """Finds the interned thread of each sample, and the epoch of the thread's process."""

    def __init__(self, history: ProcessHistory, interner: StackInterner, *, by_thread: bool) -> None:
        """``by_thread``: keep threads separate; otherwise the first thread of a name stands for all (``namesakes``)."""
        self._history, self._interner, self._by_thread = history, interner, by_thread
        self._moments = DirectMappedCache(columns=2, bits=13)
        """thread << 32 | epoch, for each pair of a sequence number and (pid << 32 | tid)."""

    def of(self, pid: I64, tid: I64, sequence: I64) -> tuple[I32, I64]:
        """Return (n,) the thread of each sample and the epoch of its process, −1 for unknown processes.

        A CPU's samples are contiguous in a recording, so most runs of them have one thread.
        """
        ids = pid << _HALF | tid & _LOW
        begins = begins_run(ids, sequence)
        rows = flatnonzero(begins)
        ids, pid, tid, sequence = ids[rows], pid[rows], tid[rows], sequence[rows]

        def find(rows: I64) -> I64:
            return self._find(pid[rows], tid[rows], sequence[rows])

        answers = self._moments.answers(find, sequence, ids)
        run = cumsum(begins) - 1
        return take(as_int32(answers >> _HALF), run), take(answers << _HALF >> _HALF, run)

    def _find(self, pid: I64, tid: I64, sequence: I64) -> I64:
        names = self._history.names
        thread = as_int64(self._interner.intern_threads(pid, tid, names.at(tid, sequence), names.start(tid, sequence)))
        self._interner.note_first(thread, sequence)
        if not self._by_thread:
            thread = as_int64(self._interner.namesakes(thread))
        return thread << _HALF | self._history.spaces.epoch(pid, sequence) & _LOW


class StitchOptions(Frozen):
    """Options for combining samples."""

    timeline: bool = False
    """Keep one row per sample, in time order."""
    by_thread: bool = True
    """False: sum samples of threads with the same name; all threads are listed, and unnamed ones stay separate."""
    extra: tuple[str, ...] = ()
    """Columns by which samples stay separate, in addition to event, thread and stack.

    ``cpu``, ``cgroup``, ``data_src``, and ``position`` for a timeline.
    """
    per_process: bool = False
    """Keep each process's own addresses, as in a history built with ``per_process``; otherwise a file has one address.
    """
    deferred_missing: str = "mark"
    """``mark``: add a root frame with the reason; ``kernel-only``: add none; ``drop``: drop these samples."""
    as_recorded: bool = False
    """Keep thread and stack of each sample, in file order, in addition to the sums."""
    merge_callchains: bool = True
    """Join samples with their deferred user chains; otherwise a root frame marks samples whose user chain is deferred.
    """
    user_only: frozenset[int] = frozenset()
    """Events that exclude the kernel. Since Linux 7.3, their samples taken in the kernel have address 0."""


class Stitcher:
    """Converts samples to interned stacks. Pass every batch to ``add``, in any order, then take the ``result``."""

    def __init__(self, history: ProcessHistory, options: StitchOptions) -> None:
        self._history = history
        self._options = options
        self._join = DeferredJoin(history.deferred, options.merge_callchains)
        self._keys = FrameKeys(history.spaces, history.mappings, history.layout, options.per_process)
        self._builder = StackRowBuilder(self._keys, history.sideband.deferred.chain, history.has_call_addresses)
        self._cache = RawStackCache()
        self._interner = StackInterner()
        self._sums = SampleSums(() if options.timeline else options.extra)
        self._threads = ThreadEpochs(history, self._interner, by_thread=options.by_thread)
        self._timeline = TimedSamples(options.extra if options.timeline else ())
        self.recorded = RecordedSpools() if options.as_recorded else None
        """The thread and stack of each sample, if kept."""
        self._totals = SampleTotals()

    def add(self, samples: Samples, root: U8 | None = None) -> None:
        """Add a batch. ``root`` (n,) has a RootFrame for samples whose user part the unwinder cut short."""
        if not len(samples):
            return
        chain = samples.chain
        starts = chain.offsets[:-1]
        lengths, cookies, has_cookie = split_cookies(chain.values, starts, chain.lengths)
        record, outcome = self._join.join(samples, cookies, has_cookie)
        roots = self._roots(outcome, has_cookie, root)
        if has_cookie.any():
            chain = ListArray(offsets_of(lengths), end_to_end(chain.values, starts, lengths))
        chain = with_sampled_addresses(chain, samples.ip, (lengths == 0) & (record < 0))
        if self._options.user_only:
            roots[self._hidden(samples, chain, (record < 0) & (roots == RootFrame.NONE))] = RootFrame.KERNEL_HIDDEN
        self._totals = self._totals.plus(_totals_of(samples))
        kept: I64 | slice = slice(None)
        whole = samples
        if self._options.deferred_missing == "drop":
            kept = flatnonzero(outcome < JoinOutcome.MISSING)
            samples, record, roots = take_rows(replace(samples, chain=chain), kept), record[kept], roots[kept]
            chain = samples.chain
        found = self._add_rows(samples, chain, record, roots)
        if self.recorded is not None:
            self.recorded.add(whole, kept, *found)

    def located(self, samples: Samples) -> I32:
        """Intern a stack of only the sampled instruction for each sample, without counting it. Returns (n,)."""
        none = minus_ones(len(samples))
        chain = ListArray(np.arange(len(samples) + 1, dtype=np.int64), samples.ip)
        sequence, (pid, tid) = self._history.sequence_of(samples), (as_int64(samples.pid), as_int64(samples.tid))
        return self._stacks(samples, chain, none, none + 1, sequence, self._threads.of(pid, tid, sequence)[1])

    def result(self) -> StitchResult:
        """Return the result of all batches so far, and clear the cache for further batches."""
        self._cache.clear()
        self._sums.sum_all()
        return StitchResult(
            stacks=self._interner.stacks(),
            side_table=self._keys.side_table(),
            is_hit=self._keys.is_hit,
            threads=self._interner.threads(),
            samples=self._sums.rows(),
            timeline=self._timeline.rows() if self._options.timeline else None,
            recorded=None if self.recorded is None else self.recorded.rows(),
            totals=self._totals,
            deferred=self._join.tally,
        )

    def absorb(self, result: StitchResult) -> None:
        """Add the result of a stitcher with the same history and options for other batches."""
        numbers = self._keys.absorb(result.side_table, result.is_hit)
        by_thread = self._options.by_thread
        renumbering = self._interner.absorb(result.stacks, result.threads, numbers, by_thread=by_thread)
        self._sums.add(renumbering.renumber(result.samples))
        if result.timeline is not None:
            self._timeline.add(renumbering.renumber(result.timeline))
        if result.recorded is not None and self.recorded is not None:
            self.recorded.absorb(result.recorded.renumber(renumbering.thread, renumbering.stack))
        self._join.absorb(result.deferred)
        self._totals = self._totals.plus(result.totals)

    def _roots(self, outcome: I64, has_cookie: Bools, root: U8 | None) -> I64:
        """Return (n,) the RootFrame of each sample."""
        roots = zeros(len(outcome)) if root is None else as_int64(root)
        if not self._options.merge_callchains:
            roots[has_cookie] = RootFrame.USER_DEFERRED
        if self._options.deferred_missing == "mark":
            roots[outcome >= JoinOutcome.MISSING] = RootFrame.USER_MISSING
        return roots

    def _hidden(self, samples: Samples, chain: ListArray, alone: Bools) -> I64:
        """Return the rows of samples whose kernel part is hidden: address 0, and only context markers in the chain.

        Their events exclude the kernel. ``alone`` (n,) are samples without deferred record and without root frame.
        """
        rows = flatnonzero(alone & (samples.ip == np.uint64(0)))
        rows = rows[np.isin(samples.event[rows], list(self._options.user_only))]
        kept = chain[rows]
        addresses = cumsum(np.append(0, kept.values < np.uint64(CALLCHAIN_CONTEXT_MAX)))[kept.offsets]
        found: I64 = rows[np.diff(addresses) == 0]
        return found

    def _add_rows(self, samples: Samples, chain: ListArray, record: I64, roots: I64) -> tuple[I32, I32]:
        """Intern threads and stacks of samples, and add the samples to the sums or the timeline; return both."""
        sequence = self._history.sequence_of(samples)
        pid, tid = as_int64(samples.pid), as_int64(samples.tid)
        thread, epoch = self._threads.of(pid, tid, sequence)
        stack = self._stacks(samples, chain, record, roots, sequence, epoch)
        event, value = as_int32(samples.event), as_int64(samples.period)
        extra = {name: _COLUMNS[name](samples) for name in self._options.extra}
        if self._options.timeline:
            time = as_uint64(samples.position) if samples.time is None else samples.time
            self._timeline.add(TimedRows(event, thread, stack, as_int32(samples.cpus), value, time, **extra))
        else:
            self._sums.add(SampleRows(event, thread, stack, value, np.ones(len(samples), np.int64), **extra))
        return thread, stack

    def _stacks(self, samples: Samples, chain: ListArray, record: I64, roots: I64, sequence: I64, epoch: I64) -> I32:
        """Return (n,) the stack of each sample."""
        joined = record >= 0
        history = self._history
        inputs = StackInputs(
            chain=chain,
            mode=samples.cpumode,
            user_epoch=epoch,
            kernel_epoch=history.spaces.kernel_epoch(sequence),
            deferred_chain=_take_valid(history.sideband.deferred.chain.number, record, joined),
            deferred_epoch=_take_valid(history.deferred_epoch, record, joined),
            root=roots,
        )

        def build(rows: I64) -> I32:
            return self._interner.intern_stacks(self._builder.rows(take_rows_of(inputs, rows)))

        return self._cache.stacks(inputs, build)


_COLUMNS: Mapping[str, Callable[[Samples], I64]] = {
    "cpu": lambda samples: as_int64(samples.cpus),
    "cgroup": lambda samples: _bits(samples.cgroup, len(samples), -1),
    "data_src": lambda samples: _bits(samples.data_src, len(samples), 0),
    "position": lambda samples: samples.position,
}


def _bits(words: U64 | None, count: int, missing: int) -> I64:
    return np.full(count, missing, np.int64) if words is None else words.view(np.int64)


def _take_valid(values: I32 | I64, index: I64, valid: Bools) -> I64:
    """Return values[index] where valid, −1 elsewhere; ``values`` may be empty if nothing is valid."""
    result = minus_ones(len(index))
    result[valid] = values[index[valid]]
    return result
