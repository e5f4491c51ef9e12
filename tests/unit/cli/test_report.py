"""``perf2x report``: the same figures as ``top`` and ``diff``, in a bounded size, whatever the names."""

import copy
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.options.report_options import ReportFlags
from perf2x.cli.render.screen import Screen
from perf2x.cli.report.next_steps import next_steps
from perf2x.cli.report.report_page import recording_report
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile.profile import Meta
from perf2x.testing import ProfileBuilder
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
        rows = [{key: row[key] for key in ("name", "object", "self", "total")} for row in facts[table]["rows"]]
        assert facts[table] | {"rows": rows} == top
    for table in ("object", "thread"):
        assert facts[f"{table}s"] == json.loads(perf2x("top", *CALLS, "--json", "-n", 10, "--by", table).out)
    for row in facts["by_self"]["rows"]:
        assert sum(caller["value"] for caller in row["callers"]) == row["total"]


def test_tables_of_the_page_are_those_of_top_and_diff(page: str, grown: tuple[Path, Path]) -> None:
    for words in ((), ("--sort", "total"), ("--by", "object"), ("--by", "thread")):
        top = perf2x("top", *CALLS, "--format", "markdown", "-n", 10, *words).out.splitlines()
        assert [line for line in top if line.startswith(("| ", "`"))][3:]
        for line in top[2:]:
            assert f"\n{line.removesuffix(' |')}" in page, line
    compared = perf2x("diff", *grown, *QUICK, "--format", "markdown", "-n", 10).out.splitlines()
    changed = perf2x("report", grown[1], "--before", grown[0], *QUICK).out.splitlines()
    rows = [line for line in compared if line.startswith("|")]
    assert rows and set(rows) <= {*changed}


def test_it_says_what_was_recorded_and_how_good_it_is(facts: dict[str, Any], page: str) -> None:
    info = json.loads(perf2x("info", recording("calls"), "--json").out)
    assert facts["duration_ns"] == info["duration_ns"]
    assert facts["events"][0]["samples"] == info["samples"] == facts["samples"]["recorded"]
    assert facts["session"]["os_release"] == info["session"]["os_release"]
    named, frames = facts["symbols"]["named"], facts["symbols"]["frames"]
    assert f"{1000 * named // frames / 10:g} % of {frames:,} frames have names" in page
    assert facts["schema"] == 1


def test_both_formats_say_the_same(facts: dict[str, Any], page: str) -> None:
    for row in facts["by_self"]["rows"]:
        share = f"| {100 * row['self'] / facts['by_self']['value']:.1f} % | "
        shown = [line for line in page.splitlines() if share in line and f"`{row['name']}`" in line]
        assert shown and all(not row["callers"][:1] or row["callers"][0]["name"][:20] in line for line in shown), row
    for step in facts["next"]:
        assert step["text"].replace("'", "`").partition(":")[0] in page.replace("'", "`")
    lines = page.partition("#### Hottest paths")[2].partition("####")[0].strip().splitlines()
    lines = [line for line in lines if line.startswith("- ")]
    assert len(facts["paths"]) == len(lines) > 0
    for path, line in zip(facts["paths"], lines, strict=True):
        names = iter(path["functions"])
        shown = line.strip("- `").partition(": ")[2].split(" → ")
        assert shown[-1] == path["functions"][-1] and all(name in names for name in shown if name != "…")


def test_paths_and_callers_are_those_of_the_collapsed_stacks(facts: dict[str, Any]) -> None:
    lines = perf2x("convert", *CALLS, "-t", "collapsed", "-o", "-").out.splitlines()
    stacks = [(line.rpartition(" ")[0].split(";")[1:], int(line.rpartition(" ")[2])) for line in lines]
    for path in facts["paths"]:
        names = path["functions"]
        assert sum(value for stack, value in stacks if stack[: len(names)] == names) == path["total"]


def test_differences_are_those_of_diff(pair: tuple[Path, Path], grown: tuple[Path, Path]) -> None:
    for before, after in (pair, grown):
        compared = json.loads(perf2x("diff", before, after, *QUICK, "--json").out)
        ran = perf2x("report", after, "--before", before, *QUICK, "--format", "json")
        found = json.loads(ran.out)["difference"]
        assert {key: found[key] for key in compared} == compared
        assert found["recording"] == str(before) and found["moved"] == len(compared["rows"])
    assert "What changed" in perf2x("report", after, "--before", before, *QUICK).out
    assert "What changed" not in perf2x("report", after, *QUICK).out


