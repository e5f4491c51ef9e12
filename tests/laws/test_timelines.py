"""Laws of all timelines: what is drawn is what ran and waited, on the corpus and on a program whose schedule is known.

``schedules/``: ``perf record -k CLOCK_MONOTONIC -F 999 -e cpu-clock --sample-cpu -g`` of corpus/programs/schedule.c,
with (``switches``) and without (``plain``) ``--switch-events``, on two CPUs on which other programs took more than half
of the time; ``tracepoint``: the same with ``-e sched:sched_switch``, without ``-g``. The texts are what the program
printed: thread, phase, monotonic clock and the thread's CPU time at the beginning and the end of each phase.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.emitters.timeline.shown_samples import durations_of, origin_of
from perf2x.emitters.timeline.tracks import FIRST_CPU_ID, tracks_of
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.kernel.registry import EMITTERS
from perf2x.model.profile.profile import Profile
from tests.support import outputs
from tests.support.recordings import CORPUS, HALVES, corpus_cases, quick_first
from tests.support.timelines import (
    Lane,
    Slice,
    Spans,
    chrome_leaves,
    chrome_slices,
    chrome_spans,
    firefox_spans,
    most_at_once,
    outermost,
    page_spans,
    speedscope_weights,
    total,
)

SCHEDULES = Path(__file__).parent / "schedules"
SLEEPERS = Path(__file__).parents[1] / "unit" / "cli" / "data" / "sleepers.data"
MS = 1_000_000
DRAWN: dict[str, Callable[[Profile], Spans]] = {
    "chrome": chrome_spans,
    "html": page_spans,
    "firefox": firefox_spans,
}
WEIGHED = {"speedscope", "perfetto"}
"""Formats that keep samples as they are; Perfetto's laws stand in test_perfetto_timelines.py."""


def recorded(name: str) -> Path:
    return SCHEDULES / f"{name}.data"


ONE_HALF, OTHER_HALF = (
    [
        *quick_first((case for case in corpus_cases() if case.name != "per_thread"), lambda case: case.data, half),
        *(recorded(name) for name in names),
        SLEEPERS,
    ]  # per_thread has no times
    for half, names in zip(HALVES, (("plain", "switches", "tracepoint"), ("tracepoint",)), strict=True)
)


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def profile_of(path: Path, off_cpu: str = "") -> Profile:
    return load([str(path)], load_options(timeline=True, off_cpu=off_cpu, symbols=None)).profile


def times_of(profile: Profile, *, waiting: bool, event: int | None = None) -> dict[Lane, tuple[int, int]]:
    """Of each lane the time that its samples (those of one event) stand for, and the longest of them."""
    tracks, track = tracks_of(profile)
    rows = np.flatnonzero((profile.samples.event == event) | (event is None))
    standing = durations_of(profile, rows, track)
    length = np.where(standing.is_wait == waiting, standing.length, 0)
    found = {}
    for row in range(len(tracks)):
        own = length[track[rows] == row]
        found[int(tracks.pid[row]), int(tracks.tid[row])] = int(own.sum()), int(own.max(initial=0))
    return found


def assert_drawn(drawn: dict[Lane, float], wanted: dict[Lane, tuple[int, int]], name: str, periods: int = 1) -> None:
    """To one per cent; the first period of a recording may be cut, and a thread of few samples has little else."""
    for lane, (time, longest) in wanted.items():
        assert abs(drawn.get(lane, 0) - time) <= max(time / 100, periods * longest) + 1000, (name, lane)


def test_every_timeline_has_a_law() -> None:
    timelines = {name for name in entry_points_by_name(EMITTERS) if outputs.is_timeline(name)}
    assert timelines <= DRAWN.keys() | WEIGHED


