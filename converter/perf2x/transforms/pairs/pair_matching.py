"""Matches beginnings with ends, for all keys together, and says on which lane of a timeline each pair is drawn."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import (
    I64,
    Bools,
    arange,
    argsort,
    begins_run,
    cumsum,
    flatnonzero,
    of_previous,
    repeat,
)
from perf2x.base.columnar.unique import argsort_rows, group_rows, unique_inverse
from perf2x.model.profile.profile import Profile, Wait
from perf2x.transforms.pairs.pair_spec import Rule


def matched(key: I64, is_end: Bools, rule: Rule) -> tuple[I64, I64]:
    """Return the rows of beginnings and of their ends, by key; ``key`` and ``is_end`` (n,) are in order of time.

    Of a key whose first beginning counts, ``repeated`` ones must have been left out.

    ::

        rows of a key     ( ( ) )      ( ) )        ( ( )
        last              1-2          0-1          1-2
        nested            1-2 0-3      0-1          1-2
    """
    order = argsort_rows([key])
    key, is_end = key[order], is_end[order]
    if rule is Rule.NESTED:
        begins, ends = _nested(key, is_end)
    else:
        ends = flatnonzero(is_end & _after_begin(key, is_end))
        begins = ends - 1
    return order[begins], order[ends]


def repeated(key: I64, is_end: Bools) -> Bools:
    """(n,) beginnings whose key has begun already; rows are in order of time."""
    order = argsort_rows([key])
    result = np.zeros(len(key), np.bool_)
    result[order] = ~is_end[order] & _after_begin(key[order], is_end[order])
    return result


def _after_begin(key: I64, is_end: Bools) -> Bools:
    """(n,) rows whose predecessor is a beginning of their key; rows are in order of key."""
    return ~begins_run(key) & ~of_previous(is_end, True)


def _nested(key: I64, is_end: Bools) -> tuple[I64, I64]:
    """Pair brackets; those of one depth open and close in turns."""
    count = len(key)
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    group = unique_inverse(key)[1]
    total = cumsum(np.where(is_end, -1, 1))
    first = flatnonzero(begins_run(group))
    before = np.append(0, total)[first][group]  # the sum in front of each row's group
    # groups are laid one below the other, so that one running minimum serves all
    drop = group * (2 * count + 1)
    depth = total - before
    floor = np.minimum.accumulate(np.minimum(depth, 0) - drop) + drop
    over = np.append(0, floor[:-1])
    over[first] = 0
    is_matched = ~is_end | (floor == over)  # an end that makes a new minimum has no beginning
    level = depth - floor + is_end
    rows = flatnonzero(is_matched)
    rows = rows[argsort_rows([group[rows], level[rows]])]
    one, other = rows[:-1], rows[1:]
    pairs = (group[one] == group[other]) & (level[one] == level[other]) & ~is_end[one] & is_end[other]
    return one[pairs], other[pairs]


def lanes_of(key: I64, since: I64, until: I64) -> I64:
    """(n,) lanes, numbered from 1 through all keys, on which spans do not overlap: as few as there can be for each key.

    Rows are in order of key, then ``since``. A span takes the lane that became free last: free lanes are a stack, onto
    which ends put theirs and from which beginnings take one, so that spans follow each other as brackets match.
    """
    count = len(key)
    until = np.maximum(until, since + 1)
    taking = repeat([False, True], count)  # ends come first: a lane is free at the moment at which its span ends
    order = argsort_rows([np.tile(key, 2), np.concatenate([until, since]), taking.astype(np.int64)])
    freed, took = matched(np.tile(key, 2)[order], taking[order], Rule.NESTED)
    before = arange(count)
    before[order[took] - count] = order[freed]
    while True:  # twice as far along each lane in each round
        further = before[before]
        if np.array_equal(further, before):
            return unique_inverse(before)[1] + 1
        before = further


def with_lanes(profile: Profile) -> Profile:
    """Give the durations of each thread and event as many lanes as overlap at once; see ProfileSamples.lane."""
    samples, threads = profile.samples, profile.threads
    if samples.wait is None or samples.time is None:
        return profile
    rows = flatnonzero(samples.wait == Wait.TRACED)
    owner = group_rows([threads.pid, threads.tid])[1][samples.thread[rows]]
    key = owner * len(profile.events) + samples.event[rows]
    rows, key = rows[order := argsort(key)], key[order]
    since = samples.time[rows].astype(np.int64)
    lane = np.zeros(len(samples), np.int32)
    lane[rows] = lanes_of(key, since, since + samples.value[rows])
    return replace(profile, samples=replace(samples, lane=lane))
