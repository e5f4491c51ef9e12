"""``perf2x diff --fail-above``: exit codes, and changes that noise explains."""

import json
import re
from pathlib import Path

import pytest

from tests.support.command import perf2x
from tests.unit.cli.diff_inputs import QUICK, forged


def test_the_gate_counts_what_noise_does_not_explain(grown: tuple[Path, Path]) -> None:
    words = ("diff", *grown, "--no-symbols", "--fail-above", "function=5")
    plain = {"GITHUB_ACTIONS": "", "GITLAB_CI": ""}
    ran = perf2x(*words, env=plain)
    assert ran.code == 3
    said = [line for line in ran.err.splitlines() if "--fail-above" in line]
    assert said == [
        "perf2x: [o2.so] in o2.so grew by more than 5 %, which is within sampling noise (--fail-above); "
        "record longer to be sure",
        "perf2x: [o1.so] in o1.so grew by +30.0 % of the total (+11.9 % to +48.4 %), more than 5 % (--fail-above)",
    ]
    said = perf2x(*words, "-q", "--any-change", env=plain).err.splitlines()
    assert said == [
        "perf2x: [o1.so] in o1.so grew by +30.0 % of the total, more than 5 % (--fail-above)",
        "perf2x: [o2.so] in o2.so grew by +10.0 % of the total, more than 5 % (--fail-above)",
    ]
    assert perf2x(*words, "-q", "--confidence", "0.9999999", env=plain).code == 0


@pytest.mark.parametrize("bar", ["object:o1.so=1", "function:[[]o1*=1", "total=1"])
def test_the_gate_is_as_sure_as_asked(tmp_path: Path, bar: str) -> None:
    """100 to 131 samples are beyond 95 % limits, 100 to 130 are not (the exact values stand in test_noise.py)."""
    before = forged(tmp_path / "before.data", [0x1010] * 100)
    for samples, code in ((130, 0), (131, 3)):
        after = forged(tmp_path / "after.data", [0x1010] * samples)
        assert perf2x("diff", before, after, *QUICK, "--fail-above", bar).code == code, samples


def grown_by(folder: Path, more: int) -> tuple[Path, Path]:
    """Three objects of 100 samples, the first of which grows, and one of 4."""
    rest = [0x2010] * 100 + [0x3010] * 100 + [0x4010] * 4
    return (
        forged(folder / "before.data", [0x1010] * 100 + rest),
        forged(folder / "after.data", [0x1010] * (100 + more) + rest),
    )


@pytest.mark.parametrize(
    ("bars", "enough"),
    [
        (("object:o1.so=1",), 31),
        (("object:o1.so=1", "object:o2.so=1"), 35),
        (("object=5",), 37),
        (("object=0.1",), 37),  # the limit does not matter
        (("object=5", "object:o1.so=1"), 37),  # looked at once
        (("object=5", "total=50"), 42),
        (("object=1", "total=80"), 42),
    ],
)
def test_the_gate_is_as_sure_of_all_comparisons_together(tmp_path: Path, bars: tuple[str, ...], enough: int) -> None:
    words = [word for bar in bars for word in ("--fail-above", bar)]
    assert perf2x("diff", *grown_by(tmp_path, enough - 1), *QUICK, *words).code == 0
    assert perf2x("diff", *grown_by(tmp_path, enough), *QUICK, *words).code == 3


