"""``perf2x report``: the same figures as ``top`` and ``diff``, in a bounded size, whatever the names."""

import copy
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from perf2x.analysis.report.report_tables import report_tables
from perf2x.cli.report.fit_bytes import LEAST, fitted_report, sizes
from perf2x.cli.report.next_steps import next_steps
from perf2x.cli.report.report_facts import Limits, report_facts
from perf2x.cli.report.report_page import markdown_page
from perf2x.model.advice import Advice
from perf2x.model.profile.profile import Meta
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.plugins.contracts import ProfileBuilder
from tests.support.command import perf2x, recording
from tests.support.recordings import CORPUS
from tests.unit.cli.diff_inputs import QUICK, forged

SYMFS = ("--symfs", CORPUS / "common" / "symfs")
CALLS = (recording("calls"), *SYMFS, "--kallsyms", CORPUS / "calls" / "kallsyms.xz", "-q")
ROOT = Path(__file__).parents[3]
EVIL = "a|b`c\\d\n# <b>@user</b> [x](http://y) \u202e**"


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    ran = perf2x("report", *CALLS, "--format", "json")
    assert ran.code == 0
    return json.loads(ran.out)


@pytest.fixture(scope="module")
def page() -> str:
    return perf2x("report", *CALLS).out


def test_functions_are_those_of_top(facts: dict[str, Any]) -> None:
    for table, sort in (("by_self", "self"), ("by_total", "total")):
        top = json.loads(perf2x("top", *CALLS, "--json", "-n", 10, "--sort", sort).out)
        rows = [{key: row[key] for key in ("name", "object", "self", "total")} for row in facts[table]]
        assert rows == top["rows"]
        assert facts["measured"]["value"] == top["value"]
    for row in facts["by_self"]:
        assert row["callers_left_out"] or sum(caller["value"] for caller in row["callers"]) == row["total"]


def test_it_says_what_was_recorded_and_how_good_it_is(facts: dict[str, Any], page: str) -> None:
    info = json.loads(perf2x("info", recording("calls"), "--json").out)
    assert facts["recorded"]["duration_ns"] == info["duration_ns"]
    assert facts["recorded"]["events"][0]["samples"] == info["samples"] == facts["quality"]["samples_recorded"]
    assert facts["recorded"]["kernel"] == info["session"]["os_release"]
    named, frames = facts["quality"]["frames_named"], facts["quality"]["frames"]
    assert f"{100 * named / frames:.1f} % of {frames:,} frames have names" in page
    assert facts["schema"] == 1


def test_both_formats_say_the_same(facts: dict[str, Any], page: str) -> None:
    for row in facts["by_self"]:
        line = f"| {100 * row['self'] / facts['measured']['value']:.1f} % | "
        assert any(shown.startswith(line) and f"`{row['name']}`" in shown for shown in page.splitlines()), row
    for step in facts["next"]:
        assert step["text"].replace("'", "`").partition(":")[0] in page.replace("'", "`")
    assert len(facts["paths"]) == len(re.findall(r"^\d+\. ", page, re.MULTILINE)) > 0


def test_paths_and_callers_are_those_of_the_collapsed_stacks(facts: dict[str, Any]) -> None:
    lines = perf2x("convert", *CALLS, "-t", "collapsed", "-o", "-").out.splitlines()
    stacks = [(line.rpartition(" ")[0].split(";")[1:], int(line.rpartition(" ")[2])) for line in lines]
    for path in facts["paths"]:
        if not path["left_out"]:
            names = path["outer"] + path["inner"]
            assert sum(value for stack, value in stacks if stack[: len(names)] == names) == path["total"]


def test_differences_are_those_of_diff(pair: tuple[Path, Path], grown: tuple[Path, Path]) -> None:
    for before, after in (pair, grown):
        compared = json.loads(perf2x("diff", before, after, *QUICK, "--json").out)
        ran = perf2x("report", after, "--before", before, *QUICK, "--format", "json")
        found = json.loads(ran.out)["difference"]
        assert found["value"] == [compared["before"], compared["after"]]
        assert [(row["name"], row["self"]) for row in found["rows"]] == [
            (row["name"], row["self"]) for row in compared["rows"]
        ]
    assert "What changed" in perf2x("report", after, "--before", before, *QUICK).out
    assert "What changed" not in perf2x("report", after, *QUICK).out


