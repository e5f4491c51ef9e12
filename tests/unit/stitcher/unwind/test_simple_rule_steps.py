"""Simple steps are those of the general rules; where anything is odd, a sample is left as it was."""

from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.binaries.cfi.unwind_rules import RegisterRule, Rule, RuleKind, RuleTable
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.stitcher.unwind.any_rule_steps import step_by_rules
from perf2x.stitcher.unwind.register_file import UNFINISHED, RegisterFile, SampleView, StackMemory
from perf2x.stitcher.unwind.rule_by_address import RuleCache
from perf2x.stitcher.unwind.simple_rule_steps import SampleStates, SimpleRuleTable, unpack_chain_slots
from perf2x.stitcher.unwind.unwinder import Unwinder
from perf2x.stitcher.unwind.unwound_chains import End, MappingFinder, UserMappings
from perf2x.stitcher.unwind.x86_64 import I386, X86_64
from tests.support.frame_writer import TEXT, Frame, FrameFile, def_cfa, offset
from tests.support.simulated_program import LOAD_BIAS, SITE, SIZE, Function, Machine, Program, stacks_of
from tests.support.unwound_program import unwinder_of

BASE, COPIED = 0x7000, 24
"""Address of the first word copied, and their number."""
KINDS = [RuleKind.SAME, *[RuleKind.OFFSET] * 5, RuleKind.UNDEFINED, RuleKind.VAL_OFFSET, RuleKind.REGISTER]
NEAR = [*[8 * word for word in range(-6, 3)] * 3, -12, -3, 1 << 20, -(1 << 20)]
PLAIN = Rule(7, 16, 16, False, ((6, RegisterRule(RuleKind.OFFSET, -16)), (16, RegisterRule(RuleKind.OFFSET, -8))))


def view_of(random: Random, count: int, architecture=X86_64) -> SampleView:
    """Samples with registers that point into their stacks, or nearly; every other row of the batch is none of them."""
    size = 2 * count
    near = [BASE + 8 * word for word in range(-2, COPIED + 3)] + [0, 2**64 - 8, BASE + 4]
    registers = np.array([random.choices(near, k=size) for _ in range(17)], np.uint64)
    known = np.array([random.choice([2**17 - 1] * 4 + [random.getrandbits(17)]) for _ in range(size)], np.uint64)
    exact, crossed = (np.array(random.choices([True, False], k=size), np.bool_) for _ in range(2))
    words = np.array(random.choices([0, 7, BASE + 64, 2**64 - 1], k=size * COPIED), np.uint64)
    start = np.arange(size, dtype=np.int64) * COPIED
    copied = np.array(random.choices([COPIED, COPIED, 3, 0], k=size), np.uint64)
    base = np.full(size, BASE, np.uint64)
    depth = np.array(random.choices(range(9), k=size), np.int64)
    frames = RegisterFile(registers, known, exact, crossed, depth, np.uint64(2**17 - 1))
    memory = StackMemory(words, start, base, copied, np.ones(size, np.bool_))
    return SampleView(frames, memory, architecture, np.arange(0, size, 2, dtype=np.int64))


def copy_of(view: SampleView) -> SampleView:
    frames = view.frames
    flags = (frames.is_exact.copy(), frames.crossed_signal.copy())
    arrays = (frames.registers.copy(), frames.known_bits.copy(), *flags, frames.depth.copy())
    return replace(view, frames=RegisterFile(*arrays, frames.recorded_bits))


def finder_of(count: int) -> MappingFinder:
    """One image, and nothing in it: states only carry what it says."""

    def nothing(rows: object, address: object) -> np.ndarray:
        raise AssertionError

    zeros = np.zeros(count, np.int64)
    return MappingFinder(zeros, zeros, zeros[:1], nothing, nothing)


def stepped(view: SampleView, table: SimpleRuleTable, rule, held) -> tuple[np.ndarray, dict[int, int]]:
    """Take simple steps; returns which samples did, and the end of each by row."""
    states = SampleStates.of(view, finder_of(len(view.frames.known_bits)), table.rules())
    entries, going, ended, left = states.step(table.rules(), rule, held)
    taken = np.setdiff1d(np.arange(len(rule), dtype=np.int64), left)
    rows, exact = view.rows[taken], view.frames.is_exact[view.rows[taken]]
    counter, depth = view.frames.registers[16, rows], view.frames.depth[rows]
    visited, below, is_return = unpack_chain_slots(entries[0])
    assert sorted(
        zip(visited.tolist(), entries[1].tolist(), is_return.tolist(), below.tolist(), strict=True)
    ) == sorted(zip(rows.tolist(), counter.tolist(), (~exact).tolist(), depth.tolist(), strict=True))
    going.put_back()
    return taken, dict.fromkeys(rows.tolist(), UNFINISHED) | dict.fromkeys(ended.tolist(), int(End.COMPLETE))


