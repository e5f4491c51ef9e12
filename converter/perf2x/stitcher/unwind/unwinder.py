"""Unwinds batches of samples: converts user registers and stack dumps to user chains.

A step takes many samples from a frame to its caller. Each frame that is left becomes an *entry* of a chain; at the end
the entries are sorted by sample and depth. Opened objects and decoded rules are kept for further batches.
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
from perf2x.stitcher.unwind.go_ends import may_be_corrected
from perf2x.stitcher.unwind.register_file import UNFINISHED, SampleView, initial_registers, stack_memory
from perf2x.stitcher.unwind.rule_by_address import CodeMap, FindObject
from perf2x.stitcher.unwind.simple_rule_steps import (
    ENTRY_FIELDS,
    SampleStates,
    pack_chain_slots,
    unpack_chain_slots,
)
from perf2x.stitcher.unwind.unwound_chains import End, MappingFinder, UserChains, UserMappings
from perf2x.stitcher.unwind.x86_64 import I386, X86_64

# By uname -m of the recording machine, and PERF_SAMPLE_REGS_ABI_* of the sample: 32 bits (1) or 64 (2).
_ARCHITECTURES: dict[str, dict[int, Architecture]] = {
    "x86_64": {1: I386, 2: X86_64},
    "i386": {1: I386},
    "i686": {1: I386},
    "aarch64": {2: AARCH64},
}


class Unwinder(Struct):
    """Unwinds the batches of one recording."""

    mappings: UserMappings
    find_object: FindObject
    arch: str
    """uname -m of the recording machine."""
    max_depth: int = MAX_DEPTH
    _code_maps: dict[str, CodeMap] = field(default_factory=dict)

    def unwind(self, stacks: UserStacks, finder: MappingFinder) -> UserChains:
        """Unwind a batch of samples."""
        count = len(stacks.abi)
        end = np.full(count, End.NO_REGISTERS, np.uint8)
        guesses = _Guesses(zeros(count), zeros(count), falses(count))
        entries: list[U64] = []
        for abi, architecture in _ARCHITECTURES.get(self.arch, {}).items():
            rows = flatnonzero(stacks.abi == abi)
            if len(rows) and architecture.register_of_perf_bit.keys() & _bits(stacks.mask):
                batch = _BatchUnwinder(self._code_map(architecture), stacks, finder, end, guesses, self.max_depth)
                entries += batch.unwind(rows)
        chain, is_exact = _chains_of_entries(entries, count)
        self._correct_ends(end, chain, is_exact, finder)
        return UserChains(chain, is_exact, end, guesses.frames, guesses.in_jit, guesses.cut_in_jit)

    def _correct_ends(self, end: U8, chain: ListArray, is_exact: Bools, finder: MappingFinder) -> None:
        go_maps = [code for code in self._code_maps.values() if code.has_go]
        if not go_maps:
            return
        rows = flatnonzero(may_be_corrected(end) & (chain.lengths > 0))
        last = chain.offsets[1:][rows] - 1
        address = chain.values[last] - as_uint64(~is_exact[last])
        mapping, _ = finder.find(rows, address)
        for code in go_maps:
            in_code = flatnonzero(code.is_code(mapping))
            end[rows[in_code]] = code.corrected_ends(mapping[in_code], address[in_code], end[rows[in_code]])

    @property
    def knows_arch(self) -> bool:
        """Whether stacks of the recording machine can be unwound."""
        return self.arch in _ARCHITECTURES

    def problems(self) -> list[str]:
        """Damaged unwind information, one sentence each."""
        return [problem for code in self._code_maps.values() for problem in code.problems()]

    def _code_map(self, architecture: Architecture) -> CodeMap:
        if architecture.name not in self._code_maps:
            table = RuleTable(architecture.register_count)
            self._code_maps[architecture.name] = CodeMap(self.mappings, self.find_object, architecture, table)
        return self._code_maps[architecture.name]


class _Guesses(Frozen):
    """The columns ``guessed``, ``guessed_in_jit`` and ``cut_in_jit`` of `UserChains`."""

    frames: I64
    in_jit: I64
    cut_in_jit: Bools

    def reset(self, rows: I64) -> None:
        for column in (self.frames, self.in_jit, self.cut_in_jit):
            column[rows] = 0

    def add(self, rows: I64, is_jit: Bools, goes_on: Bools) -> None:
        """Record the result of one guess for each of ``rows`` (distinct).

        If no caller was guessed (``goes_on`` is False), only JIT-compiled code counts.
        """
        self.frames[rows[goes_on]] += 1
        self.in_jit[rows[goes_on & is_jit]] += 1
        self.cut_in_jit[rows[~goes_on & is_jit]] = True


class _BatchUnwinder(Struct):
    """Unwinds the samples of one architecture in a batch; fills in their rows of ``end`` and ``guesses``."""

    code: CodeMap
    stacks: UserStacks
    finder: MappingFinder
    end: U8
    guesses: _Guesses
    max_depth: int

    def unwind(self, rows: I64) -> list[U64]:
        """Unwind ``rows`` to their ends; return their chain entries, (2, m) per step.

        Most rules read only the stack pointer and the frame pointer, so other registers are not restored at first.
        When a rule reads another one, all of ``rows`` are unwound again with it, once or twice in a recording.
        """
        while True:
            needed = self.code.table.registers_read
            self.guesses.reset(rows)
            entries = list(self._entries(rows, needed))
            if self.code.table.registers_read == needed:
                return entries

    def _entries(self, rows: I64, needed: int) -> Iterator[U64]:
        """Yield the chain entries of each step; stop where a new rule reads a register outside ``needed`` (bits).

        Each sample is in one of three queues:

        - ``ready``: the next rule is probably cached, and simple or outermost;
        - ``uncached``: the next rule is not in the cache;
        - ``unusual``: the sample needs another rule or a guess, or its rule cannot be cached.

        A step costs a fixed number of numpy calls, so ``ready`` samples step while they outnumber the others. Learning
        the rules of all ``uncached`` samples at once decodes many functions together.
        """
        architecture = self.code.architecture
        frames = initial_registers(self.stacks, architecture)
        memory = stack_memory(self.stacks, frames.registers[architecture.stack_pointer].copy())
        batch = SampleView(frames, memory, architecture, rows)
        ready, steps = self._states_of(batch), 0
        uncached = unusual = empty = ready.select(rows[:0])
        while len(ready) or len(uncached) or len(unusual):
            if len(ready) > len(uncached) + len(unusual):
                before = ready
                entries, ready, unstepped, is_cached = self._simple_step(ready)
                yield entries
                if len(unstepped):
                    uncached = uncached.with_others([before.select(unstepped[~is_cached])])
                    unusual = unusual.with_others([before.select(unstepped[is_cached])])
            elif len(uncached):
                learned, others = self._learn_rules(uncached)
                if self.code.table.registers_read != needed:
                    return
                ready, uncached, unusual = ready.with_others([learned]), empty, unusual.with_others([others])
            else:
                entries, continuing = self._unusual_step(unusual.put_back())
                if self.code.table.registers_read != needed:
                    return
                yield entries
                ready, unusual = ready.with_others([self._states_of(replace(batch, rows=continuing))]), empty
            steps += 1
            if steps >= self.max_depth:  # before that, no sample can have so many frames
                is_too_deep = ready.depth >= self.max_depth
                self.end[ready.rows[is_too_deep]] = End.TOO_DEEP
                ready = ready.select(~is_too_deep)

    def _states_of(self, view: SampleView) -> SampleStates:
        return SampleStates.of(view, self.finder, self.code.simple_rules.rules())

    def _simple_step(self, states: SampleStates) -> tuple[U64, SampleStates, I64, Bools]:
        """Return chain entries, continuing states, indices of unstepped samples, and whether their rules are cached."""
        rule, is_cached = self.code.rule_cache.cached(*states.lookup_keys)
        entries, continuing, ended, unstepped = states.step(self.code.simple_rules.rules(), rule, is_cached)
        if len(ended):
            self.end[ended] = End.COMPLETE
        return entries, continuing, unstepped, is_cached[unstepped]

    def _learn_rules(self, states: SampleStates) -> tuple[SampleStates, SampleStates]:
        """Look up and cache rules; return the states whose rules are now cached, and the others."""
        image, sequence, address = states.lookup_keys
        first, _ = group_rows([image, address])
        rows, distinct = states.rows[first], address[first]
        mapping, stays = self._code_mapping(rows, distinct)
        self._find_and_cache_rules(rows, distinct, mapping, stays)
        _, is_cached = self.code.rule_cache.cached(image, sequence, address)
        return states.select(is_cached), states.select(~is_cached)

    def _unusual_step(self, view: SampleView) -> tuple[U64, I64]:
        """Step by any rules or by guesses; return the chain entries, and the rows of samples that continue."""
        pc, is_exact, lookup = _program_counters(view)
        mapping, stays = self._code_mapping(view.rows, lookup)
        # A word outside all mappings is not a return address.
        is_lost = (mapping < 0) & ~is_exact
        self.end[view.rows[is_lost]] = End.NOT_MAPPED
        not_lost = flatnonzero(~is_lost)
        rows, mapping, stays, lookup = view.rows[not_lost], mapping[not_lost], stays[not_lost], lookup[not_lost]
        rule = self._find_and_cache_rules(rows, lookup, mapping, stays)
        pc, is_exact, is_trampoline = pc[not_lost], is_exact[not_lost], self._has_signal_rule(rule)
        # Some runtimes mark code that switches stacks as a signal frame, although it makes calls (OCaml's
        # caml_start_program). If a call precedes the address, this one and the caller's are return addresses.
        after_call = flatnonzero(is_trampoline & ~is_exact)
        after_call = after_call[self.code.may_return_to(mapping[after_call], pc[after_call])]
        is_trampoline[after_call] = False
        depth = take(view.frames.depth, rows)
        continuing = self._step(replace(view, rows=rows), rule, mapping)
        view.frames.is_exact[rows[after_call]], view.frames.depth[rows] = False, depth + 1
        return as_uint64([pack_chain_slots(rows, depth, ~(is_exact | is_trampoline)), pc]), continuing

    def _find_and_cache_rules(self, rows: I64, address: U64, mapping: I32, stays: Bools) -> I32:
        rule = self.code.rules(mapping, address)
        self.code.rule_cache.learn(self.finder, rows[stays], address[stays], mapping[stays], rule[stays])
        return rule

    def _code_mapping(self, rows: I64, address: U64) -> tuple[I32, Bools]:
        """Return each address's mapping (−1 without code), and whether it stays until the image ends."""
        mapping, stays = self.finder.find(rows, address)
        return np.where(self.code.is_code(mapping), mapping, np.int32(-1)), stays

    def _has_signal_rule(self, rule: I32) -> Bools:
        is_signal_frame = self.code.table.columns().is_signal_frame
        if not is_signal_frame.any():
            return falses(len(rule))
        is_signal_rule: Bools = is_signal_frame[rule] & (rule != NO_RULE)
        return is_signal_rule

    def _step(self, view: SampleView, rule: I32, mapping: I32) -> I64:
        end = np.full(len(rule), UNFINISHED, np.uint8)
        with_rule, without_rule = flatnonzero(rule != NO_RULE), flatnonzero(rule == NO_RULE)
        if len(with_rule):
            end[with_rule] = self._step_by_rules(view.part(with_rule), rule[with_rule])
        if len(without_rule):
            end[without_rule] = self._guess(view.part(without_rule), mapping[without_rule])
        self.end[view.rows] = end
        return view.rows[flatnonzero(end == UNFINISHED)]

    def _step_by_rules(self, view: SampleView, rule: I32) -> U8:
        """Step by simple rules where possible, else by any rule; return (n,) UNFINISHED or an ``End``."""
        _, continuing, ended, unstepped = self._states_of(view).step(
            self.code.simple_rules.rules(), rule, rule != NO_RULE
        )
        continuing.put_back()
        self.end[view.rows] = UNFINISHED
        self.end[ended] = End.COMPLETE
        end = self.end[view.rows]
        if len(unstepped):
            end[unstepped] = step_by_rules(view.part(unstepped), self.code.table, rule[unstepped])
        return end

    def _guess(self, view: SampleView, mapping: I32) -> U8:
        """Guess callers from the code, or else by frame pointer; return (n,) UNFINISHED or an ``End``.

        A vDSO uses the frame pointer for other things.
        """
        pc, is_exact, _ = _program_counters(view)
        rule = self.code.rules_from_code(mapping, pc, is_exact)
        end = np.full(len(rule), End.NO_UNWIND_INFO, np.uint8)
        with_rule, state = flatnonzero(rule >= 0), view.copy_state()
        part = view.part(with_rule)
        end[with_rule] = self._reject_impossible(part, step_by_rules(part, self.code.table, rule[with_rule]))
        # in the sampled frame, a return address of 0 may be some other word of the stack
        end[(end == End.COMPLETE) & is_exact] = End.NO_UNWIND_INFO
        others = flatnonzero((end == End.NO_UNWIND_INFO) & ~self.code.is_vdso(mapping))
        view.restore_state(state, others)
        end[others] = self._reject_impossible(view.part(others), step_by_frame_pointer(view.part(others)))
        # code that returns to a caller is not outermost
        end[others[(end[others] == End.COMPLETE) & (rule[others] != NO_RULE)]] = End.NO_UNWIND_INFO
        # OpenJDK's method_entry_barrier has a word of its own between the frame pointer and the return address
        others = others[end[others] == End.NO_UNWIND_INFO]
        view.restore_state(state, others)
        part = view.part(others)
        barrier_end = self._reject_impossible(part, step_by_frame_pointer(part, words_between=1))
        end[others[barrier_end == UNFINISHED]] = UNFINISHED
        goes_on = end == UNFINISHED
        counted = flatnonzero(goes_on | (end == End.NO_UNWIND_INFO))
        self.guesses.add(view.rows[counted], self.code.is_jit(mapping[counted]), goes_on[counted])
        return end

    def _reject_impossible(self, view: SampleView, end: U8) -> U8:
        pc, _, _ = _program_counters(view)
        continuing = flatnonzero(end == UNFINISHED)
        end[continuing[~self._may_return_to(view.rows[continuing], pc[continuing])]] = End.NO_UNWIND_INFO
        end[end == End.BROKEN] = End.NO_UNWIND_INFO
        return end

    def _may_return_to(self, rows: I64, address: U64) -> Bools:
        """Return (n,) whether each address is in code and follows a call.

        No call is needed if the code cannot be read, or if the rule there marks a signal frame.
        """
        lookup = address - np.uint64(1)
        mapping, _ = self._code_mapping(rows, lookup)
        may_return: Bools = mapping >= 0
        mapped = flatnonzero(may_return)
        no_call = mapped[~self.code.may_return_to(mapping[mapped], address[mapped])]
        if len(no_call):
            may_return[no_call] = self._has_signal_rule(self.code.rules(mapping[no_call], lookup[no_call]))
        return may_return


