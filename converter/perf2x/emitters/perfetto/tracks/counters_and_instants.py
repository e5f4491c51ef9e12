"""Counters and instants: cumulative counts per process, the number of running threads, tracepoints, lost records.

Viewers draw no curves of the weights of samples, but they show the slope of a cumulative sum as a rate.
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
from perf2x.emitters.encoding.protobuf import Cells, constant_cells, join_fields, message_cells, number, number_cells
from perf2x.emitters.perfetto.event_descriptions import event_names
from perf2x.emitters.perfetto.packets_and_clocks import (
    COMMON_SEQUENCE,
    CONTINUES_SEQUENCE,
    interned_packet,
    interned_strings,
    packets_of_columns,
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
from perf2x.emitters.timeline.counters import RUNNING_TITLE, Counter, counters_of, running_steps
from perf2x.emitters.timeline.field_rows import field_tables
from perf2x.model.printable_text import printable
from perf2x.model.profile import FieldColumn, Profile
from perf2x.model.recording import is_tracepoint

# a recording is divided into about this many steps of at least this length; a counter has at most one value per step
_STEPS = 10_000
_MIN_STEP_NS = 1_000_000


def counter_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a counter track for each process and event, without waits and tracepoints.

    The default event has one only if it is a count of perf stat. Values rise from 0 at the start of the recording.
    """
    time = profile.samples.time
    events = [row for row, event in enumerate(profile.events) if not (event.is_wait or is_tracepoint(event.name))]
    events = [row for row in events if row != profile.default_event or profile.events[row].is_count]
    rows = flatnonzero(np.isin(profile.samples.event, events))
    if time is None or not len(rows):
        return
    ids = thread_ids(profile)
    pid = ids.pid[ids.row_of_thread[profile.samples.thread[rows]]]
    counters = counters_of(profile, rows, pid, event_names(profile))
    yield from _counter_tracks(profile, ids, [counter for counter, _ in counters])
    # samples of all counters, one counter after the other, and (samples,) the index of each sample's counter
    rows = np.concatenate([counter_rows for _, counter_rows in counters])
    index = row_numbers(as_int64([len(counter_rows) for _, counter_rows in counters]))
    time, total = time[rows], _cumulative_sums(profile.samples.value[rows], index)
    step = (time - time.min()) // np.uint64(max(_MIN_STEP_NS, int(np.ptp(time)) // _STEPS))
    is_last = ends_run(index, step)
    start = np.full(len(counters), profile.meta.start_ns, np.uint64)
    yield from _counter_values(start, arange(len(counters)), zeros(len(counters)), first_counter_track(ids))
    yield from _counter_values(time[is_last], index[is_last], total[is_last], first_counter_track(ids))


