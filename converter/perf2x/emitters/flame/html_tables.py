"""Samples of the HTML page: sums by track, event and stack, and columns for its views over time.

The page has these tables, with columns that are sorted or delta-encoded to compress better:

- ``rows``: the sums
- ``moments``: the time spans in which stacks are drawn on their tracks
- ``bursts``: the time of each sample, and its row in ``rows``, so that the page can sum a part of the time
- ``lanes``: how long each track ran and waited in parts of the time, if there are too many samples for the others
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
from perf2x.model.profile import Profile, Wait, are_placed_waits, wait_ends


class SummedSamples(Frozen):
    """Groups of samples with equal track, event, node and wait; each group is a row of the table ``rows``."""

    order: I64
    """(samples,) rows of Profile.samples, group by group."""
    begins: I64
    """(groups,) where each group begins in ``order``."""
    first: I64
    """(groups,) a sample of each group; the following columns have one entry per group, too."""
    value: I64
    count: I64
    latency: I64 | None
    """None if the profile has no latency."""
    off: I64 | None
    """1 where the thread was off CPU, 0 where it ran; None if all samples ran."""

    def group_of_sample(self) -> I64:
        """Return (samples,) the group of each sample."""
        group = np.empty(len(self.order), np.int64)
        group[self.order] = row_numbers(np.diff(self.begins, append=len(self.order)))
        return group


def summed_samples(profile: Profile, sample_tracks: AnyArray, node: I64) -> SummedSamples:
    """Sum samples by track, event and node of the tree, waits separately; ``node`` is (samples,)."""
    samples = profile.samples
    off = _off_cpu(profile)
    columns = [sample_tracks, as_int64(samples.event), node]
    order, begins = sorted_runs(columns if off is None else [*columns, off])
    first = order[begins]
    latency = None if samples.latency is None else sum_runs(samples.latency, order, begins)
    value, count = (sum_runs(column, order, begins) for column in (samples.value, samples.count))
    return SummedSamples(order, begins, first, value, count, latency, None if off is None else off[first])


def _off_cpu(profile: Profile) -> I64 | None:
    """Return (samples,) 1 for waits, 0 for others; None if there are no waits."""
    is_wait_event = np.array([event.is_wait for event in profile.events], np.bool_)
    wait = profile.samples.wait
    is_off = is_wait_event[profile.samples.event] if wait is None else wait != Wait.RAN
    return as_int64(is_off) if is_off.any() else None


def row_table(profile: Profile, sample_tracks: AnyArray, node: I64, summed: SummedSamples) -> Iterator[bytes]:
    """Yield the sums as columns; ``sample_tracks`` and ``node`` are those given to ``summed_samples``."""
    first = summed.first
    # the page calls a row of Tracks a thread here, a track in ``moments``
    columns: list[tuple[str, AnyArray]] = [("thread", sample_tracks[first]), ("event", profile.samples.event[first])]
    columns += [("node", node[first]), ("value", summed.value), ("count", summed.count)]
    if summed.latency is not None:
        columns.append(("latency", summed.latency))
    if summed.off is not None:
        columns.append(("off", summed.off))
    yield from json_table(columns)


_US = 1000  # nanoseconds in a microsecond
# The table ``lanes`` has _MIN_PARTS to _MAX_PARTS parts of the time. More than _MIN_PARTS are made only if all tracks
# together then have at most _MAX_SUMS sums.
_MAX_SUMS, _MAX_PARTS, _MIN_PARTS = 400_000, 2000, 20


def moment_table(profile: Profile, sample_tracks: AnyArray, node: I64) -> Iterator[bytes]:
    """Yield when stacks are drawn, by track, then time: columns ``track``, ``start``, ``duration``, ``node``, ``wait``.

    ``sample_tracks`` and ``node`` (samples,) are the track and the node of each row of Profile.samples. Spans of one
    stack that meet are one row. Times are in microseconds; ``start`` is delta-encoded. ``wait`` is omitted if no thread
    waited.
    """
    shown = in_ticks(shown_samples(profile, sample_tracks, arange(len(profile.samples))), _US)
    shown_node, wait = node[shown.sample], profile.samples.waits[shown.sample]
    first = flatnonzero(begins_run(shown_node, wait) | ~of_previous(shown.meets_next, False))
    last, start = of_next(first, len(shown)) - 1, shown.start[first]
    columns: list[tuple[str, AnyArray]] = [("track", shown.track[first]), ("start", np.diff(start, prepend=0))]
    columns += [("duration", shown.end[last] - start), ("node", shown_node[first])]
    yield from json_table([*columns, ("wait", wait[first])] if wait.any() else columns)


def lane_table(profile: Profile, sample_tracks: AnyArray) -> Iterator[bytes]:
    """Yield how long each track ``ran`` and ``waited`` in each part of the time, in microseconds, track by track.

    ``length`` is that of a part in microseconds, ``origin`` is time 0 as in ``burst_table``. ``sample_tracks``
    (samples,) is the track of each row of Profile.samples.
    """
    all_samples = np.arange(len(sample_tracks), dtype=np.int32)
    shown = in_ticks(shown_samples(profile, sample_tracks, all_samples), _US)
    del all_samples
    track_count = int(sample_tracks.max(initial=0)) + 1
    parts = max(_MIN_PARTS, min(_MAX_PARTS, _MAX_SUMS // track_count))
    length = int(shown.end.max(initial=0)) // parts + 1
    edges = arange(parts + 1) * length
    ran = profile.samples.waits[shown.sample] == Wait.RAN
    yield b'{"origin":"%d","length":%d,"parts":%d' % (origin_of(profile), length, parts)
    for name, is_counted in (("ran", ran), ("waited", ~ran)):
        yield from json_member(name, np.diff(_time_until(shown, is_counted, track_count, edges)).ravel())
    yield b"}"


def _time_until(shown: ShownSamples, is_counted: Bools, track_count: int, edges: I64) -> I64:
    """Return (tracks, edges) int64: the time that spans cover before each edge on its track, and on all earlier tracks.

    ``edges`` are ascending times, equal for all tracks.
    """
    if not is_counted.any():
        return zeros((track_count, len(edges)))
    # tracks are laid end to end on one axis, so that one search serves all tracks
    track, stride = as_int64(shown.track), edges[-1] + 1
    total_before = np.concatenate([[0], cumsum(np.where(is_counted, shown.end - shown.start, 0))])
    axis_edges = arange(track_count)[:, None] * stride + edges
    next_span = searchsorted(track * stride + shown.start, axis_edges, "right")  # the first span after the edge
    # (tracks, edges) end of the last span before the edge, or some earlier time if that span does not count
    end_of_last = np.append(track * stride + np.where(is_counted, shown.end, 0), 0)[next_span - 1]
    # the part of the span that is beyond the edge does not count
    time: I64 = total_before[next_span] - np.maximum(end_of_last - axis_edges, 0)
    return time


def burst_table(profile: Profile, sample_tracks: AnyArray, summed: SummedSamples) -> Iterator[bytes]:
    """Yield when each sample was taken and its row in the table ``rows``, by track, then time.

    - ``time`` is in whole microseconds, delta-encoded; 0 is ``origin`` (nanoseconds on the recording's clock, as text,
      because JavaScript's numbers are not exact enough).
    - ``row`` is delta-encoded.
    - ``value`` is omitted if every sample has the mean value of its row in ``rows``.
    - ``latency`` and ``cpu`` (delta-encoded) are omitted without latency or several CPUs.
    - ``lasts`` is how many microseconds a wait lasts that begins at ``time``, 0 for others; omitted if all are 0.

    As with ``--time``, a sample of the event ``offcpu-time`` belongs to the time at which its wait ends; ``lasts`` is
    then 0. Waits whose time is unknown are omitted.
    """
    origin = origin_of(profile)
    yield b'{"origin":"%d"' % origin
    for name, values in _burst_columns(profile, sample_tracks, summed, origin):
        yield from json_member(name, values)
    yield b"}"


def _burst_columns(
    profile: Profile, sample_tracks: AnyArray, summed: SummedSamples, origin: int
) -> Iterator[tuple[str, AnyArray]]:
    sample_time, duration_us = _selection_times(profile)
    has_time = flatnonzero(profile.samples.waits != Wait.UNPLACED)
    time_us = since(sample_time[has_time], origin) // _US
    order = argsort_rows([sample_tracks[has_time], time_us])
    rows, samples, group = has_time[order], profile.samples, summed.group_of_sample()
    yield "time", np.diff(time_us[order], prepend=0)
    yield "row", np.diff(group[rows], prepend=0)
    # omitted if value = count * (sum of values / sum of counts) in all samples
    if not np.array_equal(samples.value * summed.count[group], samples.count * summed.value[group]):
        yield "value", samples.value[rows]
    if samples.latency is not None:
        yield "latency", samples.latency[rows]
    cpus = samples.cpus
    if len(unique(cpus[cpus >= 0])) > 1:
        yield "cpu", np.diff(cpus[rows], prepend=0)
    if duration_us.any():
        yield "lasts", duration_us[rows]


def _selection_times(profile: Profile) -> tuple[U64, I64]:
    """Return (samples,) the time (ns) at which ``--time`` selects each sample, and the duration (µs) of each wait."""
    samples = profile.samples
    if any(event.is_wait and event.name.split(":")[0] == "offcpu-time" for event in profile.events):
        return wait_ends(samples), zeros(len(samples))
    return samples.times, np.where(are_placed_waits(samples), samples.value // _US, 0)
