"""Interrupted kernel frames: exact addresses behind entries, in trees that stay trees."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.stack_tree import equal_rows, rewrite_stacks, stack_locations
from perf2x.symbolizer.interrupted_frames import are_kernel_returns, settle_interrupted, with_exact_twins
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from perf2x.testing import ProfileBuilder
from tests.support.profile_builder import make_session, name_of

KALLSYMS = b"""\
ffffffff90000000 T _text
ffffffff90001000 T do_syscall_64
ffffffff90001ff0 t __pfx_mas_prev
ffffffff90002000 T mas_prev
ffffffff90003000 T schedule
ffffffff90003040 T noreturn_caller
ffffffff90003050 t __pfx_next
ffffffff90003060 T next
ffffffff90004000 T asm_exc_page_fault
ffffffff90005000 T exc_page_fault
ffffffff90006000 T error_entry
"""
BASE = 0xFFFFFFFF90000000
SYSCALL, MAS_PREV, SCHEDULE, NEXT = BASE + 0x1010, BASE + 0x2000, BASE + 0x3010, BASE + 0x3060
ENTRY, FAULT, ERROR_ENTRY = BASE + 0x4012, BASE + 0x5008, BASE + 0x6004


@pytest.fixture
def kallsyms(tmp_path) -> Path:
    path = tmp_path / "kallsyms"
    path.write_bytes(KALLSYMS)
    return path


class Kernel:
    """Kernel stacks as perf records them: all but the innermost address are return addresses."""

    def __init__(self) -> None:
        self.builder = ProfileBuilder()
        self.builder.event("cycles", "count", frequency=0)
        self.builder.thread("prog", 1)
        self.mapping = self.builder.mapping("[kernel.kallsyms]_text", BASE, 0x10000, kernel=True)

    def sample(self, *addresses: int, count: int = 1) -> None:
        rows = [
            self.builder.location(address, self.mapping, mode=CpuMode.KERNEL, is_caller=depth < len(addresses) - 1)
            for depth, address in enumerate(addresses)
        ]
        self.builder.sample(rows, value=count, count=count)

    def named(self, kallsyms, arch="x86_64") -> Profile:
        result, _ = symbolize(
            self.builder.build(), make_session(arch=arch), SymbolOptions(kallsyms=kallsyms), Diagnostics(),
            load_symbol_sources(),
        )  # fmt: skip
        result.check()
        return result


def stacks_of(profile: Profile) -> Counter:
    """{((address, whether it is exact, name), …), outermost first: samples}"""
    locations, found = profile.locations, Counter()
    rows = stack_locations(profile, profile.samples.stack.astype(np.int64))
    for at, count in enumerate(profile.samples.count.tolist()):
        row = rows.values[rows.offsets[at] : rows.offsets[at + 1]].tolist()
        found[
            tuple(
                (int(locations.address[n]), bool(locations.address[n] == locations.lookup[n]), name_of(profile, n))
                for n in row
            )
        ] += count
    return found


def test_nothing_is_taken_off_the_address_of_an_interrupted_function(kallsyms) -> None:
    kernel = Kernel()
    kernel.sample(SYSCALL, MAS_PREV, ENTRY, FAULT)
    assert stacks_of(kernel.named(kallsyms)) == {
        (
            (SYSCALL, False, "do_syscall_64"),
            (MAS_PREV, True, "mas_prev"),
            (ENTRY, False, "asm_exc_page_fault"),
            (FAULT, True, "exc_page_fault"),
        ): 1
    }


def test_a_function_at_the_end_of_another_is_told_by_what_stands_before_it(kallsyms) -> None:
    """At the first byte of schedule's neighbour: interrupted there, or behind the last call of schedule."""
    border = BASE + 0x3040
    kernel = Kernel()
    kernel.sample(border, ENTRY, FAULT)
    kernel.sample(border, FAULT)
    assert {stack[0] for stack in stacks_of(kernel.named(kallsyms))} == {
        (border, True, "noreturn_caller"),
        (border, False, "schedule"),
    }


def test_a_frame_that_was_called_and_interrupted_at_one_address_becomes_two(kallsyms) -> None:
    kernel = Kernel()
    kernel.sample(SYSCALL, SCHEDULE, ENTRY, FAULT, count=2)
    kernel.sample(SYSCALL, SCHEDULE, FAULT, count=3)
    kernel.sample(SYSCALL, SCHEDULE, count=5)
    outer, fault = (SYSCALL, False, "do_syscall_64"), (FAULT, True, "exc_page_fault")
    profile = kernel.named(kallsyms)
    assert stacks_of(profile) == {
        (outer, (SCHEDULE, True, "schedule"), (ENTRY, False, "asm_exc_page_fault"), fault): 2,
        (outer, (SCHEDULE, False, "schedule"), fault): 3,
        (outer, (SCHEDULE, True, "schedule")): 5,
    }
    assert len(profile.stacks) == 6 and len(profile.locations) == 5


@pytest.mark.parametrize(("address", "name"), [(BASE + 0x3050, "noreturn_caller"), (BASE + 0x3058, "next")])
def test_padding_is_never_a_frame(kallsyms, address, name) -> None:
    """A return address at the first byte ends the function in front; further on it is the function behind."""
    kernel = Kernel()
    kernel.sample(address, FAULT)
    kernel.sample(BASE + 0x3058)
    found = stacks_of(kernel.named(kallsyms))
    assert {stack[0][2] for stack in found} == {name, "next"}
    assert ((BASE + 0x3058, True, "next"),) in found