def running_thread_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a counter track of the number of running threads, if that is known."""
    switches = profile.switches
    origin = profile.meta.start_ns
    if switches:
        origin = min(origin, int(switches.time[0]))
    steps = running_steps(profile, origin)
    if not len(steps):
        return
    yield named_track(track_ids(TrackKind.RUNNING, 0), RUNNING_TITLE, unit=TrackUnit.UNIT_COUNT)
    track = track_ids(TrackKind.RUNNING, zeros(len(steps)))
    yield from _counter_values(np.uint64(origin) + as_uint64(steps.time), track, steps.threads, 0)


def _counter_tracks(profile: Profile, ids: ThreadIds, counters: list[Counter]) -> Iterator[bytes]:
    for pid in sorted({counter.pid for counter in counters}):
        yield process_track(ids, pid)
    # the ids of counter tracks are consecutive
    for track_id, counter in enumerate(counters, first_counter_track(ids)):
        unit = TrackUnit.UNIT_TIME_NS if profile.events[counter.event].unit == "nanoseconds" else TrackUnit.UNIT_COUNT
        yield named_track(track_id, counter.name, process_track_id(ids, counter.pid), unit)


def _cumulative_sums(value: I64, counter: I64) -> I64:
    """Rows are sorted by counter."""
    total = cumsum(value)
    first = flatnonzero(begins_run(counter))
    return total - repeat(total[first] - value[first], np.diff(np.append(first, len(value))))


def _counter_values(time: U64, track: I64, value: I64, first_track: int) -> Iterator[bytes]:
    """``first_track + track`` (values,) are the ids of tracks."""
    return packets_of_columns(
        TracePacket.TRACK_EVENT,
        time,
        lambda rows: [
            constant_cells(len(time[rows]), number(TrackEvent.TYPE, TrackEventType.TYPE_COUNTER)),
            number_cells(TrackEvent.TRACK_UUID, first_track + track[rows]),
            number_cells(TrackEvent.COUNTER_VALUE, value[rows]),
        ],
    )


_CATEGORY = "tracepoint"
# interned names of instants and of their annotations, numbered from 1 on
_LOSS_NAMES = ("lost records", "lost samples")
_LOSS_ANNOTATIONS = ("count", "cpu")


def tracepoint_packets(profile: Profile) -> Iterator[bytes]:
    """Yield the instants of tracepoints that have fields, after descriptions of their threads' tracks.

    The sequences of events have numbers above those of all samples.
    """
    fields = profile.samples.fields
    if fields is None or not np.any(fields >= 0):
        return
    field_samples = flatnonzero(fields >= 0)
    ids = thread_ids(profile)
    sample_threads = as_int64(ids.row_of_thread[profile.samples.thread])
    for row in unique(sample_threads[field_samples]).tolist():
        yield thread_track(ids, row)
    names, first_sequence = event_names(profile), COMMON_SEQUENCE + 1 + len(profile.events)
    for event, rows in rows_by(profile.samples.event[field_samples]):
        yield from _event_instants(profile, field_samples[rows], sample_threads, first_sequence + event, names[event])


def _event_instants(profile: Profile, rows: I64, sample_threads: I64, sequence: int, name: str) -> Iterator[bytes]:
    """``sample_threads`` (samples of the profile,) are rows of ThreadIds.

    Each table of fields restarts the sequence with interned names of its own.
    """
    for table, indices, table_rows in field_tables(profile, rows):
        annotations, strings = _annotation_values(table.columns, table_rows)
        interned = {
            InternedData.DEBUG_ANNOTATION_NAMES: [printable(column.name) for column in table.columns],
            InternedData.DEBUG_ANNOTATION_STRING_VALUES: strings,
            InternedData.EVENT_CATEGORIES: [_CATEGORY],
            InternedData.EVENT_NAMES: [name],
        }
        yield sequence_start(profile.meta, sequence) + interned_packet(interned_strings(interned), sequence)
        track = track_ids(TrackKind.THREAD, sample_threads[rows[indices]])
        yield from packets_of_columns(
            TracePacket.TRACK_EVENT,
            profile.samples.times[rows[indices]],
            partial(_instants_with_annotations, track, annotations),
            sequence,
            CONTINUES_SEQUENCE,
        )


def _annotation_values(
    columns: Sequence[FieldColumn], rows: I64
) -> tuple[list[tuple[DebugAnnotation, I64]], list[str]]:
    """Return fields of DebugAnnotation with their values (rows,), and the strings to intern.

    The values of a text column are interning ids.
    """
    strings: list[str] = []
    annotations = []
    for column in columns:
        values = column.values[rows]
        if column.kind == "text":
            used, index = unique_inverse(values)
            annotations.append((DebugAnnotation.STRING_VALUE_IID, len(strings) + 1 + index))
            strings += [printable(column.texts[row]) for row in used.tolist()]
        else:
            is_unsigned = values.dtype.kind == "u"
            annotations.append((DebugAnnotation.UINT_VALUE if is_unsigned else DebugAnnotation.INT_VALUE, values))
    return annotations, strings


def _instants_with_annotations(
    track: I64, annotations: Sequence[tuple[DebugAnnotation, I64]], rows: slice
) -> list[Cells]:
    """Category and name have iid 1, the annotations' names have iids from 1 on."""
    ones = np.ones(len(track[rows]), np.int64)
    cells = [_annotation(name_iid, field, values[rows]) for name_iid, (field, values) in enumerate(annotations, 1)]
    return [number_cells(TrackEvent.CATEGORY_IIDS, ones), *cells, *_instant(track[rows], ones)]


def loss_packets(profile: Profile) -> Iterator[bytes]:
    """Yield an instant for each loss of records, when the kernel reported it, after the gap."""
    losses = profile.losses
    if not losses:
        return
    yield named_track(track_ids(TrackKind.LOSSES, 0), "lost")
    names = {InternedData.EVENT_NAMES: _LOSS_NAMES, InternedData.DEBUG_ANNOTATION_NAMES: _LOSS_ANNOTATIONS}
    yield sequence_start(profile.meta) + interned_packet(interned_strings(names))
    track = track_ids(TrackKind.LOSSES, zeros(len(losses)))

    def fields(rows: slice) -> list[Cells]:
        cpu = losses.cpu[rows]
        return [
            _annotation(1, DebugAnnotation.UINT_VALUE, losses.lost[rows]),
            _annotation(2, DebugAnnotation.UINT_VALUE, np.maximum(cpu, 0)).without(cpu < 0),
            *_instant(track[rows], 1 + as_int64(losses.samples_only[rows])),
        ]

    end = np.uint64(profile.meta.start_ns + profile.meta.duration_ns)
    time: U64 = np.where(losses.time > 0, losses.time, end)  # perf reports some losses at the end, without a time
    yield from packets_of_columns(TracePacket.TRACK_EVENT, time, fields, COMMON_SEQUENCE, CONTINUES_SEQUENCE)


def _annotation(name_iid: int, field: DebugAnnotation, values: AnyArray) -> Cells:
    annotation = [constant_cells(len(values), number(DebugAnnotation.NAME_IID, name_iid)), number_cells(field, values)]
    return message_cells(TrackEvent.DEBUG_ANNOTATIONS, join_fields(annotation))


def _instant(track: I64, name_iids: I64) -> list[Cells]:
    return [
        constant_cells(len(track), number(TrackEvent.TYPE, TrackEventType.TYPE_INSTANT)),
        number_cells(TrackEvent.NAME_IID, name_iids),
        number_cells(TrackEvent.TRACK_UUID, track),
    ]
