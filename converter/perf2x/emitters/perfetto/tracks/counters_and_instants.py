"""Counter and instant tracks: cumulative counts per process, tracepoints with their fields, lost records.

Counters are cumulative, because readers cannot draw a curve from weights. Tracepoints are on the tracks of their
threads, losses on a track of their own.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from perf2x.base.columnar import (
    I64,
    U64,
    AnyArray,
    arange,
    as_int64,
    as_uint64,
    begins_run,
    cumsum,
    ends_run,
    flatnonzero,
    repeat,
    row_numbers,
    rows_by,
    unique,
    unique_inverse,
    zeros,
)
from perf2x.emitters.encoding.protobuf import Cells, beside, constant, nested, number, numbers
from perf2x.emitters.perfetto.event_descriptions import event_names
from perf2x.emitters.perfetto.packets_and_clocks import (
    COMMON_SEQUENCE,
    GOES_ON,
    interned_packet,
    interned_texts,
    packet_rows,
    sequence_start,
)
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.trace_schema import (
    DebugAnnotation,
    InternedData,
    TracePacket,
    TrackEvent,
    TrackEventType,
    TrackUnit,
)
from perf2x.emitters.perfetto.tracks.track_packets import (
    TrackKind,
    first_counter_track,
    named_track,
    process_track,
    process_track_id,
    thread_track,
    track_ids,
)
from perf2x.emitters.timeline.counters import TITLE, Counter, counters_of, running_steps
from perf2x.emitters.timeline.field_rows import field_tables
from perf2x.model.printable_text import printable
from perf2x.model.profile import FieldColumn, Profile
from perf2x.model.recording import is_tracepoint

_STEPS = 10_000
_SHORTEST_STEP_NS = 1_000_000


def counter_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a track for each process and event, except the default event, waits and tracepoints.

    Values rise from 0; in each step (a ten-thousandth of the recording, at least a millisecond) only the last sample
    has one.
    """
    time = profile.samples.time
    others = [row for row, event in enumerate(profile.events) if not (event.is_wait or is_tracepoint(event.name))]
    counted = [row for row in others if row != profile.default_event or profile.events[row].is_count]
    rows = flatnonzero(np.isin(profile.samples.event, counted))
    if time is None or not len(rows):
        return
    ids = thread_ids(profile)
    pid = ids.pid[ids.number[profile.samples.thread[rows]]]
    found = counters_of(profile, rows, pid, event_names(profile))
    yield from _tracks(profile, ids, [counter for counter, _ in found])
    rows, track = np.concatenate([part for _, part in found]), row_numbers(as_int64([len(part) for _, part in found]))
    time, total = time[rows], _totals(profile.samples.value[rows], track)
    step = (time - time.min()) // np.uint64(max(_SHORTEST_STEP_NS, int(np.ptp(time)) // _STEPS))
    is_last = ends_run(track, step)
    start = np.full(len(found), profile.meta.start_ns, np.uint64)
    yield from _values(start, arange(len(found)), zeros(len(found)), first_counter_track(ids))
    yield from _values(time[is_last], track[is_last], total[is_last], first_counter_track(ids))


def running_packets(profile: Profile) -> Iterator[bytes]:
    """Yield the number of threads that ran at the same time, from the start on, if context switches were recorded."""
    switches = profile.switches
    begin = profile.meta.start_ns
    if switches:
        begin = min(begin, int(switches.time[0]))
    steps = running_steps(profile, begin)
    if not len(steps):
        return
    yield named_track(track_ids(TrackKind.RUNNING, 0), TITLE, unit=TrackUnit.UNIT_COUNT)
    track = track_ids(TrackKind.RUNNING, zeros(len(steps)))
    yield from _values(np.uint64(begin) + as_uint64(steps.time), track, steps.threads, 0)


def _tracks(profile: Profile, ids: ThreadIds, counters: list[Counter]) -> Iterator[bytes]:
    """Describe the tracks of processes, and the counter tracks below them."""
    for pid in sorted({one.pid for one in counters}):
        yield process_track(ids, pid)
    for track_id, one in enumerate(counters, first_counter_track(ids)):
        unit = TrackUnit.UNIT_TIME_NS if profile.events[one.event].unit == "nanoseconds" else TrackUnit.UNIT_COUNT
        yield named_track(track_id, one.name, process_track_id(ids, one.pid), unit)


def _totals(value: I64, track: I64) -> I64:
    """Return (n,) running sums of the values of each track; rows are sorted by track."""
    total = cumsum(value)
    first = flatnonzero(begins_run(track))
    return total - repeat(total[first] - value[first], np.diff(np.append(first, len(value))))


def _values(time: U64, track: I64, value: I64, first_track: int) -> Iterator[bytes]:
    return packet_rows(
        TracePacket.TRACK_EVENT,
        time,
        lambda rows: [
            constant(len(time[rows]), number(TrackEvent.TYPE, TrackEventType.TYPE_COUNTER)),
            numbers(TrackEvent.TRACK_UUID, first_track + track[rows]),
            numbers(TrackEvent.COUNTER_VALUE, value[rows]),
        ],
    )