def test_table_and_gate_say_the_same(tmp_path: Path) -> None:
    """36 more are no chance among two comparisons, and could be among all lines of the table."""
    pair = grown_by(tmp_path, 36)
    assert re.search(r"100\.00 µs +136\.00 µs +×1\.36 +~\+11\.8 %", perf2x("diff", *pair, *QUICK).out)
    words = ("--fail-above", "function:[[]o1*=1", "--fail-above", "function:[[]o2*=1")
    ran = perf2x("diff", *pair, *QUICK, *words)
    assert ran.code == 3
    assert re.search(r"100\.00 µs +136\.00 µs +×1\.36 +\+11\.8 %", ran.out)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--fail-above", "29%"), 3, "[o1.so] in o1.so grew by +30.0 % of the total, more than 29 % (--fail-above)"),
        (("--fail-above", "30"), 0, ""),
        (("--fail-above", "19", "--by", "object"), 3, "the total grew by +20.0 %, more than 19 %"),
        (("--fail-above", "19", "--normalize"), 3, "[o1.so] in o1.so grew by +21.7 %"),
        (("--fail-above", "25", "--normalize"), 0, ""),
        (("--fail-above", "total=19"), 3, "the total grew by +20.0 %, more than 19 %"),
        (("--fail-above", "total=20%"), 0, ""),
        (("--fail-above", "function=29"), 3, "[o1.so] in o1.so grew by +30.0 % of the total"),
        (("--fail-above", "object=29"), 3, "perf2x: o1.so grew by +30.0 % of the total"),
        (("--fail-above", "object:o2.so=0"), 0, ""),
        (("--fail-above", "function:[[]o3*=9"), 3, "[o3.so] in o3.so grew by +10.0 %"),
        (("--fail-above", "function:[o3.so]=10", "--fail-above", "total=50"), 0, ""),
        (("--fail-above", "function:[o5.so]=19", "--sort", "total"), 3, "[o5.so] in o5.so grew by +20.0 %"),
    ],
)
def test_the_gate(pair: tuple[Path, Path], words: tuple[str, ...], code: int, sentence: str) -> None:
    ran = perf2x("diff", *pair, *QUICK, *words, "--any-change", env={"GITHUB_ACTIONS": "", "GITLAB_CI": ""})
    assert ran.code == code
    assert sentence in ran.err
    assert (ran.err == "") == (code == 0)


@pytest.mark.parametrize(
    ("bar", "says"),
    [
        (
            "object:o9.so=1",
            "no object 'o9.so'; did you mean o5.so or o3.so or o2.so? The recordings have: o1.so, o2.so, o3.so, o5.so",
        ),
        ("function:prase*=1", "no function 'prase*'; the recordings have: [o1.so], [o2.so], [o3.so], [o5.so]"),
        ("share:prase=1", "no function 'prase'; the recordings have: [o1.so], [o2.so], [o3.so], [o5.so]"),
    ],
)
def test_a_gate_for_what_was_never_sampled_is_a_mistake_unless_allowed(
    pair: tuple[Path, Path], bar: str, says: str
) -> None:
    before, after = pair
    for words in (("diff", *pair), ("report", after, "--before", before)):
        words = (*words, "--no-symbols", "--fail-above", bar, "--any-change")
        ran = perf2x(*words)
        assert (ran.code, ran.err) == (2, f"perf2x: --fail-above: {says} (--allow-unknown accepts that)\n")
        ran = perf2x(*words, "--allow-unknown")
        assert ran.code == 0 and says[:9] in ran.out + ran.said


FEW = "has 43 samples, and a comparison needs 100: record for longer"
MANY = {"sort_rows": 800, "parse": 2000, "emit": 305}
SOME = {"sort_rows": 11, "parse": 28, "emit": 4}


@pytest.mark.parametrize(
    ("before", "after", "words", "code", "outcome", "reason"),
    [
        (MANY, SOME, (), 0, "too few samples to judge", f"the recording {FEW}"),
        (SOME, SOME, (), 0, "too few samples to judge", f"the recording {FEW}"),
        (
            SOME,
            {"sort_rows": 28, "parse": 72, "emit": 10},
            (),
            0,
            "too few samples to judge",
            f"the earlier recording {FEW}",
        ),
        (None, SOME, (), 0, "too few samples to judge", f"the recording {FEW}"),
        (None, MANY, (), 0, "no baseline", "there is no earlier recording to compare with"),
        (MANY, {"sort_rows": 28, "parse": 72, "emit": 10}, (), 0, "passed", "nothing exceeds its limit"),
        (MANY, SOME, ("--any-change",), 0, "passed", "nothing exceeds its limit"),
        (SOME, MANY, ("--fail-above", "total=25"), 3, "failed", "the total grew by"),  # however few there were
    ],
)
def test_a_handful_of_samples_is_never_passed(
    tmp_path: Path,
    before: dict[str, int] | None,
    after: dict[str, int],
    words: tuple[str, ...],
    code: int,
    outcome: str,
    reason: str,
) -> None:
    for name, costs in (("before", before or {}), ("after", after)):
        (tmp_path / name).write_text("".join(f"main;{function} {count}\n" for function, count in costs.items()))
    against = ("--before", tmp_path / "before") if before is not None else ()
    limits = ("--fail-above", "share=5", *words)
    ran = perf2x("report", tmp_path / "after", *against, *limits, env={"GITHUB_ACTIONS": "true"})
    lines = ran.out.splitlines()
    assert (ran.code, lines[0]) == (code, f"### perf2x: {outcome}"), ran.said
    assert lines[2].startswith(f"- {reason}")
    assert (f"::warning title=perf2x::{reason}" in ran.err) == outcome.startswith("too few")


