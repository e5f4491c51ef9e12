"""The verdict names the call or function that explains most of a growth, and none where no single one does."""

from pathlib import Path

import pytest

from perf2x.model.advice import Advice
from perf2x.model.profile import Meta
from tests.support.command import perf2x
from tests.unit.cli.test_moved_code import verdict

BASE = {
    "exit": 50,
    "run;parse": 400,
    "run;parse;decode": 600,
    "run;render": 500,
    "run;render;decode": 200,
    "run;render;blend": 700,
    "run;store": 600,
}
"""3,050 samples; decode has two callers."""
TOTAL = ("--fail-above", "total=5")


def cause(folder: Path, before: dict[str, int], after: dict[str, int], *words: str) -> str:
    """Return the likely cause in the verdict, "" if it names none; the command must fail."""
    code, lines = verdict(folder, before, after, *words)
    assert (code, lines[0]) == (3, "### perf2x: failed"), lines
    reasons = [line for line in lines if " grew by " in line]
    named = [line.removeprefix("- likely cause: ") for line in lines if line.startswith("- likely cause: ")]
    assert not named or lines.index(f"- likely cause: {named[0]}") == lines.index(reasons[-1]) + 1, (
        "right after the reasons"
    )
    return "".join(named)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"run;parse;decode": 1600}, "parse → decode, +1,000 of +1,000"),  # a callee costs more for one caller
        ({"run;parse;decode": 1600, "run;store": 500}, "parse → decode, +1,000 of +900"),  # something else less
        ({"run;parse;decode": 1300, "run;store": 900}, "parse → decode, +700 of +1,000"),
        ({"run;parse;decode": 1050, "run;store": 1100}, ""),  # 450 and 500 of 950
        ({"run;store;decode": 900}, "store → decode, +900 of +900"),  # a new caller
        ({"run;parse;check": 900}, "parse → check, +900 of +900"),  # a new callee
        ({"run;store;decode": 500, "run;parse;decode": 1100}, "decode, +1,000 of +1,000"),  # both, equally
        ({"run;store;decode": 700, "run;parse;decode": 900}, "store → decode, +700 of +1,000"),  # both
        ({"run;parse;decode": 1800, "run;render;decode": 600}, "decode, +1,600 of +1,600"),  # for all its callers
        ({stack: 2 * cost for stack, cost in BASE.items()}, ""),  # a slower machine
        (
            {"run;store;pack": 400, "run;store;pack;crc": 400, "run;store;pack;put": 400},
            "store → pack, +1,200 of +1,200",
        ),
        ({"run;parse": 700, "run;store": 900, "run;render": 800}, ""),
        ({"run;parse;decode": 1600, "run;store": 1600, "run;render;blend": 10}, ""),  # two, as others shrank
        ({"run;parse;decode;decode;decode": 1000}, "parse → decode, +1,000 of +1,000"),  # recursion
        ({"run;parse;decode": 600, "run;parse;lex;decode": 1000}, "lex → decode, +1,000 of +1,000"),
        ({"run;render;py::blend;_PyEval_EvalFrame;memcpy": 900}, "py::blend → memcpy, +900 of +900"),
        ({"run;store;std::find;<core::Iter as It>::next;<str as core::Eq>::eq;cmp": 900}, "store → cmp, +900 of +900"),
        ({"run;store;<own::Key as core::Eq>::eq;cmp": 900}, "<own::Key as core::Eq>::eq → cmp, +900 of +900"),
        (
            {f"run;store;std::sort;{part}": 400 for part in ("swap", "less", "move")},
            "run → store, +1,200 of +1,200",  # in a library, all over it
        ),
        (
            {
                "run;store;pack": 150,
                "run;store;put": 150,
                "run;render;fill": 150,
                "run;render;line": 150,
                "run;parse": 100,
            },
            "",  # two, as a third saved as much
        ),
        (
            {
                **{f"run;{caller};pack": own for caller, own in (("store", 343), ("render", 74), ("parse", 73))},
                **{f"run;{caller};pack;crc": own for caller, own in (("store", 179), ("render", 38), ("parse", 38))},
                **{f"run;{caller};pack;put": own for caller, own in (("store", 178), ("render", 38), ("parse", 39))},
            },
            "pack, +1,000 of +1,000",  # for all its callers
        ),
        ({"run;parse": 900, "run;store": 900, "run;render": 900}, ""),
        (
            {"run;parse": 1600, "run;parse;decode": 1800, "run;store": 10, "run;render;blend": 100},
            "",
        ),  # two, one in the other
        ({"run;store": 0, "run;pack": 1400}, ""),  # +1,400 of +800, as it is store's new name
    ],
)
def test_cause_of_a_slower_program(tmp_path: Path, changes: dict[str, int], said: str) -> None:
    assert cause(tmp_path, BASE, BASE | changes, *TOTAL) == said