def _program_counters(view: SampleView) -> tuple[U64, Bools, U64]:
    """Return program counters, whether they are exact, and lookup addresses; shapes (n,)."""
    pc = take(view.frames.registers[view.architecture.program_counter], view.rows)
    is_exact = take(view.frames.is_exact, view.rows)
    return pc, is_exact, pc - as_uint64(~is_exact)


def _bits(mask: int) -> set[int]:
    return {bit for bit in range(64) if mask >> bit & 1}


def _chains_of_entries(entries: list[U64], count: int) -> tuple[ListArray, Bools]:
    """Sort chain entries, each (2, m) from one step, into ``count`` chains; also return whether they are exact.

    An entry's index in the result is its depth plus the index at which the chain of its row begins::

        entries    a0 b0 c0 a1 c1        of rows 0 1 2 0 2, at depths 0 0 0 1 1
        chains     a0 a1 b0 c0 c1        of rows 0 0 1 2 2
    """
    slot, address = np.concatenate([np.zeros((ENTRY_FIELDS, 0), np.uint64), *entries], axis=1)
    rows, depth, is_return = unpack_chain_slots(slot)
    offsets = offsets_of(bincount(rows, count))
    index = depth + take(offsets, rows)
    chain, is_exact = np.empty(len(index), np.uint64), np.empty(len(index), np.bool_)
    chain[index], is_exact[index] = address, ~is_return
    return ListArray(offsets, chain), is_exact