@pytest.mark.parametrize(
    ("bar", "filters", "code"),
    [
        ("function:spin=5", (), 3),
        ("function:spin=5", ("--focus", "^work$"), 0),
        ("function:spin=5", ("--focus", "^spin$"), 3),
        ("total=5", ("--ignore", "^spin$"), 0),
        ("function:spin=5", ("--hide", "^spin$"), 0),
        ("function:main=5", ("--hide", "^spin$"), 3),
        ("function:turn=5", ("--rename", "spin=turn"), 3),
    ],
)
@pytest.mark.parametrize("command", ["diff", "report"])
def test_the_gate_sees_what_filters_of_frames_leave(
    command: str, bar: str, filters: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    before, after = tmp_path / "before.folded", tmp_path / "after.folded"
    before.write_text("main;work 700\nmain;spin 300\n")
    after.write_text("main;work 700\nmain;spin 900\n")
    inputs = (before, after) if command == "diff" else (after, "--before", before)
    assert perf2x(command, *inputs, "--fail-above", bar, "--allow-unknown", *filters, "-q").code == code


BEFORE = {"sort_rows": 800, "parse": 2000, "emit": 305}
GREW = "shares that grew only because others shrank: "


@pytest.mark.parametrize(
    ("after", "code", "says"),
    [
        ({"parse": 1000}, 0, f"{GREW}sort_rows"),
        ({"sort_rows": 160, "parse": 150, "emit": 160}, 0, f"{GREW}emit, sort_rows"),
        ({"parse": 1000, "sort_rows": 820}, 0, f"{GREW}sort_rows"),  # within noise
        ({"parse": 1000, "sort_rows": 1000}, 3, "the share of sort_rows grew by"),
        ({"parse": 3000}, 3, "the share of parse grew by"),
    ],
)
def test_a_share_fails_for_what_costs_more(tmp_path: Path, after: dict[str, int], code: int, says: str) -> None:
    for name, costs in (("before", BEFORE), ("after", BEFORE | after)):
        text = "".join(f"main;{function} {count}\n" for function, count in costs.items())
        (tmp_path / name).write_text(text)
    words = ("diff", tmp_path / "before", tmp_path / "after", "--fail-above", "share=5")
    ran = perf2x(*words, env={"GITHUB_ACTIONS": "", "GITLAB_CI": ""})
    assert (ran.code, says in ran.err) == (code, True), ran.err
    normalized = perf2x(*words, "--normalize")  # of nothing but shares
    assert (GREW in normalized.err) is False


def test_limits_on_one_row_fail_once(tmp_path: Path) -> None:
    limits = (
        "--fail-above",
        "object=5",
        "--fail-above",
        "object:o1*=1",
        "--fail-above",
        "total=5",
        "--fail-above",
        "1",
    )
    ran = perf2x("diff", *grown_by(tmp_path, 200), *QUICK, "--by", "object", *limits)
    said = [line.partition(" grew by ") for line in ran.err.splitlines()]
    assert [what for what, _, _ in said] == ["perf2x: o1.so", "perf2x: the total", said[-1][0]]
    assert all(", more than 5 % " in rest for _, _, rest in said[:-1]) and "likely cause" in said[-1][0]


def test_shares_that_noise_explains_are_no_shrinking_rest(tmp_path: Path) -> None:
    words = ("diff", *grown_by(tmp_path, 20), "--no-symbols", "--normalize")
    for limit in ("share=1", "function=1"):
        ran = perf2x(*words, "--fail-above", limit)
        assert ran.code == 0
        assert "grew by more than 1 %, which is within sampling noise" in ran.err
        assert "because others shrank" not in ran.err


def test_the_report_is_as_sure_of_the_whole_as_the_gate(tmp_path: Path) -> None:
    before, after = grown_by(tmp_path, 55)
    words = ("report", after, "--before", before, "--no-symbols", "--format", "json", "-q")
    limits = [word for bar in ("function=50", "total=80") for word in ("--fail-above", bar)]
    sure = [json.loads(perf2x(*words, *more).out)["difference"]["significant"] for more in ((), limits)]
    assert sure == [True, False]
