"""Completes user parts of callchains: ``--call-graph dwarf``, ``--call-graph lbr``, leaf functions of AArch64.

Most recordings need no unwinding, so the unwinder and the readers of object files are imported on demand.
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

# for JIT-compiled code without call frame information
JIT_UNWIND_ADVICE = "JIT compilers write unwind info: python -X perf_jit, node --perf-prof --perf-prof-unwinding-info"
# largest SIZE of ``--call-graph dwarf,SIZE`` (get_stack_size in tools/perf/util/callchain.c)
_MAX_COPY = 65528
# stacks with other ends have no root frame
_ROOTS = {
    End.TRUNCATED: RootFrame.STACK_TRUNCATED,
    End.NO_UNWIND_INFO: RootFrame.NO_UNWIND_INFO,
    End.BROKEN: RootFrame.STACK_CORRUPT,
    End.NOT_MAPPED: RootFrame.CALLER_UNKNOWN,
    End.OTHER_STACK: RootFrame.OTHER_STACK,
    End.REGISTERS_MISSING: RootFrame.REGISTERS_MISSING,
    End.TOO_DEEP: RootFrame.TOO_DEEP,
}


class UnwindReport(Frozen):
    """Results of unwinding user stack dumps."""

    ends: dict[End, int]
    """Samples by ``End``."""
    frames: int = 0
    guessed: int = 0
    """Frames whose caller was guessed, because no unwind information covers them."""
    requested: int = 0
    """Bytes of user stack that the kernel was asked to copy for each sample; 0 without such samples."""
    cut_in_jit: int = 0
    """Samples whose chains end with NO_UNWIND_INFO at JIT-compiled code."""
    dumps_missing: bool = False
    """Whether a runtime announced a jitdump that was not found."""

    @property
    def samples(self) -> int:
        """Number of samples with a user stack to unwind."""
        return sum(count for end, count in self.ends.items() if end is not End.NO_REGISTERS)

    @property
    def better_size(self) -> int:
        """Bytes to recommend if dumps were too short: four times as many, from 32 KiB to perf's limit."""
        return min(max(4 * self.requested, 32768), _MAX_COPY)


