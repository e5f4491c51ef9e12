"""Batches of samples in, a profile of full stacks out.

Holds the picture of all processes (built once from the side-band tables) and what was gathered: distinct threads and
stacks, and the sums of samples that are alike, to which every batch adds its own.
"""

from enum import IntEnum
from typing import TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.abi.uapi import SampleType
from perf2x.columnar.arrays import I32, I64, U8, U64, Bools
from perf2x.columnar.interner import StringInterner
from perf2x.columnar.ragged import Ragged, end_to_end, offsets_of
from perf2x.stitch.callchain import split_cookies, with_lone_addresses
from perf2x.stitch.deferred import DeferredJoin, Join
from perf2x.stitch.frame_keys import Places
from perf2x.stitch.history.address_spaces import LONGEST_LINE, AddressSpaces, with_kernel_grown, with_ksymbols
from perf2x.stitch.history.event_order import order_of
from perf2x.stitch.history.thread_names import ThreadNames
from perf2x.stitch.missing_user_stacks import Missing, gather
from perf2x.stitch.profile_mappings import merged_mappings
from perf2x.stitch.sample_sums import SampleRows, Sums
from perf2x.stitch.stack_interner import Found, Gathered
from perf2x.stitch.stack_rows import Cuts, Framer
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.events import Samples, Session, Sideband

Column = TypeVar("Column", U64, I32)


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


class StitchOptions(Struct, frozen=True):
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


class Tally(Struct):
    """What ``add`` has seen so far."""

    first_ns: int | None = None
    last_ns: int | None = None
    fates: I64 = field(default_factory=lambda: np.zeros(len(Join), np.int64))
    value: float = 0.0
    """Of all periods; what does not fit int64 has to be noticed."""

    def see(self, first_ns: int, last_ns: int) -> None:
        """Widen the span of time."""
        self.first_ns = first_ns if self.first_ns is None else min(self.first_ns, first_ns)
        self.last_ns = last_ns if self.last_ns is None else max(self.last_ns, last_ns)

    def absorb(self, other: "Tally") -> None:
        """Add another one's figures."""
        self.fates += other.fates
        self.value += other.value
        if other.first_ns is not None and other.last_ns is not None:
            self.see(other.first_ns, other.last_ns)


class Timed(Struct):
    """One row per sample of a batch, for timelines."""

    time: U64
    rows: SampleRows
    cpu: I32


