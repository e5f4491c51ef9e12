import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perf2x.abi.uapi import CpuMode
from perf2x.emit.chrome.emitter import Chrome
from perf2x.emit.timeline.shown import in_ticks, shown_samples
from perf2x.emit.timeline.tracks import CPUS_ID, UNKNOWN_ID, tracks_of
from perf2x.plugins.contracts import EmitterContract, ProfileBuilder
from perf2x.tables.errors import OptionError
from perf2x.tables.profile import Profile, RunningThreads
from perf2x.tables.waits import Wait

MS = 1_000_000


def written(profile: Profile, **options: object) -> bytes:
    out = io.BytesIO()
    Chrome(**options).emit(profile, out)
    return out.getvalue()


def trace(profile: Profile, **options: object) -> dict:
    parsed = json.loads(written(profile, **options))
    check_trace(parsed)
    return parsed


def check_trace(parsed: dict) -> None:
    """Check what viewers demand: exact times, ids in range, strict nesting in file order."""
    assert "samples" not in parsed
    assert "stackFrames" not in parsed
    open_slices: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in parsed["traceEvents"]:
        assert 0 <= event["pid"] < 2**32
        assert 0 < event["tid"] < 2**32
        if event["ph"] != "X":
            continue
        for number in (event["ts"], event["dur"]):
            assert number * 8 == int(number * 8), "not exact in binary"
            assert isinstance(number, int) or number != int(number), "a fraction that is none"
        begin, end = event["ts"], event["ts"] + event["dur"]
        assert end > begin >= 0
        stack = open_slices.setdefault((event["pid"], event["tid"]), [])
        while stack and stack[-1][1] <= begin:
            stack.pop()
        assert not stack or (stack[-1][0] <= begin and end <= stack[-1][1]), "slices overlap without nesting"
        stack.append((begin, end))


def speedscope_import(parsed: dict) -> list[str]:
    """Return the complaints of Speedscope 1.25: its two queues of begins and ends, and its rule for equal times."""
    complaints = []
    for ids in {(event["pid"], event["tid"]) for event in parsed["traceEvents"]}:
        drawn = [one for one in parsed["traceEvents"] if one["ph"] == "X" and (one["pid"], one["tid"]) == ids]
        drawn.sort(key=lambda one: (one["ts"], -one["dur"]))
        begins = [(one["ts"], one["name"]) for one in drawn]
        ends = sorted(((one["ts"] + one["dur"], one["name"]) for one in drawn), key=lambda end: end[0])
        stack: list[str] = []
        while begins or ends:
            if not ends or (begins and (begins[0][0] < ends[0][0] or begins[0] == ends[0])):
                stack.append(begins.pop(0)[1])
                continue
            same = [at for at, end in enumerate(ends) if end[0] == ends[0][0] and stack and end[1] == stack[-1]]
            if same:
                ends[0], ends[same[0]] = ends[same[0]], ends[0]
            ended = ends.pop(0)
            if stack and ended[1] == stack[-1]:
                stack.pop()
            else:
                complaints.append(f"tried to end {ended} in {stack}")
    return complaints


def slices(parsed: dict) -> list[tuple]:
    return [(one["name"], one["ts"], one["dur"]) for one in parsed["traceEvents"] if one["ph"] == "X"]


def names(parsed: dict, kind: str) -> dict[tuple[int, int], str]:
    found = [one for one in parsed["traceEvents"] if one["name"] == kind]
    return {(one["pid"], one["tid"]): one["args"]["name"] for one in found}


class TestChromeContract(EmitterContract):
    def emitter(self) -> Chrome:
        return Chrome()

    def output(self, profile) -> bytes:
        output = super().output(profile)
        check_trace(json.loads(output))
        return output


def stacks(builder: ProfileBuilder, *texts: str) -> list[list[int]]:
    return [[builder.function(name) for name in text] for text in texts]


def test_common_callers_are_one_slice(builder) -> None:
    for row, stack in enumerate(stacks(builder, "abc", "ab", "ad")):
        builder.sample(stack, time=row * MS)
    expected = [("a", 0, 3000), ("b", 0, 2000), ("c", 0, 1000), ("d", 2000, 1000)]
    assert slices(trace(builder.build(timeline=True))) == expected


def test_sleep_is_not_drawn_as_work(builder) -> None:
    (stack,) = stacks(builder, "a")
    for time in (0, 1, 500):
        builder.sample(stack, time=time * MS)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 2000), ("a", 500_000, 1000)]


