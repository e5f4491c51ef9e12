import io

from hypothesis import given
from hypothesis import strategies as st

from perf2x.emit.perfetto.emitter import Perfetto
from perf2x.emit.perfetto.schema import TaskState
from perf2x.emit.timeline.tracks import UNKNOWN_ID
from perf2x.plugins.contracts import ProfileBuilder
from tests.support.perfetto_trace import read_trace

RUNNABLE, RUNNING, SLEEPS = 2, 3, 4
State = tuple[int, int, int, int]
"""Time, tid, CPU, state."""


def states(builder: ProfileBuilder) -> list[State]:
    out = io.BytesIO()
    Perfetto().emit(builder.build(timeline=True), out)
    packets = read_trace(out.getvalue()).of("generic_kernel_task_state_event")
    events = [(packet.timestamp, packet.generic_kernel_task_state_event) for packet in packets]
    assert all(event.HasField("cpu") for _, event in events), "readers take a missing CPU for CPU 0"
    return [(time, event.tid, event.cpu, event.state) for time, event in events]


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
        (10, 101, 0, RUNNING), (30, 101, 0, RUNNABLE), (30, 101, 1, RUNNING), (40, 101, 1, SLEEPS)
    ]  # fmt: skip


def test_idle_and_unknown_threads_and_cpus_are_left_out() -> None:
    builder, rows = threads(0, -1, 101)
    for row in rows:
        builder.switch(10, row, is_out=False, cpu=0)
    builder.switch(20, rows[2], is_out=False, cpu=-1)
    assert states(builder) == [(10, 101, 0, RUNNING)]
    assert UNKNOWN_ID not in {tid for _, tid, _, _ in states(builder)}


def told(switches: list[tuple[int, int, bool, int]]) -> list[State]:
    """The scalar twin, for switches without those of no length, by time; threads leave before others come."""
    found: list[State] = []
    last: dict[int, tuple[bool, int]] = {}
    for time, thread, is_out, cpu in sorted(switches, key=lambda row: (row[1], row[0], row[2])):
        was_out, was_on = last.get(thread, (None, -1))
        last[thread] = (is_out, cpu)
        if was_out is is_out and (is_out or was_on == cpu):
            continue
        if was_out is is_out:
            found.append((time, 101 + thread, was_on, RUNNABLE))
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
