"""Gates let code pass that was renamed, split or inlined and costs the same, and say where it went."""

from pathlib import Path

import pytest

from tests.support.command import perf2x
from tests.unit.cli.diff_inputs import forged

FLAT = {"sort_rows": 800, "parse": 2000, "emit": 305}
DEEP = {"run;parse": 1000, "run;parse;lex": 1000, "sort_rows": 800, "emit": 305}
REST = {"sort_rows": 800, "emit": 305}
ANOTHER = "the earlier recording is of another program"


def verdict(folder: Path, before: dict[str, int], after: dict[str, int], *words: str) -> tuple[int, list[str]]:
    """Exit code, and the lines of the verdict."""
    for name, costs in (("before", before), ("after", after)):
        (folder / name).write_text("".join(f"main;{stack} {cost}\n" for stack, cost in costs.items()))
    limits = words or ("--fail-above", "total=25", "--fail-above", "share=5")
    ran = perf2x("report", folder / "after", "--before", folder / "before", *limits)
    return ran.code, ran.out.partition("### perf2x report")[0].replace("`", "").splitlines()


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (FLAT, REST | {"decode": 2030}, "renamed: parse → decode, together 64.4 % before and 64.8 % after"),
        (FLAT, REST | {"decode": 1850}, "renamed: parse → decode, together 64.4 % before and 62.6 % after"),
        (FLAT, REST | {"parse": 1000, "parse;tail": 1010}, "split: parse → tail, together 64.4 % before"),
        (FLAT, REST | {"parse": 1000, "tail": 1010}, "split: parse → tail, together 64.4 % before"),
        (FLAT, REST | {"pa": 700, "pa;pb": 700, "pc": 600}, "split: parse → pa, pb, pc, together 64.4 % before"),
        (FLAT, {"sort_rows": 1105, "parse": 2000}, "inlined: emit → sort_rows, together 35.6 % before"),
        (DEEP, REST | {"run;parse": 2000}, "inlined: lex → parse, together 64.4 % before"),
        (DEEP, REST | {"go;p2": 1000, "go;p2;l2": 1000}, "renamed: lex → l2, together 32.2 % before"),
        (FLAT, {"sort_rows": 920, "emit": 350, "decode": 2300}, "renamed: parse → decode, together 64.4 %"),  # slower
    ],
)
def test_moved_code_is_no_cost(tmp_path: Path, before: dict[str, int], after: dict[str, int], says: str) -> None:
    code, lines = verdict(tmp_path, before, after)
    assert (code, lines[0]) == (0, "### perf2x: passed")
    assert any(line.startswith(f"- {says}") for line in lines), lines


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (FLAT, REST | {"decode": 2600}, "the share of decode grew by"),  # renamed and slower
        (FLAT, REST | {"parse": 2000, "log": 300}, "the share of log grew by"),  # nothing became less
        (FLAT, REST | {"parse": 1000, "log": 500}, "the share of log grew by"),  # by more than that
        (FLAT, FLAT | {"emit": 700, "parse": 1605}, "the share of emit grew by"),  # nothing vanished or came
        (
            {"a;parse": 1000, "b;emit": 900, "b;sort": 900},
            {"b;decode": 1000, "b;emit": 900, "b;sort": 900},
            "the share of decode grew by",  # elsewhere in the callers
        ),
        (
            {"a;parse": 2000, "b;emit": 1000},
            {"a;parse": 1000, "b;emit": 1000, "b;log": 1000},
            "the share of log grew by",  # as much as parse saved, for another caller
        ),
    ],
)
def test_what_costs_more_fails(tmp_path: Path, before: dict[str, int], after: dict[str, int], says: str) -> None:
    code, lines = verdict(tmp_path, before, after)
    assert (code, lines[0]) == (3, "### perf2x: failed")
    assert lines[2].startswith(f"- {says}")


MANY = {"sort_rows": 80_000, "parse": 200_000, "emit": 30_500}


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (FLAT, REST | {"decode": 2000, "decompress": 2000}, 3),  # one of them was parse
        (MANY, {"sort_rows": 80_000, "emit": 30_500, "decode": 210_000}, 0),  # more by less than a tenth
        (MANY, {"sort_rows": 80_000, "emit": 30_500, "decode": 260_000}, 3),
        (
            FLAT,
            {"sort_rows": 1200, "pa": 1050, "pb": 1050, "pc": 900, "emit": 457},
            3,
        ),  # shares of several are no costs
    ],
)
def test_what_moved_is_as_large_as_before(
    tmp_path: Path, before: dict[str, int], after: dict[str, int], code: int
) -> None:
    assert verdict(tmp_path, before, after, "--fail-above", "share=5")[0] == code


