"""Samples of the page: sums by track, event and stack, and columns for its views over time.

The columns are chosen because they compress well: when each stack ran or waited, and when each sample was taken; with
too many samples for that, how long each thread ran and waited in each part of the time.
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar import (
    I64,
    U64,
    AnyArray,
    Bools,
    Frozen,
    arange,
    argsort_rows,
    as_int64,
    begins_run,
    cumsum,
    flatnonzero,
    of_next,
    of_previous,
    row_numbers,
    searchsorted,
    sorted_runs,
    sum_runs,
    unique,
    zeros,
)
from perf2x.emitters.encoding.json_encoder import json_member, json_table
from perf2x.emitters.timeline.running_time import since
from perf2x.emitters.timeline.shown_samples import ShownSamples, in_ticks, origin_of, shown_samples
from perf2x.model.profile import Profile, Wait, placed_waits, wait_ends


class SummedSamples(Frozen):
    """Groups of equal samples; each group is a row with its first sample and its sums."""

    order: I64
    """(samples,) sorted by group."""
    begins: I64
    """(rows,) where each group begins in ``order``."""
    first: I64
    value: I64
    count: I64
    latency: I64 | None
    """None if the profile has none."""
    off: I64 | None
    """1 where the thread was off CPU, 0 where it ran; None if all ran."""

    def row_of_sample(self) -> I64:
        """Return (samples,) the row of each sample."""
        row = np.empty(len(self.order), np.int64)
        row[self.order] = row_numbers(np.diff(self.begins, append=len(self.order)))
        return row


def summed_samples(profile: Profile, track: AnyArray, node: I64) -> SummedSamples:
    """Sum samples by track, event and node of the tree, waits separately; ``track``, ``node`` (samples,)."""
    samples = profile.samples
    off = _off_cpu(profile)
    columns = [track, as_int64(samples.event), node]
    order, begins = sorted_runs(columns if off is None else [*columns, off])
    first = order[begins]
    latency = None if samples.latency is None else sum_runs(samples.latency, order, begins)
    value, count = (sum_runs(column, order, begins) for column in (samples.value, samples.count))
    return SummedSamples(order, begins, first, value, count, latency, None if off is None else off[first])


def _off_cpu(profile: Profile) -> I64 | None:
    """Return (samples,) 1 for waits; None if there are none."""
    of_waits = np.array([event.is_wait for event in profile.events], np.bool_)
    wait = profile.samples.wait
    is_off = of_waits[profile.samples.event] if wait is None else wait != Wait.RAN
    return as_int64(is_off) if is_off.any() else None


def row_table(profile: Profile, track: AnyArray, node: I64, summed: SummedSamples) -> Iterator[bytes]:
    """Yield the rows as columns."""
    first = summed.first
    columns: list[tuple[str, AnyArray]] = [("thread", track[first]), ("event", profile.samples.event[first])]
    columns += [("node", node[first]), ("value", summed.value), ("count", summed.count)]
    if summed.latency is not None:
        columns.append(("latency", summed.latency))
    if summed.off is not None:
        columns.append(("off", summed.off))
    yield from json_table(columns)


_MICROSECOND = 1000
_MOST_SUMS, _MOST_PARTS, _FEWEST_PARTS = 400_000, 2000, 20


def moment_table(profile: Profile, track: AnyArray, node: I64) -> Iterator[bytes]:
    """Yield runs and waits of one stack on one track, in microseconds; ``start`` is delta-encoded.

    ``track``, ``node`` (samples,). ``wait`` is a Wait, omitted if nothing waited.
    """
    shown = in_ticks(shown_samples(profile, track, arange(len(profile.samples))), _MICROSECOND)
    stack, wait = node[shown.sample], profile.samples.waits[shown.sample]
    first = flatnonzero(begins_run(stack, wait) | ~of_previous(shown.joined, False))
    last, start = of_next(first, len(shown)) - 1, shown.start[first]
    columns: list[tuple[str, AnyArray]] = [("track", shown.track[first]), ("start", np.diff(start, prepend=0))]
    columns += [("duration", shown.end[last] - start), ("node", stack[first])]
    yield from json_table([*columns, ("wait", wait[first])] if wait.any() else columns)


def lane_table(profile: Profile, track: AnyArray) -> Iterator[bytes]:
    """Yield ``ran`` and ``waited``: microseconds of each track in each of ``parts`` parts of the time, track by track.

    ``length`` is the length of a part, ``origin`` the zero as in ``burst_table``. With more tracks, each has fewer
    parts.
    """
    everything = np.arange(len(track), dtype=np.int32)
    shown = in_ticks(shown_samples(profile, track, everything), _MICROSECOND)
    del everything
    tracks = int(track.max(initial=0)) + 1
    parts = max(_FEWEST_PARTS, min(_MOST_PARTS, _MOST_SUMS // tracks))
    length = int(shown.end.max(initial=0)) // parts + 1
    edges = arange(parts + 1) * length
    ran = profile.samples.waits[shown.sample] == Wait.RAN
    yield b'{"origin":"%d","length":%d,"parts":%d' % (origin_of(profile), length, parts)
    for name, chosen in (("ran", ran), ("waited", ~ran)):
        yield from json_member(name, np.diff(_time_until(shown, chosen, tracks, edges)).ravel())
    yield b"}"


def _time_until(shown: ShownSamples, chosen: Bools, tracks: int, edges: I64) -> I64:
    """Return (tracks, edges) the time of chosen spans before each edge, including all earlier tracks."""
    if not chosen.any():
        return zeros((tracks, len(edges)))
    track, reach = as_int64(shown.track), edges[-1] + 1
    before = np.concatenate([[0], cumsum(np.where(chosen, shown.end - shown.start, 0))])
    queries = arange(tracks)[:, None] * reach + edges
    row = searchsorted(track * reach + shown.start, queries, "right")  # the first span after the edge
    last = np.append(track * reach + np.where(chosen, shown.end, 0), 0)[row - 1]
    until: I64 = before[row] - np.maximum(last - queries, 0)
    return until


def burst_table(profile: Profile, track: AnyArray, summed: SummedSamples) -> Iterator[bytes]:
    """Yield time and row of each sample, by track, then time: the order that compresses best.

    ``time`` and ``row`` are delta-encoded, time in whole microseconds, rounded down; ``origin`` is its zero on the
    recording's clock, in nanoseconds, as text, because JavaScript's numbers are not exact enough. ``value`` is omitted
    if all samples of a row have the same value, ``latency`` if the profile has none, ``cpu`` (delta-encoded) if there
    is one CPU. ``lasts`` are the microseconds of waits that begin then, omitted if there are none.

    ``--time`` keeps the parts of waits within it, but of ``offcpu-time`` whole waits that end in it: these are placed
    at their end and last 0. Waits of unknown time are omitted.
    """
    origin = origin_of(profile)
    yield b'{"origin":"%d"' % origin
    for name, values in _burst_columns(profile, track, summed, origin):
        yield from json_member(name, values)
    yield b"}"


def _burst_columns(
    profile: Profile, track: AnyArray, summed: SummedSamples, origin: int
) -> Iterator[tuple[str, AnyArray]]:
    moment, lasts = _moments_of(profile)
    kept = flatnonzero(profile.samples.waits != Wait.UNPLACED)
    time = since(moment[kept], origin) // _MICROSECOND
    order = argsort_rows([track[kept], time])
    rows, samples, row = kept[order], profile.samples, summed.row_of_sample()
    yield "time", np.diff(time[order], prepend=0)
    yield "row", np.diff(row[rows], prepend=0)
    if not np.array_equal(samples.value * summed.count[row], samples.count * summed.value[row]):
        yield "value", samples.value[rows]
    if samples.latency is not None:
        yield "latency", samples.latency[rows]
    cpus = samples.cpus
    if len(unique(cpus[cpus >= 0])) > 1:
        yield "cpu", np.diff(cpus[rows], prepend=0)
    if lasts.any():
        yield "lasts", lasts[rows]


def _moments_of(profile: Profile) -> tuple[U64, I64]:
    """Return (samples,) the time at which ``--time`` selects each sample, and its duration in microseconds."""
    samples = profile.samples
    if any(event.is_wait and event.name.split(":")[0] == "offcpu-time" for event in profile.events):
        return wait_ends(samples), zeros(len(samples))
    return samples.times, np.where(placed_waits(samples), samples.value // _MICROSECOND, 0)
