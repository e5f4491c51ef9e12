"""Waits between departures and returns against a loop over one thread after the other, and cut to ranges of time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.features.off_cpu.insert_waits import cut_to_ranges, wait_spans
from perf2x.features.schedule.schedule import Schedule, SwitchOuts, waits_of_states
from perf2x.features.schedule.thread_times import ThreadTimes
from perf2x.model.profile.profile import Wait

END = 40
Moments = list[tuple[int, int]]
"""Thread and time."""
MOMENTS = st.lists(st.tuples(st.integers(1, 3), st.integers(0, END)), max_size=12)
Wanted = tuple[int, int, int, bool, bool]
"""Thread, since, until, guessed, open."""


def times(moments: Moments) -> ThreadTimes:
    return ThreadTimes(np.array([tid for tid, _ in moments], np.int64), np.array([t for _, t in moments], np.uint64))


def schedule(left: Moments, entered: Moments, exits: Moments, is_traced: bool) -> Schedule:
    at = times(sorted(left, key=lambda moment: moment[1]))
    unknown = np.full(len(at), -1, np.int32)
    switch_outs = SwitchOuts(at.tid, at.time, np.full(len(at), Wait.BLOCKED, np.uint8), unknown, unknown)
    none = times([])
    return Schedule(switch_outs, none, times(entered), times(exits), none, END, is_traced)


def one_after_the_other(left: Moments, entered: Moments, exits: Moments, seen: Moments) -> list[Wanted]:
    """Reference: each departure looks for its thread's next sign of life."""
    found = []
    for tid, since in sorted(set(left)):
        recorded = min((t for who, t in entered if who == tid and t >= since), default=None)
        signs = [t for who, t in [*left, *seen] if who == tid and t > since]
        guess = min([*signs, *(t for who, t in exits if who == tid and t >= since)], default=None)
        if recorded is not None and (guess is None or recorded <= guess):
            found.append((tid, since, recorded, False, False))
        elif guess is not None:
            found.append((tid, since, guess, True, False))
        elif since < END:
            found.append((tid, since, END, False, True))
    return found


@given(MOMENTS, MOMENTS, MOMENTS)
def test_records_against_a_loop(left: Moments, entered: Moments, exits: Moments) -> None:
    spans = wait_spans(schedule(left, entered, exits, is_traced=False), times([]))
    recorded = schedule(left, entered, exits, is_traced=False).switch_outs
    columns = (recorded.tid[spans.switch_out], spans.since, spans.until, spans.is_guessed, spans.is_open)
    assert sorted(zip(*(c.tolist() for c in columns), strict=True)) == one_after_the_other(left, entered, exits, [])


@given(MOMENTS, MOMENTS, MOMENTS, MOMENTS)
def test_traced_departures_against_a_loop(left: Moments, entered: Moments, exits: Moments, seen: Moments) -> None:
    """A thread that no record ever brings back may have come back unseen before the end."""
    traced = schedule(left, entered, exits, is_traced=True)
    spans = wait_spans(traced, times(seen))
    columns = (traced.switch_outs.tid[spans.switch_out], spans.since, spans.until, spans.is_guessed, spans.is_open)
    watched = {tid for tid, _ in entered}
    wanted = [
        (tid, since, until, (is_open and tid not in watched) or guessed, is_open)
        for tid, since, until, guessed, is_open in one_after_the_other(left, entered, exits, seen)
    ]
    assert sorted(zip(*(c.tolist() for c in columns), strict=True)) == wanted


@given(MOMENTS, MOMENTS, MOMENTS, st.booleans())
def test_waits_of_a_thread_never_overlap(left: Moments, entered: Moments, exits: Moments, is_traced: bool) -> None:
    planned = schedule(left, entered, exits, is_traced)
    spans = wait_spans(planned, times([]))
    tid = planned.switch_outs.tid[spans.switch_out]
    order = np.lexsort((spans.since, tid))
    together = tid[order][1:] == tid[order][:-1]
    assert (spans.until[order][:-1][together] <= spans.since[order][1:][together]).all()


@given(MOMENTS, MOMENTS, st.lists(st.tuples(st.integers(0, END), st.integers(0, 9)), min_size=1, max_size=3))
def test_parts_within_ranges_of_time_against_a_loop(left: Moments, entered: Moments, starts: Moments) -> None:
    spans = wait_spans(schedule(left, entered, [], is_traced=False), times([]))
    ranges = [(first, first + length) for first, length in starts]
    wanted = sorted(
        (max(since, first), min(until, last + 1), row)
        for row, since, until in zip(*(c.tolist() for c in (spans.switch_out, spans.since, spans.until)), strict=True)
        for first, last in ranges
        if first <= since <= last or max(since, first) < min(until, last + 1)
    )
    parts = cut_to_ranges(spans, ranges)
    assert sorted(zip(parts.since.tolist(), parts.until.tolist(), parts.switch_out.tolist(), strict=True)) == wanted
    assert (parts.since[1:] >= parts.since[:-1]).all()


def test_all_of_time_is_no_limit() -> None:
    spans = wait_spans(schedule([(1, 5), (2, 7)], [(1, 9)], [], is_traced=False), times([]))
    assert cut_to_ranges(spans, ()) is spans
    assert cut_to_ranges(spans, [(0, 2**64 - 1)]).until.tolist() == [9, END]


def test_states_of_threads_that_leave() -> None:
    """R, R+ of Linux 4.14 and of before, S, D, S and R+ at once (never seen), parked before 4.14, no state."""
    states = np.array([0, 0x100, 0x400, 1, 2, 0x101, 0x200, -1])
    kinds = [Wait.PREEMPTED] * 3 + [Wait.BLOCKED] * 4 + [Wait.UNKNOWN]
    assert waits_of_states(states).tolist() == kinds
