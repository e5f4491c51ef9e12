"""When stacks are drawn, against a scalar twin and against what must hold for every timeline."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emitters.timeline.shown_samples import (
    ShownSamples,
    durations_of,
    in_ticks,
    on_cpus,
    origin_of,
    shown_samples,
    thread_runs,
    typical_interval,
)
from perf2x.emitters.timeline.tracks import cpu_tracks_of, tracks_of
from perf2x.model.profile.profile import Profile, Wait
from perf2x.testing import ProfileBuilder

PERIOD = 10
TIMES = st.lists(st.integers(100, 300), max_size=10)
EDGES = st.lists(st.integers(100, 300), unique=True, max_size=8)
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 1), st.integers(0, 900), st.booleans()), max_size=25)
"""Thread, CPU, time, whether it is a sample of the other event."""
WAITS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 900), st.integers(0, 80)), max_size=6)


def builder_of(threads: int) -> ProfileBuilder:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", period=PERIOD, frequency=0)
    for row in range(threads):
        builder.thread(f"t{row}", 1, 1 + row)
    return builder


def shown(profile: Profile) -> ShownSamples:
    return shown_samples(profile, tracks_of(profile)[1], np.arange(len(profile.samples)))


def rows(drawn: ShownSamples, origin: int) -> list[tuple[int, int, int]]:
    """Sample, start, end on the recording's clock."""
    return list(zip(drawn.sample.tolist(), (drawn.start + origin).tolist(), (drawn.end + origin).tolist(), strict=True))


