"""Counters and names of threads as tracks."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perf2x.emitters.perfetto.perfetto import Perfetto
from perf2x.emitters.perfetto.trace_schema import TrackEventType
from perf2x.emitters.perfetto.tracks import counters_and_instants
from perf2x.model.profile.profile import Meta, Profile, RunningThreads
from perf2x.testing import ProfileBuilder
from tests.support.perfetto_trace import Slice, Trace, read_trace

MS = 1_000_000


def written(profile: Profile) -> Trace:
    out = io.BytesIO()
    Perfetto().emit(profile, out)
    return read_trace(out.getvalue())


def counters(profile: Profile) -> dict[tuple[int, str, int], list[tuple[int, int]]]:
    """Times and values by process, name and unit."""
    trace, pids, tracks, found = written(profile), {}, {}, {}
    for one in (packet.track_descriptor for packet in trace.of("track_descriptor")):
        if one.HasField("process"):
            pids[one.uuid] = one.process.pid
        if one.HasField("counter"):
            tracks[one.uuid] = (pids[one.parent_uuid], one.name, one.counter.unit)
    for packet in trace.of("track_event"):
        if packet.track_event.type == TrackEventType.TYPE_COUNTER:
            place = tracks[packet.track_event.track_uuid]
            found.setdefault(place, []).append((packet.timestamp, packet.track_event.counter_value))
    return found


def test_other_events_are_counters_of_processes() -> None:
    builder = ProfileBuilder()
    for name, unit in (("cycles", "count"), ("task-clock", "nanoseconds"), ("sched:sched_wakeup", "count")):
        builder.event(name, unit)
    builder.event("off-cpu", "nanoseconds", is_wait=True)
    places, rows = [builder.function("f")], [builder.thread("a", 7), builder.thread("b", 7, 8), builder.thread("c", 9)]
    samples = [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (1, 0)]
    for time, (event, thread) in enumerate(samples):
        builder.sample(places, rows[thread], event, value=10 + time, time=(5 + time) * MS)
    profile = builder.build(timeline=True, meta=Meta(start_ns=5 * MS))
    assert counters(profile) == {
        (7, "task-clock", 1): [(5 * MS, 0), (6 * MS, 11), (7 * MS, 23), (10 * MS, 38)],
        (9, "task-clock", 1): [(5 * MS, 0), (8 * MS, 13)],
    }


def stepped(rows: list[tuple[int, int, int]]) -> dict[int, list[tuple[int, int]]]:
    """The scalar twin: the last total of each millisecond of each process; rows of time, process, value."""
    found: dict[int, dict[int, tuple[int, int]]] = {}
    totals: dict[int, int] = {}
    begin = min((time for time, _, _ in rows), default=0)
    for time, process, value in rows:
        totals[process] = totals.get(process, 0) + value
        found.setdefault(process, {})[(time - begin) // MS] = (time, totals[process])
    return {process: list(steps.values()) for process, steps in found.items()}


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 5 * MS), st.integers(1, 3), st.integers(0, 9)), max_size=12))
def test_one_value_for_each_step(drawn: list[tuple[int, int, int]]) -> None:
    drawn.sort(key=lambda row: row[0])
    builder = ProfileBuilder()
    builder.event("cycles", "count")
    builder.event("page-faults", "count")
    for time, process, value in drawn:
        builder.sample([builder.function("f")], builder.thread("a", process), 1, value=value, time=time)
    builder.sample([builder.function("f")], builder.thread("a", 1), 0)
    found = counters(builder.build(timeline=True))
    assert {pid: values[1:] for (pid, _, _), values in found.items()} == stepped(drawn)
    assert all(values[0] == (0, 0) for values in found.values())


def test_long_recordings_have_longer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters_and_instants, "_STEPS", 100)
    builder = ProfileBuilder()
    builder.event("cycles", "count")
    builder.event("page-faults", "count")
    place, thread = [builder.function("f")], builder.thread()
    for row in range(251):
        builder.sample(place, thread, 1, value=1, time=row * 2 * MS)
    builder.sample(place, thread, 0)
    (values,) = counters(builder.build(timeline=True)).values()
    assert len(values) == 102 and values[-1] == (500 * MS, 251)


def test_threads_that_run_at_once_are_a_curve() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.sample([builder.function("f")], builder.thread(), time=7)
    builder.switch(5, 0, is_out=True)
    running = RunningThreads(np.array([0, 9, 2**40, 2**40 + 5], np.uint64), np.array([1, 2, 3, 0], np.int32))
    trace = written(replace(builder.build(timeline=True, meta=Meta(start_ns=7)), running=running))
    track = next(
        packet.track_descriptor
        for packet in trace.of("track_descriptor")
        if packet.track_descriptor.HasField("counter")
    )
    assert (track.name, track.counter.unit, track.parent_uuid) == ("threads running", 2, 0)
    events = [packet for packet in trace.of("track_event") if packet.track_event.track_uuid == track.uuid]
    assert [(packet.timestamp, packet.track_event.counter_value) for packet in events] == [
        (5, 1), (9, 2), (2**40, 3), (2**40 + 5, 0)
    ]  # fmt: skip


def named(rows: list[tuple[int, int, str]]) -> list[Slice]:
    """The scalar twin; rows of time, thread and name."""
    found = []
    for thread in sorted({thread for _, thread, _ in rows} - {0}):
        runs: list[list] = []
        for time, _, name in (row for row in rows if row[1] == thread):
            if runs and runs[-1][1] != name:
                runs[-1][3] = time
            if not runs or runs[-1][1] != name:
                runs.append([thread, name, time, time])
            runs[-1][3] = time
        found += [tuple(run) for run in runs if len(runs) > 1]
    return found


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["sh", "ls", "cat"])), max_size=14))
def test_names_of_threads_follow_one_another(drawn: list[tuple[int, str]]) -> None:
    builder = ProfileBuilder()
    builder.event()
    rows = [(10 * time, thread, name) for time, (thread, name) in enumerate(drawn)]
    for time, thread, name in rows:
        builder.sample([builder.function("f")], builder.thread(name, thread), time=time)
    assert written(builder.build(timeline=True)).slices() == named(rows)
