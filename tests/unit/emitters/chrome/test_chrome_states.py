"""Waits, states of threads, instants and curves of Chrome traces."""

import numpy as np
from msgspec.structs import replace

from perf2x.model.profile.profile import RunningThreads, Wait
from tests.support.chrome_traces import MS, stacks, trace


def test_a_wait_is_a_slice_of_its_length_and_colour(builder) -> None:
    """A wait shares callers with what ran before and behind it, and is a slice beside them all the same."""
    ran, waits = stacks(builder, "ab", "aw")
    off = builder.event("off-cpu", "nanoseconds", is_wait=True)
    builder.sample(ran, time=MS)
    for time, kind in ((MS, Wait.BLOCKED), (9 * MS, Wait.PREEMPTED)):
        builder.sample(waits, event=off, value=6 * MS, time=time, wait=kind)
    builder.sample(ran, time=7_500_000)
    drawn = [one for one in trace(builder.build(timeline=True))["traceEvents"] if one["ph"] == "X"]
    found = [(one["name"], one["ts"], one["dur"], one["cat"], one.get("cname")) for one in drawn]
    sleeping, ready = "thread_state_sleeping", "thread_state_runnable"
    assert found == [
        ("a", 0, 999.875, "user", None),
        ("b", 0, 999.875, "user", None),
        ("a", 1000, 5999.875, "off-cpu", sleeping),
        ("w", 1000, 5999.875, "off-cpu", sleeping),
        ("a", 7000, 500, "user", None),
        ("b", 7000, 500, "user", None),
        ("a", 9000, 6000, "off-cpu", ready),
        ("w", 9000, 6000, "off-cpu", ready),
    ]


def test_thread_states_come_from_context_switches(builder) -> None:
    builder.sample(stacks(builder, "a")[0], time=3 * MS, cpu=1)
    for time, is_out, preempted in ((2, False, False), (4, True, True), (5, False, False), (6, True, False)):
        builder.switch(time * MS, is_out=is_out, cpu=1, is_preempted=preempted)
    builder.switch(8 * MS, is_out=False, cpu=-1)
    builder.switch(9 * MS)
    profile = builder.build(timeline=True)
    states = [one for one in trace(profile)["traceEvents"] if one["ph"] == "T"]
    cpu = {"cpu": 1}
    assert [(one["name"], one["ts"], one["dur"], one.get("args")) for one in states] == [
        ("Running", 0, 2000, cpu),
        ("R+", 2000, 1000, None),
        ("Running", 3000, 1000, cpu),
        ("S", 4000, 2000, None),
        ("Running", 6000, 1000, None),
    ]
    assert {(one["pid"], one["tid"]) for one in states} == {(7, 8)}
    assert all(one["ph"] != "T" for one in trace(profile, states=False)["traceEvents"])


def test_how_many_threads_ran_is_a_curve_of_the_first_process(builder) -> None:
    """Steps before the origin (2 ms, where the first period begins), and within one tick, are one."""
    builder.sample(stacks(builder, "a")[0], time=3 * MS, value=MS)
    times = np.array([0, MS, 3 * MS, 4 * MS, 4 * MS + 10, 5 * MS + 125], np.uint64)
    curve = RunningThreads(times, np.array([1, 3, 2, 3, 4, 0], np.int32))
    profile = replace(builder.build(timeline=True), running=curve)
    counters = [one for one in trace(profile)["traceEvents"] if one["ph"] == "C"]
    assert [(one["ts"], one["args"]) for one in counters] == [
        (0, {"threads": 3}),
        (1000, {"threads": 2}),
        (2000, {"threads": 4}),
        (3000.125, {"threads": 0}),
    ]
    assert {(one["name"], one["pid"]) for one in counters} == {("threads running", 7)}
    assert all(one["ph"] != "C" for one in trace(profile, states=False)["traceEvents"])
    assert all(one["ph"] != "C" for one in trace(replace(profile, running=None))["traceEvents"])


def test_samples_of_no_time_are_instants_on_tracks_of_their_own(builder) -> None:
    faults = builder.event("page-faults", "count", period=1)
    first, second = stacks(builder, "a", "b")
    builder.sample(first, time=MS)
    builder.sample(second, event=faults, time=2 * MS)
    profile = builder.build(timeline=True)
    instants = [one for one in trace(profile)["traceEvents"] if one["ph"] == "n"]
    assert instants == [
        {
            "ph": "n", "cat": "page-faults", "name": "page-faults", "ts": 2000, "pid": 7, "tid": 8,
            "id2": {"local": "8"}, "args": {"tid": 8},
        }
    ]  # fmt: skip
    for options in ({"markers": False}, {"event": "page-faults"}, {"event": "cpu-clock"}):
        assert all(one["ph"] != "n" for one in trace(profile, **options)["traceEvents"])


def test_counters_of_other_events(builder) -> None:
    faults = builder.event("page-faults", "count", period=1)
    (stack,) = stacks(builder, "a")
    builder.sample(stack, time=0)
    for time in (1_100_000, 1_200_000, 5 * MS):
        builder.sample(stack, event=faults, time=time, value=2)
    parsed = trace(builder.build(timeline=True), counters=True)
    curve = [(one["ts"], one["args"]["value"]) for one in parsed["traceEvents"] if one["ph"] == "C"]
    assert curve == [(0, 0), (2000, 4), (3000, 0), (6000, 2), (7000, 0)]