_CATEGORY = "tracepoint"
_LOSSES = ("lost records", "lost samples")
_FACTS_OF_LOSSES = ("count", "cpu")


def tracepoint_packets(profile: Profile) -> Iterator[bytes]:
    """Yield the tracks of threads, and the instants of each event with fields, on a sequence of its own."""
    fields = profile.samples.fields
    if fields is None or not np.any(fields >= 0):
        return
    has_fields = flatnonzero(fields >= 0)
    ids = thread_ids(profile)
    thread = as_int64(ids.number[profile.samples.thread])
    for row in unique(thread[has_fields]).tolist():
        yield thread_track(ids, row)
    names, first = event_names(profile), COMMON_SEQUENCE + 1 + len(profile.events)
    for event, among in rows_by(profile.samples.event[has_fields]):
        yield from _of_event(profile, has_fields[among], thread, first + event, names[event])


def _of_event(profile: Profile, rows: I64, thread: I64, sequence: int, name: str) -> Iterator[bytes]:
    """Yield the instants of one event; each table of fields restarts the sequence with its own names."""
    for entry, part, local in field_tables(profile, rows):
        columns, texts = _numbered(entry.columns, local)
        tables = {
            InternedData.DEBUG_ANNOTATION_NAMES: [printable(column.name) for column in entry.columns],
            InternedData.DEBUG_ANNOTATION_STRING_VALUES: texts,
            InternedData.EVENT_CATEGORIES: [_CATEGORY],
            InternedData.EVENT_NAMES: [name],
        }
        yield sequence_start(profile.meta, sequence) + interned_packet(interned_texts(tables), sequence)
        track = track_ids(TrackKind.THREAD, thread[rows[part]])
        yield from packet_rows(
            TracePacket.TRACK_EVENT,
            profile.samples.times[rows[part]],
            partial(_instants, track, columns),
            sequence,
            GOES_ON,
        )


def _numbered(columns: Sequence[FieldColumn], rows: I64) -> tuple[list[tuple[DebugAnnotation, I64]], list[str]]:
    """Return the values of each column with the field for them, and the texts that some values are indices of."""
    texts: list[str] = []
    numbered = []
    for column in columns:
        values = column.values[rows]
        if column.kind == "text":
            used, place = unique_inverse(values)
            numbered.append((DebugAnnotation.STRING_VALUE_IID, len(texts) + 1 + place))
            texts += [printable(column.texts[row]) for row in used.tolist()]
        else:
            unsigned = values.dtype.kind == "u"
            numbered.append((DebugAnnotation.UINT_VALUE if unsigned else DebugAnnotation.INT_VALUE, values))
    return numbered, texts


def _instants(track: I64, columns: Sequence[tuple[DebugAnnotation, I64]], rows: slice) -> list[Cells]:
    one = np.ones(len(track[rows]), np.int64)
    facts = [_fact(name, field, values[rows]) for name, (field, values) in enumerate(columns, 1)]
    return [numbers(TrackEvent.CATEGORY_IIDS, one), *facts, *_instant(track[rows], one)]


def loss_packets(profile: Profile) -> Iterator[bytes]:
    """Yield an instant for each loss of records; the kernel reports it after the gap."""
    losses = profile.losses
    if not losses:
        return
    yield named_track(track_ids(TrackKind.LOSSES, 0), "lost")
    names = {InternedData.EVENT_NAMES: _LOSSES, InternedData.DEBUG_ANNOTATION_NAMES: _FACTS_OF_LOSSES}
    yield sequence_start(profile.meta) + interned_packet(interned_texts(names))
    track = track_ids(TrackKind.LOSSES, zeros(len(losses)))

    def fields(rows: slice) -> list[Cells]:
        cpu = losses.cpu[rows]
        return [
            _fact(1, DebugAnnotation.UINT_VALUE, losses.lost[rows]),
            _fact(2, DebugAnnotation.UINT_VALUE, np.maximum(cpu, 0)).without(cpu < 0),
            *_instant(track[rows], 1 + as_int64(losses.samples_only[rows])),
        ]

    end = np.uint64(profile.meta.start_ns + profile.meta.duration_ns)
    time: U64 = np.where(losses.time > 0, losses.time, end)  # perf reports some losses at the end, without a time
    yield from packet_rows(TracePacket.TRACK_EVENT, time, fields, COMMON_SEQUENCE, GOES_ON)


def _fact(name: int, field: DebugAnnotation, values: AnyArray) -> Cells:
    annotation = [constant(len(values), number(DebugAnnotation.NAME_IID, name)), numbers(field, values)]
    return nested(TrackEvent.DEBUG_ANNOTATIONS, beside(annotation))


def _instant(track: I64, name: I64) -> list[Cells]:
    return [
        constant(len(track), number(TrackEvent.TYPE, TrackEventType.TYPE_INSTANT)),
        numbers(TrackEvent.NAME_IID, name),
        numbers(TrackEvent.TRACK_UUID, track),
    ]
