"""Markers of Firefox Profiler's format: events that do not make the samples, and times off CPU.

Samples with tracepoint fields become markers, too, because the viewer shows fields only of markers. The ``endTime`` of
an instant is its start, because Perfetto drops all markers if one is null.
"""

import numpy as np

from perf2x.base.columnar import (
    I64,
    AnyArray,
    ColumnTable,
    StringInterner,
    argsort_rows,
    ends_run,
    flatnonzero,
    join_tables,
    no_rows,
    of_next,
    take_rows_of,
    unique,
    zeros,
)
from perf2x.emitters.encoding.decimal_text import chunk_array, joined_chunks, number_chunks
from perf2x.emitters.encoding.json_encoder import JsonObject, json_bytes, json_milliseconds, json_numbers
from perf2x.emitters.firefox.sample_rows import Timeline
from perf2x.emitters.firefox.shared_tables import SCHEDULER
from perf2x.emitters.timeline.field_rows import field_tables
from perf2x.emitters.timeline.running_time import Spans, since
from perf2x.emitters.timeline.tracks import switch_tracks
from perf2x.model.printable_text import one_line, printable
from perf2x.model.profile import FieldColumn, Profile, TracepointFields, are_placed_waits

_RESERVED = frozenset({"type", "cause", "stack", "category", "innerWindowID"})
"""Members of a payload that the viewer interprets itself; a field of that name gets a ``_`` appended."""

# Formats of fields in the viewer, by kind of FieldColumn.
_VIEWER_FORMATS = {"integer": "integer", "text": "string"}


def _field_chunks(profile: Profile, samples: I64) -> AnyArray:
    """Return (samples,) JSON members for each sample's tracepoint fields, each after a comma; b"" without fields."""
    chunks = chunk_array([b""] * len(samples))
    for table, indices, table_rows in field_tables(profile, samples):
        if table.columns:
            chunks[indices] = _members(table, table_rows)
    return chunks


def _members(table: TracepointFields, rows: I64) -> AnyArray:
    pieces: list[AnyArray | bytes] = []
    for column in table.columns:
        pieces += [b",%b:" % json_bytes(_member_name(column)), _values(column, rows)]
    return joined_chunks(*pieces)


def _values(column: FieldColumn, rows: I64) -> AnyArray:
    if column.kind == "integer":
        return number_chunks(column.values[rows])
    used = unique(column.values[rows])
    json_strings = chunk_array([b""] * len(column.texts))
    json_strings[used] = chunk_array(json_bytes(printable(column.texts[row])) for row in used.tolist())
    return json_strings[column.values[rows]]


def _member_name(column: FieldColumn) -> str:
    name = printable(column.name)
    return f"{name}_" if name in _RESERVED else name


def events_with_fields(profile: Profile) -> list[int]:
    """Return the events (rows of Profile.events) that have a sample with tracepoint fields."""
    if profile.samples.fields is None:
        return []
    return [int(row) for row in unique(profile.samples.event[profile.samples.fields >= 0])]


def _field_formats(profile: Profile, event: int) -> dict[str, str]:
    samples = flatnonzero(profile.samples.event == event)
    return {
        _member_name(column): _VIEWER_FORMATS[column.kind]
        for table, _, _ in field_tables(profile, samples)
        for column in table.columns
    }


_SWITCH_NAME = "context switch"
# values of "phase"
_INSTANT, _INTERVAL = 0, 1


class Markers(ColumnTable):
    """Markers by track, then start; times in nanoseconds since the timeline's origin."""

    track: I64
    start: I64
    end: I64
    """Equal to ``start`` for an instant."""
    name: I64
    """Index in the profile's ``stringArray``."""
    category: I64
    """Index in ``meta.categories``."""
    data: AnyArray
    """Payloads as JSON (bytes objects)."""


def event_markers(
    profile: Profile,
    timeline: Timeline,
    marker_samples: I64,
    sample_stacks: I64,
    event_categories: I64,
    strings: StringInterner[str],
) -> Markers:
    """Return a marker for each of ``marker_samples``, which are rows of Profile.samples.

    ``sample_stacks`` (samples of the profile,) are rows of stackTable, ``event_categories`` (events,) rows of
    ``meta.categories``.
    """
    samples = profile.samples
    if not len(marker_samples):
        return no_rows(Markers)
    event_names, heads = zeros(len(profile.events)), chunk_array([b""] * len(profile.events))
    for row in unique(samples.event[marker_samples]).tolist():
        name = one_line(profile.events[row].name)
        event_names[row], heads[row] = strings[name], b'{"type":%b' % json_bytes(name)
    event = samples.event[marker_samples]
    start = timeline.times(marker_samples)
    duration = np.where(are_placed_waits(samples)[marker_samples], samples.value[marker_samples], 0)
    data = _payloads(heads[event], _field_chunks(profile, marker_samples), start, sample_stacks[marker_samples])
    track = timeline.sample_tracks[marker_samples]
    return Markers(track, start, start + duration, event_names[event], event_categories[event], data)