def test_a_slice_begins_and_ends_at_the_switches(builder) -> None:
    (stack,) = stacks(builder, "a")
    for time in (0, 4_000_000, 5_100_000):
        builder.sample(stack, time=time)
    builder.switch(300_250)
    builder.switch(3_900_000, is_out=False)
    builder.switch(5_700_000)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 1300.25), ("a", 4900, 1800)]


def test_samples_of_other_events_stand_for_their_typical_interval(builder) -> None:
    cycles = builder.event("cycles", "count", period=1_000_000, frequency=0)
    (stack,) = stacks(builder, "a")
    for time in (0, 2, 4, 90):
        builder.sample(stack, event=cycles, time=time * MS)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 6000), ("a", 90_000, 2000)]


def test_rare_events_do_not_draw_sleep_as_work(builder) -> None:
    faults = builder.event("page-faults", "count", period=1, frequency=0)
    first, second = stacks(builder, "a", "b")
    for time in (0, 400, 800):
        builder.sample(first, event=faults, time=time * MS)
    profile = builder.build(timeline=True)
    assert [one[2] for one in slices(trace(profile))] == [10_000] * 3  # ten milliseconds at most
    builder.sample(second, time=1000 * MS)
    with_clock = builder.build(timeline=True)
    assert slices(trace(with_clock)) == [("b", 999_000, 1000)]


def test_samples_that_cannot_all_be_placed_are_cut_at_the_beginning(builder) -> None:
    for row, stack in enumerate(stacks(builder, "a", "b", "c")):
        builder.sample(stack, time=row * 500)
    assert slices(trace(builder.build(timeline=True))) == [("b", 0, 1), ("c", 1, 1000)]


def test_names_of_processes_and_threads(builder) -> None:
    worker = builder.thread("worker", 7, 9, "leader")
    unknown = builder.thread("", -1, -1)
    for row, thread in enumerate((0, worker, unknown)):
        builder.sample(stacks(builder, "a")[0], thread, time=row * MS)
    parsed = trace(builder.build(timeline=True))
    threads = {(7, 8): "my prog", (7, 9): "worker", (UNKNOWN_ID, UNKNOWN_ID): ""}
    assert names(parsed, "thread_name") == threads
    assert names(parsed, "process_name") == {(7, 8): "leader", (UNKNOWN_ID, UNKNOWN_ID): ""}
    assert "cat" not in parsed["traceEvents"][0]


def test_idle_threads_are_told_apart_by_cpu(builder) -> None:
    idle = builder.thread("swapper", 0, 0)
    for cpu in (0, 1, 0, 1):
        builder.sample(stacks(builder, "i")[0], idle, time=cpu * 1000, cpu=cpu)
    parsed = trace(builder.build(timeline=True))
    assert names(parsed, "thread_name") == {(0, 1): "swapper/0", (0, 2): "swapper/1"}


def test_a_thread_that_renames_itself_is_one_track(builder) -> None:
    renamed = builder.thread("new name", 7, 8, "leader")
    (stack,) = stacks(builder, "a")
    builder.sample(stack, time=0)
    builder.sample(stack, renamed, time=1 * MS)
    parsed = trace(builder.build(timeline=True))
    assert slices(parsed) == [("a", 0, 2000)]
    assert names(parsed, "thread_name") == {(7, 8): "new name"}


def test_guards(builder) -> None:
    for row, stack in enumerate(stacks(builder, "ab", "ac")):
        builder.sample(stack, time=row * MS)
    profile = builder.build(timeline=True)
    assert slices(trace(profile, min_duration=1200)) == [("a", 0, 2000)]
    with pytest.raises(OptionError, match="3 slices are more than max_events=2"):
        trace(profile, max_events=2)
    trace(profile, max_events=3)


