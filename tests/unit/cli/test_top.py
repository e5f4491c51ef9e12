"""``perf2x top`` against a count made by hand from collapsed stacks."""

import json
from pathlib import Path

import pytest

from tests.support.command import folded, perf2x, recording
from tests.support.recordings import CORPUS

SYMFS = ("--symfs", CORPUS / "common" / "symfs")
CALLS = (recording("calls"), *SYMFS, "--kallsyms", CORPUS / "calls" / "kallsyms.xz")
SHAPES = (recording("shapes"), *SYMFS, "--kallsyms", CORPUS / "shapes" / "kallsyms.xz")


def by_hand(stacks: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Function to (self, total); functions of one name in two objects are one here."""
    table: dict[str, tuple[int, int]] = {}
    for stack, number in stacks.items():
        frames = stack.split(";")[1:]
        for frame in set(frames):
            own, total = table.get(frame, (0, 0))
            table[frame] = own + number * (frame == frames[-1]), total + number
    return table


@pytest.mark.parametrize("words", [CALLS, SHAPES])
@pytest.mark.parametrize("value", ["period", "samples"])
def test_self_and_total_are_those_of_the_stacks(words: tuple[str, ...], value: str) -> None:
    facts = json.loads(perf2x("top", *words, "--json", "-n", 0, "--value", value, "-q").out)
    stacks = folded(*words, value=value, symbols=True)
    names = [row["name"] for row in facts["rows"]]
    unique = {name for name in names if names.count(name) == 1}
    table = {row["name"]: (row["self"], row["total"]) for row in facts["rows"] if row["name"] in unique}
    assert len(unique) > 10
    assert table == {name: cost for name, cost in by_hand(stacks).items() if name in unique}
    assert facts["value"] == sum(stacks.values()) == sum(row["self"] for row in facts["rows"])


def test_the_table_on_a_terminal() -> None:
    ran = perf2x("top", *CALLS, "-n", 3)
    assert ran.code == 0
    assert ran.out == (
        "cpu-clock: 335 samples, 671.34 ms in 0.670 s; showing 3 of 105 functions\n"
        "    self              total          object             function\n"
        "92.18 ms  13.7 %   94.19 ms  14.0 %  [kernel.kallsyms]  read_zero\n"
        "88.18 ms  13.1 %   88.18 ms  13.1 %  calls              spin\n"
        "84.17 ms  12.5 %  380.76 ms  56.7 %  [kernel.kallsyms]  exc_page_fault\n"
    )
    assert "frames have names" in ran.err


def test_objects_and_threads_are_listed() -> None:
    objects = perf2x("top", *CALLS, "--by", "object", "-q").out.splitlines()
    assert objects[2].split()[-1] == "[kernel.kallsyms]"
    threads = perf2x("top", *SHAPES, "--by", "thread", "--value", "samples", "-q").out
    assert "käfer" in threads
    assert "two words" in threads


def test_sorted_by_total_the_callers_come_first() -> None:
    rows = json.loads(perf2x("top", *CALLS, "--sort", "total", "--json", "-n", 5).out)["rows"]
    assert [row["total"] for row in rows] == sorted((row["total"] for row in rows), reverse=True)


def test_other_events_are_named_and_can_be_chosen() -> None:
    events = (recording("events"), "--no-symbols")
    assert "other events: page-faults:u, context-switches (select with --event)" in perf2x("top", *events).err
    assert perf2x("top", *events, "--event", "page-faults").out.startswith("page-faults:u: 20 samples")


@pytest.mark.parametrize("words", [("--by", "line"), ("--sort", "name"), ("--value", "bytes")])
def test_usage(words: tuple[str, ...]) -> None:
    ran = perf2x("top", recording("calls"), "--no-symbols", *words)
    assert (ran.code, ran.out) == (2, "")
    assert words[0] in ran.said and "choose from" in ran.said


def test_lines_fit_the_terminal_unless_wide_is_given() -> None:
    for columns in ("40", "60", "80"):
        lines = perf2x("top", *CALLS, "-q", "-n", 0, env={"COLUMNS": columns}).out.splitlines()
        assert len(lines) > 100 and max(map(len, lines)) <= int(columns)
    whole = perf2x("top", *CALLS, "-q", "-n", 0, "--wide", env={"COLUMNS": "40"}).out
    assert whole == perf2x("top", *CALLS, "-q", "-n", 0, env={"COLUMNS": "500"}).out and "…" not in whole


@pytest.mark.parametrize("command", ["top", "diff", "info"])
def test_formats_of_tables(command: str) -> None:
    words = (CALLS[0], CALLS[0], "--all") if command == "diff" else (CALLS[0],)
    table, markdown, csv, as_json, synonym = (
        perf2x(command, *words, "--no-symbols", *form, "-q").out
        for form in (
            ("--format", "table"),
            ("--format", "markdown"),
            ("--format", "csv"),
            ("--format", "json"),
            ("--json",),
        )
    )
    assert table == perf2x(command, *words, "--no-symbols", "-q").out
    assert markdown.startswith(f"### perf2x {command}: `") and f"\n{'- `' if command == 'info' else '| '}" in markdown
    assert csv.splitlines()[0].count(",") == csv.splitlines()[1].count(",") > 0
    assert json.loads(as_json) and as_json == synonym
    ran = perf2x(command, *words, "--format", "yaml")
    assert (ran.code, ran.out) == (2, "") and "yaml: choose from table, json, markdown" in ran.said


def test_json_has_the_keys_that_the_readme_names() -> None:
    top = json.loads(perf2x("top", *CALLS, "--json", "-n", 1, "-q").out)
    diff = json.loads(perf2x("diff", CALLS[0], recording("family"), "--no-symbols", "--json", "-n", 1, "-q").out)
    assert (list(top), list(top["rows"][0])) == (
        ["event", "unit", "samples", "value", "rows"],
        ["name", "object", "self", "total"],
    )
    assert list(diff) == ["event", "unit", "before", "after", "confidence", "rows", "unmoved", "renamed_objects"]
    assert list(diff["rows"][0]) == [*top["rows"][0], "interval", "significant"]
    assert len(diff["rows"][0]["self"]) == 2


def test_rows_of_a_runtime_are_said_with_the_option_that_hides_them(tmp_path: Path) -> None:
    path = tmp_path / "python.folded"
    path.write_text("_PyEval_Vector;outer;_PyEval_EvalFrameDefault;inner 5\nmain;parse 2\nmain;emit 1\nmain 1\n")
    hint = "hint: 2 of the 7 rows belong to a runtime; to hide them: --hide python\n"
    assert hint in perf2x("top", path).err
    assert "to a runtime" not in perf2x("top", path, "--hide", "python").err
    assert "to a runtime" not in perf2x("top", path, "-n", "5").err  # by self: the program's alone


INLINED = "main;outer;inner_[i] 5\nmain;outer;b_[i] 5\nmain;other;c_[i] 4\nmain;o2 5\nmain;o3 5\nmain;o4 4\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("", ""),
            "50.0 % of the cost is in inlined functions; as linked, the costliest are outer 35.7 %, o2 17.9 %, ",
        ),
        (("b_[i] 5", "b_[i] 6"), ""),  # a row above 20 %
        (("o4 4", "o4 5\nmain;o5 5\nmain;o6 5\nmain;o7 5"), ""),  # not more than a third inlined
    ],
)
def test_functions_that_others_are_inlined_into_are_named(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    path = tmp_path / "inlined.folded"
    path.write_text(INLINED.replace(*change))
    err = perf2x("top", path).err
    assert (f"hint: {said}" in err) if said else ("inlined functions" not in err)
    assert "inlined functions" not in perf2x("top", path, "--by", "thread").err
    assert "inlined functions" not in perf2x("top", path, "--no-inline").err


def test_weights_of_folded_stacks_are_no_samples(tmp_path: Path) -> None:
    folded = tmp_path / "weights.folded"
    folded.write_text("main;work 5189189184\nmain;wait 1234567890\n")
    assert perf2x("top", folded).out.startswith("weight: 6,423,757,074; showing 3 of 3 functions")
    assert "\nunits of weight: 6,423,757,074\n" in perf2x("info", folded).out
    said = perf2x("convert", folded, "--to", "collapsed", "-o", tmp_path / "again.folded").err
    assert "6,423,757,074 units of weight of 1 event" in said and "6,423,757,074 samples" not in said
