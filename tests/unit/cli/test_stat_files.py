"""Files of perf stat record: perf's own numbers, over time and in sum; what shows stacks refuses them."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.emitters.perfetto.trace_schema import TrackEventType
from perf2x.kernel.registry import EMITTERS, build_emitter
from tests.support.command import perf2x
from tests.support.perfetto_trace import read_trace

STAT = Path(__file__).parent / "data" / "stat"
NAMES = ("over_time", "per_core", "per_thread")
_ROW = re.compile(
    r" *(?P<time>[\d.]+) +(?:S0-D0-C(?P<cpu>\d+) +1 +|python3-(?P<tid>\d+) +)?(?P<value>[\d.]+|<not counted>)"
    r" +(?P<unit>msec )? *(?P<event>[-\w]+)"
)
Counts = dict[tuple[str, float], float]
"""By counter and end of an interval in milliseconds; clocks are in milliseconds, too, as perf prints them."""


def printed(name: str) -> Counts:
    """Perf's answer, where it counted something."""
    found: Counts = {}
    for line in (STAT / f"{name}.txt").read_text().splitlines():
        row = _ROW.match(line)
        if row is not None and not row["value"].startswith("<"):
            counter = (
                row["event"] + (f" CPU {row['cpu']}" if row["cpu"] else "") + (f" {row['tid']}" if row["tid"] else "")
            )
            found[counter, _tenth(float(row["time"]) * 1e3)] = float(row["value"])
    return {key: value for key, value in found.items() if value}


def _tenth(milliseconds: float) -> float:
    return round(milliseconds, 1)


def of_chrome(data: bytes, name: str) -> Iterator[tuple[str, float, float]]:
    events = [event for event in json.loads(data)["traceEvents"] if event["ph"] == "C"]
    values: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        values[event["name"] + _thread(name, event["pid"])].append((event["ts"] / 1000, event["args"]["value"]))
    for counter, steps in values.items():
        assert steps[0][0] == 0 and steps[-1][1] == 0
        yield from ((counter, end, value) for (_, value), (end, _) in pairwise(steps))


def of_firefox(data: bytes, name: str) -> Iterator[tuple[str, float, float]]:
    profile = json.loads(data)
    assert all(not thread["samples"]["stack"] and not thread["markers"]["length"] for thread in profile["threads"])
    for counter in profile["counters"]:
        table = counter["samples"]
        assert (table["time"][0], table["count"][0]) == (0, 0)
        for time, count in zip(table["time"], table["count"], strict=True):
            yield counter["name"] + _thread(name, counter["pid"]), time, count


def of_perfetto(data: bytes, name: str) -> Iterator[tuple[str, float, float]]:
    trace, pids, tracks, last = read_trace(data), {}, {}, defaultdict(int)
    assert not trace.samples
    for one in (packet.track_descriptor for packet in trace.of("track_descriptor")):
        if one.HasField("process"):
            pids[one.uuid] = one.process.pid
        if one.HasField("counter"):
            tracks[one.uuid] = one.name + _thread(name, pids[one.parent_uuid])
    for packet in trace.of("track_event"):
        assert packet.track_event.type == TrackEventType.TYPE_COUNTER
        counter, total = tracks[packet.track_event.track_uuid], packet.track_event.counter_value
        yield counter, packet.timestamp / 1e6, total - last[counter]
        last[counter] = total


def _thread(name: str, pid: object) -> str:
    return f" {pid}" if name == "per_thread" else ""


