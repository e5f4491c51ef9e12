"""``--pair``: time per stack between two tracepoints, such as a lock that is contended and the end of that.

Each pair becomes an event of its own in nanoseconds, with a row for each beginning that has an end: of its thread, with
its stack and on its CPU. The tracepoints themselves are left out, all other events stay.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.columnar.arrays import (
    I64,
    U64,
    Bools,
    arange,
    argsort,
    flatnonzero,
    no_rows,
    repeat,
    sum_of,
    take_rows_of,
)
from perf2x.base.columnar.ragged import join_tables
from perf2x.base.columnar.unique import argsort_rows
from perf2x.base.errors import OptionError
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.profile.profile import Profile, ProfileEvent, Wait
from perf2x.model.recording.events import Recording
from perf2x.transforms.filters.filter_batches import SampleFilter
from perf2x.transforms.filters.time_ranges import Range
from perf2x.transforms.pairs.pair_keys import PairEvents, fields_of_keys, key_numbers, pairs_in
from perf2x.transforms.pairs.pair_matching import matched, repeated
from perf2x.transforms.pairs.pair_spec import Rule
from perf2x.transforms.scheduling.wait_rows import Spans, Waits, clipped, joined_samples, within
from perf2x.transforms.time_reports import PairReport
from perf2x.transforms.traced_samples import Traced, recorded_rows, traced_samples, tracepoint_formats

_SAMPLED = "-F samples tracepoints, too; give the frequency to the clock alone: -e cpu-clock/freq=999/"


class Rows(Struct, frozen=True):
    """Samples of both tracepoints of a pair, in order of time."""

    key: I64
    time: U64
    is_end: Bools
    sample: I64
    """Row of Profile.samples, −1 where a filter left it out."""


class Matches(Struct, frozen=True):
    """Rows of beginnings, in order, and of the ends that belong to them."""

    name: str
    rows: Rows
    begins: I64
    ends: I64


def with_pairs(
    profile: Profile,
    recording: Recording,
    wanted: Sequence[str],
    diagnostics: Diagnostics,
    passing: SampleFilter | None = None,
) -> tuple[Profile, tuple[PairReport, ...]]:
    """Return a timeline profile with an event of durations for each pair, the first of which is shown first.

    OptionError when the recording lacks a pair, or its samples the time. ``passing`` is the filter that the samples
    have passed, but for its times, which hold here: durations are cut to them.
    """
    pairs, times = pairs_in(recording, wanted), () if passing is None else passing.times
    traced = traced_samples(recording, {row for pair in pairs for row in (*pair.begins, *pair.ends)})
    rows_of = {row: _rows_in_profile(profile, row, found) for row, found in traced.items()}
    found = [_matches(pair, _rows_of(pair, recording, traced, rows_of)) for pair in pairs]
    reports = tuple(_report(one) for one in found)
    _note(reports, traced, recording, diagnostics)
    return _joined(profile, pairs, [_waits(profile, one, times) for one in found], times), reports


def _rows_in_profile(profile: Profile, event: int, traced: Traced) -> I64:
    """(traced,) the row of Profile.samples of each recorded sample, −1 for none."""
    rows = flatnonzero(profile.samples.event == event)
    place = recorded_rows(profile, rows, traced)
    result = np.full(len(traced), -1, np.int64)
    result[place[place >= 0]] = rows[place >= 0]
    return result


def _rows_of(pair: PairEvents, recording: Recording, traced: dict[int, Traced], rows_of: dict[int, I64]) -> Rows:
    formats = tracepoint_formats(recording)
    events = [row for row in (*pair.begins, *pair.ends) if row in traced]
    keys = fields_of_keys(pair.pair, [formats.get(row, []) for row in (*pair.begins, *pair.ends)])
    if not events:
        return no_rows(Rows)
    parts = [(formats.get(row, []), traced[row]) for row in events]
    key, is_whole = key_numbers(keys, parts, recording.session.byte_order)
    key[~is_whole] = key.max(initial=0) + 1 + arange(len(key))[~is_whole]  # equal to no other
    time, position = (np.concatenate([getattr(part, name) for _, part in parts]) for name in ("time", "position"))
    is_end = np.concatenate([np.full(len(traced[row]), row in pair.ends, np.bool_) for row in events])
    rows = Rows(key, time, is_end, np.concatenate([rows_of[row] for row in events]))
    rows = take_rows_of(rows, argsort_rows([time, position]))
    return take_rows_of(rows, ~repeated(rows.key, rows.is_end)) if pair.pair.rule is Rule.FIRST else rows


def _matches(pair: PairEvents, rows: Rows) -> Matches:
    begins, ends = matched(rows.key, rows.is_end, pair.pair.rule)
    order = argsort(begins)
    return Matches(pair.name, rows, begins[order], ends[order])


def _report(found: Matches) -> PairReport:
    rows, begins, ends = found.rows, found.begins, found.ends
    passes = rows.sample >= 0
    kept = passes[begins]
    return PairReport(
        found.name,
        pairs=sum_of(kept),
        paired_ns=sum_of((rows.time[ends] - rows.time[begins])[kept]),
        begins=sum_of(passes & ~rows.is_end) - sum_of(kept),
        ends=sum_of(passes & rows.is_end) - sum_of(passes[ends]),
    )


def _note(
    reports: Sequence[PairReport], traced: dict[int, Traced], recording: Recording, diagnostics: Diagnostics
) -> None:
    """Count what has no partner, and samples that stand for several."""
    advice = "not counted; the recording began or ended in between, lost samples or left threads out (record with -a)"
    diagnostics.add("begins_without_end", Severity.INFO, advice, sum(row.begins for row in reports))
    diagnostics.add("ends_without_begin", Severity.INFO, advice, sum(row.ends for row in reports))
    sampled = [row for row in traced if "freq" in recording.session.events[row].flags]
    missed = sum(sum_of(np.maximum(traced[row].period, np.uint64(1)) - np.uint64(1)) for row in sampled)
    diagnostics.add("tracepoints_not_sampled", Severity.LOSS, _SAMPLED, missed)


def _waits(profile: Profile, found: Matches, times: Sequence[Range]) -> Waits:
    rows, kept = found.rows, found.rows.sample[found.begins] >= 0
    begins, ends = found.begins[kept], found.ends[kept]
    told = np.zeros(len(begins), np.bool_)
    spans = clipped(Spans(arange(len(begins)), rows.time[begins], rows.time[ends], told, told), times)
    samples, sample = profile.samples, rows.sample[begins][spans.left]
    return Waits(
        sample=sample,
        thread=samples.thread[sample],
        stack=samples.stack[sample],
        cpu=samples.cpus[sample],
        since=spans.since,
        duration=spans.duration,
        kind=np.full(len(sample), Wait.TRACED, np.uint8),
    )


def _joined(profile: Profile, pairs: Sequence[PairEvents], waits: Sequence[Waits], times: Sequence[Range]) -> Profile:
    """Put durations in place of the tracepoints that they were made of."""
    samples, first = profile.samples, len(profile.events)
    events = [ProfileEvent(pair.name, "nanoseconds", 0, 0, is_wait=True) for pair in pairs]
    kept = ~np.isin(samples.event, [row for pair in pairs for row in (*pair.begins, *pair.ends)])
    if times and samples.time is not None:
        kept &= within(samples.time, times)
    counts = [len(part) for part in waits]
    event = repeat(arange(first, first + len(pairs)), counts).astype(np.int32)
    shown = next((row for row, count in enumerate(counts, first) if count), first)
    joined = joined_samples(profile, kept, join_tables(waits), event)
    if times and len(samples) and not len(joined):
        raise OptionError("no sample and no pair in that time")
    return replace(profile, events=(*profile.events, *events), samples=joined, default_event=shown)
