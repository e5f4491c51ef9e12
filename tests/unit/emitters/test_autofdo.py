"""LLVM's sample profile as text: order, nesting, and what is left out."""

import io

import pytest
from msgspec.structs import replace

from perf2x.emitters.autofdo import Autofdo
from perf2x.model.format_features import CodeRequest, CodeSettings
from perf2x.model.profile.code_counts import CodeCounts, FunctionCounts, LineCount
from perf2x.model.profile.profile import Profile
from perf2x.testing import EmitterContract, ProfileBuilder
from tests.unit.emitters.test_bolt import ROWS, code

TEXT = """\
run:70:3
 0: 3
 2.1: 9
 2.3: 8 odd:5 even:2 zero:2
 65501: 3
 2: mix:20
  1: 4
  2: clamp:11
   1: 4
 2: never:0
 4: mix:1
  1: 1
even:7:0
odd:7:5
"""


def functions() -> tuple[FunctionCounts, ...]:
    run = FunctionCounts("run", 70, 3)
    run.lines = {
        (65501, 0): LineCount(3), (2, 3): LineCount(8, {"zero": 2, "even": 2, "odd": 5}), (2, 1): LineCount(9),
        (0, 0): LineCount(3),
    }  # fmt: skip
    run.instance((4, 0), "mix").total = 1
    run.instance((4, 0), "mix").line((1, 0)).count = 1
    run.instance((2, 0), "never")
    mix = run.instance((2, 0), "mix")
    mix.total = 20
    mix.line((1, 0)).count = 4
    mix.instance((2, 0), "clamp").total = 11
    mix.instance((2, 0), "clamp").line((1, 0)).count = 4
    return FunctionCounts("odd", 7, 5), FunctionCounts("even", 7), run


def counted(rows: list[tuple[int, ...]] = ROWS) -> CodeCounts:
    return replace(code(rows), functions=functions())


def profile(counts: CodeCounts | None) -> Profile:
    return replace(ProfileBuilder().build(), code=counts)


def test_text() -> None:
    out = io.BytesIO()
    Autofdo().emit(profile(counted()), out)
    assert out.getvalue().decode() == TEXT


def test_functions_of_two_recordings_are_added_up() -> None:
    both = {each.name: each for each in functions()}
    for each in functions():
        both[each.name].add(each)
    out = io.BytesIO()
    Autofdo().emit(profile(replace(counted(), functions=tuple(both.values()))), out)
    assert out.getvalue().decode().startswith("run:140:6\n 0: 6\n 2.1: 18\n 2.3: 16 odd:10 even:4 zero:4\n")


def test_says_what_was_counted() -> None:
    assert Autofdo().notes(profile(counted())) == ("of /bin/prog: 3 functions from 18 branches",)
    plain = "of /bin/prog: 3 functions from 5 samples, as no branches were recorded (perf record -b)"
    assert Autofdo().notes(profile(counted([]))) == (plain,)
    assert Autofdo().notes(profile(None)) == ()
    assert Autofdo(object="x").needs.of(CodeSettings).code == CodeRequest("x", "external", by_line=True)


class TestAutofdo(EmitterContract):
    def emitter(self) -> Autofdo:
        return Autofdo()

    def profile(self, builder: ProfileBuilder) -> Profile:
        return replace(super().profile(builder), code=counted())


@pytest.mark.parametrize("name", ["\udcff", "odd name"])
def test_undecodable_names_are_bytes(name: str) -> None:
    out = io.BytesIO()
    Autofdo().emit(profile(replace(counted(), functions=(FunctionCounts(name, 1, 1),))), out)
    assert out.getvalue() == name.encode(errors="surrogateescape") + b":1:1\n"
