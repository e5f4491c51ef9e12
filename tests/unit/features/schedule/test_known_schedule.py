"""Waits and parallelism of a program whose threads say themselves when they slept (programs/sleepers.c)."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.model.profile.profile import Profile, Wait, are_placed_waits, wait_ends

DATA = Path(__file__).parents[2] / "cli" / "data"
Spans = list[tuple[int, int]]


@cache
def told() -> tuple[dict[int, tuple[int, int]], dict[int, Spans]]:
    """Return how long each thread lived and ran, and when it slept, as the program printed it."""
    lives: dict[int, tuple[int, int]] = {}
    sleeps: dict[int, Spans] = {}
    for line in (DATA / "sleepers.txt").read_text().splitlines():
        words = line.split()
        if words[0] == "thread":
            lives[int(words[1])] = int(words[3]), int(words[5])
        else:
            sleeps.setdefault(int(words[1]), []).append((int(words[2]), int(words[3])))
    return lives, sleeps


@cache
def profile(off_cpu: str = "beside", latency: str = "") -> Profile:
    return load(str(DATA / "sleepers.data"), load_options(timeline=True, off_cpu=off_cpu, latency=latency)).profile


def waits_of(tid: int, kind: Wait) -> Spans:
    found = profile()
    samples = found.samples
    assert samples.time is not None
    assert samples.wait is not None
    rows = are_placed_waits(samples) & (found.threads.tid[samples.thread] == tid) & (samples.wait == kind)
    return list(zip(samples.time[rows].tolist(), wait_ends(samples)[rows].tolist(), strict=True))


@pytest.mark.parametrize("tid", told()[1])
def test_every_sleep_is_a_wait_and_every_wait_a_sleep(tid: int) -> None:
    """A thread leaves its CPU within 0.5 ms and returns just before it reads the clock; other waits end at once."""
    sleeps, waits = told()[1][tid], waits_of(tid, Wait.BLOCKED)
    for begin, end in sleeps:
        (within,) = [wait for wait in waits if begin < wait[0] and wait[1] < end and wait[1] - wait[0] > 1_000_000]
        assert within[0] - begin < 500_000
        waits.remove(within)
    assert sum(end - begin for begin, end in waits) < 2_000_000


@pytest.mark.parametrize("tid", told()[0])
def test_waits_and_cpu_time_are_the_life_of_a_thread(tid: int) -> None:
    lived, ran = told()[0][tid]
    waited = sum(end - begin for kind in (Wait.BLOCKED, Wait.PREEMPTED) for begin, end in waits_of(tid, kind))
    assert waited + ran == pytest.approx(lived, rel=0.01)


def test_a_thread_that_sleeps_is_not_counted_as_running() -> None:
    """At most as many threads run as there are CPUs, and in the middle of its sleep a thread is none of them."""
    curve = profile().running
    assert curve is not None
    assert int(curve.threads.max()) == 2
    assert (curve.threads >= 0).all()
    asleep = [span for spans in told()[1].values() for span in spans]
    middle = np.array([(begin + end) // 2 for begin, end in asleep])
    sleeping = np.array([sum(begin < at < end for begin, end in asleep) for at in middle.tolist()])
    running = curve.threads[np.searchsorted(curve.time, middle.astype(np.uint64), side="right") - 1]
    assert (running <= 3 - sleeping).all()


def test_latencies_add_up_to_the_time_in_which_anybody_ran() -> None:
    """Samples of n threads that run at once weigh 1/n each, so that they sum to the time that passed."""
    found = profile("", "beside")
    assert found.running is not None
    assert found.samples.latency is not None
    length = np.diff(found.running.time.astype(np.int64))
    begin = found.running.time[:-1].astype(np.int64)
    start = int(found.samples.time[0]) if found.samples.time is not None else 0
    passed = np.clip(begin + length - np.maximum(begin, start), 0, None)[found.running.threads[:-1] > 0].sum()
    assert int(found.samples.latency.sum()) == pytest.approx(int(passed), rel=0.1)
