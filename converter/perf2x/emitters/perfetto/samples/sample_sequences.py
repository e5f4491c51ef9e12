"""Packet sequences of samples: one for each event, or for a group of events read together with their leader.

Readers assume a sequence's first event for all its samples. Followers are written with their leader, so that one sample
has the increments of all counters; in other formats each follower is a sample of its own (`--group` of perf report
shows them together, too).
"""

from collections.abc import Container, Iterator, Sequence

import numpy as np

from perf2x.base.columnar import (
    I64,
    AnyArray,
    Frozen,
    arange,
    argsort,
    as_int64,
    group_rows,
    repeat,
    rows_by,
    sorted_runs,
    zeros,
)
from perf2x.model.profile import Profile, ProfileSamples


class Stream(Frozen):
    """The samples of one sequence, in time order."""

    events: tuple[int, ...]
    """The sampled event, then its followers."""
    rows: I64
    """(n,) rows of Profile.samples; if several rows were one sample, the first of them."""
    weights: tuple[I64, ...]
    """(n,) the increment of each event; 0 if it has none."""


def streams_of(profile: Profile) -> Iterator[Stream]:
    """Yield all samples, those of the default event first."""
    rows_of = {row: rows for row, rows in rows_by(profile.samples.event) if not profile.events[row].is_count}
    leader_of = {event: _leader(profile, event, rows_of) for event in rows_of}
    first = leader_of.get(profile.default_event, -1)
    for leader in sorted(set(leader_of.values()), key=lambda event: (event != first, event)):
        events = (leader, *(event for event in rows_of if leader_of[event] == leader != event))
        if len(events) > 1:
            yield _together(profile.samples, events, np.sort(np.concatenate([rows_of[event] for event in events])))
        else:
            yield Stream(events, rows_of[leader], (profile.samples.value[rows_of[leader]],))


def _leader(profile: Profile, event: int, sampled: Container[int]) -> int:
    """Return the event on whose sequence an event is written: itself if its leader has no samples or no times."""
    leader = profile.events[event].leader
    return leader if leader in sampled and profile.samples.time is not None else event


def _together(samples: ProfileSamples, events: tuple[int, ...], rows: I64) -> Stream:
    """Merge rows that were one sample: equal in time, thread, stack and CPU, and in occurrence within their event.

    ::

        time      10 10 10 10 20        rows                0  2  4
        event      A  B  B  A  B        weights of A        5  6  0
        value      5  1  2  6  3        weights of B        1  2  3
    """
    member = as_int64([events.index(event) if event in events else -1 for event in range(max(events) + 1)])
    event = member[samples.event[rows]]
    same = [column[rows] for column in (samples.times, samples.thread, samples.stack, samples.cpus)]
    first, place = group_rows([*same, _equal_rows_before([*same, event])])
    weights = zeros((len(events), len(first)))
    weights[event, place] = samples.value[rows]
    order = argsort(first)
    return Stream(events, rows[first][order], tuple(weights[:, order]))


def _equal_rows_before(columns: Sequence[AnyArray]) -> I64:
    """Return (n,) the number of earlier rows equal to each row."""
    order, begins = sorted_runs(columns)
    before = np.empty(len(order), np.int64)
    before[order] = arange(len(order)) - repeat(begins, np.diff(begins, append=len(order)))
    return before
