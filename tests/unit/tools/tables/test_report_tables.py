"""Callers and hottest paths against loops over samples."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.model.profile.profile import Profile
from perf2x.model.totals.totals import totals
from perf2x.testing import ProfileBuilder
from perf2x.tools.tables.report_tables import CallTree, call_tree, callers_of, hot_paths, report_tables

Stacks = list[tuple[tuple[str, ...], int]]


def made(stacks: Stacks) -> Profile:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds")
    thread = builder.thread("app", 7)
    for names, value in stacks:
        builder.sample([builder.function(name) for name in names], thread, value=value)
    return builder.build()


def tree_of(profile: Profile) -> CallTree:
    return call_tree(profile)


def some_stacks(seed: int) -> Stacks:
    """Stacks of up to eight of five functions, recursion of all kinds among them."""
    draw = random.Random(seed)
    return [(tuple(draw.choices("abcde", k=draw.randint(1, 8))), draw.randint(1, 9)) for _ in range(40)]


def callers_by_hand(stacks: Stacks, name: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for names, value in stacks:
        if name in names:
            place = names.index(name)
            found[names[place - 1] if place else ""] += value
    return found


def paths_by_hand(stacks: Stacks, least: float) -> dict[tuple[str, ...], int]:
    whole, sums = sum(value for _, value in stacks), Counter[tuple[str, ...]]()
    for names, value in stacks:
        for end in range(1, len(names) + 1):
            sums[names[:end]] += value
    hot = {names: value for names, value in sums.items() if value >= least * whole}
    ends = (names for names in hot if len(names) > 1 and not any(one[:-1] == names for one in hot))
    return {names: hot[names] for names in ends}


@pytest.mark.parametrize("seed", range(8))
def test_callers_are_those_in_front_of_the_outermost_call(seed: int) -> None:
    stacks = some_stacks(seed)
    profile = made(stacks)
    functions = [(name, "") for name in "abcde"]
    found = callers_of(tree_of(profile), functions)
    total = {(row.name, row.object): row.total for row in totals(profile).rows}
    for function in functions:
        rows = found.get(function, [])
        assert {row.name: row.value for row in rows} == callers_by_hand(stacks, function[0])
        assert sum(row.value for row in rows) == total.get(function, 0)
        assert [row.value for row in rows] == sorted((row.value for row in rows), reverse=True)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("least", [0.02, 0.1])
def test_paths_end_where_nothing_below_is_hot(seed: int, least: float) -> None:
    stacks = some_stacks(seed)
    found = hot_paths(tree_of(made(stacks)), 100, least)
    by_hand = paths_by_hand(stacks, least)
    assert {tuple(path.functions): path.total for path in found} == by_hand
    assert [path.total for path in found] == sorted(by_hand.values(), reverse=True)
    own = Counter[tuple[str, ...]]()
    for names, value in stacks:
        own[names] += value
    assert all(path.own == own[tuple(path.functions)] for path in found)
    assert hot_paths(tree_of(made(stacks)), 2, least) == found[:2]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("_start __libc_start_main main run run leaf", "… main run run leaf"),
        ("_start main PyEval_EvalCode _PyEval_Vector outer runtime.mallocgc", "… main … outer runtime.mallocgc"),
        ("_start __libc_start_main clone", "_start __libc_start_main clone"),
    ],
)
def test_paths_name_the_program_rather_than_runtimes(path: str, shown: str) -> None:
    (found,) = hot_paths(tree_of(made([(tuple(path.split()), 5)])), 3)
    assert (" ".join(found.functions), " ".join(found.displayed_functions)) == (path, shown)


def test_functions_of_one_name_in_two_objects_stay_apart() -> None:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds")
    thread = builder.thread("app", 7)
    one, two = builder.mapping("/lib/one.so", 0x1000), builder.mapping("/lib/two.so", 0x9000)
    places = [builder.location(address, thing, [("work", "", 0)]) for address, thing in ((0x1001, one), (0x9001, two))]
    builder.sample(places, thread, value=5)
    found = callers_of(tree_of(builder.build()), [("work", "one.so"), ("work", "two.so")])
    assert [(row.name, row.object) for row in found["work", "two.so"]] == [("work", "one.so")]
    assert [(row.name, row.object) for row in found["work", "one.so"]] == [("", "")]


def shared_of(stacks: Sequence[tuple[str, int, int]]) -> tuple[int, int]:
    """Kernel and idle cost of samples of (leaf's mode, pid, value)."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds")
    for mode, pid, value in stacks:
        leaf = builder.function("leaf", CpuMode.KERNEL if mode == "k" else CpuMode.USER)
        builder.sample([builder.function("main"), leaf], builder.thread("x", pid), value=value)
    tables = report_tables(builder.build(), "period", 5)
    return tables.kernel, tables.idle


def test_shares_of_the_kernel_and_of_idle_cpus() -> None:
    assert shared_of([("k", 1, 3), ("u", 1, 4), ("k", 0, 5)]) == (8, 5)
    assert shared_of([("u", 1, 4)]) == (0, 0)


def test_a_profile_without_samples_has_empty_tables() -> None:
    tables = report_tables(ProfileBuilder().build(), "period", 5)
    assert (tables.by_self.rows, tables.paths, tables.callers) == ([], [], {})