def keys_of(facts: Any) -> set[str]:
    if isinstance(facts, list):
        return {key for entry in facts for key in keys_of(entry)}
    return {*facts, *(key for entry in facts.values() for key in keys_of(entry))} if isinstance(facts, dict) else set()


def test_the_schema_is_documented(facts: dict[str, Any], grown: tuple[Path, Path]) -> None:
    page = (ROOT / "docs" / "report.md").read_text("utf-8").replace("[]", "").replace(".", "`")
    compared = json.loads(perf2x("report", grown[1], "--before", grown[0], *QUICK, "--format", "json").out)
    diff = json.loads(perf2x("diff", *grown, *QUICK, "--json").out)
    assert compared["difference"]["rows"]
    own = {key: facts[key] for key in ("by_self", "by_total", "objects", "threads", "paths", "next")}
    keys = {*facts, *keys_of(own), *({*compared["difference"]} - {*diff})}
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_bad_inputs_are_one_sentence(pair: tuple[Path, Path]) -> None:
    assert perf2x("report", pair[0], "--before", "missing.data").err.strip() == (
        "perf2x: missing.data: No such file or directory"
    )
    assert "--before compares exactly two recordings" in perf2x("report", *pair, "--before", pair[0]).said
    assert perf2x("report", pair[0], "--max-bytes", "100").code == 2
    assert "--max-bytes is for pages; JSON" in perf2x("report", pair[0], "--max-bytes", 9000, "--format", "json").said
    assert "--map needs an earlier recording" in perf2x("report", pair[0], "--map", "a=b").said
    assert "--any-change needs an earlier recording" in perf2x("report", pair[0], "--any-change").said
    assert perf2x("report", pair[0], "--limit", "31").code == 2


def crowded(name: str, threads: int) -> Any:
    """A loaded recording whose profile has these many threads and functions, all with the same long name."""
    builder = ProfileBuilder()
    builder.event(name, "nanoseconds")
    for number in range(threads):
        thread = builder.thread(name, number + 1)
        builder.sample([builder.function(f"{number % 40}{name}"), builder.function(f"{name}{number % 50}")], thread)
    meta = Meta(hostname=name, os_release=name, arch=name, command_line=(name,) * 9, perf_version=name)
    profile = builder.build(meta=meta)
    loaded = load(recording("calls"), LoadOptions(symbols=None))
    session = replace(loaded.recording.session, hostname=name, os_release=name, command_line=(name,) * 9)
    held = SimpleNamespace(session=session, sideband=loaded.recording.sideband)
    return replace(loaded, profile=profile, recording=cast("Any", held))


@pytest.fixture(scope="module")
def crowds() -> list[Any]:
    return [crowded("x" * 100_000, 50), crowded((EVIL + "🔥é\udcff") * 60, 50), crowded("t", 10_000)]


@pytest.mark.parametrize("room", [None, 80])
def test_the_size_is_bounded_whatever_the_names(crowds: list[Any], room: int | None) -> None:
    """Of Markdown, and of lines on a terminal."""
    verdict = Verdict("failed", ["x" * 3_000] * 99, [])
    for most, loaded in zip((8_000, 20_000, 8_000), crowds, strict=True):
        how = ReportFlags(limit=30, max_bytes=most)
        report = recording_report(loaded, ["x" * 99_999] * 99, how, None, verdict)
        lines = [*report.lines(Screen(room))] if room else [*report.markdown()]
        assert 500 < len("\n".join(lines).encode()) < most
        assert "more lines, left out to stay below" in lines[-1]
        assert lines[0] == ("perf2x: failed" if room else "### perf2x: failed")