class UnwindCounts(Struct):
    """Counts of one process that reads a recording; see also `UnwindReport`."""

    ends: I64 = field(default_factory=lambda: zeros(len(End)))
    """(len(End),) samples by ``End``."""
    frames: int = 0
    guessed: int = 0
    guessed_in_jit: int = 0
    cut_in_jit: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: UnwindCounts) -> None:
        """Add the counts and problems of other samples."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class CallGraphs:
    """Completes the user parts in batches of one recording."""

    def __init__(
        self, session: Session, history: ProcessHistory, finder: Callable[[], Finder], options: CallGraphOptions
    ) -> None:
        self._history, self._options = history, options
        self._dump_events = _event_indices(session, _copies_stack)
        self._call_stack_events = _event_indices(session, _has_call_stack)
        self._link_register_events = (
            _event_indices(session, _samples_link_register) if session.arch == "aarch64" else self._dump_events[:0]
        )
        self._lbr_register_count = _lbr_register_count(session)
        self._call_offset = np.uint64(session.has_call_addresses)
        """Subtracted from unwound return addresses: 1 if recorded chains have addresses within calls, else 0."""
        self._session_arch = session.arch or "x86_64"
        self._lbr_state = empty_lbr_state()
        self._counts = UnwindCounts()
        self._dump_size = max((session.events[row].sample_stack_user for row in self._dump_events.tolist()), default=0)

        def unwinder_for(events: I64, max_depth: int) -> Unwinder | None:
            if not len(events):
                return None
            from perf2x.stitcher.make_unwinder import make_unwinder

            return make_unwinder(session, history, finder(), self._session_arch, max_depth)

        self._unwinder = unwinder_for(self._dump_events, options.max_depth)
        self._leaf_unwinder = unwinder_for(self._link_register_events, LEAF_FRAMES)
        self._mapping_cache = DirectMappedCache(columns=2)
        """Mappings as of the ends of process images, by image and address; many samples have the same callers."""

    @property
    def want(self) -> Want:
        """Columns of samples that ``complete`` needs."""
        stacks = Want.STACKS if len(self._dump_events) or len(self._link_register_events) else Want(0)
        return stacks | (Want.BRANCHES if len(self._call_stack_events) else Want(0))

    def complete(self, samples: Samples) -> tuple[Samples, U8 | None]:
        """Return samples with complete chains, and (n,) the RootFrame of each, or None without stack dumps."""
        root: U8 | None = None
        if len(self._call_stack_events) and samples.branches is not None:
            samples = replace(samples, chain=self._with_calls(samples, samples.branches))
        if self._leaf_unwinder is not None and samples.user_stacks is not None:
            from perf2x.stitcher.unwind.join_chains import with_leaf_callers

            is_selected, finder = np.isin(samples.event, self._link_register_events), self._mapping_finder(samples)
            chain = with_leaf_callers(samples.chain, samples.user_stacks, is_selected, self._leaf_unwinder, finder)
            samples = replace(samples, chain=chain)
        if self._unwinder is not None and samples.user_stacks is not None:
            is_selected = np.isin(samples.event, self._dump_events)
            chain, root = self._unwind_dumps(self._unwinder, samples, samples.user_stacks, is_selected)
            samples = replace(samples, chain=chain, user_stacks=None)
        return samples, root

    @property
    def needs_batch_order(self) -> bool:
        """Whether each batch depends on those before it."""
        return self._options.stitch_lbr and len(self._call_stack_events) > 0

    def counts(self) -> UnwindCounts:
        """Return the counts of all batches so far."""
        problems = self._unwinder.problems() if self._unwinder is not None else []
        return replace(self._counts, problems=self._counts.problems + problems)

    def absorb(self, counts: UnwindCounts) -> None:
        """Add the counts of other batches."""
        self._counts.add(counts)

    def report(self, diagnostics: Diagnostics) -> UnwindReport:
        """Return the results of all batches so far."""
        counts, dumps_missing = self._counts, diagnostics["jitdump_missing"] > 0
        ends = {end: int(counts.ends[end]) for end in End if counts.ends[end]}
        return UnwindReport(
            ends, counts.frames, counts.guessed, self._dump_size if ends else 0, counts.cut_in_jit, dumps_missing
        )

    def note(self, diagnostics: Diagnostics) -> None:
        """Report guessed frames, unsupported processors and damaged objects to ``diagnostics``."""
        counts = self.counts()
        advice = "code without unwind information was unwound by frame pointer; install its debug symbols."
        diagnostics.add("guessed_frames", advice, counts.guessed - counts.guessed_in_jit)
        advice = f"just-in-time compiled code was unwound by frame pointer; {JIT_UNWIND_ADVICE}."
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

    def _unwind_dumps(
        self, unwinder: Unwinder, samples: Samples, stacks: UserStacks, is_selected: Bools
    ) -> tuple[ListArray, U8]:
        from perf2x.stitcher.unwind.join_chains import with_user_part

        stacks = replace(stacks, abi=np.where(is_selected, stacks.abi, 0).astype(np.uint8))
        chains = unwinder.unwind(stacks, self._mapping_finder(samples))
        in_jit = sum_of(chains.guessed_in_jit), sum_of(chains.cut_in_jit[is_selected])
        ends, frames = bincount(chains.end[is_selected], len(End)), len(chains.chain.values)
        self._counts.add(UnwindCounts(ends, frames, sum_of(chains.guessed), *in_jit))
        root_of_end = np.zeros(len(End), np.uint8)
        root_of_end[list(_ROOTS)] = list(_ROOTS.values())
        addresses = chains.chain.values - ~chains.is_exact * self._call_offset
        chains = replace(chains, chain=replace(chains.chain, values=addresses)) if self._call_offset else chains
        return with_user_part(samples.chain, chains, is_selected), root_of_end[chains.end]

    def _mapping_finder(self, samples: Samples) -> MappingFinder:
        spaces = self._history.spaces
        epoch = spaces.epoch(as_int64(samples.pid), self._history.sequence_of(samples))
        image = spaces.last_epoch(epoch)  # identifies the process image: all its epochs have the same last one

        def find(epochs: I64, address: U64) -> I64:
            through_exec = falses(len(epochs))  # after an exec, the stack dump is the new program's
            return spaces.find(epochs, address, through_exec)

        def find_at_end(rows: I64, address: U64) -> I32:
            images = take(image, rows)
            return as_int32(
                self._mapping_cache.answers(
                    lambda missing: find(images[missing], address[missing]), images, address.view(np.int64)
                )
            )

        def find_at_sample(rows: I64, address: U64) -> I32:
            return as_int32(find(epoch[rows], address))

        return MappingFinder(image, spaces.sequence(epoch), spaces.made_at, find_at_end, find_at_sample)

    def _with_calls(self, samples: Samples, branches: Branches) -> ListArray:
        older_calls = None
        if self._options.stitch_lbr and branches.hw_index is not None and self._lbr_register_count:
            time = samples.position if samples.time is None else samples.time.view(np.int64)
            rank = np.empty(len(time), np.int64)
            rank[lexsort([samples.position, time])] = arange(len(time))
            older_calls, self._lbr_state = stitch_older_calls(
                branches, as_int64(samples.tid), rank, self._lbr_register_count, self._lbr_state
            )
        chain = call_stack_chains(samples.chain, samples.ip, branches, older_calls)
        has_calls = np.isin(samples.event, self._call_stack_events)
        if has_calls.all():
            return chain
        rows = arange(len(chain))
        return ListArray.joined([chain, samples.chain])[np.where(has_calls, rows, rows + len(rows))]


def completes_stacks(session: Session) -> bool:
    """Return whether any event records stack dumps, calls in branch records, or the link register."""
    return any(
        _copies_stack(event) or _has_call_stack(event) or _samples_link_register(event) for event in session.events
    )


def _event_indices(session: Session, test: Callable[[Event], bool]) -> I64:
    return as_int64([event.index for event in session.events if test(event)])


def _copies_stack(event: Event) -> bool:
    needed = SampleType.REGS_USER | SampleType.STACK_USER
    return event.sample_type & needed == needed


def _samples_link_register(event: Event) -> bool:
    """AArch64's link register is bit 30."""
    mask = SampleType.REGS_USER | SampleType.STACK_USER | SampleType.CALLCHAIN
    needed = SampleType.REGS_USER | SampleType.CALLCHAIN
    return event.sample_type & mask == needed and bool(event.sample_regs_user >> 30 & 1)


def _has_call_stack(event: Event) -> bool:
    has_branches = bool(event.sample_type & SampleType.BRANCH_STACK)
    return has_branches and bool(event.branch_sample_type & BranchSampleType.CALL_STACK)


def _lbr_register_count(session: Session) -> int:
    """Branches in the processor's registers (HEADER_CPU_PMU_CAPS, PMU_CAPS), 0 if unknown."""
    pmu_caps = session.features.get("pmu_caps")  # of each PMU, on hybrid processors
    caps_of_pmus = [session.features.get("cpu_pmu_caps"), *(pmu_caps.values() if isinstance(pmu_caps, dict) else ())]
    counts = [str(caps.get("branches", "")) for caps in caps_of_pmus if isinstance(caps, dict)]
    return max((int(count) for count in counts if count.isdigit()), default=0)