def test_totals_of_renamed_functions(tmp_path: Path) -> None:
    renamed = REST | {"go;parse": 1000, "go;parse;lex": 1000}
    for name, costs in (("before", DEEP), ("after", renamed)):
        (tmp_path / name).write_text("".join(f"main;{stack} {cost}\n" for stack, cost in costs.items()))
    ran = perf2x("diff", tmp_path / "before", tmp_path / "after", "--sort", "total", "--fail-above", "function=5")
    assert ran.code == 0
    assert "renamed: run → go, together 64.4 % before and 64.4 % after" in ran.err
    every = perf2x("diff", tmp_path / "before", tmp_path / "after", "--fail-above", "total=5", "--any-change")
    assert every.code == 0 and "renamed" not in every.said


@pytest.mark.parametrize(
    ("after", "words", "code", "outcome"),
    [
        ({"other": 2500, "second": 605}, (), 0, "no baseline"),
        ({"other": 9000}, ("--fail-above", "total=5"), 0, "no baseline"),
        ({"parse_fast": 9000}, ("--fail-above", "total=5"), 3, "failed"),  # a similar name
        ({"other": 9000, "emit": 305}, ("--fail-above", "total=5"), 0, "no baseline"),
        ({"other": 9000, "sort_rows": 800}, ("--fail-above", "total=5"), 3, "failed"),
    ],
)
def test_another_program_is_no_baseline(
    tmp_path: Path, after: dict[str, int], words: tuple[str, ...], code: int, outcome: str
) -> None:
    found, lines = verdict(tmp_path, FLAT, after, *words)
    assert (found, lines[0]) == (code, f"### perf2x: {outcome}")
    assert lines[2].startswith(f"- {ANOTHER}") == (outcome == "no baseline")


RECORD = "perf record -F 999 -o {}.data ./app"


@pytest.mark.parametrize(
    ("samples", "command", "limits", "outcome", "says"),
    [
        (1500, RECORD, ("total=25", "share=5"), "failed", "the total grew by +50.0 %"),
        (1020, RECORD, ("total=25", "share=5"), "passed", "nothing exceeds its limit (total=25, share=5)"),
        (1500, RECORD, ("10",), "failed", "the total grew by +50.0 %"),
        (5000, RECORD, ("10",), "failed", "the total grew by +400.0 %"),  # of which another function has 500 %
        (1500, RECORD, ("share=5",), "no baseline", ANOTHER),
        (1500, "perf record -F 999 --output={}.data ./app", ("10",), "failed", "the total grew by +50.0 %"),
        (1500, "perf record -F 999 --output {}.data ./app", ("10",), "failed", "the total grew by +50.0 %"),
        (1500, RECORD + " --all", ("total=25", "share=5"), "no baseline", ANOTHER),
        (1500, "", ("total=25", "share=5"), "no baseline", ANOTHER),
        (1500, "perf", ("total=25", "share=5"), "no baseline", ANOTHER),  # as perf 7.2 writes it
    ],
)
def test_the_whole_of_one_command_is_compared_though_all_functions_changed(
    tmp_path: Path, samples: int, command: str, limits: tuple[str, ...], outcome: str, says: str
) -> None:
    before = forged(tmp_path / "before", [0x1010] * 1000, command=RECORD.format("old") if " " in command else command)
    after = forged(tmp_path / "after", [0x2010] * samples, names={2: "compress"}, command=command.format("new"))
    words = [word for limit in limits for word in ("--fail-above", limit)]
    ran = perf2x("report", after, "--before", before, "--no-symbols", *words)
    lines = ran.out.splitlines()
    assert (lines[0], ran.code) == (f"### perf2x: {outcome}", 3 if outcome == "failed" else 0)
    assert lines[2].startswith(f"- {says}")
    assert ran.out.count(" grew by ") == (outcome == "failed")
    only = "- only the total is compared: hardly any of the cost is in functions of both"
    assert (only in lines) == (outcome != "no baseline")
    assert "likely cause" not in ran.out
