"""Context switches from samples of sched_switch against CPUs that run one thread after the other."""

import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from perf2x.base.columnar.arrays import take_rows_of
from perf2x.features.schedule.schedule import SwitchSamples, unseen_switch_outs
from perf2x.features.schedule.thread_times import ThreadTimes
from perf2x.features.tracepoints.traced_switches import traced_switches
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile.profile import Threads
from tests.forge import Comm, Event, Features, Sample, Session, write_file
from tests.forge import kernel as k
from tests.forge.features import TRACING_DATA
from tests.forge.switches import FORMAT, RAW, USER, tracing_data

PREEMPTED = 0x100
SWITCHES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.sampled_from((0, 1, PREEMPTED))), max_size=20)
"""CPU, the thread that comes, prev_state of the one that leaves; a nanosecond apart."""
Row = tuple[int, int, bool, int]
"""Time, thread, whether it leaves, CPU."""


def samples_of(drawn: list[tuple[int, int, int]], *, with_ended: bool = False) -> tuple[SwitchSamples, list[Row]]:
    """Samples, and who left and came as a list; thread 4 has no number any more when it leaves."""
    running, rows, expected = [0, 0], [], []
    for time, (cpu, comes, state) in enumerate(drawn):
        left = running[cpu]
        seen = comes != 0 or left != 0
        rows.append(
            (
                -1 if with_ended and left == 4 and len([r for r in rows if r[3] == cpu]) else left,
                7,
                time,
                cpu,
                state,
                comes,
            )
        )
        expected += [(time, left, True, cpu), (time, comes, False, cpu)] * seen
        running[cpu] = comes
    columns = [[row[at] for row in rows] for at in range(6)]
    tid, pid, times, cpus, states, following = columns
    samples = SwitchSamples(
        np.array(tid, np.int64), np.array(pid, np.int32), np.array(times, np.uint64), np.array(cpus, np.int32),
        np.array(states, np.int64), np.array(following, np.int64),
    )  # fmt: skip
    return samples, [row for row in expected if row[1] > 0]


THREADS = Threads(*(np.array(column, np.int32) for column in ([7] * 4, [1, 2, 3, 4], [0] * 4, [0] * 4)))


@given(SWITCHES)
def test_each_switch_is_one_thread_that_leaves_and_one_that_comes(drawn) -> None:
    for with_ended in (False, True):
        traced, expected = samples_of(drawn, with_ended=with_ended)
        found = traced_switches(traced, THREADS)
        if all([row[0] for row in drawn].count(cpu) < 2 for cpu in range(2)):
            assert found is None
            continue
        assert found is not None
        columns = found.time.tolist(), (found.thread + 1).tolist(), found.is_out.tolist(), found.cpu.tolist()
        assert sorted(zip(*columns, strict=True)) == sorted(expected)
        assert found.time.tolist() == sorted(found.time.tolist())
        state = dict(enumerate(state for _, _, state in drawn))
        for time, is_out, told, preempted in zip(
            found.time, found.is_out, found.state, found.is_preempted, strict=True
        ):
            assert told == (state[time] if is_out else -1)
            assert preempted == (is_out and state[time] in (0, PREEMPTED))


def test_samples_of_some_threads_tell_no_switches() -> None:
    """Two threads of one program, and others between them that nobody watches."""
    traced, _ = samples_of([(0, 1, 1), (0, 2, 1), (0, 1, 1)])
    assert traced_switches(take_rows_of(traced, np.array([0, 2])), THREADS) is None


@example([(0, 1, 1), (0, 2, 1), (0, 3, 1)], {1}, [])
@example([(0, 1, 1), (0, 2, 1), (0, 3, 1)], {1}, [(1, 2)])
@example([(0, 0, 1), (0, 2, 1), (0, 3, 1)], {1}, [(1, 0)])
@given(SWITCHES, st.sets(st.integers(0, 19)), st.lists(st.tuples(st.integers(1, 4), st.integers(0, 20)), max_size=4))
def test_who_left_unseen_had_left_when_another_did(drawn, lost: set[int], told: list[tuple[int, int]]) -> None:
    """Of some samples that are lost; ``told`` are moments at which something else is known of a thread."""
    whole, _ = samples_of(drawn)
    kept = [row for row in range(len(drawn)) if row not in lost]
    expected = []
    for cpu in range(2):
        own = [row for row in kept if drawn[row][0] == cpu]
        for one, other in pairwise(own):
            came, left = int(whole.next_tid[one]), int(whole.tid[other])
            if came and came != left and not any(tid == came and one < time <= other for tid, time in told):
                expected.append((came, other))
    moments = ThreadTimes(np.array([tid for tid, _ in told], np.int64), np.array([at for _, at in told], np.uint64))
    found = unseen_switch_outs(take_rows_of(whole, np.array(kept, np.int64)), moments)
    assert sorted(zip(found.tid.tolist(), found.time.tolist(), strict=True)) == sorted(expected)


def test_a_recording_of_all_cpus_has_switches(tmp_path: Path) -> None:
    """Thread 8 comes when 7 leaves; a recording of switches alone, its format with prev_state; one has no number."""
    text = FORMAT + "\tfield:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n"
    event = Event(name="sched:sched_switch", type=2, config=316, period=1, sample_type=RAW | k.CPU)
    records = [Comm(pid=tid, tid=tid, comm=f"t{tid}") for tid in (7, 8)]
    for time, (tid, to) in enumerate([(7, 8), (8, 7), (7, 9), (2**32 - 1, 0)]):
        raw = struct.pack("<4xIi4xq", tid, to, 1)
        records.append(Sample(pid=tid, tid=tid, time=10 * (1 + time), cpu=3, ip=1, chain=(USER, 1), raw=raw))
    session = Session(events=(event,), features=Features(extra={TRACING_DATA: tracing_data("<", text)}))
    path = tmp_path / "all.data"
    path.write_bytes(write_file(session, records))
    profile = load(str(path), LoadOptions(timeline=True)).profile
    switches = profile.switches
    assert switches is not None
    tid = profile.threads.tid[switches.thread].tolist()
    assert list(zip(switches.time.tolist(), tid, switches.is_out.tolist(), strict=True)) == [
        (10, 7, True), (10, 8, False), (20, 7, False), (20, 8, True), (30, 7, True),
    ]  # fmt: skip
    assert set(switches.cpu.tolist()) == {3}
    assert profile.running is not None
    curve = zip(profile.running.time.tolist(), profile.running.threads.tolist(), strict=True)
    assert list(curve) == [(0, 1), (10, 2), (11, 1), (20, 2), (21, 1), (30, 2), (31, 1), (41, 0)]
    assert load(str(path), LoadOptions()).profile.switches is None