READERS = {"chrome": of_chrome, "firefox": of_firefox, "perfetto": of_perfetto}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", READERS)
def test_timelines_have_the_counters_that_perf_printed(name: str, kind: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = perf2x("convert", STAT / f"{name}.data", "--to", kind, "-o", out)
    assert ran.code == 0 and " readings of " in ran.err
    found = {
        (counter, _tenth(time)): value / 1e6 if "clock" in counter else value
        for counter, time, value in READERS[kind](out.read_bytes(), name)
        if value
    }
    expected = printed(name)
    assert {key: round(value, 2) for key, value in found.items() if key in expected} == pytest.approx(
        expected, abs=0.006
    )
    assert all(value < 0.005 for key, value in found.items() if key not in expected)  # perf rounds to a hundredth


@pytest.mark.parametrize("name", NAMES)
def test_totals_are_the_sums_of_what_perf_printed(name: str) -> None:
    wanted: dict[str, float] = defaultdict(float)
    for (counter, _), value in printed(name).items():
        wanted[counter.split()[0]] += value
    info = json.loads(perf2x("info", STAT / f"{name}.data", "--json").out)
    assert info["samples"] == info["wall_start_ns"] == 0  # perf stat does not look at the clock
    report = json.loads(perf2x("report", STAT / f"{name}.data", "--format", "json").out)
    for events in (info["events"], report["events"]):
        counted = {one["name"]: one["value"] for one in events if one.get("readings")}
        scaled = {event: value / 1e6 if "clock" in event else value for event, value in counted.items()}
        assert scaled == pytest.approx(wanted, abs=0.1)


def test_what_info_and_report_say() -> None:
    info = perf2x("info", STAT / "over_time.data")
    assert info.code == 0 and info.err == ""
    assert "\nsamples: 0\n  task-clock: 6 readings, 113,930,765 nanoseconds\n" in info.out
    assert "\n  cycles: not counted\n" in info.out
    assert "loss: 1 event not counted; perf stat did not count it" in info.out
    report = perf2x("report", STAT / "over_time.data", "--column", "page-faults/task-clock").out
    assert "- `task-clock: 6 readings, 113,930,765 nanoseconds`\n" in report
    assert ", page-faults/task-clock 456,918\n" in report  # of exact counts, so without limits
    for value, said in (
        ("period", "`task-clock`: 113.93 ms in 0.428 s\n"),
        ("samples", "`task-clock`: 0 samples, 0 in 0."),
    ):
        page = perf2x("report", STAT / "over_time.data", "--value", value).out
        assert said in page and "Hottest" not in page
        assert "Look at next" not in page and "no samples of this event" not in page
        assert " samples, " not in page.replace("`task-clock`: 0 samples", "")


def test_sums_of_counts_are_compared() -> None:
    """Counts have no samples, of which there could be too few, and no functions that both have."""
    once = STAT / "over_time.data"
    for limit in ("10", "total=10"):
        ran = perf2x("report", once, "--before", once, "--fail-above", limit)
        assert (ran.code, ran.out.splitlines()[:4]) == (
            0,
            ["### perf2x: passed", "", f"- nothing exceeds its limit ({limit}); the total changed by +0.0 %", ""],
        )
    for side, other in ((once, "per_core.data"), (STAT / "per_core.data", "over_time.data")):
        outcome = perf2x("report", side, "--before", STAT / other, "--fail-above", "total=1").out.splitlines()[0]
        assert outcome in ("### perf2x: passed", "### perf2x: failed")


def formats() -> list[str]:
    names = [name for name in entry_points_by_name(EMITTERS) if "counts" not in build_emitter(name).needs.columns]
    assert {"collapsed", "html", "pprof"} < {*names}
    return names


@pytest.mark.parametrize("name", formats())
def test_formats_of_stacks_refuse_counts(name: str, tmp_path: Path) -> None:
    ran = perf2x("convert", STAT / "per_core.data", "--to", name, "-o", tmp_path / "out")
    assert ran.code == 1 and not [*tmp_path.iterdir()]
    assert (
        "no samples: perf stat record counts events and takes no samples; perf2x info and report show the totals"
        in ran.said
    )


@pytest.mark.parametrize("words", [("top",), ("annotate", "main"), ("view",), ("diff", STAT / "per_core.data")])
def test_commands_of_stacks_refuse_counts(words: tuple[object, ...]) -> None:
    ran = perf2x(*words, STAT / "per_core.data")
    assert (ran.code, ran.out) == (1, "")
    assert "perf stat record counts events and takes no samples" in ran.said


def test_datasets_and_bundles_refuse_counts(tmp_path: Path) -> None:
    ran = perf2x("bundle", STAT / "per_core.data", "-o", tmp_path / "run.tar.gz")
    assert ran.code == 1 and "perf stat record counts events and takes no samples" in ran.said
    pytest.importorskip("pyarrow")
    said = perf2x("fleet", "ingest", STAT / "per_core.data", "-o", tmp_path / "fleet").said
    assert "perf stat record counts events and takes no samples" in said and "recording added" not in said


def test_filters_apply_to_counters(tmp_path: Path) -> None:
    out = tmp_path / "out"
    perf2x("convert", STAT / "per_core.data", "--to", "firefox", "--event", "page-faults", "--cpu", "1", "-o", out)
    assert [counter["name"] for counter in json.loads(out.read_bytes())["counters"]] == ["page-faults CPU 1"]


def test_names_of_threads_are_hidden(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = perf2x("convert", STAT / "per_thread.data", "--to", "chrome", "--anonymize", "secret", "-o", out)
    assert ran.code == 0
    assert b"python3" not in out.read_bytes() and b"4903" not in out.read_bytes()