class Added(Struct, frozen=True):
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
        self.names_strings = StringInterner()
        self.mmaps = with_ksymbols(with_kernel_grown(sideband.mmaps), sideband.ksymbols)
        self.timed = any(event.sample_type & SampleType.TIME for event in session.events)
        self._build_pictures()
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
        starts = samples.chain.offsets[:-1]
        lengths, cookies, has_cookie = split_cookies(samples.chain.values, starts, samples.chain.lengths)
        record, fate = self._join(samples, cookies, has_cookie)
        roots = self._roots(fate, has_cookie, root)
        chain = samples.chain
        if has_cookie.any():
            chain = Ragged(offsets_of(lengths), end_to_end(chain.values, starts, lengths))
        chain = with_lone_addresses(chain, samples.ip, (lengths == 0) & (record < 0))
        self._count(samples, fate)
        keep = self._kept(fate)
        if keep is not None:
            samples, chain, record, roots = _some(samples, keep), chain.take(keep), record[keep], roots[keep]
        self._gather(samples, chain, record, roots)

    def hand_over(self) -> tuple[Gathered, list[Timed]]:
        """What came of everything, which is forgotten here: the tables are the largest part of the memory in use."""
        gathered, timeline = self.gathered, self.timeline
        gathered.forget()
        self.gathered, self.timeline = self._nothing_gathered(), []
        return gathered, timeline

    def added(self) -> Added:
        """What all batches so far came to, for a stitcher of the same recording in another process."""
        return Added(self.gathered.found(), self.tally, self.timeline, self.missing, self.join.used)

    def absorb(self, added: Added) -> None:
        """Take in what another stitcher came to with other batches of the recording."""
        here = self.gathered.absorb(added.found)
        self.timeline += [replace(part, rows=here.renumber(part.rows)) for part in added.timeline]
        self.missing += added.missing
        self.join.used |= added.used
        self.tally.absorb(added.tally)

    def _nothing_gathered(self) -> Gathered:
        options = self.options
        places = Places(self.spaces, self.mappings, options.per_process)
        framer = Framer(places, self.sideband.deferred.chain)
        return Gathered(places, framer, self.names, Sums(with_places=options.by_cpu or options.by_cgroup))

    def _gather(self, samples: Samples, chain: Ragged, record: I64, roots: I64) -> None:
        """Number stacks and threads of some samples, and add up the rest."""
        moment = self.moments.of(samples.time, samples.position)
        pid, tid = samples.pid.astype(np.int64), samples.tid.astype(np.int64)
        thread = self.gathered.number_threads(pid, tid, self.names.at(tid, moment), moment)
        stack = self._stacks(samples, chain, record, roots, moment, pid)
        rows = self._rows(samples, thread, stack)
        if self.options.timeline:
            self._remember(samples, rows)
        else:
            self.gathered.sums.add(rows)

    def _stacks(self, samples: Samples, chain: Ragged, record: I64, roots: I64, moment: I64, pid: I64) -> I32:
        joined = record >= 0
        if not (len(chain.values) or joined.any() or roots.any()):
            return self.gathered.no_stacks(len(samples))
        cuts = Cuts(
            chain=chain,
            mode=samples.cpumode,
            user_epoch=self.spaces.epoch(pid, moment),
            kernel_epoch=self.spaces.kernel_epoch(moment),
            deferred_chain=_pick(self.sideband.deferred.chain.number, record, joined),
            deferred_epoch=_pick(self._record_epoch, record, joined),
            root=roots,
        )
        return self.gathered.number_stacks(cuts)

    def _rows(self, samples: Samples, thread: I32, stack: I32) -> SampleRows:
        options, count = self.options, len(samples)
        none = np.full(count, -1, np.int64)
        cpu = cgroup = None
        if options.by_cpu or options.by_cgroup:
            cpu = samples.cpu.astype(np.int64) if options.by_cpu and samples.cpu is not None else none
            cgroup = samples.cgroup.view(np.int64) if options.by_cgroup and samples.cgroup is not None else none
        value = samples.period.astype(np.int64)
        event, one = samples.event.astype(np.int32), np.ones(count, np.int64)
        return SampleRows(event, thread, stack, value, one, cpu, cgroup)

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
        self.diagnostics.add(
            "fork_lines_cut", Severity.LOSS,
            f"After {LONGEST_LINE:,} forks in a row without an exec, processes do not see what was mapped before.",
            count=self.spaces.lines_cut,
        )  # fmt: skip
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

    def _count(self, samples: Samples, fate: I64) -> None:
        tally = self.tally
        tally.fates += np.bincount(fate, minlength=len(Join))
        tally.value += float(samples.period.sum(dtype=np.float64))
        if samples.time is not None:
            tally.see(int(samples.time.min()), int(samples.time.max()))

    def _kept(self, fate: I64) -> I64 | None:
        """Rows that stay when samples without their user part are to be dropped; None for all."""
        if self.options.deferred_missing != "drop":
            return None
        return np.flatnonzero(fate < Join.MISSING)

    def _remember(self, samples: Samples, rows: SampleRows) -> None:
        time = samples.position.astype(np.uint64) if samples.time is None else samples.time.copy()
        cpu = np.full(len(samples), -1, np.int32) if samples.cpu is None else samples.cpu.astype(np.int32)
        self.timeline.append(Timed(time, rows, cpu))


def _pick(values: I32 | I64, index: I64, valid: Bools) -> I64:
    """values[index] where valid, −1 elsewhere; ``values`` may be empty when nothing is valid."""
    picked = np.full(len(index), -1, np.int64)
    picked[valid] = values[index[valid]]
    return picked


def _some(samples: Samples, rows: I64) -> Samples:
    """The named samples, with the columns that are used here; chains are taken apart from them."""

    def taken(column: Column | None) -> Column | None:
        return None if column is None else column[rows]

    return replace(
        samples,
        event=samples.event[rows], position=samples.position[rows], time=taken(samples.time), pid=samples.pid[rows],
        tid=samples.tid[rows], cpu=taken(samples.cpu), ip=samples.ip[rows], period=samples.period[rows],
        cpumode=samples.cpumode[rows], cgroup=taken(samples.cgroup),
    )  # fmt: skip
