"""Unwinds batches of samples: converts user registers and stack dumps to user chains.

Keeps state across batches: opened objects, decoded functions, rules by code key. The steps themselves have no state.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, RuleTable
from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    Frozen,
    ListArray,
    as_uint64,
    bincount,
    falses,
    flatnonzero,
    group_rows,
    offsets_of,
    take,
    zeros,
)
from perf2x.model.recording import UserStacks
from perf2x.stitcher.call_graph_options import MAX_DEPTH
from perf2x.stitcher.unwind.aarch64 import AARCH64
from perf2x.stitcher.unwind.any_rule_steps import step_by_frame_pointer, step_by_rules
from perf2x.stitcher.unwind.architecture import Architecture
from perf2x.stitcher.unwind.go_ends import may_be_settled
from perf2x.stitcher.unwind.register_file import UNFINISHED, SampleView, initial_registers, stack_memory
from perf2x.stitcher.unwind.rule_by_address import CodeMap, FindObject
from perf2x.stitcher.unwind.simple_rule_steps import VISIT, Lanes, frames_of, rows_and_depths
from perf2x.stitcher.unwind.unwound_chains import End, MappingFinder, UserChains, UserMappings
from perf2x.stitcher.unwind.x86_64 import I386, X86_64

_BY_ABI: dict[str, dict[int, Architecture]] = {
    "x86_64": {1: I386, 2: X86_64},
    "i386": {1: I386},
    "i686": {1: I386},
    "aarch64": {2: AARCH64},
}
"""By uname -m of the recording machine and PERF_SAMPLE_REGS_ABI_* of the sample."""


class Unwinder(Struct):
    """Unwinds the batches of one recording; finders return ids of ``mappings``."""

    mappings: UserMappings
    find_object: FindObject
    machine: str
    """uname -m of the recording machine."""
    max_depth: int = MAX_DEPTH
    _code: dict[str, CodeMap] = field(default_factory=dict)

    def unwind(self, stacks: UserStacks, finder: MappingFinder) -> UserChains:
        """Unwind a batch of samples; ``finder`` finds their mappings."""
        count = len(stacks.abi)
        end = np.full(count, End.NO_REGISTERS, np.uint8)
        guesses = _Guesses(zeros(count), zeros(count), falses(count))
        visits: list[U64] = []
        for abi, architecture in _BY_ABI.get(self.machine, {}).items():
            rows = flatnonzero(stacks.abi == abi)
            if len(rows) and architecture.from_perf.keys() & _bits(stacks.mask):
                run = _BatchUnwinder(self._code_map(architecture), stacks, finder, end, guesses, self.max_depth)
                visits += run.all_visits(rows)
        chain, exact = _chains_of_visits(visits, count)
        self._settle(end, chain, exact, finder)
        return UserChains(chain, exact, end, guesses.frames, guesses.in_jit, guesses.cut_in_jit)

    def _settle(self, end: U8, chain: ListArray, exact: Bools, finder: MappingFinder) -> None:
        """Refine ``end`` (n,) by the outermost functions; without Go programs nothing is looked up."""
        maps = [code for code in self._code.values() if code.has_go]
        if not maps:
            return
        rows = flatnonzero(may_be_settled(end) & (chain.lengths > 0))
        last = chain.offsets[1:][rows] - 1
        address = chain.values[last] - as_uint64(~exact[last])
        mapping, _ = finder.find(rows, address)
        for code in maps:
            kept = flatnonzero(code.is_code(mapping))
            end[rows[kept]] = code.ends(mapping[kept], address[kept], end[rows[kept]])

    @property
    def knows_arch(self) -> bool:
        """Whether stacks of the recording machine can be unwound."""
        return self.machine in _BY_ABI

    def problems(self) -> list[str]:
        """Damaged unwind information, one sentence each."""
        return [problem for code in self._code.values() for problem in code.problems()]

    def _code_map(self, architecture: Architecture) -> CodeMap:
        if architecture.name not in self._code:
            table = RuleTable(architecture.register_count)
            self._code[architecture.name] = CodeMap(self.mappings, self.find_object, architecture, table)
        return self._code[architecture.name]


class _Guesses(Frozen):
    """Frames of each sample that no unwind information covers; see ``UserChains``."""

    frames: I64
    in_jit: I64
    cut_in_jit: Bools

    def forget(self, rows: I64) -> None:
        """Reset ``rows``."""
        for column in (self.frames, self.in_jit, self.cut_in_jit):
            column[rows] = 0

    def add(self, rows: I64, is_jit: Bools, goes_on: Bools) -> None:
        """Count one frame for each of ``rows`` (distinct).

        ``goes_on``: the frame pointer leads on; otherwise the chain is cut off.
        """
        self.frames[rows[goes_on]] += 1
        self.in_jit[rows[goes_on & is_jit]] += 1
        self.cut_in_jit[rows[~goes_on & is_jit]] = True


class _BatchUnwinder(Struct):
    """Unwinds the samples of one architecture in a batch; fills in ``end`` and ``guesses``."""

    code: CodeMap
    stacks: UserStacks
    finder: MappingFinder
    end: U8
    guesses: _Guesses
    max_depth: int

    def all_visits(self, rows: I64) -> list[U64]:
        """Return the visits (2, m) of ``rows``, as in `Lanes.step`; restarts when a rule needs another register.

        Most rules need only the stack pointer and the frame pointer, so the other registers, which are saved and
        restored in every frame, are ignored until a rule needs one; that happens once or twice in a recording.
        """
        while True:
            needed = self.code.table.needed
            self.guesses.forget(rows)
            visits = list(self.visits(rows, needed))
            if self.code.table.needed == needed:
                return visits

    def visits(self, rows: I64, needed: int) -> Iterator[U64]:
        """Unwind ``rows`` to their ends, or until other registers are ``needed``; yield frames, innermost first.

        Samples in new code wait until there are as many of them as of those that continue, and samples in unusual code
        until they outnumber all others, because their steps cost per call, and functions are decoded by the hundred.
        """
        architecture = self.code.architecture
        frames = initial_registers(self.stacks, architecture)
        memory = stack_memory(self.stacks, frames.registers[architecture.stack_pointer].copy())
        batch = SampleView(frames, memory, architecture, rows)
        lanes, steps = self._lanes(batch), 0
        new = odd = none = lanes.some(rows[:0])
        while len(lanes) or len(new) or len(odd):
            if len(lanes) > len(new) + len(odd):
                before = lanes
                visits, lanes, left, is_cached = self._quick_step(lanes)
                yield visits
                if len(left):
                    new = new.with_others([before.some(left[~is_cached])])
                    odd = odd.with_others([before.some(left[is_cached])])
            elif len(new):
                found, rest = self._learn(new)
                if self.code.table.needed != needed:
                    return
                lanes, new, odd = lanes.with_others([found]), none, odd.with_others([rest])
            else:
                visits, going = self._whole_step(odd.put_back())
                if self.code.table.needed != needed:
                    return
                yield visits
                lanes, odd = lanes.with_others([self._lanes(replace(batch, rows=going))]), none
            steps += 1
            if steps >= self.max_depth:
                deepest = lanes.depth >= self.max_depth
                self.end[lanes.rows[deepest]] = End.TOO_DEEP
                lanes = lanes.some(~deepest)

    def _lanes(self, view: SampleView) -> Lanes:
        return Lanes.of(view, self.finder, self.code.plain.rules())

    def _quick_step(self, lanes: Lanes) -> tuple[U64, Lanes, I64, Bools]:
        """Step the samples whose rules are known and plain.

        Also returns those that continue, those that do not, and whether the latter's rules are known.
        """
        rule, cached = self.code.places.cached(*lanes.place)
        visits, going, ended, left = lanes.step(self.code.plain.rules(), rule, cached)
        if len(ended):
            self.end[ended] = End.COMPLETE
        return visits, going, left, cached[left]

    def _learn(self, lanes: Lanes) -> tuple[Lanes, Lanes]:
        """Look up the rules of unknown places; return the samples whose rules are now known, and the others."""
        image, moment, address = lanes.place
        first, _ = group_rows([image, address])
        rows, look = lanes.rows[first], address[first]
        mapping, stays = self._code_mapping(rows, look)
        self._rules(rows, look, mapping, stays)
        _, cached = self.code.places.cached(image, moment, address)
        return lanes.some(cached), lanes.some(~cached)

    def _whole_step(self, view: SampleView) -> tuple[U64, I64]:
        """Step any samples; return the unfinished rows."""
        address, exact, look = _where(view)
        mapping, stays = self._code_mapping(view.rows, look)
        # a return address in no mapping is not one; the sampled address itself may be in unknown code
        lost = (mapping < 0) & ~exact
        self.end[view.rows[lost]] = End.NOT_MAPPED
        here = flatnonzero(~lost)
        rows, mapping, stays, look = view.rows[here], mapping[here], stays[here], look[here]
        rule = self._rules(rows, look, mapping, stays)
        address, exact, signal = address[here], exact[here], self._is_trampoline(rule)
        called = flatnonzero(signal & ~exact)
        called = called[self.code.may_return_to(mapping[called], address[called])]
        signal[called] = False
        depth = take(view.frames.depth, rows)
        going = self._step(replace(view, rows=rows), rule, mapping)
        view.frames.is_exact[rows[called]], view.frames.depth[rows] = False, depth + 1
        return as_uint64([frames_of(rows, depth, ~(exact | signal)), address]), going

    def _rules(self, rows: I64, address: U64, mapping: I32, stays: Bools) -> I32:
        """Return (n,) rules at addresses; rules in mappings that stay are cached."""
        rule = self.code.rules(mapping, address)
        self.code.places.learn(self.finder, rows[stays], address[stays], mapping[stays], rule[stays])
        return rule

    def _code_mapping(self, rows: I64, address: U64) -> tuple[I32, Bools]:
        """Return (n,) mappings that may have code, −1 for none, and whether they stay until the ends of the images."""
        mapping, stays = self.finder.find(rows, address)
        return np.where(self.code.is_code(mapping), mapping, np.int32(-1)), stays

    def _is_trampoline(self, rule: I32) -> Bools:
        """Return (n,) bool: whether each frame is a signal trampoline or similar, returned to without having called.

        Some runtimes describe switches of the stack this way, after a call (OCaml's caml_start_program).
        """
        signal = self.code.table.columns().is_signal_frame
        if not signal.any():
            return falses(len(rule))
        found: Bools = signal[rule] & (rule != NO_RULE)
        return found

    def _step(self, view: SampleView, rule: I32, mapping: I32) -> I64:
        """Step all samples; return the unfinished rows."""
        end = np.full(len(rule), UNFINISHED, np.uint8)
        ruled, guess = flatnonzero(rule != NO_RULE), flatnonzero(rule == NO_RULE)
        if len(ruled):
            end[ruled] = self._by_rules(view.part(ruled), rule[ruled])
        if len(guess):
            end[guess] = self._guess(view.part(guess), mapping[guess])
        self.end[view.rows] = end
        return view.rows[flatnonzero(end == UNFINISHED)]

    def _by_rules(self, view: SampleView, rule: I32) -> U8:
        _, going, ended, left = self._lanes(view).step(self.code.plain.rules(), rule, rule != NO_RULE)
        going.put_back()
        self.end[view.rows] = UNFINISHED
        self.end[ended] = End.COMPLETE
        end = self.end[view.rows]
        if len(left):
            end[left] = step_by_rules(view.part(left), self.code.table, rule[left])
        return end

    def _guess(self, view: SampleView, mapping: I32) -> U8:
        """Leave code without call frame information by its instructions or else by frame pointer, except in a vDSO.

        This includes functions whose code leads to no call. OpenJDK's method_entry_barrier has a word of its own
        between the frame pointer and the return address.
        """
        address, exact, _ = _where(view)
        rule = self.code.rules_by_code(mapping, address, exact)
        end = np.full(len(rule), End.NO_UNWIND_INFO, np.uint8)
        ruled, before = flatnonzero(rule >= 0), view.saved()
        end[ruled] = self._to_calls(view.part(ruled), step_by_rules(view.part(ruled), self.code.table, rule[ruled]))
        end[(end == End.COMPLETE) & exact] = End.NO_UNWIND_INFO
        others = flatnonzero((end == End.NO_UNWIND_INFO) & ~self.code.is_vdso(mapping))
        view.restore(before, others)
        end[others] = self._to_calls(view.part(others), step_by_frame_pointer(view.part(others)))
        end[others[(end[others] == End.COMPLETE) & (rule[others] != NO_RULE)]] = End.NO_UNWIND_INFO
        others = others[end[others] == End.NO_UNWIND_INFO]
        view.restore(before, others)
        further = self._to_calls(view.part(others), step_by_frame_pointer(view.part(others), between=1))
        end[others[further == UNFINISHED]] = UNFINISHED
        goes_on = end == UNFINISHED
        counted = flatnonzero(goes_on | (end == End.NO_UNWIND_INFO))
        self.guesses.add(view.rows[counted], self.code.is_jit(mapping[counted]), goes_on[counted])
        return end

    def _to_calls(self, view: SampleView, end: U8) -> U8:
        """Return (n,) ends after a guessed step; a step to an address without a preceding call is rejected."""
        address, _, _ = _where(view)
        going = flatnonzero(end == UNFINISHED)
        end[going[~self._may_return_to(view.rows[going], address[going])]] = End.NO_UNWIND_INFO
        end[end == End.BROKEN] = End.NO_UNWIND_INFO
        return end

    def _may_return_to(self, rows: I64, address: U64) -> Bools:
        """Return (n,) whether addresses follow a call, or belong to a signal trampoline or similar."""
        look = address - np.uint64(1)
        mapping, _ = self._code_mapping(rows, look)
        found: Bools = mapping >= 0
        inside = flatnonzero(found)
        uncalled = inside[~self.code.may_return_to(mapping[inside], address[inside])]
        if len(uncalled):
            found[uncalled] = self._is_trampoline(self.code.rules(mapping[uncalled], look[uncalled]))
        return found


def _where(view: SampleView) -> tuple[U64, Bools, U64]:
    """Return (n,) the program counters of samples, whether they are exact, and the addresses to look up."""
    address = take(view.frames.registers[view.architecture.program_counter], view.rows)
    exact = take(view.frames.is_exact, view.rows)
    return address, exact, address - as_uint64(~exact)


def _bits(mask: int) -> set[int]:
    return {bit for bit in range(64) if mask >> bit & 1}


def _chains_of_visits(visits: list[U64], count: int) -> tuple[ListArray, Bools]:
    """Convert frames in order of depth to one chain per sample; returns chains, and whether each entry is exact.

    ::

        depth 0    a0 b0 c0        rows 0 1 2
        depth 1    a1    c1        rows 0   2
        chains     a0 a1 b0 c0 c1
    """
    frame, address = np.concatenate([np.zeros((VISIT, 0), np.uint64), *visits], axis=1)
    rows, depth, is_called = rows_and_depths(frame)
    offsets = offsets_of(bincount(rows, count))
    depth += take(offsets, rows)
    chain, exact = np.empty(len(depth), np.uint64), np.empty(len(depth), np.bool_)
    chain[depth], exact[depth] = address, ~is_called
    return ListArray(offsets, chain), exact
