import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emit.chrome import Chrome
from perf2x.emit.tracks import UNKNOWN_ID
from perf2x.model.errors import OptionError
from perf2x.model.profile import Profile
from perf2x.testing import EmitterContract, ProfileBuilder

MS = 1_000_000


def trace(profile: Profile, **options: object) -> dict:
    out = io.BytesIO()
    Chrome(**options).emit(profile, out)
    parsed = json.loads(out.getvalue())
    check_trace(parsed)
    return parsed


def check_trace(parsed: dict) -> None:
    """What the three viewers demand: no args on slices, integer times, ids in range, strict nesting in file order."""
    assert "samples" not in parsed
    assert "stackFrames" not in parsed
    open_slices: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in parsed["traceEvents"]:
        assert 0 <= event["pid"] < 2**32
        assert 0 < event["tid"] < 2**32
        if event["ph"] != "X":
            continue
        assert "args" not in event
        assert "cat" not in event
        begin, end = event["ts"], event["ts"] + event["dur"]
        assert isinstance(begin, int)
        assert end > begin >= 0
        stack = open_slices.setdefault((event["pid"], event["tid"]), [])
        while stack and stack[-1][1] <= begin:
            stack.pop()
        assert not stack or (stack[-1][0] <= begin and end <= stack[-1][1]), "slices overlap without nesting"
        stack.append((begin, end))


def slices(parsed: dict) -> list[tuple]:
    return [(one["name"], one["ts"], one["dur"]) for one in parsed["traceEvents"] if one["ph"] == "X"]


def names(parsed: dict, kind: str) -> dict[tuple[int, int], str]:
    found = [one for one in parsed["traceEvents"] if one["name"] == kind]
    return {(one["pid"], one["tid"]): one["args"]["name"] for one in found}


class TestChromeContract(EmitterContract):
    def emitter(self):
        return Chrome()

    def output(self, profile):
        output = super().output(profile)
        check_trace(json.loads(output))
        return output


@pytest.fixture
def builder() -> ProfileBuilder:
    made = ProfileBuilder()
    made.event("cpu-clock", "nanoseconds", frequency=1000)
    made.thread("my prog", 7, 8, "leader")
    return made


def stacks(builder: ProfileBuilder, *texts: str) -> list[list[int]]:
    return [[builder.function(name) for name in text] for text in texts]


def test_common_callers_are_one_slice(builder):
    for row, stack in enumerate(stacks(builder, "abc", "ab", "ad")):
        builder.sample(stack, time=row * MS)
    expected = [("a", 0, 3500), ("b", 0, 2000), ("c", 0, 1000), ("d", 2000, 1500)]
    assert slices(trace(builder.build(timeline=True))) == expected


def test_sleep_is_not_drawn_as_work(builder):
    (stack,) = stacks(builder, "a")
    for time in (0, 1, 500):
        builder.sample(stack, time=time * MS)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 2500), ("a", 500_000, 1500)]


def test_switch_out_ends_a_slice_exactly(builder):
    (stack,) = stacks(builder, "a")
    builder.sample(stack, time=0)
    builder.sample(stack, time=4 * MS)
    builder.switch(300_000)
    builder.switch(3_900_000, is_out=False)
    builder.switch(9 * MS)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 300), ("a", 4000, 5000)]


def test_recorded_switches_leave_no_gap_while_running(builder):
    (stack,) = stacks(builder, "a")
    for time in (0, 5):
        builder.sample(stack, time=time * MS)
    builder.switch(6 * MS)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 6000)]


def test_fixed_period_of_other_events_takes_the_median(builder):
    cycles = builder.event("cycles", "count", period=1_000_000, frequency=0)
    (stack,) = stacks(builder, "a")
    for time in (0, 2, 4, 90):
        builder.sample(stack, event=cycles, time=time * MS)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 7000), ("a", 90_000, 3000)]


def test_samples_of_one_microsecond(builder):
    for row, stack in enumerate(stacks(builder, "a", "b", "c")):
        builder.sample(stack, time=row * 100)
    assert slices(trace(builder.build(timeline=True))) == [("c", 0, 1500)]


