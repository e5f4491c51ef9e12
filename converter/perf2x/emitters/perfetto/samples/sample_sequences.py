"""Divides samples into packet sequences: one for each event, or for a group of events read together with their leader.

With ``perf record -e '{cycles,instructions}:S'`` only the leader takes samples, and the counts of its followers are
read with it. A profile has a row for each count; the rows of one sample become one StackSample, with a weight for each
event.
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


class SampleSequence(Frozen):
    """The samples of one packet sequence, in time order."""

    events: tuple[int, ...]
    """The event that takes the samples, then its followers (rows of Profile.events)."""
    rows: I64
    """(packets,) rows of Profile.samples; for several rows that were one sample, the first of them."""
    weights: tuple[I64, ...]
    """(packets,) for each of ``events``: by how much its count rose, 0 if the sample has no row of the event."""


def sample_sequences(profile: Profile) -> Iterator[SampleSequence]:
    """Yield the samples of all events except counts of perf stat, those of the default event first."""
    rows_by_event = {row: rows for row, rows in rows_by(profile.samples.event) if not profile.events[row].is_count}
    leader_by_event = {event: _leader(profile, event, rows_by_event) for event in rows_by_event}
    first = leader_by_event.get(profile.default_event, -1)
    for leader in sorted(set(leader_by_event.values()), key=lambda event: (event != first, event)):
        events = (leader, *(event for event in rows_by_event if leader_by_event[event] == leader != event))
        if len(events) > 1:
            rows = np.sort(np.concatenate([rows_by_event[event] for event in events]))
            yield _group_sequence(profile.samples, events, rows)
        else:
            yield SampleSequence(events, rows_by_event[leader], (profile.samples.value[rows_by_event[leader]],))


def _leader(profile: Profile, event: int, sampled_events: Container[int]) -> int:
    # without times, the rows of one sample cannot be found
    leader = profile.events[event].leader
    return leader if leader in sampled_events and profile.samples.time is not None else event


def _group_sequence(samples: ProfileSamples, events: tuple[int, ...], rows: I64) -> SampleSequence:
    """Merge the rows of one sample: those of equal time, thread, stack and CPU.

    The n-th of an event's equal rows belongs to the n-th one of the other events. ::

        time      10 10 10 10 20        rows                0  2  4
        event      A  B  B  A  B        weights of A        5  6  0
        value      5  1  2  6  3        weights of B        1  2  3
    """
    index_in_group = as_int64([events.index(event) if event in events else -1 for event in range(max(events) + 1)])
    event = index_in_group[samples.event[rows]]
    key = [column[rows] for column in (samples.times, samples.thread, samples.stack, samples.cpus)]
    first, packet = group_rows([*key, _equal_rows_before([*key, event])])
    weights = zeros((len(events), len(first)))
    weights[event, packet] = samples.value[rows]
    order = argsort(first)
    return SampleSequence(events, rows[first][order], tuple(weights[:, order]))


def _equal_rows_before(columns: Sequence[AnyArray]) -> I64:
    """5 7 5 5 → 0 0 1 2"""
    order, begins = sorted_runs(columns)
    count = np.empty(len(order), np.int64)
    count[order] = arange(len(order)) - repeat(begins, np.diff(begins, append=len(order)))
    return count