def state(view: SampleView, rows) -> list[list[int]]:
    frames = view.frames
    columns = [*frames.registers, frames.known_bits, frames.is_exact, frames.crossed_signal]
    return [column[rows].tolist() for column in columns]


def some_rule(random: Random) -> Rule:
    """A rule like those of compilers; many have one thing that is not simple."""

    def own() -> RegisterRule:
        kind = random.choice(KINDS)
        return RegisterRule(kind, random.randrange(17) if kind is RuleKind.REGISTER else random.choice(NEAR))

    others = random.choices([3, 6, 6, 7, 12], k=random.randrange(3))
    registers = {register: own() for register in [*others, 16]}
    cfa, value = random.choice([7, 7, 7, 6, 6, 3, 17, 40]), random.choice([0, 8, 16, 24, 32, 40, 5])
    back, is_signal = random.choice([16] * 6 + [5]), random.random() < 0.1
    return Rule(cfa, value, back, is_signal, tuple(sorted(registers.items())))


@pytest.mark.parametrize("all_needed", [False, True])
def test_simple_steps_are_those_of_the_general_rules(all_needed) -> None:
    random, table, count = Random(all_needed), RuleTable(17), 4000
    numbers = np.array([table.number(PLAIN), *(table.number(some_rule(random)) for _ in range(400))], np.int32)
    table.registers_read |= 2**17 - 1 if all_needed else 0
    rule = np.array(random.choices(numbers.tolist(), k=count), np.int64)
    known = np.array(random.choices([True] * 6 + [False], k=count), np.bool_)
    ours = view_of(random, count)
    before, theirs = copy_of(ours), copy_of(ours)
    taken, ends = stepped(ours, SimpleRuleTable(table, X86_64), rule, known)
    assert len(taken) > count // 40
    assert known[taken].all()
    going = np.array([row for row, end in ends.items() if end == UNFINISHED], np.int64)
    assert 0 < len(going) < len(taken)
    others = np.setdiff1d(np.arange(2 * count, dtype=np.int64), going)
    assert state(ours, others) == state(before, others)
    expected = step_by_rules(theirs.part(taken), table, rule[taken]).tolist()
    assert [ends[row] for row in ours.rows[taken].tolist()] == expected
    assert state(ours, going) == state(theirs, going)


def test_rules_of_compilers_are_simple() -> None:
    """Their steps are taken wherever the stack holds what they name, not elsewhere; on i386 words are smaller."""
    table, random = RuleTable(17), Random(1)
    table.number(PLAIN)
    view = view_of(random, 3)
    view.frames.known_bits[:] = 2**17 - 1
    view.memory.word_count[:] = COPIED
    view.frames.registers[7] = BASE + 32
    view.frames.registers[7, 2] = BASE + 8 * COPIED
    simple = SimpleRuleTable(table, X86_64)
    rule, known = np.zeros(3, np.int64), np.ones(3, np.bool_)
    assert stepped(copy_of(view), simple, rule, known)[0].tolist() == [0, 2]
    small = RuleTable(17)
    small.number(Rule(4, 16, 8, False, ((8, RegisterRule(RuleKind.OFFSET, -8)),)))
    assert not SimpleRuleTable(small, I386).rules().is_simple.any()


def test_a_function_without_a_caller_ends_at_once() -> None:
    """Only where its rule is held; one of a signal frame is left to the general rules."""
    table, view = RuleTable(17), view_of(Random(2), 4)
    undefined = ((16, RegisterRule(RuleKind.UNDEFINED, 0)),)
    for is_signal in (False, True):
        table.number(Rule(7, 8, 16, is_signal, undefined))
    rule, held = np.array([0, 1, 0, 0], np.int64), np.array([True, True, False, True], np.bool_)
    taken, ends = stepped(view, SimpleRuleTable(table, X86_64), rule, held)
    assert (taken.tolist(), list(ends)) == ([0, 3], view.rows[taken].tolist())
    assert set(ends.values()) == {int(End.COMPLETE)}


def test_new_rules_and_registers_are_known_at_once() -> None:
    table = RuleTable(17)
    simple = SimpleRuleTable(table, X86_64)
    assert len(simple.rules().is_simple) == 0
    table.number(PLAIN)
    assert simple.rules().is_simple.tolist() == [True]
    table.number(Rule(7, 8, 16, False, ((3, RegisterRule(RuleKind.UNDEFINED, 0)), (16, PLAIN.registers[1][1]))))
    assert simple.rules().is_simple.tolist() == [True, True]
    assert simple.rules() is simple.rules()
    table.registers_read |= 1 << 3
    assert simple.rules().is_simple.tolist() == [True, False]
    assert simple.rules().registers == [16, 3, 6]


