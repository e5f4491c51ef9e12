"""Batches of samples in, a profile of full stacks out.

Holds the picture of all processes (built once from the side-band tables) and the table of distinct rows, to which every
batch adds its sums. When that is large, and at the end, its rows are resolved and gathered.
"""

from dataclasses import field
from enum import IntEnum

import numpy as np

from perf2x.abi.uapi import SampleType
from perf2x.classes import dataclass
from perf2x.model.arrays import I32, I64, U8, U64, Bools
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.events import Samples, Session, Sideband
from perf2x.model.intern import Strings
from perf2x.stitch.callchain import split_cookies
from perf2x.stitch.comms import ThreadNames
from perf2x.stitch.deferred import DeferredJoin, Join
from perf2x.stitch.frames import Resolver
from perf2x.stitch.gathered import Found, Gathered
from perf2x.stitch.mappings import merged_mappings
from perf2x.stitch.missing import Missing, gather
from perf2x.stitch.moments import order_of
from perf2x.stitch.rows import Keys, RowTable
from perf2x.stitch.spaces import KERNEL, AddressSpaces, with_kernel_grown, with_ksymbols

_ROWS_PENDING = 1 << 16
_ROWS_HELD = 1 << 17
_WORDS_HELD = 1 << 21
"""Rows and words of chains that are kept as recorded; larger tables repeat little that smaller ones do not."""
MAX_PERIOD = 1 << 48
"""Larger periods are damage (78 hours in nanoseconds); they are cut so that sums stay within int64."""


class Root(IntEnum):
    """A frame that stands for what is missing below a stack; its text is ROOT_NAMES[root]."""

    NONE = 0
    USER_MISSING = 1
    STACK_TRUNCATED = 2
    NO_UNWIND_INFO = 3
    STACK_CORRUPT = 4
    OTHER_STACK = 5
    REGISTERS_MISSING = 6
    TOO_DEEP = 7
    CALLER_UNKNOWN = 8
    USER_DEFERRED = 9


ROOT_NAMES = {
    Root.USER_MISSING: "[user stack missing]",
    Root.STACK_TRUNCATED: "[truncated stack]",
    Root.NO_UNWIND_INFO: "[no unwind info]",
    Root.STACK_CORRUPT: "[corrupt stack]",
    Root.OTHER_STACK: "[stack not copied]",
    Root.REGISTERS_MISSING: "[registers not recorded]",
    Root.TOO_DEEP: "[stack too deep]",
    Root.CALLER_UNKNOWN: "[unknown caller]",
    Root.USER_DEFERRED: "[user stack deferred]",
}


@dataclass(frozen=True, slots=True)
class StitchOptions:
    """How to put samples together."""

    timeline: bool = False
    """Keep one row per sample, in time order."""
    by_cpu: bool = False
    by_cgroup: bool = False
    per_process: bool = False
    """Leave code at the addresses where each process had it; else the same file is in one place, see mappings.py."""
    deferred_missing: str = "mark"
    """``mark``: a root frame says so; ``kernel-only``: nothing does; ``drop``: leave such samples out."""
    merge_callchains: bool = True
    """False: join nothing; a root frame marks the samples whose user part is in a record of its own."""


@dataclass(slots=True)
class Tally:
    """What ``add`` has seen so far."""

    samples: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    fates: I64 = field(default_factory=lambda: np.zeros(len(Join), np.int64))
    dropped: int = 0

    def see(self, first_ns: int, last_ns: int) -> None:
        """Widen the span of time."""
        self.first_ns = first_ns if self.first_ns is None else min(self.first_ns, first_ns)
        self.last_ns = last_ns if self.last_ns is None else max(self.last_ns, last_ns)

    def absorb(self, other: "Tally") -> None:
        """Add another one's figures."""
        self.samples += other.samples
        self.fates += other.fates
        self.dropped += other.dropped
        if other.first_ns is not None and other.last_ns is not None:
            self.see(other.first_ns, other.last_ns)


@dataclass(slots=True)
class Timed:
    """One row per sample of a batch, for timelines."""

    time: U64
    row: I64
    """In the table of rows, and once that was gathered in ``Gathered.samples()``."""
    value: I64
    cpu: I64


@dataclass(frozen=True, slots=True)
class Added:
    """What the batches of one process came to."""

    found: Found
    tally: Tally
    timeline: list[Timed]
    missing: list[Missing]
    used: Bools
    """Of DeferredJoin: the records that a sample was joined to."""


