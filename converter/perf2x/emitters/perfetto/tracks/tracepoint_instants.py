"""Samples of tracepoints as instants on their threads' tracks, with their fields."""

from collections.abc import Iterator, Sequence

import numpy as np

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.unique import rows_by, unique, unique_inverse
from perf2x.emitters.encoding.protobuf_cells import Cells, beside, nested, numbers
from perf2x.emitters.perfetto.event_descriptions import event_names
from perf2x.emitters.perfetto.message import COMMON_SEQUENCE, GOES_ON, STARTS, message, packet, packet_rows
from perf2x.emitters.perfetto.thread_ids import thread_ids
from perf2x.emitters.perfetto.trace_schema import InternedData, TracePacket
from perf2x.emitters.perfetto.track_schema import DebugAnnotation, EventType, TrackEvent
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind, interned_names, thread_track, track_ids
from perf2x.emitters.timeline.field_rows import field_tables
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.tracepoint_fields import FieldColumn

_CATEGORY = "tracepoint"
_ROWS_AT_ONCE = 1 << 13


def tracepoint_packets(profile: Profile) -> Iterator[bytes]:
    """Yield the tracks of threads, and the instants of each event that has fields, on a sequence of its own."""
    fields = profile.samples.fields
    if fields is None or not np.any(fields >= 0):
        return
    held = np.flatnonzero(fields >= 0)
    ids = thread_ids(profile)
    thread = ids.number[profile.samples.thread].astype(np.int64)
    for row in unique(thread[held]).tolist():
        yield thread_track(ids, row)
    names, first = event_names(profile), COMMON_SEQUENCE + 1 + len(profile.events)
    for event, among in rows_by(profile.samples.event[held]):
        yield from _of_event(profile, held[among], thread, first + event, names[event])


def _of_event(profile: Profile, rows: I64, thread: I64, sequence: int, name: str) -> Iterator[bytes]:
    """Yield the instants of one event; each table of fields starts the sequence anew, with its own names."""
    if profile.samples.time is None:
        return
    for entry, held, local in field_tables(profile, rows):
        tables, columns = _encoded_columns(entry.columns, local)
        tables += interned_names(InternedData.EVENT_CATEGORIES, [_CATEGORY])
        tables += interned_names(InternedData.EVENT_NAMES, [name])
        yield packet(message(TracePacket.INTERNED_DATA, tables), sequence, STARTS)
        time, track = profile.samples.time[rows[held]], track_ids(TrackKind.THREAD, thread[rows[held]])
        for start in range(0, len(held), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            facts = [_fact(number, field, values[part]) for number, (field, values) in enumerate(columns, 1)]
            instants = _instants(track[part], facts)
            yield packet_rows(time[part], nested(TracePacket.TRACK_EVENT, instants), sequence, GOES_ON)


def _encoded_columns(columns: Sequence[FieldColumn], rows: I64) -> tuple[bytes, list[tuple[DebugAnnotation, I64]]]:
    """Return names and texts of the fields, numbered from 1 on, and the field that holds each column's values."""
    texts: list[str] = []
    encoded = []
    for column in columns:
        values = column.values[rows]
        if column.kind == "text":
            used, place = unique_inverse(values)
            encoded.append((DebugAnnotation.STRING_VALUE_IID, len(texts) + 1 + place))
            texts += [printable(column.texts[row]) for row in used.tolist()]
        else:
            unsigned = values.dtype.kind == "u"
            encoded.append((DebugAnnotation.UINT_VALUE if unsigned else DebugAnnotation.INT_VALUE, values))
    names = interned_names(InternedData.DEBUG_ANNOTATION_NAMES, [printable(column.name) for column in columns])
    return names + interned_names(InternedData.DEBUG_ANNOTATION_STRING_VALUES, texts), encoded


def _fact(name: int, field: DebugAnnotation, values: I64) -> Cells:
    annotation = [numbers(DebugAnnotation.NAME_IID, np.full(len(values), name)), numbers(field, values)]
    return nested(TrackEvent.DEBUG_ANNOTATIONS, beside(annotation))


def _instants(track: I64, facts: Sequence[Cells]) -> Cells:
    one = np.ones(len(track), np.int64)
    return beside([
        numbers(TrackEvent.CATEGORY_IIDS, one),
        *facts,
        numbers(TrackEvent.TYPE, one * EventType.TYPE_INSTANT),
        numbers(TrackEvent.NAME_IID, one),
        numbers(TrackEvent.TRACK_UUID, track),
    ])  # fmt: skip