def test_registers_that_functions_need_not_give_back_are_left_to_the_general_rules() -> None:
    table = RuleTable(17)
    for register, cfa in ((5, 7), (3, 7), (3, 5)):
        table.number(Rule(cfa, 24, 16, False, ((register, RegisterRule(RuleKind.OFFSET, -16)), PLAIN.registers[1])))
    table.registers_read |= 1 << 5 | 1 << 3
    rules = SimpleRuleTable(table, X86_64).rules()
    assert (rules.registers, rules.is_simple.tolist()) == ([16, 3, 6], [False, True, False])


@pytest.mark.parametrize("seed", range(3))
def test_samples_that_wait_for_others_come_out_as_by_themselves(seed) -> None:
    """Some functions are crossed by frame pointer: those samples step later than the others."""
    random = Random(seed)
    functions = [Function(True, [3], 5, has_entry=number % 3 > 0) for number in range(9)]
    program = Program("x86_64", functions)
    runs = [program.run(random.choices(range(9), k=random.randrange(12)), random) for _ in range(40)]
    unwinder, finder = unwinder_of(open_elf(program.file().bytes()), "x86_64")
    for part in (slice(0, 15), slice(0, None)):
        found = unwinder.unwind(stacks_of([machine for machine, _ in runs[part]], 1 << 16), finder)
        assert [row.tolist() for row in found.chain.rows()] == [chain for _, chain in runs[part]]


def test_a_place_has_the_rule_of_the_mapping_of_the_time() -> None:
    """One address, first in a program that saves its caller one word away, later in one of three; and back in time."""
    files = [
        open_elf(FrameFile([Frame(TEXT, SIZE, def_cfa(7, 8 * words) + offset(16, -8))]).bytes()) for words in (1, 3)
    ]
    load = next(segment for segment in files[0].segments if segment.address == TEXT)
    start, at = np.full(2, LOAD_BIAS + TEXT, np.uint64), np.full(2, load.offset, np.uint64)
    yes, no = np.ones(2, np.bool_), np.zeros(2, np.bool_)
    mappings = UserMappings(start, at, ["/bin/0", "/bin/1"], [b"", b""], yes, no)
    unwinder = Unwinder(mappings, lambda name, build_id: (files[int(name[-1])], None), "x86_64")
    machines = []
    for _ in range(4):
        machine = Machine("x86_64", Random(1))
        for word in (0, LOAD_BIAS + TEXT + 3, 0, LOAD_BIAS + TEXT + 1):
            machine.push(word)
        machine.registers[16] = LOAD_BIAS + TEXT + SITE
        machines.append(machine)

    def inside(address) -> np.ndarray:
        return (address - start[0]) < np.uint64(SIZE)

    for moments in ([5, 1, 5, 1], [1, 1, 1, 5], [5, 5, 1, 1]):
        moment = np.array(moments, np.int64)
        finder = MappingFinder(
            np.zeros(4, np.int64), moment, np.array([0, 3, -1], np.int64),
            lambda rows, address: np.where(inside(address), 1, -1).astype(np.int32),
            lambda rows, address, moment=moment: np.where(inside(address), moment[rows] >= 3, -1).astype(np.int32),
        )  # fmt: skip
        chains = unwinder.unwind(stacks_of(machines, 4096), finder).chain
        callers = [row.tolist()[1] - LOAD_BIAS - TEXT for row in chains.rows()]
        assert callers == [3 if time >= 3 else 1 for time in moments]


@pytest.mark.parametrize("is_image", [True, False])
def test_places_that_want_one_slot_are_told_apart(is_image) -> None:
    """By image as by address: what one of them taught is no answer for the other."""
    others, zeros, address = np.arange(1, 1 << 21, dtype=np.int64), np.zeros(1 << 21, np.int64), np.uint64(TEXT)
    image = others if is_image else zeros[1:]
    asked = np.full(len(others), address) if is_image else address + others.astype(np.uint64)
    places, rule = RuleCache(), np.array([5], np.int32)
    slots, here = places._cache._slots, np.array([address]).view(np.int64)
    twin = np.flatnonzero(slots([asked.view(np.int64), image]) == slots([here, zeros[:1]]))[:1]
    places.learn(finder_of(1), zeros[:1], np.array([address]), zeros[:1].astype(np.int32), rule)
    assert [part.tolist() for part in places.cached(zeros[:1], zeros[:1], np.array([address]))] == [[5], [True]]
    assert len(twin) == 1
    assert not places.cached(image[twin], zeros[:1], asked[twin])[1]
