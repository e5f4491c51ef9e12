"""Boxes of threads without context switches: never more at once than CPUs, known or not, and beside runs of others."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perf2x.emitters.timeline.running_spans import max_overlap
from perf2x.emitters.timeline.running_time import Spans
from perf2x.emitters.timeline.shown_samples import ShownSamples, origin_of, thread_runs
from perf2x.model.profile.profile import Profile, Wait
from tests.unit.emitters.timeline.test_shown_samples import PERIOD, ROWS, WAITS, builder_of, rows, shown

STRETCHES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=12)
RUNS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 900), st.integers(1, 60)), max_size=6)
"""CPU, start, length."""


def at_once(stretches: list[tuple[int, int]]) -> int:
    """Moment by moment."""
    moments = {start for start, _ in stretches}
    return max((sum(start <= moment < end for start, end in stretches) for moment in moments), default=0)


def ran(profile: Profile, found: ShownSamples) -> list[tuple[int, int]]:
    wait = profile.samples.wait
    kept = np.ones(len(found), np.bool_) if wait is None else wait[found.sample] == 0
    return list(zip(found.start[kept].tolist(), found.end[kept].tolist(), strict=True))


@given(STRETCHES)
def test_max_overlap_counts_overlaps(stretches) -> None:
    spans = [(start, start + length) for start, length in stretches]
    start, end = (np.array([span[at] for span in spans], np.int64) for at in range(2))
    assert max_overlap(Spans(np.zeros(len(spans), np.int64), start, end)) == at_once(spans)


@given(ROWS, WAITS, st.integers(1, 2))
def test_without_cpu_numbers_no_more_run_than_the_machine_has_cpus(drawn, waits, cpus) -> None:
    """Samples of another event, which are moments, may tell theirs."""
    builder = builder_of(3)
    off = builder.event("off-cpu", "nanoseconds", is_wait=True)
    faults = builder.event("page-faults", "count", period=1)
    stack = [builder.function("a")]
    builder.sample(stack, 0, faults, time=5, cpu=1)
    for thread, _, time, _ in drawn:
        builder.sample(stack, thread, 0, PERIOD, time=time, cpu=-1)
    for thread, time, length in waits:
        builder.sample(stack, thread, off, length, time=time, cpu=-1, wait=Wait.BLOCKED)
    profile = builder.build(timeline=True)
    profile = replace(profile, meta=replace(profile.meta, cpus=cpus))
    assert at_once(ran(profile, shown(profile))) <= cpus


@pytest.mark.parametrize("late", [0, 4])
def test_threads_that_share_cpus_are_drawn_in_full(late: int) -> None:
    """Four threads take turns on two CPUs; nobody told which. Each is drawn for all of its CPU time.

    Timers that are ``late`` at the end of a turn make boxes reach into the next one: four at once, if nothing is done.
    """
    builder = builder_of(4)
    stack = [builder.function("a")]
    for turn in range(100):
        for cpu, tick in product(range(2), range(1, 4)):
            time = 1000 + turn * 30 + tick * PERIOD - 3 * cpu + late * (tick == 3)
            builder.sample(stack, 2 * cpu + turn % 2, 0, PERIOD, time=time, cpu=-1)
    profile = builder.build(timeline=True)
    assert at_once(ran(profile, shown(profile))) == (4 if late else 2)
    profile = replace(profile, meta=replace(profile.meta, cpus=2))
    found = shown(profile)
    total = np.bincount(found.track, found.end - found.start)
    assert total.min() >= 0.99 * 150 * PERIOD
    assert at_once(ran(profile, found)) == 2


@given(ROWS, RUNS)
def test_a_cpu_runs_nobody_beside_a_run_that_switches_tell_of(drawn, runs) -> None:
    """Thread 0 has switches, the others have none."""
    builder = builder_of(3)
    stack, clock = [builder.function("a")], 1000
    builder.sample(stack, 0, 0, PERIOD, time=900, cpu=0)
    for thread, cpu, time, _ in drawn:
        builder.sample(stack, max(thread, 1), 0, PERIOD, time=time, cpu=cpu)
    for cpu, start, length in sorted(runs, key=lambda run: run[1]):
        begin = max(start, clock - 1000)
        builder.switch(begin, is_out=False, cpu=cpu)
        builder.switch(begin + length, cpu=cpu)
        clock = 1000 + begin + length
    profile = builder.build(timeline=True)
    found, known, cpu = shown(profile), thread_runs(profile), profile.samples.cpu
    assert cpu is not None
    for number in range(3):
        own = known.cpu == number
        spans = list(zip(known.start[own].tolist(), known.end[own].tolist(), strict=True))
        on = (cpu[found.sample] == number) & (profile.samples.thread[found.sample] != 0)
        spans += zip(found.start[on].tolist(), found.end[on].tolist(), strict=True)
        assert at_once(spans) <= 1


def test_guessed_ends_of_runs_give_way_to_other_runs_of_the_cpu() -> None:
    """Thread 0's switch in was lost, and thread 1's switch out: their samples lie near runs of thread 2."""
    builder = builder_of(3)
    stack = [builder.function("a")]
    for thread, time in ((0, 1015), (1, 1080), (2, 1008), (2, 1058)):
        builder.sample(stack, thread, 0, PERIOD, time=time, cpu=0)
    ends = [(2, 1010), (0, 1020), (2, 1060)]
    for thread, time in (*ends, (2, 1000), (1, 1030), (2, 1050)):
        builder.switch(time, thread, is_out=(thread, time) in ends, cpu=0)
    profile = builder.build(timeline=True)
    runs, origin = thread_runs(profile), origin_of(profile)
    spans = list(zip(runs.track.tolist(), (runs.start + origin).tolist(), (runs.end + origin).tolist(), strict=True))
    assert spans == [(0, 1010, 1020), (1, 1030, 1050), (2, 1000, 1010), (2, 1050, 1060)]
    assert rows(shown(profile), origin)[0] == (1, 1010, 1020)


def test_a_guessed_end_is_not_the_next_threads_switch() -> None:
    """Thread 0's last sample is at the time of thread 1's first switch, at which thread 1 was preempted."""
    builder = builder_of(2)
    for thread in range(2):
        builder.sample([builder.function("a")], thread, 0, PERIOD, time=1020, cpu=thread)
    builder.switch(1000, 0, is_out=False, cpu=0)
    builder.switch(1020, 1, cpu=1, is_preempted=True)
    assert thread_runs(builder.build(timeline=True)).is_preempted.tolist() == [False, True]