def test_one_event_only(builder) -> None:
    other = builder.event("page-faults", "count", period=1)
    first, second = stacks(builder, "a", "b")
    builder.sample(first, time=0)
    builder.sample(second, event=other, time=MS // 2)
    profile = builder.build(timeline=True)
    for event, name in ((None, "a"), ("cpu-clock", "a"), ("page-faults", "b")):
        assert [drawn for drawn, _, _ in slices(trace(profile, event=event))] == [name]


def test_text_is_raw_utf8(builder) -> None:
    builder.sample([builder.function("🔥\udcff\u2028")])
    out = io.BytesIO()
    Chrome().emit(builder.build(timeline=True), out)
    assert "🔥\\\\xff\u2028".encode() in out.getvalue()
    assert b"\\ud83d" not in out.getvalue()


STACKS = st.lists(st.sampled_from("abc"), max_size=4)
ROWS = st.lists(st.tuples(STACKS, st.integers(0, 2), st.integers(0, 6_000_000)), max_size=30)


@given(ROWS, st.lists(st.tuples(st.integers(0, 6_000_000), st.integers(0, 2)), max_size=4))
def test_slices_show_the_stacks_of_samples(rows, switches) -> None:
    """Where a sample is drawn, the slices open on its track are its stack."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    threads = [builder.thread(f"t{row}", 1, 1 + row) for row in range(3)]
    for stack, thread, time in rows:
        builder.sample([builder.function(name) for name in stack], threads[thread], time=time)
    for time, thread in switches:
        builder.switch(time, thread)
    profile = builder.build(timeline=True)
    parsed, tracks = trace(profile), tracks_of(profile)
    ordered = sorted(rows, key=lambda row: row[2])
    drawn = in_ticks(shown_samples(profile, tracks[1], np.arange(len(rows))), 125)
    for track, sample, start, end in zip(drawn.track, drawn.sample, drawn.start, drawn.end, strict=True):
        moment, tid = (start + end - 1) / 16, int(tracks[0].tid[track])
        shown = [
            one["name"]
            for one in parsed["traceEvents"]
            if one["ph"] == "X" and one["tid"] == tid and one["ts"] <= moment < one["ts"] + one["dur"]
        ]
        assert shown == list(ordered[sample][0])
    assert speedscope_import(parsed) == []


def test_a_new_frame_named_like_an_ending_one_comes_a_moment_later(builder) -> None:
    first, second = stacks(builder, "xab", "xb")
    builder.sample(first, time=0)
    builder.sample(second, time=MS)
    parsed = trace(builder.build(timeline=True))
    assert slices(parsed) == [("x", 0, 2000), ("a", 0, 999.875), ("b", 0, 999.875), ("b", 1000, 1000)]
    assert speedscope_import(parsed) == []


def profiles(parsed: dict) -> dict[tuple[int, int], list[tuple[list[str], int]]]:
    """V8 profiles read back: per thread, stacks (root first) and when they begin."""
    found: dict[tuple[int, int], list[tuple[list[str], int]]] = {}
    starts, nodes = {}, {}
    for event in parsed["traceEvents"]:
        ids = (event["pid"], event["tid"])
        if event["name"] == "Profile":
            starts[event["id"]], nodes[event["id"]], found[ids] = event["args"]["data"]["startTime"], {}, []
        if event["name"] != "ProfileChunk":
            continue
        assert event["cat"]
        chunk, known = event["args"]["data"], nodes[event["id"]]
        for node in chunk["cpuProfile"].get("nodes", []):
            above = known[node["parent"]] if "parent" in node else []
            name = node["callFrame"]["functionName"]
            known[node["id"]] = [*above, name] if name != "(root)" else []
        for node, delta in zip(chunk["cpuProfile"]["samples"], chunk["timeDeltas"], strict=True):
            starts[event["id"]] += delta
            found[ids].append((known[node], starts[event["id"]]))
    return found


class TestCpuProfileContract(EmitterContract):
    def emitter(self) -> Chrome:
        return Chrome(style="cpuprofile")

    def output(self, profile) -> bytes:
        output = super().output(profile)
        profiles(json.loads(output))
        return output


def test_cpuprofile_tells_stacks_and_idleness(builder) -> None:
    for time, stack in zip((0, 1, 2, 900), stacks(builder, "abc", "ab", "ad", "ab"), strict=True):
        builder.sample(stack, time=time * MS)
    parsed = json.loads(written(builder.build(timeline=True), style="cpuprofile"))
    idle = ["(idle)"]
    expected = [(["a", "b", "c"], 0), (["a", "b"], 1000), (["a", "d"], 2000)]
    expected += [(idle, 3000), (["a", "b"], 900_000), (idle, 901_000)]
    assert profiles(parsed) == {(7, 8): expected}
    assert parsed["traceEvents"][0]["cat"]
    assert names(parsed, "thread_name") == {(7, 8): "my prog"}


def test_cpuprofile_spans_chunks(builder) -> None:
    a, b = stacks(builder, "a", "b")
    for time in range(40_000):
        builder.sample((a, b)[time % 2], time=time * MS)
    parsed = json.loads(written(builder.build(timeline=True), style="cpuprofile"))
    (rows,) = profiles(parsed).values()
    assert rows == [([("a", "b")[time % 2]], time * 1000) for time in range(40_000)] + [(["(idle)"], 40_000_000)]


def test_cpu_tracks_show_who_ran(builder) -> None:
    other = builder.thread("other", 9, 9)
    (stack,) = stacks(builder, "a")
    for time, (thread, cpu) in enumerate(((0, 0), (other, 0), (0, 1))):
        builder.sample(stack, thread, time=time * MS, cpu=cpu)
    parsed = trace(builder.build(timeline=True), per_cpu=True)
    cpus = {(CPUS_ID, CPUS_ID): "CPU 0", (CPUS_ID + 1, CPUS_ID + 1): "CPU 1"}
    assert {ids: name for ids, name in names(parsed, "process_name").items() if ids[0] >= CPUS_ID} == cpus
    assert set(names(parsed, "thread_name").values()) == {"my prog", "other", "CPU 0", "CPU 1"}
    drawn = [one for one in parsed["traceEvents"] if one["ph"] == "X" and one["pid"] >= CPUS_ID]
    mine, others = (0, "my prog (8)", 0), (0, "other (9)", 1000)
    expected = [mine, (0, "a", 0), others, (0, "a", 1000), (1, "my prog (8)", 2000), (1, "a", 2000)]
    assert [(one["tid"] - CPUS_ID, one["name"], one["ts"]) for one in drawn] == expected


def test_a_recording_without_cpus_has_no_tracks_of_them_and_says_so(builder) -> None:
    builder.sample(stacks(builder, "a")[0], cpu=-1)
    profile = builder.build(timeline=True)
    assert all(one["pid"] < CPUS_ID for one in trace(profile, per_cpu=True)["traceEvents"])
    assert ["do not say where" in note for note in Chrome(per_cpu=True).notes(profile)] == [True]
    assert Chrome().notes(profile) == ()


def test_categories_and_arguments(builder) -> None:
    library = builder.mapping("/usr/lib/libu.so")
    user = builder.location(0x400100, library, lines=[("u", "src/u.c", 7)])
    jit = builder.location(0x500100, builder.mapping("//anon", 0x500000), lines=["j"])
    builder.sample([user, jit, builder.function("k", CpuMode.KERNEL)])
    profile = builder.build(timeline=True)
    drawn = [one for one in trace(profile)["traceEvents"] if one["ph"] == "X"]
    assert [(one["name"], one["cat"]) for one in drawn] == [("u", "user"), ("j", "jit"), ("k", "kernel")]
    assert all("args" not in one for one in drawn)
    told = [one.get("args") for one in trace(profile, args=True)["traceEvents"] if one["ph"] == "X"]
    assert told == [{"object": "libu.so", "source": "src/u.c"}, {"object": "anon"}, None]


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


def test_samples_of_no_time_are_instants(builder) -> None:
    faults = builder.event("page-faults", "count", period=1)
    first, second = stacks(builder, "a", "b")
    builder.sample(first, time=MS)
    builder.sample(second, event=faults, time=2 * MS)
    profile = builder.build(timeline=True)
    instants = [one for one in trace(profile)["traceEvents"] if one["ph"] == "i"]
    assert [(one["name"], one["ts"], one["s"], one["pid"], one["tid"]) for one in instants] == [
        ("page-faults", 2000, "t", 7, 8)
    ]
    for options in ({"markers": False}, {"event": "page-faults"}, {"event": "cpu-clock"}):
        assert all(one["ph"] != "i" for one in trace(profile, **options)["traceEvents"])


def test_counters_of_other_events(builder) -> None:
    faults = builder.event("page-faults", "count", period=1)
    (stack,) = stacks(builder, "a")
    builder.sample(stack, time=0)
    for time in (1_100_000, 1_200_000, 5 * MS):
        builder.sample(stack, event=faults, time=time, value=2)
    parsed = trace(builder.build(timeline=True), counters=True)
    curve = [(one["ts"], one["args"]["value"]) for one in parsed["traceEvents"] if one["ph"] == "C"]
    assert curve == [(0, 0), (2000, 4), (3000, 0), (6000, 2), (7000, 0)]


def test_busiest_process_first(builder) -> None:
    busy = builder.thread("busy", 9, 9)
    (stack,) = stacks(builder, "a")
    for time, thread in enumerate((0, busy, busy)):
        builder.sample(stack, thread, time=time * MS)
    parsed = trace(builder.build(timeline=True))
    order = {
        one["pid"]: one["args"]["sort_index"] for one in parsed["traceEvents"] if one["name"] == "process_sort_index"
    }
    assert order == {9: 0, 7: 1}
