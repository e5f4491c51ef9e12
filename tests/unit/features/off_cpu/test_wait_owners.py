"""Names, ends and stacks of threads that leave, against loops over their records."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.features.off_cpu.wait_stacks import names_of_threads, nearby_stack_sources
from perf2x.features.schedule.schedule import SwitchOuts, has_ended
from perf2x.features.schedule.thread_times import ThreadTimes
from perf2x.model.profile.profile import Wait
from perf2x.model.recording.sideband import Sideband
from perf2x.testing import ProfileBuilder
from tests.support.sideband import no_sideband

END = 12
THREADS = st.integers(1, 4)
TIMES = st.integers(0, END)
Moments = list[tuple[int, int]]
"""Thread and time."""
MOMENTS = st.lists(st.tuples(THREADS, TIMES), max_size=8)


def times(moments: list[tuple[int, int]]) -> ThreadTimes:
    return ThreadTimes(np.array([tid for tid, _ in moments], np.int64), np.array([t for _, t in moments], np.uint64))


@given(MOMENTS, MOMENTS, MOMENTS)
def test_threads_that_had_ended(
    left: list[tuple[int, int]], exits: list[tuple[int, int]], forks: list[tuple[int, int]]
) -> None:
    wanted = []
    for tid, time in left:
        ends = [at for who, at in exits if who == tid and at <= time]
        births = [at for who, at in forks if who == tid and at <= time]
        wanted.append(bool(ends) and max(births, default=-1) < max(ends))
    assert has_ended(times(left), times(exits), times(forks)).tolist() == wanted


Comms = list[tuple[int, int, str]]
Forks = list[tuple[int, int, int]]
"""Thread, time, parent; a thread is born once at a moment."""


def name_of(tid: int, time: int, comms: Comms, forks: Forks, depth: int = 64) -> str | None:
    """Reference: the last name since the thread's birth, else its parent's at that moment."""
    born = max((at for who, at, _ in forks if who == tid and at <= time), default=None)
    own = [(at, row) for row, (who, at, _) in enumerate(comms) if who == tid and at <= time and at >= (born or 0)]
    if own:
        return comms[max(own)[1]][2]
    if born is None or not depth:
        return None
    parent = next(maker for who, at, maker in forks if (who, at) == (tid, born))
    return name_of(parent, born, comms, forks, depth - 1)


def side(comms: Comms, forks: Forks) -> Sideband:
    found = no_sideband()
    named, born = times([row[:2] for row in comms]), times([row[:2] for row in forks])
    return replace(
        found,
        comms=replace(
            found.comms, tid=named.tid, time=named.time, comm=DictionaryColumn.of(name for *_, name in comms)
        ),
        forks=replace(
            found.forks, tid=born.tid, time=born.time, ptid=np.array([maker for *_, maker in forks], np.int64)
        ),
    )


@given(
    MOMENTS,
    st.lists(st.tuples(THREADS, TIMES, st.sampled_from("abc")), max_size=6),
    st.lists(st.tuples(THREADS, TIMES, THREADS), max_size=6, unique_by=lambda row: row[:2]),
)
def test_names_of_threads(wanted: Moments, comms: Comms, forks: Forks) -> None:
    found = names_of_threads(side(comms, forks), times(wanted))
    assert found == [name_of(tid, time, comms, forks) or f":{tid}" for tid, time in wanted]


PERIOD = 4
PIDS = st.integers(1, 2)


@given(
    st.lists(st.tuples(THREADS, TIMES, PIDS), max_size=8, unique_by=lambda row: row[:2]),
    st.lists(st.tuples(THREADS, TIMES, PIDS, st.sampled_from([Wait.BLOCKED, Wait.PREEMPTED])), min_size=1, max_size=8),
)
def test_the_sample_of_a_departure(samples: list[tuple[int, int, int]], left: list[tuple[int, int, int, Wait]]) -> None:
    """At an interval of 40 ns a sample is near when it is 4 ns old, 40 where the thread was preempted."""
    builder = ProfileBuilder()
    builder.event(period=10 * PERIOD, frequency=0)
    samples = sorted(samples, key=lambda row: row[1])
    for tid, time, pid in samples:
        builder.sample([builder.function(f"f{tid}{pid}")], thread=builder.thread("t", pid, tid), time=time)
    tids, at, pids, kinds = (np.array(column) for column in zip(*left, strict=True))
    none = np.full(len(left), -1, np.int32)
    switch_outs = SwitchOuts(tids, at.astype(np.uint64), kinds.astype(np.uint8), none, pids.astype(np.int32))
    profile, stack_sources = nearby_stack_sources(builder.build(timeline=True), switch_outs, no_sideband())
    profile.check()
    threads = profile.threads
    for row, (tid, time, pid, kind) in enumerate(left):
        before = [(t, place) for place, (who, t, _) in enumerate(samples) if who == tid and t <= time]
        last = max(before, default=(0, -1))
        is_own = last[1] >= 0 and samples[last[1]][2] == pid
        is_near = is_own and time - last[0] <= (10 * PERIOD if kind == Wait.PREEMPTED else PERIOD)
        assert int(stack_sources.sample[row]) == (last[1] if is_near else -1)
        thread = int(stack_sources.thread[row])
        assert (int(threads.tid[thread]), int(threads.pid[thread])) == (tid, pid)
