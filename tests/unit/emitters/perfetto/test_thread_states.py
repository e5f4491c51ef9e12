"""Context switches without CPUs as slices."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.emitters.perfetto.perfetto import Perfetto
from perf2x.model.profile.profile import Meta
from perf2x.testing import ProfileBuilder
from tests.support.perfetto_trace import Slice, read_trace

END = 500


def slices(switches: list[tuple[int, int, bool, bool]], cpu: int = -1) -> list[Slice]:
    """Slices of threads, drawn from switches: time, thread, whether it is out, and whether by preemption."""
    builder = ProfileBuilder()
    builder.event()
    for time, tid, is_out, is_preempted in switches:
        builder.switch(time, builder.thread("worker", tid), is_out, cpu, is_preempted)
    out = io.BytesIO()
    Perfetto().emit(builder.build(timeline=True, meta=Meta(start_ns=100, duration_ns=400)), out)
    return read_trace(out.getvalue()).slices()


def told(switches: list[tuple[int, int, bool, bool]]) -> list[Slice]:
    """The scalar twin."""
    found: list[Slice] = []
    for tid in sorted({tid for _, tid, _, _ in switches} - {0, -1}):
        state, begin = "", 0
        for time, _, is_out, is_preempted in (row for row in switches if row[1] == tid):
            if state and is_out != (state == "Running"):
                continue
            if state:
                found.append((tid, state, begin, time))
            state, begin = ("Runnable" if is_preempted else "Sleeping") if is_out else "Running", time
        if state == "Running":
            found.append((tid, state, begin, max(begin, END)))
    return found


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-1, 3), st.booleans(), st.booleans()), max_size=16))
def test_switches_without_cpus_are_slices(drawn: list[tuple[int, bool, bool]]) -> None:
    switches = [
        (100 + 40 * row, tid, is_out, is_preempted and is_out) for row, (tid, is_out, is_preempted) in enumerate(drawn)
    ]
    assert slices(switches) == told(switches)


def test_switches_with_cpus_are_states_instead() -> None:
    switches = [(110, 7, False, False), (120, 7, True, False)]
    assert slices(switches, cpu=2) == []
    assert slices(switches) == [(7, "Running", 110, 120)]
