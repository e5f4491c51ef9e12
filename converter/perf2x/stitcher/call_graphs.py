"""Completes samples whose user part is not a recorded callchain: ``--call-graph dwarf`` and ``--call-graph lbr``.

Connects unwinder and stitcher: the process history finds the mappings of the unwinder's addresses, and unwound chains
are put into the samples for the stitcher. Most recordings need no unwinding, so the unwinder and the readers of object
files are imported on demand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.abi import BranchSampleType, SampleType
from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    DirectMappedCache,
    Frozen,
    ListArray,
    arange,
    as_int32,
    as_int64,
    bincount,
    falses,
    lexsort,
    sum_of,
    take,
    zeros,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.profile import RootFrame
from perf2x.model.recording import Branches, Event, Samples, Session, UserStacks, Want
from perf2x.stitcher.call_graph_options import CallGraphOptions
from perf2x.stitcher.history.process_history import ProcessHistory
from perf2x.stitcher.stacks.lbr import call_stack_chains, empty_lbr_state, stitch_older_calls
from perf2x.stitcher.unwind.unwound_chains import LEAF_FRAMES, End, MappingFinder

if TYPE_CHECKING:
    from perf2x.base.binaries.find.object_finder import Finder
    from perf2x.stitcher.unwind.unwinder import Unwinder

DESCRIBED_CODE = "compilers write it with python -X perf_jit, node --perf-prof --perf-prof-unwinding-info"
"""Advice on JIT-compiled code without call frame information."""
_MAX_COPY = 65528
"""Largest SIZE of ``--call-graph dwarf,SIZE`` (get_stack_size in tools/perf/util/callchain.c)."""
_ROOTS = {
    End.TRUNCATED: RootFrame.STACK_TRUNCATED,
    End.NO_UNWIND_INFO: RootFrame.NO_UNWIND_INFO,
    End.BROKEN: RootFrame.STACK_CORRUPT,
    End.NOT_MAPPED: RootFrame.CALLER_UNKNOWN,
    End.OTHER_STACK: RootFrame.OTHER_STACK,
    End.REGISTERS_MISSING: RootFrame.REGISTERS_MISSING,
    End.TOO_DEEP: RootFrame.TOO_DEEP,
}
"""Root frame of the stacks with each end."""


class UnwindReport(Frozen):
    """Results of unwinding user stack dumps; ``ends`` counts samples by ``End``."""

    ends: dict[End, int]
    frames: int = 0
    guessed: int = 0
    """Frames whose caller was found by frame pointer, because there was no unwind information."""
    requested: int = 0
    """Bytes of user stack that perf record was told to copy for each sample; 0 if nothing was unwound."""
    cut_in_jit: int = 0
    """Samples that end with NO_UNWIND_INFO and have JIT-compiled code in their last frame."""
    dumps_missing: bool = False
    """Whether a runtime announced a jitdump that was not found."""

    @property
    def samples(self) -> int:
        """The number of samples with a user stack to unwind."""
        return sum(count for end, count in self.ends.items() if end is not End.NO_REGISTERS)

    @property
    def better_size(self) -> int:
        """A larger dump size, to recommend if dumps were too short."""
        return min(max(4 * self.requested, 32768), _MAX_COPY)


class UnwindCounts(Struct):
    """Counts of one process, to be passed to ``absorb`` in another."""

    ends: I64 = field(default_factory=lambda: zeros(len(End)))
    """(len(End),) samples by their end"""
    frames: int = 0
    guessed: int = 0
    guessed_in_jit: int = 0
    cut_in_jit: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: UnwindCounts) -> None:
        """Add the counts of other samples."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class CallGraphs:
    """Completes the batches of one recording; keeps objects and rules between batches."""

    def __init__(
        self, session: Session, history: ProcessHistory, finder: Callable[[], Finder], options: CallGraphOptions
    ) -> None:
        self._history, self._options = history, options
        self._copied = _event_indices(session, _copies_stack)
        self._called = _event_indices(session, _keeps_calls)
        self._linked = _event_indices(session, _keeps_link) if session.arch == "aarch64" else self._copied[:0]
        self._depth = _branch_record_count(session)
        self._call_addresses = np.uint64(session.has_call_addresses)
        """1 if recorded chains have addresses within call instructions instead of return addresses, else 0.

        Subtracted from unwound return addresses, so that they match the recorded ones.
        """
        self._session_arch = session.arch or "x86_64"
        self._state = empty_lbr_state()
        self._counts = UnwindCounts()
        self._size = max((session.events[row].sample_stack_user for row in self._copied.tolist()), default=0)

        def unwinder(events: I64, max_depth: int) -> Unwinder | None:
            if not len(events):
                return None
            from perf2x.stitcher.make_unwinder import make_unwinder

            return make_unwinder(session, history, finder(), self._session_arch, max_depth)

        self._unwinder = unwinder(self._copied, options.max_depth)
        self._leaf_unwinder = unwinder(self._linked, LEAF_FRAMES)
        self._mappings = DirectMappedCache(columns=2)
        """Mappings by process image and address: callers repeat between depths and samples."""

    @property
    def want(self) -> Want:
        """The columns of samples that ``complete`` needs."""
        stacks = Want.STACKS if len(self._copied) or len(self._linked) else Want(0)
        return stacks | (Want.BRANCHES if len(self._called) else Want(0))

    def complete(self, samples: Samples) -> tuple[Samples, U8 | None]:
        """Return samples with complete chains, and (n,) the RootFrame of each; None if nothing was unwound."""
        root: U8 | None = None
        if len(self._called) and samples.branches is not None:
            samples = replace(samples, chain=self._with_calls(samples, samples.branches))
        if self._leaf_unwinder is not None and samples.user_stacks is not None:
            from perf2x.stitcher.unwind.join_chains import with_leaf_callers

            use, finder = np.isin(samples.event, self._linked), self._mapping_finder(samples)
            chain = with_leaf_callers(samples.chain, samples.user_stacks, use, self._leaf_unwinder, finder)
            samples = replace(samples, chain=chain)
        if self._unwinder is not None and samples.user_stacks is not None:
            use = np.isin(samples.event, self._copied)
            chain, root = self._unwound(self._unwinder, samples, samples.user_stacks, use)
            samples = replace(samples, chain=chain, user_stacks=None)
        return samples, root

    @property
    def in_order(self) -> bool:
        """Whether batches must be processed in order, because each depends on those before it."""
        return self._options.stitch_lbr and len(self._called) > 0

    def counted(self) -> UnwindCounts:
        """The counts of all batches so far."""
        problems = self._unwinder.problems() if self._unwinder is not None else []
        return replace(self._counts, problems=self._counts.problems + problems)

    def absorb(self, unwound: UnwindCounts) -> None:
        """Add the counts of other batches."""
        self._counts.add(unwound)

    def report(self, diagnostics: Diagnostics) -> UnwindReport:
        """Return the results of all batches so far; ``diagnostics`` shows whether jitdumps are missing."""
        counts, missing = self._counts, diagnostics["jitdump_missing"] > 0
        ends = {end: int(counts.ends[end]) for end in End if counts.ends[end]}
        return UnwindReport(ends, counts.frames, counts.guessed, self._size if ends else 0, counts.cut_in_jit, missing)

    def note(self, diagnostics: Diagnostics) -> None:
        """Report guessed frames, unsupported processors and damaged objects."""
        counts = self.counted()
        advice = "code without unwind information was unwound by frame pointer; install its debug symbols."
        diagnostics.add("guessed_frames", advice, counts.guessed - counts.guessed_in_jit)
        advice = f"just-in-time compiled code was unwound by frame pointer; {DESCRIBED_CODE}."
        diagnostics.add("guessed_jit_frames", advice, counts.guessed_in_jit)
        if self._unwinder is not None and not self._unwinder.knows_arch:
            advice = f"stacks of {self._session_arch} processors cannot be unwound; record with frame pointers."
            diagnostics.add("stacks_not_unwound", advice, int(counts.ends[End.NO_REGISTERS]))
        for problem in sorted(set(counts.problems)):
            diagnostics.add(
                "damaged_unwind_info",
                "callers of functions in damaged objects were guessed.",
                1,
                problem,
            )

    def _unwound(self, unwinder: Unwinder, samples: Samples, stacks: UserStacks, use: Bools) -> tuple[ListArray, U8]:
        from perf2x.stitcher.unwind.join_chains import with_user_part

        stacks = replace(stacks, abi=np.where(use, stacks.abi, 0).astype(np.uint8))
        chains = unwinder.unwind(stacks, self._mapping_finder(samples))
        jit = sum_of(chains.guessed_in_jit), sum_of(chains.cut_in_jit[use])
        ends, frames = bincount(chains.end[use], len(End)), len(chains.chain.values)
        self._counts.add(UnwindCounts(ends, frames, sum_of(chains.guessed), *jit))
        roots = np.zeros(len(End), np.uint8)
        roots[list(_ROOTS)] = list(_ROOTS.values())
        moved = chains.chain.values - ~chains.is_exact * self._call_addresses
        chains = replace(chains, chain=replace(chains.chain, values=moved)) if self._call_addresses else chains
        return with_user_part(samples.chain, chains, use), roots[chains.end]

    def _mapping_finder(self, samples: Samples) -> MappingFinder:
        spaces = self._history.spaces
        epoch = spaces.epoch(as_int64(samples.pid), self._history.sequence_of(samples))
        image = spaces.last_epoch(epoch)

        def at(epochs: I64, address: U64) -> I64:
            here_only = falses(len(epochs))  # after an exec the user stack dump belongs to the new program
            return spaces.find(epochs, address, here_only)

        def find_at_end(rows: I64, address: U64) -> I32:
            images = take(image, rows)
            return as_int32(
                self._mappings.answers(lambda which: at(images[which], address[which]), images, address.view(np.int64))
            )

        def find_at_sample(rows: I64, address: U64) -> I32:
            return as_int32(at(epoch[rows], address))

        return MappingFinder(image, spaces.sequence(epoch), spaces.made_at, find_at_end, find_at_sample)

    def _with_calls(self, samples: Samples, branches: Branches) -> ListArray:
        older = None
        if self._options.stitch_lbr and branches.hw_index is not None and self._depth:
            time = samples.position if samples.time is None else samples.time.view(np.int64)
            order = np.empty(len(time), np.int64)
            order[lexsort([samples.position, time])] = arange(len(time))
            older, self._state = stitch_older_calls(branches, as_int64(samples.tid), order, self._depth, self._state)
        chain = call_stack_chains(samples.chain, samples.ip, branches, older)
        called = np.isin(samples.event, self._called)
        if called.all():
            return chain
        rows = arange(len(chain))
        return ListArray.joined([chain, samples.chain])[np.where(called, rows, rows + len(rows))]


