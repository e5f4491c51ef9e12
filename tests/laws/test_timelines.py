"""Laws of all timelines: what is drawn is what ran and waited, on the corpus and on a program whose schedule is known.

``schedules/``: ``perf record -k CLOCK_MONOTONIC -F 999 -e cpu-clock --sample-cpu -g`` of corpus/programs/schedule.c,
with (``switches``) and without (``plain``) ``--switch-events``, on two CPUs on which other programs took more than half
of the time; the texts are what the program printed: thread, phase, monotonic clock and the thread's CPU time at the
beginning and the end of each phase.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from perf2x.emit.timeline.durations import durations_of
from perf2x.emit.timeline.shown import origin_of
from perf2x.emit.timeline.tracks import CPUS_ID, tracks_of
from perf2x.pipeline.load import load
from perf2x.pipeline.options import LoadOptions
from perf2x.tables.profile import Profile
from tests.support import outputs
from tests.support.recordings import CORPUS, Case, corpus_cases
from tests.unit.emit.test_html import data as page_data

SCHEDULES = Path(__file__).parent / "schedules"
CASES = [case for case in corpus_cases() if case.name != "per_thread"]  # it has no times that mean anything
MS = 1_000_000
Lane = tuple[int, int]


class Slice(NamedTuple):
    """Times in nanoseconds; ``depth`` 0 for outermost boxes."""

    name: str
    start: float
    end: float
    depth: int
    category: str


def profile_of(path: Path, off_cpu: str | None = None) -> Profile:
    return load([str(path)], LoadOptions(timeline=True, off_cpu=off_cpu, symbols=None)).profile


def slices(profile: Profile, **options: object) -> dict[Lane, list[Slice]]:
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


def time_drawn(lane: list[Slice], *, waiting: bool) -> float:
    """The time that boxes cover: that of the outermost ones, which is that of all without what their callees take."""
    return sum(one.end - one.start for one in lane if one.depth == 0 and (one.category == "off-cpu") == waiting)


def times_of(profile: Profile, *, waiting: bool) -> dict[Lane, tuple[int, int]]:
    """Of each lane the time that its samples stand for, and the longest of them."""
    tracks, track = tracks_of(profile)
    standing = durations_of(profile, track, np.arange(len(profile.samples)))
    length = np.where(standing.is_wait == waiting, standing.time, 0)
    found = {}
    for row in range(len(tracks)):
        own = length[track == row]
        found[int(tracks.pid[row]), int(tracks.tid[row])] = int(own.sum()), int(own.max(initial=0))
    return found


def assert_drawn(drawn: dict[Lane, float], wanted: dict[Lane, tuple[int, int]]) -> None:
    """To one per cent; the first period of a recording may be cut, and a thread of few samples has little else."""
    for lane, (time, longest) in wanted.items():
        assert abs(drawn.get(lane, 0) - time) <= max(time / 100, longest) + 1000, lane


def chrome_times(profile: Profile, *, waiting: bool) -> dict[Lane, float]:
    return {lane: time_drawn(held, waiting=waiting) for lane, held in slices(profile).items()}


def cpuprofile_times(profile: Profile) -> dict[Lane, float]:
    found: dict[Lane, float] = defaultdict(float)
    for event in json.loads(outputs.emitted(profile, "chrome", style="cpuprofile"))["traceEvents"]:
        if event["name"] == "ProfileChunk":
            chunk = event["args"]["data"]
            idle = [node["id"] for node in chunk["cpuProfile"].get("nodes", []) if "idle" in str(node)][:1] or [2]
            deltas = chunk["timeDeltas"][1:]
            for node, delta in zip(chunk["cpuProfile"]["samples"], deltas, strict=False):
                found[event["pid"], event["tid"]] += delta * 1000 * (node not in idle)
    return found


def page_times(profile: Profile) -> dict[Lane, float]:
    held = page_data(outputs.emitted(profile, "html").decode())
    threads = [(thread["pid"], thread["tid"]) for thread in held["threads"]]
    found: dict[Lane, float] = defaultdict(float)
    for track, duration in zip(held["moments"]["track"], held["moments"]["duration"], strict=True):
        found[threads[track]] += duration * 1000
    return found


def most_at_once(lanes: dict[Lane, list[Slice]]) -> int:
    """The largest number of lanes that run at one time."""
    edges = [
        edge
        for lane in lanes.values()
        for one in lane
        if one.depth == 0 and one.category != "off-cpu"
        for edge in ((one.start, 1), (one.end, -1))
    ]
    running = most = 0
    for _, step in sorted(edges):
        running += step
        most = max(most, running)
    return most


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_thread_is_drawn_for_its_cpu_time(case: Case) -> None:
    profile = profile_of(case.data)
    wanted = times_of(profile, waiting=False)
    assert_drawn(chrome_times(profile, waiting=False), wanted)
    assert_drawn(cpuprofile_times(profile), wanted)
    assert_drawn(page_times(profile), wanted)


def recorded(name: str) -> Path:
    return SCHEDULES / f"{name}.data"


@pytest.mark.parametrize("path", [recorded("switches"), recorded("plain"), CORPUS / "task_end" / "perf.data"], ids=str)
def test_no_more_threads_run_than_there_are_cpus(path: Path) -> None:
    profile = profile_of(path)
    assert profile.samples.cpu is not None
    threads = slices(profile)
    assert 1 <= most_at_once(threads) <= len(set(profile.samples.cpu.tolist())) <= 2
    both = slices(profile, per_cpu=True)
    cpus = sum(time_drawn(held, waiting=False) for (pid, _), held in both.items() if pid >= CPUS_ID)
    ran = sum(time_drawn(held, waiting=False) for held in threads.values())
    assert abs(cpus - ran) <= ran / 1000, "on a track of a CPU two threads were in each other's way"


class Phase(NamedTuple):
    tid: int
    name: str
    start: int
    end: int
    ran: int


def phases(name: str) -> Iterator[Phase]:
    for line in (SCHEDULES / f"{name}.txt").read_text().splitlines():
        tid, phase, *times = line.split()
        start, end, before, after = map(int, times)
        yield Phase(int(tid), phase, start, end, after - before)


def overlap(lane: list[Slice], origin: int, phase: Phase, *, waiting: bool) -> float:
    """Time of the outermost boxes that lies in a phase."""
    return sum(
        max(0.0, min(one.end + origin, phase.end) - max(one.start + origin, phase.start))
        for one in lane
        if one.depth == 0 and (one.category == "off-cpu") == waiting
    )


@pytest.mark.parametrize(("name", "off_cpu", "per_phase"), [("switches", "beside", 0.3), ("plain", None, 2.0)])
def test_the_drawn_schedule_is_the_true_one(name: str, off_cpu: str | None, per_phase: float) -> None:
    """With context switches to the time that switching takes; without, to two periods."""
    profile = profile_of(recorded(name), off_cpu)
    lanes = {tid: held for (_, tid), held in slices(profile).items()}
    origin = origin_of(profile)
    ran: dict[int, float] = defaultdict(float)
    true: dict[int, float] = defaultdict(float)
    for phase in phases(name):
        drawn = overlap(lanes[phase.tid], origin, phase, waiting=False)
        assert abs(drawn - phase.ran) < per_phase * MS, phase
        ran[phase.tid] += drawn
        true[phase.tid] += phase.ran
        if off_cpu:
            waited = overlap(lanes[phase.tid], origin, phase, waiting=True)
            assert abs(waited - (phase.end - phase.start - phase.ran)) < per_phase * MS, phase
    for tid in true:
        assert abs(ran[tid] - true[tid]) < (0.01 if off_cpu else 0.02) * true[tid]


def test_every_slice_of_a_thread_is_a_run_of_it() -> None:
    """The outermost boxes, joined where they touch, are the spans between the switches, to the tick."""
    profile = profile_of(recorded("switches"))
    switches, tracks = profile.switches, tracks_of(profile)[0]
    assert switches is not None
    origin = origin_of(profile)
    lanes = {tid: held for (_, tid), held in slices(profile).items()}
    for tid in tracks.tid.tolist():
        rows = np.flatnonzero(profile.threads.tid[switches.thread] == tid)
        edges = [(int(switches.time[row]) - origin, bool(switches.is_out[row])) for row in rows.tolist()]
        runs = [(one[0], other[0]) for one, other in pairwise(edges) if not one[1] and other[1]]
        drawn: list[list[float]] = []
        for one in lanes[tid]:
            if one.depth == 0 and drawn and one.start - drawn[-1][1] <= 125:
                drawn[-1][1] = one.end
            elif one.depth == 0:
                drawn.append([one.start, one.end])
        begins = np.array([start for start, _ in runs])
        matched = 0
        for start, end in drawn:
            run = runs[int(np.argmin(np.abs(begins - start)))]
            matched += abs(run[0] - start) <= 125 and abs(run[1] - end) <= 250
        assert matched >= 0.9 * len(runs), f"{matched} of {len(runs)} runs of thread {tid}"


def test_stacks_are_drawn_where_they_ran() -> None:
    """In nine tenths of a working phase's time the function that works is on the stack."""
    profile = load([str(recorded("switches"))], LoadOptions(timeline=True, symbols=symbols())).profile
    lanes = {tid: held for (_, tid), held in slices(profile).items()}
    origin = origin_of(profile)
    for phase in phases("switches"):
        if phase.name.startswith("work"):
            own = [one._replace(depth=0) for one in lanes[phase.tid] if one.name == phase.name]
            assert overlap(own, origin, phase, waiting=False) > 0.9 * phase.ran


def symbols() -> object:
    (case,) = (case for case in corpus_cases() if case.name == "calls")
    return outputs.symbols_of(case)


def test_waits_of_a_schedule_are_drawn_in_full() -> None:
    for how in ("beside", "apart"):
        profile = profile_of(recorded("switches"), how)
        assert_drawn(chrome_times(profile, waiting=True), times_of(profile, waiting=True))
