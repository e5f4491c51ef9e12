"""The page's trees against perf2x top and collapsed stacks of the same recordings, and small models of edits."""

import io
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perf2x.api import read
from perf2x.emitters.collapsed import Collapsed
from perf2x.emitters.flame.html import Html
from perf2x.model.profile.profile import Profile
from perf2x.model.totals.totals import totals
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.testing import ProfileBuilder
from tests.support.recordings import corpus_cases

SCRIPT = Path(__file__).parent / "page" / "answer_laws.mjs"
RECORDED = ("calls", "events", "unwind")
Stack = tuple[str, ...]
Stacks = Counter[Stack]


def recursive() -> Profile:
    """A function that calls itself, one that comes back by way of another, and samples without a stack."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    builder.thread("app", 7)
    calls = ["a", "aa", "aab", "abab", "aabbaab", "cab", "ccc", "bcb", ""]
    for value, names in enumerate(calls * 2, 1):
        builder.sample([builder.function(name) for name in names], value=value)
    return builder.build()


def profiles() -> dict[str, Profile]:
    cases = [case for case in corpus_cases() if case.name in RECORDED]
    symbols = [SymbolOptions(symfs=case.symfs, kallsyms=case.kallsyms) for case in cases]
    read_ones = {case.name: read(case.data, symbols=one).profile for case, one in zip(cases, symbols, strict=True)}
    return {"recursive": recursive()} | read_ones


@pytest.fixture(scope="module")
def told() -> dict[str, tuple[Profile, dict[str, Any]]]:
    """Each profile with what the page makes of it; one Node for all."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node here: apt-get install nodejs")
    made = profiles()
    ran = subprocess.run(
        [node, SCRIPT], input=json.dumps([data(one) for one in made.values()]), capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return dict(zip(made, zip(made.values(), json.loads(ran.stdout), strict=True), strict=True))


def data(profile: Profile) -> str:
    out = io.BytesIO()
    Html(compress=False).emit(profile, out)
    return out.getvalue().decode().split('<script id="data" type="text/plain">')[1].split("</script>")[0]


def collapsed(profile: Profile) -> Stacks:
    """With one frame for many without a name, as the page shows them."""
    out = io.BytesIO()
    Collapsed(root=False).emit(profile, out)
    lines = [line.rsplit(" ", 1) for line in out.getvalue().decode().splitlines()]
    pairs = ((() if stack == "[no stack]" else tuple(stack.split(";")), int(value)) for stack, value in lines)
    return summed((fold(stack, "[unknown]"), value) for stack, value in pairs)


def summed(pairs: Any) -> Stacks:
    sums: Stacks = Counter()
    for stack, value in pairs:
        sums[stack] += value
    return sums


def named(answer: dict[str, Any], found: dict[str, int]) -> Stacks:
    """Stacks by name, as collapsed stacks write names."""
    names = [key.split("\n")[0].replace(";", ":") for key in answer["keys"]]
    paths = ((tuple(names[int(number)] for number in path.split(",") if path), value) for path, value in found.items())
    return summed(paths)


def names_of_one_function(answer: dict[str, Any]) -> dict[int, str]:
    """Functions by number, without those whose name another object has: collapsed stacks do not tell them apart."""
    names = [key.split("\n")[0] for key in answer["keys"]]
    return {number: name for number, name in enumerate(names) if names.count(name) == 1 and ";" not in name}


def keep(stack: Stack, name: str) -> Stack | None:
    return stack if name in stack else None


def leave_out(stack: Stack, name: str) -> Stack | None:
    left = tuple(one for one in stack if one != name)
    return left if left or not stack else None


def fold(stack: Stack, name: str) -> Stack:
    return tuple(one for at, one in enumerate(stack) if not (one == name and at and stack[at - 1] == name))


EDITS: dict[str, Callable[[Stack, str], Stack | None]] = {"focus": keep, "hide": leave_out, "fold": fold}


def edited(stacks: Stacks, kind: str, name: str) -> Stacks:
    changed = ((EDITS[kind](stack, name), value) for stack, value in stacks.items())
    return summed((stack, value) for stack, value in changed if stack is not None)


@pytest.mark.parametrize("name", ["recursive", *RECORDED])
def test_functions_are_those_of_perf2x_top(told, name: str) -> None:
    profile, answer = told[name]
    ours = {(one["name"], one["object"].rsplit("/", 1)[-1]): (one["self"], one["total"]) for one in answer["functions"]}
    assert ours == {(row.name, row.object): (row.self, row.total) for row in totals(profile).rows if row.total}


@pytest.mark.parametrize("name", ["recursive", *RECORDED])
def test_stacks_are_the_collapsed_ones(told, name: str) -> None:
    profile, answer = told[name]
    assert named(answer, answer["stacks"]) == collapsed(profile)


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("name", ["recursive", *RECORDED])
def test_edits_of_stacks(told, name: str, kind: str) -> None:
    """Focus keeps exactly the stacks with the function; a hidden one's cost and callees go to the caller."""
    profile, answer = told[name]
    stacks, functions = collapsed(profile), names_of_one_function(answer)
    assert len(functions) > len(answer["keys"]) / 2
    for number, function in functions.items():
        assert named(answer, answer["edited"][kind][number]) == edited(stacks, kind, function), function


@pytest.mark.parametrize("name", ["recursive", *RECORDED])
def test_edits_follow_one_another(told, name: str) -> None:
    profile, answer = told[name]
    names = [key.split("\n")[0] for key in answer["keys"]]
    stacks = edited(edited(collapsed(profile), "fold", names[0]), "hide", names[-1])
    assert named(answer, answer["three"]) == edited(stacks, "focus", names[0])


@pytest.mark.parametrize("name", ["recursive", *RECORDED])
def test_callers_and_callees_hold_the_whole_of_a_function(told, name: str) -> None:
    """Each stack counts once, at its outermost frame of the function: so both sides sum up to perf2x top's total."""
    profile, answer = told[name]
    stacks = collapsed(profile)
    total_of = {row.name: row.total for row in totals(profile).rows}
    for number, function in names_of_one_function(answer).items():
        held = {stack: value for stack, value in stacks.items() if function in stack}
        callers, callees = (named(answer, answer["sides"][number][side]) for side in ("callers", "callees"))
        assert callers.total() == callees.total() == total_of.get(function, 0)
        assert callers == summed((stack[: stack.index(function) + 1][::-1], value) for stack, value in held.items())
        assert callees == summed((stack[stack.index(function) :], value) for stack, value in held.items())


@pytest.mark.parametrize("name", ["recursive", *RECORDED])
def test_bottom_up_begins_with_what_functions_cost_themselves(told, name: str) -> None:
    profile, answer = told[name]
    found = named(answer, answer["bottomUp"])
    assert found == summed((stack[::-1], value) for stack, value in collapsed(profile).items() if stack)
    own = summed((stack[:1], value) for stack, value in found.items())
    wanted = summed(((row.name.replace(";", ":"),), row.self) for row in totals(profile).rows if row.self)
    assert own == wanted