def completes_stacks(session: Session) -> bool:
    """Return whether any event records stack dumps, calls in branch records, or the link register."""
    return any(_copies_stack(event) or _keeps_calls(event) or _keeps_link(event) for event in session.events)


def _event_indices(session: Session, test: Callable[[Event], bool]) -> I64:
    return as_int64([event.index for event in session.events if test(event)])


def _copies_stack(event: Event) -> bool:
    needed = SampleType.REGS_USER | SampleType.STACK_USER
    return event.sample_type & needed == needed


def _keeps_link(event: Event) -> bool:
    """Return whether AArch64's link register is sampled in addition to chains by frame pointer."""
    kept = SampleType.REGS_USER | SampleType.STACK_USER | SampleType.CALLCHAIN
    needed = SampleType.REGS_USER | SampleType.CALLCHAIN
    return event.sample_type & kept == needed and bool(event.sample_regs_user >> 30 & 1)


def _keeps_calls(event: Event) -> bool:
    has_branches = bool(event.sample_type & SampleType.BRANCH_STACK)
    return has_branches and bool(event.branch_sample_type & BranchSampleType.CALL_STACK)


def _branch_record_count(session: Session) -> int:
    """Return the number of the processor's branch records (HEADER_CPU_PMU_CAPS, PMU_CAPS), 0 if unknown."""
    several = session.features.get("pmu_caps")
    units = [session.features.get("cpu_pmu_caps"), *(several.values() if isinstance(several, dict) else ())]
    texts = [str(caps.get("branches", "")) for caps in units if isinstance(caps, dict)]
    return max((int(text) for text in texts if text.isdigit()), default=0)