@pytest.mark.parametrize(
    ("limit", "changes", "said"),
    [
        ("function=5", {"run;parse;decode": 1600}, "parse → decode, +1,000 of +1,000"),
        ("share=5", {"run;store;decode": 900}, "store → decode, +900 of +900"),
        (
            "function=5",
            {"run;store;pack": 400, "run;store;pack;crc": 400, "run;store;pack;put": 400},
            "store → pack, +1,200 of +1,200",
        ),
        ("function=5", {"run;parse;check": 900}, "parse → check, +900 of +900"),  # which is new
        ("share=5", {"run;store;decode": 500, "run;parse;decode": 1100}, ""),  # decode itself, as the reason says
        ("function=5", {"run;store": 1600, "run;parse;decode": 1600}, ""),
        ("function:decode=5", {"run;store": 1600, "run;parse;decode": 1600}, "parse → decode, +1,000 of +1,000"),
        (
            "function:store=5",
            {"run;store": 1600, "run;parse;decode": 1600},
            "",
        ),  # which has one caller before and after
        ("function=5", {"run;parse;decode": 1800, "run;render;decode": 600}, ""),  # decode is slower for all
        ("object=5", {"run;parse;decode": 1600}, "parse → decode, +1,000 of +1,000"),
    ],
)
def test_cause_of_a_slower_function(tmp_path: Path, limit: str, changes: dict[str, int], said: str) -> None:
    assert cause(tmp_path, BASE, BASE | changes, "--fail-above", limit) == said


def test_totals_of_functions_have_no_cause(tmp_path: Path) -> None:
    """Those that contain others fail together, and the growth of one is in them all."""
    for name, costs in (("before", BASE), ("after", BASE | {"run;parse;decode": 1600})):
        (tmp_path / name).write_text("".join(f"{stack} {cost}\n" for stack, cost in costs.items()))
    words = ("diff", tmp_path / "before", tmp_path / "after", "--fail-above", "function:decode=5")
    assert "likely cause: parse → decode" in perf2x(*words).err
    ran = perf2x(*words, "--sort", "total")
    assert ran.code == 3 and "likely cause" not in ran.said
    quiet = perf2x(*words, "-q")
    assert [line.partition(":")[2][:7] for line in quiet.err.splitlines()] == [" decode", " likely"]


def test_growth_per_unit_of_work(tmp_path: Path) -> None:
    after = {stack: 2 * cost for stack, cost in (BASE | {"run;parse;decode": 1600}).items()}
    assert cause(tmp_path, BASE, after, *TOTAL, "--per", "1000,2000") == "parse → decode, +1,000 of +1,000"


def test_no_caller_is_named_where_samples_lack_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-g`` loses the caller of a leaf function: the next one out would stand in its place."""
    lost = (Advice("missing_callers", "The caller of the sampled function is missing in 60 % of the samples."),)
    monkeypatch.setattr(Meta, "advice", property(lambda _: lost))
    assert cause(tmp_path, BASE, {**BASE, "run;parse;decode": 1600}, *TOTAL) == "decode, +1,000 of +1,000"