def keys_of(facts: Any) -> set[str]:
    if isinstance(facts, list):
        return {key for entry in facts for key in keys_of(entry)}
    return {*facts, *(key for entry in facts.values() for key in keys_of(entry))} if isinstance(facts, dict) else set()


def test_the_schema_is_documented(facts: dict[str, Any], grown: tuple[Path, Path]) -> None:
    page = (ROOT / "docs" / "report.md").read_text("utf-8")
    compared = json.loads(perf2x("report", grown[1], "--before", grown[0], *QUICK, "--format", "json").out)
    assert compared["difference"]["rows"]
    assert [
        key for key in sorted(keys_of([facts, compared])) if f"`{key}`" not in page.replace("[]", "").replace(".", "`")
    ] == []


def test_bad_inputs_are_one_sentence(pair: tuple[Path, Path]) -> None:
    assert perf2x("report", pair[0], "--before", "missing.data").err.strip() == (
        "perf2x: missing.data: No such file or directory"
    )
    assert "--before compares one recording" in perf2x("report", *pair, "--before", pair[0]).said
    assert perf2x("report", pair[0], "--max-bytes", "100").code == 2
    assert perf2x("report", pair[0], "--limit", "31").code == 2


def crowded(name: str, threads: int) -> tuple[Any, Any]:
    """A loaded recording whose profile has these many threads and functions, all with the same long name."""
    builder = ProfileBuilder()
    builder.event(name, "nanoseconds")
    for number in range(threads):
        thread = builder.thread(name, number + 1)
        builder.sample([builder.function(f"{number % 40}{name}"), builder.function(f"{name}{number % 50}")], thread)
    meta = Meta(hostname=name, os_release=name, arch=name, command_line=(name,) * 9, perf_version=name)
    profile = builder.build(meta=meta)
    loaded = load(recording("calls"), LoadOptions(symbols=None))
    return replace(loaded, profile=profile), report_tables(profile, "period", 30)


@pytest.fixture(scope="module")
def crowds() -> list[tuple[Any, Any]]:
    return [crowded("x" * 100_000, 50), crowded((EVIL + "🔥é\udcff") * 300, 50), crowded("t", 10_000)]


@pytest.mark.parametrize("shape", ["markdown", "json"])
def test_the_size_is_bounded_whatever_the_names(crowds: list[tuple[Any, Any]], shape: str) -> None:
    for most in (LEAST, 20_000):
        for loaded, tables in crowds:

            def facts(size: Limits, loaded: Any = loaded, tables: Any = tables) -> dict[str, Any]:
                return report_facts(loaded, tables, ["x" * 99_999] * 99, None, size)

            text = fitted_report(facts, shape, 30, most)
            assert 500 < len(text.encode()) <= most


def test_sizes_shrink_to_nothing() -> None:
    tried = [*sizes(30)]
    assert tried[0].rows == 30 and (tried[-1].rows, tried[-1].width) == (0, 12)
    assert all(one != other for one, other in pairwise(tried))


def test_no_name_breaks_the_markdown(tmp_path: Path) -> None:
    """Every table row has as many cells as its heading; what is no code has no markup of a name."""
    file = forged(tmp_path / "evil.data", [0x1010] * 9, comm="a|b`<b>@u", hostname=EVIL)
    text = perf2x("report", file, *QUICK).out
    cells = 0
    for line in text.splitlines():
        assert "\u202e" not in line
        assert "<b>" not in re.sub(r"`[^`]*`", "", line) and "@u" not in re.sub(r"`[^`]*`", "", line)
        count = len(re.findall(r"(?<!\\)\|", line))
        assert not count or not cells or count == cells, line
        cells = count


def evil(facts: Any, key: str = "") -> Any:
    """The facts with every recorded text in its worst form."""
    if isinstance(facts, dict):
        return {name: evil(value, name) for name, value in facts.items()}
    if isinstance(facts, list):
        return [evil(entry, key) for entry in facts]
    return EVIL if isinstance(facts, str) and key not in ("severity", "unit") else facts


def test_every_text_is_written_as_what_it_is(facts: dict[str, Any], grown: tuple[Path, Path]) -> None:
    compared = json.loads(perf2x("report", grown[1], "--before", grown[0], *QUICK, "--format", "json").out)
    findings = [{"name": "x", "severity": "loss", "count": 1, "text": "x", "advice": "x"}]
    worst = evil(facts | {"difference": compared["difference"]})
    worst["quality"] |= evil({"findings": findings, "deferred": "x", "unwound": "x"})
    lines = [*markdown_page(worst, [Advice("x", "{0} grew", (EVIL,))])]
    assert len(lines) > 60
    for line in lines:
        bare = re.sub(r"<code>[^<]*</code>|`[^`]*`", "", line)
        assert "\n" not in line and not re.search(r"[<@`\u202e]|\[x\]|\*\*", bare), line