@pytest.mark.parametrize("path", ONE_HALF, ids=named)
def test_a_thread_is_drawn_for_its_cpu_time(path: Path) -> None:
    profile = profile_of(path)
    wanted = times_of(profile, waiting=False)
    assert sum(time for time, _ in wanted.values()) > 0
    periods = 1 if profile.switches is None else 2  # switches tell how long a thread ran; timers tell it to a period
    for name, drawn in DRAWN.items():
        if name == "firefox":  # other events are markers
            wanted = times_of(profile, waiting=False, event=profile.default_event)
        assert_drawn(total(drawn(profile)), wanted, name, periods)
    assert_drawn(chrome_leaves(profile), times_of(profile, waiting=False), "leaves", periods)


@pytest.mark.parametrize("path", OTHER_HALF, ids=named)
def test_speedscope_keeps_every_weight(path: Path) -> None:
    profile = profile_of(path)
    samples, (tracks, track) = profile.samples, tracks_of(profile)
    names = [event.name for event in profile.events]
    several = len(set(samples.event.tolist())) > 1
    wanted: dict[tuple[str, Lane], int] = defaultdict(int)
    for event, row, value in zip(samples.event.tolist(), track.tolist(), samples.value.tolist(), strict=True):
        wanted[names[event] * several, (int(tracks.pid[row]), int(tracks.tid[row]))] += value
    assert speedscope_weights(profile) == wanted


@pytest.mark.parametrize(
    ("path", "with_cpus"),
    [
        *((path, True) for path in (*map(recorded, ("switches", "plain", "tracepoint")), SLEEPERS)),
        (recorded("switches"), False),
        (SLEEPERS, False),
    ],
)
def test_no_more_threads_run_than_there_are_cpus(path: Path, with_cpus: bool) -> None:
    """Without CPU numbers in the samples, too: the file says how many CPUs there were."""
    for off_cpu in [""] if path == recorded("plain") else ["", "beside"]:
        profile = profile_of(path, off_cpu)
        if not with_cpus:
            profile = replace(profile, samples=replace(profile.samples, cpu=None))
        assert profile.meta.cpus == 2
        for name in ("chrome", "html"):
            assert 1 <= most_at_once(DRAWN[name](profile)) <= 2, name


@pytest.mark.parametrize(
    "path", [recorded("switches"), recorded("plain"), CORPUS / "task_end" / "perf.data"], ids=named
)
def test_tracks_of_cpus_show_all_that_ran(path: Path) -> None:
    profile = profile_of(path)
    both = chrome_slices(profile, per_cpu=True)
    spans = {lane: outermost(held) for lane, held in both.items()}
    cpus = {lane: held for lane, held in spans.items() if lane[0] >= FIRST_CPU_ID}
    assert profile.samples.cpu is not None
    assert len(cpus) == len(set(profile.samples.cpu.tolist()))
    ran = sum(total({lane: held for lane, held in spans.items() if lane[0] < FIRST_CPU_ID}).values())
    assert abs(sum(total(cpus).values()) - ran) <= ran / 1000, (
        "on a track of a CPU two threads were in each other's way"
    )


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


@pytest.mark.parametrize(("name", "off_cpu", "per_phase"), [("switches", "beside", 0.3), ("plain", "", 2.0)])
def test_the_drawn_schedule_is_the_true_one(name: str, off_cpu: str, per_phase: float) -> None:
    """With context switches to the time that switching takes; without, to two periods."""
    profile = profile_of(recorded(name), off_cpu)
    lanes = {tid: held for (_, tid), held in chrome_slices(profile).items()}
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
    lanes = {tid: held for (_, tid), held in chrome_slices(profile).items()}
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
    lanes = {tid: held for (_, tid), held in chrome_slices(profile).items()}
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
        waits = {lane: outermost(held, waiting=True) for lane, held in chrome_slices(profile).items()}
        wanted = times_of(profile, waiting=True)
        assert_drawn(total(waits), wanted, "chrome")
        assert_drawn(total(page_spans(profile, waiting=True)), wanted, "html")