def test_the_last_line_counts_what_is_left_out(crowds: list[Any]) -> None:
    verdict = Verdict("failed", ["x" * 300] * 99, [])
    whole = [*recording_report(crowds[2], ["x"], ReportFlags(max_bytes=10**7), None, verdict).markdown()]
    *shown, blank, last = recording_report(crowds[2], ["x"], ReportFlags(max_bytes=9_000), None, verdict).markdown()
    left = sum(map(bool, whole)) - sum(map(bool, shown))
    assert (blank, last) == ("", f"… and {left:,} more lines, left out to stay below 9,000 bytes.")


def test_json_is_not_shortened(crowds: list[Any]) -> None:
    facts = json.loads(json.dumps(recording_report(crowds[0], ["x"] * 99, ReportFlags()).facts()))
    assert facts["recordings"] == ["x"] * 99
    assert len(facts["by_self"]["rows"]) == 10 and len(facts["by_self"]["rows"][0]["name"]) > 100_000


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


def test_long_paths_keep_both_ends_on_the_page() -> None:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds")
    builder.sample([builder.function(f"f{level}") for level in range(400)], builder.thread("app", 7))
    loaded = replace(load(recording("calls"), LoadOptions(symbols=None)), profile=builder.build())
    report = recording_report(loaded, ["x"], ReportFlags())
    assert [path["functions"] for path in report.facts()["paths"]] == [[f"f{level}" for level in range(400)]]
    page = report.markdown()
    (line,) = [line for line in page if "f7 →" in line]
    assert "f0 → f1" in line and "→ f399" in line and len(line) < 1100


QUIET: dict[str, Any] = {
    "events": [],
    "by_self": {"event": "cpu-clock", "unit": "nanoseconds", "samples": 5000, "value": 1000,
                "rows": [{"name": "f", "self": 90, "total": 90, "callers": [{"name": "g", "value": 45}]}] * 9},
    "kernel": 0, "idle": 0, "functions": 9, "duration_ns": 1000, "recorded_threads": 2,
    "percent": {"lost": 0, "missing_user": 0, "unresolved": 0}, "unwound": {"samples": 0, "ends": {}},
    "threads": {"rows": [{"name": "t", "self": 500}]}, "paths": [], "difference": None,
}  # fmt: skip
MOVED = {"before": 1000, "after": 1500, "normalized": False, "significant": True, "moved": 5, "moved_significantly": 1,
         "rows": [{"name": "n", "self": [0, 9], "significant": {"self": False}},
                  {"name": "m", "self": [100, 400], "significant": {"self": True}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("place", "value", "about", "words"),
    [
        ("percent.lost", 3.14, "lost", "3.1 % of the samples were lost"),
        ("percent.missing_user", 2, "missing_user", "2.0 % of the samples miss"),
        ("unwound", {"samples": 200, "ends": {"complete": 150}}, "stacks", "25.0 % of the user stack dumps"),
        ("difference", MOVED, "difference", "by +50.0 %, more than sampling noise explains; 1 of 5 functions that"
         " changed did so by more than noise, most of all 'm' (+30.0 %"),
        ("difference", MOVED | {"significant": False, "rows": []}, "difference", "which sampling noise may explain"),
        ("idle", 150, "idle", "15.0 % are samples of idle CPUs"),
        ("by_self.value", 400, "waiting", "(0.40 CPUs on average). The samples cannot tell whether they waited"),
        ("kernel", 350, "kernel", "35.0 % of the cost is in the kernel"),
        ("threads.rows", [{"name": "t", "self": 950}], "threads", "One of 2 threads, 't', takes 95.0 %"),
        ("by_self.rows", [{"name": "f", "self": 150, "total": 200, "callers": [{"name": "g", "value": 50}]}], "hottest",
         "'f' takes 15.0 % by itself; 25.0 % of its total is for calls from 'g'."),
        ("by_self.rows", [{"name": "[l]", "self": 150, "total": 150, "callers": []}], "hottest",
         "without a name, '[l]',"),
        ("by_self.rows", [{"name": "f", "self": 20, "total": 20, "callers": []}] * 10, "flat",
         "10 hottest of 9 functions"),
        ("paths", [{"total": 123, "functions": ["main", "z"]}], "path", "ends in 'z' and takes 12.3 %"),
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
    empty = copy.deepcopy(QUIET) | {"by_self": QUIET["by_self"] | {"samples": 0}}
    assert [step.about for step in next_steps(empty)] == ["samples"]