def test_a_function_behind_padding_was_not_called_even_without_an_entry_that_is_known(kallsyms) -> None:
    kernel = Kernel()
    kernel.sample(NEXT, FAULT)
    kernel.sample(NEXT)
    profile = kernel.named(kallsyms, arch="sparc64")
    assert stacks_of(profile) == {
        ((NEXT, True, "next"), (FAULT, True, "exc_page_fault")): 1,
        ((NEXT, True, "next"),): 1,
    }
    assert len(profile.locations) == 2 and len(profile.stacks) == 2


def test_what_an_entry_called_is_a_return_address(kallsyms) -> None:
    kernel = Kernel()
    kernel.sample(MAS_PREV + 4, ENTRY, ERROR_ENTRY)
    kernel.sample(MAS_PREV + 4, ERROR_ENTRY)
    exact = {(stack[-2][2], stack[-2][1]) for stack in stacks_of(kernel.named(kallsyms))}
    assert exact == {("asm_exc_page_fault", False), ("mas_prev", True)}


def test_names_of_another_processor_say_nothing(kallsyms) -> None:
    kernel = Kernel()
    kernel.sample(SCHEDULE, ENTRY, FAULT)
    assert [frame[1] for frame in next(iter(stacks_of(kernel.named(kallsyms, arch="aarch64"))))] == [False, False, True]


FUNCTIONS = ["asm_exc_page_fault", "error_entry", "schedule", "vmx_do_nmi_irqoff", "exc_page_fault"]
Frame = tuple[int, bool]
"""Function, return address or not."""
FRAMES = st.tuples(st.integers(0, len(FUNCTIONS) - 1), st.booleans())


def expected_stack(stack: list[Frame]) -> tuple[Frame, ...]:
    """The rule, frame by frame; ``stack`` outermost first."""
    result = list(stack)
    for at in range(len(stack) - 1):
        callee, caller = FUNCTIONS[stack[at + 1][0]], FUNCTIONS[stack[at][0]]
        by_entry = callee == "asm_exc_page_fault" or (callee == "error_entry" and caller != "asm_exc_page_fault")
        if by_entry and caller != "vmx_do_nmi_irqoff":
            result[at] = stack[at][0], False
    return tuple(result)


S, E = (2, True), (0, True)
"""schedule and asm_exc_page_fault."""


@given(st.lists(st.lists(FRAMES, max_size=6), max_size=12))
@example([[S, E], [S]])  # a caller that has a sample of its own
@example([[S, E], [(2, False), E]])  # stacks that become one
@example([[S, E], [S, (4, True)], [S, E, E], [S, E, (4, True)]])  # an interrupted entry
def test_every_stack_is_what_its_frames_one_by_one_make_it(stacks) -> None:
    profile = profile_of(stacks)
    expected = Counter(expected_stack(stack) for stack in stacks)
    assert settled_stacks(profile) == expected
    assert settled_stacks(rewrite_stacks(profile, lambda rows: rows)) == expected  # level by level


def profile_of(stacks: list[list[Frame]]) -> Profile:
    builder = ProfileBuilder()
    builder.event()
    builder.thread()
    for stack in stacks:
        builder.sample([
            builder.location(16 * number + 16, lines=[FUNCTIONS[number]], mode=CpuMode.KERNEL, is_caller=is_return)
            for number, is_return in stack
        ])  # fmt: skip
    return builder.build()


def settled_stacks(profile: Profile) -> Counter:
    with_twins, twin = with_exact_twins(profile, np.flatnonzero(are_kernel_returns(profile.locations)))
    settled = settle_interrupted(named_alike(with_twins, twin), twin, "x86_64", has_exact=True)
    settled.check()
    locations, found = settled.locations, Counter()
    rows = stack_locations(settled, settled.samples.stack.astype(np.int64))
    for at, count in enumerate(settled.samples.count.tolist()):
        row = rows.values[rows.offsets[at] : rows.offsets[at + 1]].tolist()
        frames = ((int(locations.address[n]) // 16 - 1, bool(locations.address[n] != locations.lookup[n])) for n in row)
        found[tuple(frames)] += count
    assert len(set(settled.samples.stack.tolist())) == len(settled.samples)
    return found


def named_alike(profile: Profile, twin) -> Profile:
    """The profile with the line of each location for its twin, too; all locations have one line."""
    own = np.flatnonzero(twin >= 0)
    locations = profile.locations
    functions = np.append(locations.line_function, locations.line_function[own]).astype(np.int32)
    lines = replace(
        locations,
        line_offsets=np.arange(len(functions) + 1),
        line_function=functions,
        line_number=np.zeros(len(functions), np.int32),
    )
    return replace(profile, locations=lines)


@given(st.lists(st.tuples(st.integers(-1, 10), st.integers(0, 2)), max_size=12))
def test_equal_rows_of_a_tree_have_equal_paths(rows) -> None:
    parent = np.array([min(above, at - 1) for at, (above, _) in enumerate(rows)], np.int64)
    location = np.array([item for _, item in rows], np.int64)
    same = equal_rows(parent, location, np.arange(len(rows)))

    def path(row: int) -> tuple[int, ...]:
        return () if row < 0 else (*path(int(parent[row])), int(location[row]))

    paths = [path(row) for row in range(len(rows))]
    assert same.tolist() == [paths.index(one) for one in paths]