def test_long_paths_keep_both_ends() -> None:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds")
    builder.sample([builder.function(f"f{level}") for level in range(40)], builder.thread("app", 7))
    profile = builder.build()
    loaded = replace(load(recording("calls"), LoadOptions(symbols=None)), profile=profile)
    (path,) = report_facts(loaded, report_tables(profile, "period", 9), ["x"], None, next(sizes(9)))["paths"]
    assert path["outer"] == [f"f{level}" for level in range(4)]
    assert path["left_out"] == 28
    assert path["inner"] == [f"f{level}" for level in range(32, 40)]


QUIET = {
    "measured": {"event": "cpu-clock", "unit": "nanoseconds", "samples": 5000, "value": 1000, "kernel": 0, "idle": 0,
                 "functions": 9},
    "recorded": {"duration_ns": 1000, "threads": 2},
    "quality": {"percent": {"lost": 0, "missing_user": 0, "unresolved": 0}, "frames": 100, "unnamed_objects": [],
                "copied_stacks": {"all": 0, "whole": 0}},
    "by_self": [{"name": "f", "self": 90, "total": 90, "callers": [{"name": "g", "value": 45}]}] * 9,
    "threads": [{"name": "t", "self": 500}], "paths": [], "difference": None,
}  # fmt: skip
MOVED = {"value": [1000, 1500], "normalized": False, "significant": True, "moved": 5, "moved_significantly": 1,
         "rows": [{"name": "n", "self": [0, 9], "significant": False}, {"name": "m", "self": [100, 400],
                                                                         "significant": True}]}  # fmt: skip


@pytest.mark.parametrize(
    ("place", "value", "about", "words"),
    [
        ("quality.percent.lost", 3.14, "lost", "3.1 % of the samples were lost"),
        ("quality.percent.missing_user", 2, "missing_user", "2.0 % of the samples miss"),
        ("quality.copied_stacks", {"all": 200, "whole": 150}, "stacks", "25.0 % of the user stack dumps"),
        ("difference", MOVED, "difference", "by +50.0 %, more than sampling noise explains; 1 of 5 functions that"
         " changed did so by more than noise, first of all 'm' (+30.0 %"),
        ("difference", MOVED | {"significant": False, "rows": []}, "difference", "which sampling noise may explain"),
        ("measured.idle", 150, "idle", "15.0 % are samples of idle CPUs"),
        ("measured.value", 400, "waiting", "(0.40 CPUs on average). Samples do not say whether they waited the"),
        ("measured.kernel", 350, "kernel", "35.0 % of the cost is in the kernel"),
        ("threads", [{"name": "t", "self": 950}], "threads", "One of 2 threads, 't', takes 95.0 %"),
        ("by_self", [{"name": "f", "self": 150, "total": 200, "callers": [{"name": "g", "value": 50}]}], "hottest",
         "'f' takes 15.0 % by itself; 25.0 % of its total is for calls from 'g'."),
        ("by_self", [{"name": "[l]", "self": 150, "total": 150, "callers": []}], "hottest", "without a name, '[l]',"),
        ("by_self", [{"name": "f", "self": 20, "total": 20, "callers": []}] * 10, "flat", "10 hottest of 9 functions"),
        ("paths", [{"total": 123, "outer": ["main"], "inner": ["z"]}], "path", "ends in 'z' and takes 12.3 %"),
    ],
)  # fmt: skip
def test_sentences_follow_from_figures(place: str, value: object, about: str, words: str) -> None:
    changed: dict[str, Any] = copy.deepcopy(QUIET)
    inside: Any = changed
    *path, last = place.split(".")
    for key in path:
        inside = inside[key]
    inside[last] = value
    assert [step.about for step in next_steps(QUIET)] == []
    said = {step.about: step.with_names(lambda name: f"'{name}'") for step in next_steps(changed)}
    assert words in said[about]


def test_nothing_is_said_of_no_samples() -> None:
    empty = copy.deepcopy(QUIET) | {"measured": QUIET["measured"] | {"samples": 0}}
    assert [step.about for step in next_steps(empty)] == ["samples"]
