"""Markers of Firefox Profiler's format: samples of the other events, and context switches.

Each event has a schema and a category. Instants have their start as ``endTime``, because Perfetto drops all markers if
one is null.

Fields of tracepoints are members of a marker's payload, and fields of its schema.
"""

import numpy as np

from perf2x.base.columnar import (
    I64,
    AnyArray,
    ColumnTable,
    TextInterner,
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
from perf2x.model.profile import FieldColumn, Profile, TracepointFields, placed_waits

_RESERVED = frozenset({"type", "cause", "stack", "category", "innerWindowID"})
"""Members of a payload that the viewer interprets itself."""

_FORMATS = {"integer": "integer", "text": "string"}


def _field_chunks(profile: Profile, rows: I64) -> AnyArray:
    """Return (rows,) the tracepoint fields of each sample as members of a JSON object, each after a comma."""
    chunks = chunk_array([b""] * len(rows))
    for entry, part, local in field_tables(profile, rows):
        if entry.columns:
            chunks[part] = _members(entry, local)
    return chunks


def _members(entry: TracepointFields, rows: I64) -> AnyArray:
    pieces: list[AnyArray | bytes] = []
    for column in entry.columns:
        pieces += [b",%b:" % json_bytes(_key(column)), _values(column, rows)]
    return joined_chunks(*pieces)


def _values(column: FieldColumn, rows: I64) -> AnyArray:
    if column.kind == "integer":
        return number_chunks(column.values[rows])
    used = unique(column.values[rows])
    texts = chunk_array([b""] * len(column.texts))
    texts[used] = chunk_array(json_bytes(printable(column.texts[row])) for row in used.tolist())
    return texts[column.values[rows]]


def _key(column: FieldColumn) -> str:
    name = printable(column.name)
    return f"{name}_" if name in _RESERVED else name


def events_with_fields(profile: Profile) -> list[int]:
    """Return the events whose samples have fields."""
    if profile.samples.fields is None:
        return []
    return [int(row) for row in unique(profile.samples.event[profile.samples.fields >= 0])]


def _field_formats(profile: Profile, kind: int) -> dict[str, str]:
    """Return the fields of an event, and the viewer's format for each."""
    rows = flatnonzero(profile.samples.event == kind)
    return {
        _key(column): _FORMATS[column.kind] for entry, _, _ in field_tables(profile, rows) for column in entry.columns
    }


_SWITCH = "context switch"
_INSTANT, _INTERVAL = 0, 1


class Markers(ColumnTable):
    """Markers by track, then start; times in nanoseconds since the first sample."""

    track: I64
    start: I64
    end: I64
    name: I64
    category: I64
    data: AnyArray
    """Payloads as JSON."""


def event_markers(
    profile: Profile, timeline: Timeline, rows: I64, stack: I64, category: I64, texts: TextInterner[str]
) -> Markers:
    """Return a marker for each of ``rows``; ``stack`` is by sample, ``category`` by event."""
    samples = profile.samples
    if not len(rows):
        return no_rows(Markers)
    kinds = unique(samples.event[rows]).tolist()
    name, head = zeros(len(profile.events)), chunk_array([b""] * len(profile.events))
    for kind in kinds:
        text = one_line(profile.events[kind].name)
        name[kind], head[kind] = texts[text], b'{"type":%b' % json_bytes(text)
    event = samples.event[rows]
    start = timeline.times(rows)
    lasts = np.where(placed_waits(samples)[rows], samples.value[rows], 0)
    data = _payloads(head[event], _field_chunks(profile, rows), start, stack[rows])
    return Markers(timeline.track[rows], start, start + lasts, name[event], category[event], data)


def _payloads(head: AnyArray, fields: AnyArray, time: I64, stack: I64) -> AnyArray:
    """Return payloads whose ``cause`` is the stack of the sample."""
    times = chunk_array(json_milliseconds(time).split(b","))
    stacks = chunk_array(json_numbers(stack).split(b","))
    payloads = joined_chunks(head, fields, b',"cause":{"time":', times, b',"stack":', stacks, b"}}")
    nowhere = flatnonzero(stack < 0)
    payloads[nowhere] = head[nowhere] + fields[nowhere] + b"}"
    return payloads


def switch_markers(spans: Spans, texts: TextInterner[str]) -> Markers:
    """Return a marker for each time that a thread was off CPU."""
    count = len(spans)
    if not count:
        return no_rows(Markers)
    name, category = np.full(count, texts[_SWITCH], np.int64), np.full(count, SCHEDULER, np.int64)
    data = chunk_array([b'{"type":%b}' % json_bytes(_SWITCH)] * count)
    return Markers(spans.track, spans.start, spans.end, name, category, data)


def in_order(parts: list[Markers]) -> Markers:
    """Merge parts by track, start and end."""
    markers = join_tables(parts)
    return take_rows_of(markers, argsort_rows([markers.track, markers.start, markers.end]))


_NO_MARKERS = b'{"length":0,"name":[],"startTime":[],"endTime":[],"phase":[],"category":[],"data":[]}'


def marker_table(markers: Markers, rows: slice) -> bytes:
    """Return a thread's ``markers`` table as JSON."""
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


def marker_schemas(profile: Profile, kinds: list[int], has_switches: bool) -> list[JsonObject]:
    """Return a schema for each of these events, and one for context switches."""
    fields: dict[str, dict[str, str]] = {}
    for kind in kinds:
        fields.setdefault(one_line(profile.events[kind].name), {}).update(_field_formats(profile, kind))
    schemas = [_schema(name, formats, "") for name, formats in fields.items()]
    if has_switches:
        schemas.append(_schema(_SWITCH, {}, "The thread had no CPU, from the switch out to the next switch in."))
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
    """Return when threads were off CPU, except idle ones, in nanoseconds since the first sample.

    From each switch out to the thread's next switch in; of zero length if the recording ends before that.

    ::

        switches     out   in  out   out      in, out of order or lost: ignored
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
    is_closed = ~ends_run(track) & is_out & ~of_next(is_out, True)
    end = np.where(is_closed, of_next(time, 0), time)
    return Spans(track[is_out], time[is_out], end[is_out])
