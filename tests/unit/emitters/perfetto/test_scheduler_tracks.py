import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perf2x.emitters.perfetto.perfetto import Perfetto
from perf2x.emitters.perfetto.trace_schema import TaskState
from perf2x.emitters.perfetto.tracks.thread_states import task_states_of
from perf2x.emitters.timeline.tracks import UNKNOWN_ID
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.tracepoint_fields import FieldColumn, TracepointFields
from perf2x.testing import ProfileBuilder
from tests.support.perfetto_trace import Trace, read_trace

RUNNABLE, RUNNING, SLEEPS = 2, 3, 4
State = tuple[int, int, int, int]
"""Time, tid, CPU, state."""


def states(builder: ProfileBuilder) -> list[State]:
    return read_states(builder.build(timeline=True))


def threads(*tids: int) -> tuple[ProfileBuilder, list[int]]:
    builder = ProfileBuilder()
    builder.event()
    return builder, [builder.thread("worker", 100 if tid > 0 else tid, tid) for tid in tids]


def test_states_are_named_as_readers_know_them() -> None:
    assert (TaskState.TASK_STATE_RUNNABLE, TaskState.TASK_STATE_RUNNING) == (RUNNABLE, RUNNING)


def test_a_thread_runs_from_switch_in_to_switch_out() -> None:
    builder, (one, other) = threads(101, 102)
    builder.switch(10, one, is_out=False, cpu=1)
    builder.switch(30, one, is_out=True, cpu=1, is_preempted=True)
    builder.switch(30, other, is_out=False, cpu=1)
    builder.switch(45, other, is_out=True, cpu=1)
    assert states(builder) == [
        (10, 101, 1, RUNNING), (30, 101, 1, RUNNABLE), (30, 102, 1, RUNNING), (45, 102, 1, SLEEPS)
    ]  # fmt: skip


def test_a_lost_end_is_where_the_thread_comes_to_another_cpu() -> None:
    builder, (one,) = threads(101)
    for time, cpu in ((10, 0), (20, 0), (30, 1)):
        builder.switch(time, one, is_out=False, cpu=cpu)
    builder.switch(40, one, is_out=True, cpu=1)
    builder.switch(50, one, is_out=True, cpu=1)
    assert states(builder) == [
        (10, 101, 0, RUNNING), (30, 101, 0, RUNNABLE), (30, 101, 1, RUNNING), (40, 101, 1, SLEEPS),
        (49, 101, 1, RUNNING), (50, 101, 1, SLEEPS),
    ]  # fmt: skip


def test_idle_and_unknown_threads_and_cpus_are_left_out() -> None:
    builder, rows = threads(0, -1, 101)
    for row in rows:
        builder.switch(10, row, is_out=False, cpu=0)
    builder.switch(20, rows[2], is_out=False, cpu=-1)
    assert states(builder) == [(10, 101, 0, RUNNING)]
    assert UNKNOWN_ID not in {tid for _, tid, _, _ in states(builder)}


def test_an_exit_ends_the_run_on_the_cpu_that_the_thread_came_to() -> None:
    """Records of exits tell no CPU; one of a thread that had left says nothing."""
    builder, (one, other) = threads(101, 102)
    for time, thread, is_out, cpu in (
        (10, one, False, 1),
        (20, one, True, -1),
        (10, other, True, 0),
        (30, other, True, -1),
    ):
        builder.switch(time, thread, is_out, cpu)
    assert states(builder) == [(10, 102, 0, SLEEPS), (10, 101, 1, RUNNING), (20, 101, 1, SLEEPS)]


def told(switches: list[tuple[int, int, bool, int]]) -> list[State]:
    """The scalar twin, for switches without those of no length, by time; threads leave before others come."""
    found: list[State] = []
    last: dict[int, tuple[bool, int]] = {}
    for time, thread, is_out, cpu in sorted(switches, key=lambda row: (row[1], row[0], row[2])):
        was_out, was_on = last.get(thread, (None, -1))
        last[thread] = (is_out, cpu)
        if was_out is is_out and not is_out and was_on == cpu:
            continue
        if was_out is is_out:
            found.append((time - 1, 101 + thread, cpu, RUNNING) if is_out else (time, 101 + thread, was_on, RUNNABLE))
        found.append((time, 101 + thread, cpu, SLEEPS if is_out else RUNNING))
    return sorted(found, key=lambda row: (row[0], row[3] == RUNNING, row[2], row[1]))


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 1)), max_size=20))
def test_switches_in_any_order(drawn: list[tuple[int, bool, int]]) -> None:
    builder, rows = threads(101, 102, 103)
    switches = [(10 * time, thread, is_out, cpu) for time, (thread, is_out, cpu) in enumerate(drawn)]
    for time, thread, is_out, cpu in switches:
        builder.switch(time, rows[thread], is_out, cpu)
    found = states(builder)
    assert found == told(switches)
    running: dict[int, bool] = {}
    for _, tid, _, state in found:
        assert not (running.get(tid) and state == RUNNING), "readers refuse a thread that runs twice at once"
        running[tid] = state == RUNNING


def test_a_run_without_length_is_left_out() -> None:
    builder, (one,) = threads(101)
    for time, is_out in ((10, False), (20, True), (30, False), (30, True), (40, False)):
        builder.switch(time, one, is_out, cpu=0)
    assert states(builder) == [(10, 101, 0, RUNNING), (20, 101, 0, SLEEPS), (40, 101, 0, RUNNING)]