def twin_in_runs(times: list[int], runs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """The moments of running time, one by one, and the sample that each belongs to."""
    moments = [moment for start, end in runs for moment in range(start, end)]
    run_of = [number for number, (start, end) in enumerate(runs) for _ in range(start, end)]

    def ran(time: int) -> int:
        return sum(moment < time for moment in moments)

    def run_at(time: int) -> int:
        """The run that a time lies in, or the last one before it; −1 before all."""
        return sum(start <= time for start, _ in runs) - 1

    def run_end(time: int) -> int:
        return ran(runs[run_at(time)][1]) if run_at(time) >= 0 else 0

    boxes, before = [], 0
    for row, time in enumerate(times):
        follows = times[row + 1] if row + 1 < len(times) else None
        if follows is not None and run_at(follows) == run_at(time):
            end = ran(time)
        else:
            end = min(len(moments) if follows is None else run_end(time), ran(time) + PERIOD)
        boxes.append((max(before, ran(time) - 2 * PERIOD), end))
        before = end
    owner = {place: row for row, (start, end) in enumerate(boxes) for place in range(start, end)}
    found: list[tuple[int, int, int]] = []
    for place, row in sorted(owner.items()):
        moment, new_run = moments[place], place == 0 or run_of[place] != run_of[place - 1]
        if found and found[-1][0] == row and found[-1][2] == moment and not new_run:
            found[-1] = (row, found[-1][1], moment + 1)
        else:
            found.append((row, moment, moment + 1))
    return found


@given(TIMES, EDGES)
def test_runs_are_drawn_from_switch_to_switch(times, edges) -> None:
    edges = sorted(edges)[: len(edges) // 2 * 2]
    runs = [(edges[at], edges[at + 1]) for at in range(0, len(edges), 2)]
    runs = [run for at, run in enumerate(runs) if at == 0 or run[0] > runs[at - 1][1]]
    builder, times = builder_of(1), sorted(times)
    stack = [builder.function("a")]
    for time in times:
        builder.sample(stack, time=time, value=PERIOD)
    for start, end in runs:
        builder.switch(start, is_out=False)
        builder.switch(end)
    if not runs or not times:
        return
    profile = builder.build(timeline=True)
    assert rows(shown(profile), origin_of(profile)) == twin_in_runs(times, runs)
    held = thread_runs(profile)
    origin = origin_of(profile)
    assert list(zip((held.start + origin).tolist(), (held.end + origin).tolist(), strict=True)) == runs


def test_lost_switches_and_open_ends() -> None:
    """A run that was on when the recording began, one whose end was lost, one that is on when it ends."""
    builder = builder_of(1)
    stack = [builder.function("a")]
    for time in (1000, 1200, 1205, 1400):
        builder.sample(stack, time=time, value=PERIOD)
    builder.switch(1007)
    for time in (1190, 1390):
        builder.switch(time, is_out=False)
    profile = builder.build(timeline=True)
    runs, origin = thread_runs(profile), origin_of(profile)
    spans = zip((runs.start + origin).tolist(), (runs.end + origin).tolist(), strict=True)
    assert list(spans) == [(990, 1007), (1190, 1205), (1390, 1400)]


@given(ROWS, WAITS)
def test_what_holds_for_every_timeline(drawn, waits) -> None:
    builder = builder_of(3)
    builder.event("page-faults", "count", period=1)
    off = builder.event("off-cpu", "nanoseconds", is_wait=True)
    stack = [builder.function("a")]
    for thread, cpu, time, is_other in drawn:
        builder.sample(stack, thread, int(is_other), PERIOD, time=time, cpu=cpu)
    for thread, time, length in waits:
        builder.sample(stack, thread, off, length, time=time, cpu=-1, wait=Wait.BLOCKED)
    profile = builder.build(timeline=True)
    tracks, track = tracks_of(profile)
    found = shown(profile)
    assert np.all(found.start >= 0)
    assert np.all(found.end > found.start)
    for one, other in pairwise(range(len(found))):
        if found.track[one] == found.track[other]:
            assert found.end[one] <= found.start[other]
            assert found.meets_next[one] == (found.end[one] == found.start[other])
        else:
            assert found.track[one] < found.track[other]
            assert not found.meets_next[one]
    assert found.track.tolist() == track[found.sample].tolist()
    standing = durations_of(profile, np.arange(len(profile.samples)), track).length
    assert np.all(standing[found.sample] > 0), "a moment is drawn"
    assert_cpus_run_one_thread(profile, found)
    assert len(tracks) == len(set(track.tolist()))


@given(TIMES, EDGES, st.lists(st.tuples(st.integers(90, 300), st.integers(1, 60)), max_size=4), st.booleans())
def test_waits_are_drawn_whole(times, edges, waits, with_cpus) -> None:
    """Whatever samples and switches say of their thread; only what a sample at its end shows is taken off a wait."""
    builder = builder_of(1)
    off = builder.event("off-cpu", "nanoseconds", is_wait=True)
    stack, cpu = [builder.function("a")], 1 if with_cpus else -1
    for time in times:
        builder.sample(stack, time=time, value=PERIOD, cpu=cpu)
    for number, time in enumerate(sorted(edges)):
        builder.switch(time, is_out=bool(number % 2))
    apart, behind = {}, 0
    for start, length in sorted(waits):
        if start >= behind:
            builder.sample(stack, event=off, time=start, value=length, cpu=cpu, wait=Wait.BLOCKED)
            apart[start], behind = length, start + length
    profile = builder.build(timeline=True)
    assert profile.samples.wait is not None or not apart
    if not apart:
        return
    drawn = {row: (start, end) for row, start, end in rows(shown(profile), origin_of(profile))}
    for row in np.flatnonzero(profile.samples.wait).tolist():
        start, length = int(profile.samples.time[row]), int(profile.samples.value[row])
        shortened = max(0, length - PERIOD) if start + length in times else length
        assert drawn.get(row, (start, start)) == (start, start + shortened)


def test_a_wait_is_drawn_where_another_thread_took_the_cpu() -> None:
    """Of the period behind the wait nothing is left in front of it, where the other thread ran."""
    builder = builder_of(2)
    off = builder.event("off-cpu", "nanoseconds", is_wait=True)
    stack = [builder.function("a")]
    builder.sample(stack, 1, time=200, value=PERIOD, cpu=1)
    builder.sample(stack, 0, event=off, time=200, value=50, cpu=1, wait=Wait.BLOCKED)
    builder.sample(stack, 0, time=252, value=PERIOD, cpu=1)
    profile = builder.build(timeline=True)
    assert rows(shown(profile), origin_of(profile)) == [(1, 200, 250), (2, 250, 252), (0, 190, 200)]


def assert_cpus_run_one_thread(profile: Profile, found: ShownSamples) -> None:
    wait, cpu = profile.samples.wait, profile.samples.cpu
    assert cpu is not None
    ran = np.ones(len(found), np.bool_) if wait is None else wait[found.sample] == 0
    for number in range(2):
        on = np.flatnonzero(ran & (cpu[found.sample] == number))
        held = sorted(zip(found.start[on].tolist(), found.end[on].tolist(), strict=True))
        assert all(one[1] <= other[0] for one, other in pairwise(held))


@given(ROWS)
def test_tracks_of_cpus_show_what_ran_there(drawn) -> None:
    builder = builder_of(3)
    stack = [builder.function("a")]
    for thread, cpu, time, _ in drawn:
        builder.sample(stack, thread, 0, PERIOD, time=time, cpu=cpu)
    profile = builder.build(timeline=True)
    found = shown(profile)
    moved, cpus = on_cpus(profile, found), cpu_tracks_of(profile).cpu
    cpu = profile.samples.cpu
    assert cpu is not None
    wanted = sorted(
        (int(cpu[row]), start, end, row)
        for row, start, end in zip(found.sample.tolist(), found.start.tolist(), found.end.tolist(), strict=True)
        if cpu[row] >= 0
    )
    columns = (cpus[moved.track].tolist(), moved.start.tolist(), moved.end.tolist(), moved.sample.tolist())
    assert sorted(zip(*columns, strict=True)) == wanted


def test_a_wait_keeps_its_thread_from_running() -> None:
    """The period of the sample behind the wait began before it; a guessed end gives way to the sample that shows it."""
    builder = builder_of(1)
    off = builder.event("off-cpu", "nanoseconds", is_wait=True)
    stack = [builder.function("a")]
    builder.sample(stack, time=104, value=PERIOD)
    builder.sample(stack, event=off, time=106, value=50, wait=Wait.BLOCKED)
    builder.sample(stack, time=160, value=PERIOD)
    profile = builder.build(timeline=True)
    assert rows(shown(profile), origin_of(profile)) == [(0, 94, 100), (2, 100, 106), (1, 106, 156), (2, 156, 160)]
    builder.sample(stack, event=off, time=170, value=30, wait=Wait.UNKNOWN)
    builder.sample(stack, time=200, value=PERIOD)
    profile = builder.build(timeline=True)
    assert rows(shown(profile), origin_of(profile))[-2:] == [(3, 170, 190), (4, 190, 200)]


def test_the_typical_interval() -> None:
    builder = ProfileBuilder()
    builder.thread("t", 1, 1)
    often, rare = builder.event("cycles", "count", frequency=0), builder.event("faults", "count", frequency=0)
    stack = [builder.function("a")]
    for time in (0, 100_000, 220_000, 330_000, 9_000_000, 9_110_000):
        builder.sample(stack, event=often, time=time)
    builder.sample(stack, event=rare, time=80_000_000)
    profile = builder.build(timeline=True)
    track = tracks_of(profile)[1]
    assert typical_interval(profile, track, np.arange(6)) == 110_000
    assert typical_interval(profile, track, np.arange(6, 7)) == 1000
    asked = ProfileBuilder()
    asked.thread("t", 1, 1)
    event = asked.event("cycles", "count", frequency=1000)
    for time in (0, 50_000_000, 100_000_000):
        asked.sample([asked.function("a")], event=event, time=time)
    profile = asked.build(timeline=True)
    assert typical_interval(profile, tracks_of(profile)[1], np.arange(3)) == 1_000_000


@given(ROWS, st.integers(1, 20))
def test_ticks_keep_order_and_gaps(drawn, tick) -> None:
    builder = builder_of(3)
    for thread, cpu, time, _ in drawn:
        builder.sample([builder.function("a")], thread, 0, PERIOD, time=time, cpu=cpu)
    found = shown(builder.build(timeline=True))
    coarse = in_ticks(found, tick)
    expected = [
        (int(track), row, (start + tick // 2) // tick, (end + tick // 2) // tick)
        for track, row, start, end in zip(found.track, *map(list, (found.sample, found.start, found.end)), strict=True)
    ]
    columns = (coarse.track, coarse.sample, coarse.start, coarse.end)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        one for one in expected if one[3] > one[2]
    ]


def test_the_first_box_may_be_of_a_later_sample_and_of_one_that_is_not_drawn() -> None:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=0)
    for row, (time, value) in enumerate([(1000, 10), (1200, 900), (1300, 20)]):
        builder.sample([builder.function("main")], builder.thread("t", 1, 1 + row), 0, value, time=time, cpu=-1)
    profile = builder.build(timeline=True)
    assert origin_of(profile) == 300
    drawn = shown_samples(profile, tracks_of(profile)[1], np.array([2]))
    assert rows(drawn, 300) == [(2, 1280, 1300)]


def test_times_up_to_the_end_of_the_clock() -> None:
    builder = builder_of(1)
    builder.sample([], value=PERIOD, time=(1 << 64) - 3)
    builder.sample([], value=PERIOD, time=(1 << 64) - 1)
    assert origin_of(builder.build(timeline=True)) == (1 << 64) - 3 - PERIOD