class Stitcher:
    """Feed every batch to ``add``, in any order of time; then hand the stitcher to ``assemble.finish`` once."""

    def __init__(self, session: Session, sideband: Sideband, options: StitchOptions, diagnostics: Diagnostics) -> None:
        self.session = session
        self.sideband = sideband
        self.options = options
        self.diagnostics = diagnostics
        self.names_strings = Strings()
        self.mmaps = with_ksymbols(with_kernel_grown(sideband.mmaps), sideband.ksymbols)
        self.timed = any(event.sample_type & SampleType.TIME for event in session.events)
        self._build_pictures()
        self._rows = self._empty()
        self._timeline_folded = self._timeline_gathered = 0
        """How many batches of the timeline have rows that were folded, that were gathered."""
        self.tally = Tally()
        self.timeline: list[Timed] = []
        self.missing: list[Missing] = []
        self._build_deferred()
        self.mappings = merged_mappings(self.mmaps, session.build_ids, options.per_process)
        self.gathered = self._nothing_gathered()
        if options.timeline and not self.timed:
            advice = "times shown are places in the file; record without --per-thread or with -T"
            diagnostics.add("no_timestamps", Severity.GUESS, advice)

    def add(self, samples: Samples, root: U8 | None = None) -> None:
        """Take in a batch; ``root`` (n,) names a Root for samples whose user part was cut short by the unwinder."""
        if not len(samples):
            return
        words, starts = samples.chain.values, samples.chain.offsets[:-1]
        lengths, cookies, has_cookie = split_cookies(words, starts, samples.chain.lengths)
        moment = self.moments.of(samples.time, samples.position)
        record, fate = self._join(samples, cookies, has_cookie)
        roots = self._roots(fate, has_cookie, root)
        keys = self._keys(samples, moment, record, lengths, roots)
        value = np.minimum(samples.period, np.uint64(MAX_PERIOD)).astype(np.int64)
        self._count(samples, fate)
        keep = self._kept(fate)
        if keep is None:
            rows = self._rows.add(keys, words, starts, lengths, value, moment)
        else:
            rows = self._rows.add(keys.take(keep), words, starts[keep], lengths[keep], value[keep], moment[keep])
        if self.options.timeline:
            self._remember(samples, rows, value, keep)
        if self._rows.pending > _ROWS_PENDING:
            self._fold()

    def gather(self) -> Gathered:
        """Resolve all rows that are still as recorded; what came of everything so far."""
        if self._rows.pending:
            self._fold()
        if len(self._rows):
            numbers = self.gathered.take_in(self._rows)
            for part in self.timeline[self._timeline_gathered :]:
                part.row = numbers[part.row]
            self._rows, self._timeline_gathered = self._empty(), len(self.timeline)
        return self.gathered

    def hand_over(self) -> tuple[Gathered, list[Timed]]:
        """What came of everything, which is forgotten here: the tables are the largest part of the memory in use."""
        gathered, timeline = self.gather(), self.timeline
        self.gathered, self.timeline = self._nothing_gathered(), []
        self._timeline_folded = self._timeline_gathered = 0
        return gathered, timeline

    def _nothing_gathered(self) -> Gathered:
        resolver = Resolver(self.spaces, self.mappings, self.options.per_process)
        return Gathered(resolver, self.names, self.sideband.deferred.chain.table, self._rows.with_places)

    def _fold(self) -> None:
        settled = len(self._rows) - self._rows.pending
        numbers = self._rows.fold()
        for part in self.timeline[self._timeline_folded :]:
            part.row = numbers[part.row - settled]
        self._timeline_folded = len(self.timeline)
        if len(self._rows) > _ROWS_HELD or self._rows.words > _WORDS_HELD:
            self.gather()

    def added(self) -> Added:
        """What all batches so far came to, for a stitcher of the same recording in another process."""
        return Added(self.gather().found(), self.tally, self.timeline, self.missing, self.join.used)

    def absorb(self, added: Added) -> None:
        """Take in what another stitcher came to with other batches of the recording."""
        first = self.gather().absorb(added.found)
        for part in added.timeline:
            part.row = part.row + first
        self.timeline += added.timeline
        self._timeline_folded = self._timeline_gathered = len(self.timeline)
        self.missing += added.missing
        self.join.used |= added.used
        self.tally.absorb(added.tally)

    def _empty(self) -> RowTable:
        return RowTable(with_places=self.options.by_cpu or self.options.by_cgroup)

    def _build_pictures(self) -> None:
        side, mmaps = self.sideband, self.mmaps
        tables = (mmaps, side.comms, side.forks, side.ksymbols)
        self.moments, in_force = order_of(
            np.concatenate([table.time for table in tables]), np.concatenate([table.position for table in tables])
        )
        cuts = np.cumsum([len(table) for table in tables])[:-1]
        mmap_moment, comm_moment, fork_moment, ksymbol_moment = np.split(in_force, cuts)
        self.spaces = AddressSpaces(
            mmaps, mmap_moment, side.forks, fork_moment, side.comms, comm_moment, side.ksymbols, ksymbol_moment
        )
        self.names = ThreadNames(side.comms, comm_moment, side.forks, fork_moment, self.names_strings)

    def _build_deferred(self) -> None:
        """Fix the picture of the process as of each deferred record's time."""
        deferred = self.sideband.deferred
        self.join = DeferredJoin(deferred, self.sideband.comms, self.timed)
        moment = self.moments.of(deferred.time, deferred.position)
        self._record_epoch = self.spaces.epoch(deferred.pid.astype(np.int64), moment).astype(np.int32)

    def _join(self, samples: Samples, cookies: U64, has_cookie: Bools) -> tuple[I64, I64]:
        record = np.full(len(samples), -1, np.int64)
        fate = np.zeros(len(samples), np.int64)
        rows = np.flatnonzero(has_cookie)
        if len(rows) and self.options.merge_callchains:
            when = self.join.when_of(samples.time, samples.position)[rows]
            record[rows], fate[rows] = self.join.join(cookies[rows], samples.pid[rows], samples.tid[rows], when)
            self._note_missing(samples, cookies, np.flatnonzero(fate == Join.MISSING))
        return record, fate

    def _note_missing(self, samples: Samples, cookies: U64, rows: I64) -> None:
        """Remember what is needed to tell why: one row per stay in the kernel, not per sample."""
        if not len(rows):
            return
        cpu = np.full(len(rows), -1, np.int32) if samples.cpu is None else samples.cpu[rows]
        when = self.join.when_of(samples.time, samples.position)[rows]
        self.missing.append(
            gather(cookies[rows], samples.pid[rows], samples.tid[rows], cpu, when, np.ones(len(rows), np.int64))
        )

    def _roots(self, fate: I64, has_cookie: Bools, root: U8 | None) -> I64:
        roots = np.zeros(len(fate), np.int64) if root is None else root.astype(np.int64)
        if not self.options.merge_callchains:
            roots[has_cookie] = Root.USER_DEFERRED
        if self.options.deferred_missing == "mark":
            roots[fate >= Join.MISSING] = Root.USER_MISSING
        return roots

    def _keys(self, samples: Samples, moment: I64, record: I64, lengths: I64, roots: I64) -> Keys:
        pid, tid = samples.pid.astype(np.int64), samples.tid.astype(np.int64)
        joined = record >= 0
        none = np.full(len(pid), -1, np.int64)
        alone = (lengths == 0) & ~joined
        options = self.options
        return Keys(
            event=samples.event.astype(np.int64),
            pid=pid,
            tid=tid,
            comm=self.names.at(tid, moment),
            mode=samples.cpumode.astype(np.int64),
            user_epoch=self.spaces.epoch(pid, moment),
            kernel_epoch=self.spaces.epoch(np.full(len(pid), KERNEL, np.int64), moment),
            deferred_chain=_pick(self.sideband.deferred.chain.number, record, joined),
            deferred_epoch=_pick(self._record_epoch, record, joined),
            root=roots,
            leaf=np.where(alone, samples.ip.view(np.int64), 0),
            cpu=samples.cpu.astype(np.int64) if options.by_cpu and samples.cpu is not None else none,
            cgroup=samples.cgroup.view(np.int64) if options.by_cgroup and samples.cgroup is not None else none,
        )

    def _count(self, samples: Samples, fate: I64) -> None:
        tally = self.tally
        tally.samples += len(samples)
        tally.fates += np.bincount(fate, minlength=len(Join))
        huge = int(np.sum(samples.period > np.uint64(MAX_PERIOD)))
        self.diagnostics.add("implausible_period", Severity.GUESS, "the recording is damaged; the period was cut", huge)
        if samples.time is not None:
            tally.see(int(samples.time.min()), int(samples.time.max()))

    def _kept(self, fate: I64) -> I64 | None:
        """Rows that stay when samples without their user part are to be dropped; None for all."""
        if self.options.deferred_missing != "drop":
            return None
        keep = np.flatnonzero(fate < Join.MISSING)
        self.tally.dropped += len(fate) - len(keep)
        return keep

    def _remember(self, samples: Samples, rows: I64, value: I64, keep: I64 | None) -> None:
        time = samples.position.astype(np.uint64) if samples.time is None else samples.time.copy()
        cpu = np.full(len(samples), -1, np.int64) if samples.cpu is None else samples.cpu.astype(np.int64)
        if keep is not None:
            time, value, cpu = time[keep], value[keep], cpu[keep]
        self.timeline.append(Timed(time, rows, value, cpu))


def _pick(values: I32 | I64, index: I64, valid: Bools) -> I64:
    """values[index] where valid, −1 elsewhere; ``values`` may be empty when nothing is valid."""
    picked = np.full(len(index), -1, np.int64)
    picked[valid] = values[index[valid]]
    return picked