def test_states_are_those_that_sched_switch_tells() -> None:
    """Without prev_state a thread that left sleeps, unless it was preempted."""
    builder, (one, other) = threads(101, 102)
    for time, thread, is_out in ((10, one, False), (20, one, True), (20, other, False), (30, other, True)):
        builder.switch(time, thread, is_out, cpu=3)
    profile = builder.build(timeline=True)
    assert profile.switches is not None
    told = np.where(profile.switches.is_out & (profile.switches.time == 20), 2, -1)
    profile = replace(profile, switches=replace(profile.switches, state=told))
    assert read_states(profile) == [
        (10, 101, 3, RUNNING), (20, 101, 3, 5), (20, 102, 3, RUNNING), (30, 102, 3, SLEEPS),
    ]  # fmt: skip


def test_samples_of_sched_switch_carry_their_fields_and_tell_no_states() -> None:
    """Without other records of switches, the times at which threads resumed are unknown."""
    profile = scheduled([(10, 0, 0, 102), (20, 1, 2, 101), (30, 0, 1, 103), (40, 1, 0x20, 0)])
    assert read_states(profile) == []
    trace = read(profile)
    texts: dict[str, dict[int, str]] = {}
    told = []
    for packet in trace.packets:
        tables = packet.interned_data
        if tables.debug_annotation_names:
            texts["names"] = {entry.iid: entry.name for entry in tables.debug_annotation_names}
            texts["texts"] = {entry.iid: entry.str.decode() for entry in tables.debug_annotation_string_values}
            assert [entry.name for entry in tables.event_names] == ["sched:sched_switch"]
        if packet.WhichOneof("data") == "track_event":
            assert packet.track_event.type == 3
            facts = packet.track_event.debug_annotations
            values = [texts["texts"].get(one.string_value_iid) or one.uint_value or one.int_value for one in facts]
            told.append((packet.timestamp, dict(zip(texts["names"].values(), values, strict=True))))
            assert [one.name_iid for one in facts] == list(texts["names"])
    assert told[1] == (20, {"prev_state": 2, "next_pid": 101, "next_comm": "odd \\xff"})
    assert [time for time, _ in told] == [10, 20, 30, 40]
    tids = {packet.track_descriptor.thread.tid for packet in trace.of("track_descriptor")}
    assert tids == {101, 102}


def test_a_thread_that_comes_back_is_not_dead() -> None:
    """Readers drop all that follows a thread's end, which 101 tells twice."""
    builder, (one, other) = threads(101, 102)
    for time, thread, is_out in ((10, one, False), (20, one, True), (30, one, False), (40, one, True)):
        builder.switch(time, thread, is_out, cpu=1)
    builder.switch(35, other, is_out=True, cpu=0)
    profile = builder.build(timeline=True)
    assert profile.switches is not None
    told = np.where(profile.switches.is_out, 0x20, -1).astype(profile.switches.state.dtype)
    profile = replace(profile, switches=replace(profile.switches, state=told))
    assert read_states(profile) == [
        (10, 101, 1, RUNNING), (20, 101, 1, SLEEPS), (30, 101, 1, RUNNING), (35, 102, 0, 7), (40, 101, 1, 7)
    ]  # fmt: skip


def test_every_prev_state_has_a_meaning() -> None:
    found = task_states_of(np.array([0, 0x100, 0x400, 1, 2, 4, 8, 0x10, 0x20, 0x80, 0x82, 0x201, 0x40], np.int64))
    assert found.tolist() == [2, 2, 2, 4, 5, 6, 6, 7, 7, 5, 5, 4, 4]


def scheduled(rows: list[tuple[int, int, int, int]]) -> Profile:
    """Samples of sched_switch: time, thread, prev_state, next_pid; all on CPU 3."""
    builder = ProfileBuilder()
    builder.event("sched:sched_switch", "count", period=1, frequency=0)
    place, found = builder.function("schedule"), [builder.thread("worker", 100, 101 + row) for row in range(2)]
    for time, thread, _, _ in rows:
        builder.sample([place], found[thread], value=1, time=time, cpu=3)
    profile = builder.build(timeline=True)
    columns = (
        FieldColumn("prev_state", "integer", np.array([row[2] for row in rows], np.int64)),
        FieldColumn("next_pid", "integer", np.array([row[3] for row in rows], np.uint64)),
        FieldColumn("next_comm", "text", np.zeros(len(rows), np.int64), ("odd \udcff",)),
    )
    fields = (TracepointFields(len(rows), columns),)
    samples = replace(profile.samples, fields=np.arange(len(rows), dtype=np.int32))
    return replace(profile, samples=samples, fields=fields)


def read(profile: Profile) -> Trace:
    profile.check()
    out = io.BytesIO()
    Perfetto().emit(profile, out)
    return read_trace(out.getvalue())


def read_states(profile: Profile) -> list[State]:
    events = [
        (packet.timestamp, packet.generic_kernel_task_state_event)
        for packet in read(profile).of("generic_kernel_task_state_event")
    ]
    assert all(event.HasField("cpu") for _, event in events), "readers take a missing CPU for CPU 0"
    return [(time, event.tid, event.cpu, event.state) for time, event in events]