def _payloads(head: AnyArray, fields: AnyArray, time: I64, stack: I64) -> AnyArray:
    times = chunk_array(json_milliseconds(time).split(b","))
    stacks = chunk_array(json_numbers(stack).split(b","))
    payloads = joined_chunks(head, fields, b',"cause":{"time":', times, b',"stack":', stacks, b"}}")
    without_stack = flatnonzero(stack < 0)
    payloads[without_stack] = head[without_stack] + fields[without_stack] + b"}"
    return payloads


def switch_markers(spans: Spans, strings: StringInterner[str]) -> Markers:
    """Return a marker for each of the ``spans`` during which threads were off CPU."""
    count = len(spans)
    if not count:
        return no_rows(Markers)
    name, category = np.full(count, strings[_SWITCH_NAME], np.int64), np.full(count, SCHEDULER, np.int64)
    data = chunk_array([b'{"type":%b}' % json_bytes(_SWITCH_NAME)] * count)
    return Markers(spans.track, spans.start, spans.end, name, category, data)


def merge_markers(parts: list[Markers]) -> Markers:
    """Merge several tables of markers, sorted by track, then start, then end."""
    markers = join_tables(parts)
    return take_rows_of(markers, argsort_rows([markers.track, markers.start, markers.end]))


_NO_MARKERS = b'{"length":0,"name":[],"startTime":[],"endTime":[],"phase":[],"category":[],"data":[]}'


def marker_table(markers: Markers, rows: slice) -> bytes:
    """Return a thread's ``markers`` table as JSON; ``rows`` are the thread's rows of ``markers``."""
    if rows.start == rows.stop:
        return _NO_MARKERS
    start, end = markers.start[rows], markers.end[rows]
    return b'{"length":%d,"name":[%b],"startTime":[%b],"endTime":[%b],"phase":[%b],"category":[%b],"data":[%b]}' % (
        len(start),
        json_numbers(markers.name[rows]),
        json_milliseconds(start),
        json_milliseconds(end),
        json_numbers(np.where(end > start, _INTERVAL, _INSTANT)),
        json_numbers(markers.category[rows]),
        b",".join(markers.data[rows].tolist()),
    )


def marker_schemas(profile: Profile, events: list[int], has_switches: bool) -> list[JsonObject]:
    """Return a schema for each name among these events and, with ``has_switches``, one for context switches."""
    formats_by_name: dict[str, dict[str, str]] = {}
    for event in events:
        formats_by_name.setdefault(one_line(profile.events[event].name), {}).update(_field_formats(profile, event))
    schemas = [_schema(name, formats, "") for name, formats in formats_by_name.items()]
    if has_switches:
        schemas.append(_schema(_SWITCH_NAME, {}, "The thread had no CPU, from the switch out to the next switch in."))
    return schemas


def _schema(name: str, formats: dict[str, str], description: str) -> JsonObject:
    schema: JsonObject = {
        "name": name,
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "chartLabel": "{marker.name}",
        "tableLabel": " ".join(f"{key}={{marker.data.{key}}}" for key in formats) or "{marker.name}",
        "fields": [{"key": key, "label": key, "format": form} for key, form in formats.items()],
    }
    return schema | ({"description": description} if description else {})


def switch_spans(profile: Profile, timeline: Timeline) -> Spans:
    """Return when threads were off CPU, in nanoseconds since the timeline's origin; idle threads are left out.

    A span without a switch-in before the next switch-out has no length::

        switches     out   in  out   out
        spans         |----|    |     |
    """
    switches = profile.switches
    if not switches:
        return no_rows(Spans)
    track = switch_tracks(profile, switches)
    is_idle = np.append(timeline.tracks.cpu, -1)[track] >= 0
    kept = flatnonzero((track >= 0) & ~is_idle & (switches.time >= timeline.origin))
    time = since(switches.time[kept], timeline.origin)
    order = argsort_rows([track[kept], time])
    track, time, is_out = track[kept][order], time[order], switches.is_out[kept][order]
    is_followed_by_in = ~ends_run(track) & is_out & ~of_next(is_out, True)
    end = np.where(is_followed_by_in, of_next(time, 0), time)
    return Spans(track[is_out], time[is_out], end[is_out])
