"""Rows of Firefox Profiler's samples against a slow count of the CPU time between two of them."""

import random

import numpy as np
import pytest

from perf2x.emitters.firefox.sample_rows import SampleTableRows, samples_by_track, timeline_of
from perf2x.emitters.timeline.shown_samples import origin_of, shown_samples
from perf2x.model.profile.profile import Profile, Wait
from perf2x.testing import ProfileBuilder


def made(seed: int, with_switches: bool, with_waits: bool) -> Profile:
    """Three threads that run in bursts of samples 8 to 12 µs apart, and sleep between them, some of that as waits."""
    chance, builder = random.Random(seed), ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", period=10_000, frequency=0)
    waited = builder.event("off-cpu", "nanoseconds", frequency=0, is_wait=True)
    main = [builder.function("main")]
    for tid in (7, 8, 9):
        thread, now = builder.thread("t", 7, tid), chance.randrange(50_000)
        for _ in range(8):
            if with_switches:
                builder.switch(now, thread, is_out=False)
            for _ in range(chance.randrange(4)):
                now += chance.randrange(8_000, 12_000)
                builder.sample(main, thread, 0, 10_000, time=now, cpu=-1)
            now += chance.randrange(1, 8_000)
            if with_switches:
                builder.switch(now, thread, is_out=True)
            asleep = chance.randrange(1, 90_000)
            if with_waits:
                builder.sample(main, thread, waited, asleep, time=now, cpu=-1, wait=Wait.BLOCKED)
            now += asleep
    return builder.build(timeline=True)


def sample_rows(profile: Profile) -> SampleTableRows:
    """Return the rows of all samples and tracks."""
    timeline = timeline_of(profile)
    return samples_by_track(profile, timeline, np.arange(len(profile.samples))).table_rows(0, len(timeline.tracks))


@pytest.mark.parametrize("with_waits", [False, True])
@pytest.mark.parametrize("with_switches", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_cpu_time_is_what_was_drawn_between_two_rows(seed: int, with_switches: bool, with_waits: bool) -> None:
    profile = made(seed, with_switches, with_waits)
    timeline, every = timeline_of(profile), np.arange(len(profile.samples))
    shown, first = shown_samples(profile, timeline.sample_tracks, every), timeline.origin - origin_of(profile)
    is_wait = np.zeros(len(every), bool) if profile.samples.wait is None else profile.samples.wait > 0
    spans = [
        span
        for span in zip(
            shown.track.tolist(), shown.start.tolist(), shown.end.tolist(), shown.sample.tolist(), strict=True
        )
        if not is_wait[span[3]]
    ]
    rows = sample_rows(profile)
    assert sorted(rows.sample[rows.sample >= 0].tolist()) == every.tolist()
    columns = rows.track.tolist(), rows.time.tolist(), rows.sample.tolist(), rows.cpu_time.tolist()
    before = (-1, -first)
    for track, time, sample, cpu_time in zip(*columns, strict=True):
        since = before[1] if before[0] == track else -first
        ran = [min(end - first, time) - max(start - first, since) for lane, start, end, _ in spans if lane == track]
        assert cpu_time == sum(part for part in ran if part > 0)
        assert before <= (track, time) and time >= 0
        if sample >= 0:
            assert time == timeline.times(np.array([sample]))[0]
        before = (track, time)
    assert rows.cpu_time.sum() == sum(end - start for _, start, end, _ in spans)


@pytest.mark.parametrize("seed", range(4))
def test_no_stack_is_shown_longer_than_its_sample_stands_for(seed: int) -> None:
    """By half as long at most, since samples are not exactly a period apart; waits end to the nanosecond."""
    profile = made(seed, with_switches=False, with_waits=True)
    rows = sample_rows(profile)
    assert profile.samples.wait is not None
    columns = rows.track.tolist(), rows.time.tolist(), rows.sample.tolist()
    each = list(zip(*columns, strict=True))
    for (track, time, sample), (following, until, _) in zip(each, [*each[1:], (-1, 0, -1)], strict=True):
        if sample >= 0:
            value = int(profile.samples.value[sample])
            assert following == track
            assert until - time == value if profile.samples.wait[sample] else until - time <= 1.5 * value


def test_a_sample_that_stands_for_no_time_is_shown_a_microsecond() -> None:
    builder = ProfileBuilder()
    builder.event("page-faults", "count", period=1, frequency=0)
    waited = builder.event("off-cpu", "nanoseconds", frequency=0, is_wait=True)
    builder.thread("t", 7, 7)
    builder.sample([builder.function("main")], event=waited, value=5, time=4_000, wait=Wait.UNPLACED)
    profile = builder.build(timeline=True)
    rows = sample_rows(profile)
    assert (rows.sample.tolist(), rows.cpu_time.tolist()) == ([0, -1], [0, 0])
    assert np.diff(rows.time).tolist() == [1000]


def test_rows_of_tracks_are_the_same_one_by_one() -> None:
    profile = made(1, with_switches=False, with_waits=True)
    timeline = timeline_of(profile)
    by_track, whole = samples_by_track(profile, timeline, np.arange(len(profile.samples))), sample_rows(profile)
    parts = [by_track.table_rows(track, track + 1) for track in range(len(timeline.tracks))]
    assert len(parts) == 3
    for name in SampleTableRows.__struct_fields__:
        assert np.concatenate([getattr(part, name) for part in parts]).tolist() == getattr(whole, name).tolist()


def test_a_profile_without_samples_has_no_rows() -> None:
    assert len(sample_rows(ProfileBuilder().build(timeline=True))) == 0