def test_names_of_processes_and_threads(builder):
    worker = builder.thread("worker", 7, 9, "leader")
    unknown = builder.thread("", -1, -1)
    for row, thread in enumerate((0, worker, unknown)):
        builder.sample(stacks(builder, "a")[0], thread, time=row * MS)
    parsed = trace(builder.build(timeline=True))
    threads = {(7, 8): "my prog", (7, 9): "worker", (UNKNOWN_ID, UNKNOWN_ID): ""}
    assert names(parsed, "thread_name") == threads
    assert names(parsed, "process_name") == {(7, 8): "leader", (UNKNOWN_ID, UNKNOWN_ID): ""}
    assert "cat" not in parsed["traceEvents"][0]


def test_idle_threads_are_told_apart_by_cpu(builder):
    idle = builder.thread("swapper", 0, 0)
    for cpu in (0, 1, 0, 1):
        builder.sample(stacks(builder, "i")[0], idle, time=cpu * 1000, cpu=cpu)
    parsed = trace(builder.build(timeline=True))
    assert names(parsed, "thread_name") == {(0, 1): "swapper/0", (0, 2): "swapper/1"}


def test_a_thread_that_renames_itself_is_one_track(builder):
    renamed = builder.thread("new name", 7, 8, "leader")
    (stack,) = stacks(builder, "a")
    builder.sample(stack, time=0)
    builder.sample(stack, renamed, time=1 * MS)
    parsed = trace(builder.build(timeline=True))
    assert slices(parsed) == [("a", 0, 2500)]
    assert names(parsed, "thread_name") == {(7, 8): "new name"}


def test_guards(builder):
    for row, stack in enumerate(stacks(builder, "ab", "ac")):
        builder.sample(stack, time=row * MS)
    profile = builder.build(timeline=True)
    assert slices(trace(profile, min_duration=1200)) == [("a", 0, 2500), ("c", 1000, 1500)]
    with pytest.raises(OptionError, match="3 events are more than max_events=2"):
        trace(profile, max_events=2)
    trace(profile, max_events=3)


def test_one_event_only(builder):
    other = builder.event("page-faults", "count", period=1)
    first, second = stacks(builder, "a", "b")
    builder.sample(first, time=0)
    builder.sample(second, event=other, time=MS // 2)
    assert [name for name, _, _ in slices(trace(builder.build(timeline=True), event="cpu-clock"))] == ["a"]
    assert len(slices(trace(builder.build(timeline=True)))) == 2


def test_text_is_raw_utf8(builder):
    builder.sample([builder.function("🔥\udcff\u2028")])
    out = io.BytesIO()
    Chrome().emit(builder.build(timeline=True), out)
    assert "🔥\\\\xff\u2028".encode() in out.getvalue()
    assert b"\\ud83d" not in out.getvalue()


STACKS = st.lists(st.sampled_from("abc"), max_size=4)
ROWS = st.lists(st.tuples(STACKS, st.integers(0, 2), st.integers(0, 6_000_000)), max_size=30)


@given(ROWS, st.lists(st.tuples(st.integers(0, 6_000_000), st.integers(0, 2)), max_size=4))
def test_slices_show_each_sample_s_stack(rows, switches):
    """At the moment of a sample, the slices open on its track are its stack; of one microsecond's samples, the last."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    threads = [builder.thread(f"t{row}", 1, 1 + row) for row in range(3)]
    for stack, thread, time in rows:
        builder.sample([builder.function(name) for name in stack], threads[thread], time=time)
    for time, thread in switches:
        builder.switch(time, thread)
    parsed = trace(builder.build(timeline=True))
    begin = min((time for _, _, time in rows), default=0)
    last = {}
    for stack, thread, time in sorted(rows, key=lambda row: row[2]):
        last[thread, (time - begin) // 1000] = stack
    for (thread, moment), stack in last.items():
        shown = [
            one["name"]
            for one in parsed["traceEvents"]
            if one["ph"] == "X" and one["tid"] == 1 + thread and one["ts"] <= moment < one["ts"] + one["dur"]
        ]
        assert shown == list(stack)
