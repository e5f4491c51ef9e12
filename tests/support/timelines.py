"""Reads timelines back: of every format, when each thread is drawn to run.

A lane is a thread's (pid, tid); an idle one's is (0, 1 + CPU). Times are nanoseconds since the timeline's zero.
"""

import base64
import gzip
import json
import re
from collections import defaultdict
from typing import NamedTuple

from perf2x.model.profile.profile import Profile
from tests.support import outputs

Lane = tuple[int, int]
Spans = dict[Lane, list[tuple[float, float]]]
_MS = 1_000_000


class Slice(NamedTuple):
    """Times in nanoseconds; ``depth`` 0 for outermost boxes."""

    name: str
    start: float
    end: float
    depth: int
    category: str


def chrome_slices(profile: Profile, **options: object) -> dict[Lane, list[Slice]]:
    """Read a Chrome trace: slices of each lane in order; fails where two overlap without one holding the other."""
    found: dict[Lane, list[Slice]] = defaultdict(list)
    parsed = json.loads(outputs.emitted(profile, "chrome", **options))
    opened: dict[Lane, list[Slice]] = defaultdict(list)
    for event in parsed["traceEvents"]:
        if event["ph"] != "X":
            continue
        lane = event["pid"], event["tid"]
        start, end = event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000
        stack = opened[lane]
        while stack and stack[-1].end <= start:
            stack.pop()
        assert not stack or end <= stack[-1].end, "a slice reaches over its caller's end"
        assert not found[lane] or found[lane][-1].start <= start, "slices are out of order"
        stack.append(Slice(event["name"], start, end, len(stack), event.get("cat", "")))
        found[lane].append(stack[-1])
    return found


def outermost(lane: list[Slice], *, waiting: bool = False) -> list[tuple[float, float]]:
    """The outermost boxes, which cover all that their callees do: of runs, or of waits."""
    return [(one.start, one.end) for one in lane if one.depth == 0 and (one.category == "off-cpu") == waiting]


def chrome_spans(profile: Profile) -> Spans:
    return {lane: outermost(held) for lane, held in chrome_slices(profile).items()}


def chrome_leaves(profile: Profile) -> dict[Lane, float]:
    """Of each lane the time in which its innermost boxes run: what no callee covers."""
    found: dict[Lane, float] = defaultdict(float)
    for lane, held in chrome_slices(profile).items():
        for number, one in enumerate(held):
            callees = 0.0
            for other in held[number + 1 :]:
                if other.depth <= one.depth:
                    break
                callees += (other.end - other.start) * (other.depth == one.depth + 1)
            found[lane] += (one.end - one.start - callees) * (one.category != "off-cpu")
    return found


def page_data(page: str) -> dict:
    """The tables of an HTML page."""
    held = re.search(r'<script id="data" type="text/plain">(.*?)</script>', page, re.DOTALL)
    assert held is not None
    text = held.group(1).strip()
    return json.loads(text if text.startswith("{") else gzip.decompress(base64.b64decode(text)))


def page_spans(profile: Profile, *, waiting: bool = False) -> Spans:
    held = page_data(outputs.emitted(profile, "html").decode())
    moments = held["moments"]
    found: Spans = defaultdict(list)
    at = 0
    waits = moments.get("wait", [0] * len(moments["track"]))
    for track, step, length, wait in zip(moments["track"], moments["start"], moments["duration"], waits, strict=True):
        at += step
        if bool(wait) == waiting:
            thread = held["threads"][track]
            found[thread["pid"], thread["tid"]].append((at * 1000, (at + length) * 1000))
    return found


def firefox_spans(profile: Profile) -> Spans:
    """The CPU time between two rows, up to the later one; fails where it is more than the time between them."""
    parsed = json.loads(outputs.emitted(profile, "firefox"))
    assert parsed["meta"]["sampleUnits"]["threadCPUDelta"] == "ns"
    found: Spans = defaultdict(list)
    for thread in parsed["threads"]:
        lane = int(thread["pid"]), int(str(thread["tid"]).split(".")[0])
        if thread["name"].startswith("swapper/"):
            lane = 0, 1 + int(thread["name"].removeprefix("swapper/"))
        times, ran = thread["samples"]["time"], thread["samples"]["threadCPUDelta"]
        for number, (time, length) in enumerate(zip(times, ran, strict=True)):
            assert not number or length <= (time - times[number - 1]) * _MS + 1, "more than all of a CPU"
            found[lane].append((time * _MS - length, time * _MS))
    return found


def speedscope_weights(profile: Profile) -> dict[tuple[str, Lane], int]:
    """Sum of weights of each event and thread; the event is "" where there is only one."""
    found: dict[tuple[str, Lane], int] = defaultdict(int)
    for one in json.loads(outputs.emitted(profile, "speedscope"))["profiles"]:
        name = re.fullmatch(r"(?:swapper/(\d+)|.*? \((?:(-?\d+)/)?(-?\d+)\))(?:: (.*))?", one["name"])
        assert name is not None, one["name"]
        cpu, pid, tid, event = name.groups()
        lane = (0, 1 + int(cpu)) if cpu else (int(pid or tid), int(tid))
        assert one["endValue"] == sum(one["weights"])
        found[event or "", lane] += sum(one["weights"])
    return found


def total(spans: Spans) -> dict[Lane, float]:
    return {lane: sum(end - start for start, end in held) for lane, held in spans.items()}


def most_at_once(spans: Spans) -> int:
    """The largest number of lanes that run at one time."""
    edges = [edge for held in spans.values() for start, end in held for edge in ((start, 1), (end, -1))]
    running = most = 0
    for _, step in sorted(edges):
        running += step
        most = max(most, running)
    return most
