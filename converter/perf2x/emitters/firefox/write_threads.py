"""Threads and counters of a Firefox profile as JSON; samples and markers are computed for many threads at once."""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from perf2x.base.columnar import (
    I64,
    Bools,
    Frozen,
    StringInterner,
    flatnonzero,
    no_rows,
    repeat,
    take_rows_of,
    zeros,
)
from perf2x.emitters.encoding.json_encoder import (
    JsonObject,
    json_bytes,
    json_member,
    json_milliseconds,
    json_nullable,
    json_numbers,
)
from perf2x.emitters.firefox.markers import (
    Markers,
    event_markers,
    marker_table,
    merge_markers,
    switch_markers,
    switch_spans,
)
from perf2x.emitters.firefox.sample_rows import (
    SamplesByTrack,
    SampleTableRows,
    ThreadLifetime,
    Timeline,
    rows_between,
    samples_by_track,
    thread_lifetimes,
    thread_members,
    timeline_of,
)
from perf2x.emitters.firefox.shared_tables import SharedStacks, category_list, shared_stacks
from perf2x.emitters.timeline.counters import RUNNING_TITLE, Steps, counters_of, running_steps
from perf2x.emitters.timeline.tracks import track_names
from perf2x.model.printable_text import one_line
from perf2x.model.profile import LocationFrames, Profile, are_samples
from perf2x.model.recording import is_tracepoint

_ROWS_AT_ONCE = 1 << 17


class ThreadsToWrite(Frozen):
    """Samples and markers of each thread, both sorted by track."""

    profile: Profile
    timeline: Timeline
    threads: list[ThreadLifetime]
    """In the order in which they are written."""
    names: list[tuple[str, str]]
    """By track: the names of the thread and of its process."""
    stacks: SharedStacks
    samples: SamplesByTrack
    weighted_by_time: bool
    """Whether a row's weight is the sample's value (ns) instead of its count, because waits may have any length."""
    markers: Markers

    def encoded_threads(self) -> Iterator[bytes]:
        """Yield the JSON of all threads in chunks, with commas between threads."""
        comma = b"\n"
        for threads in self._thread_batches():
            first_track = min(thread.track for thread in threads)
            rows = self.samples.table_rows(first_track, first_track + len(threads))
            for thread in threads:
                yield comma
                thread_rows = rows_between(rows.track, thread.track, thread.track + 1)
                yield from self._encoded_thread(thread, take_rows_of(rows, thread_rows))
                comma = b",\n"

    def _thread_batches(self) -> Iterator[list[ThreadLifetime]]:
        """Yield threads of whole processes, which are contiguous tracks, at least _ROWS_AT_ONCE samples at a time."""
        pid, sample_count = self.timeline.tracks.pid, np.diff(self.samples.offsets)
        batch: list[ThreadLifetime] = []
        size = 0
        for thread, next_thread in zip_longest(self.threads, self.threads[1:]):
            batch.append(thread)
            size += int(sample_count[thread.track])
            if next_thread is None or (size >= _ROWS_AT_ONCE and pid[thread.track] != pid[next_thread.track]):
                yield batch
                batch, size = [], 0

    def _encoded_thread(self, thread: ThreadLifetime, rows: SampleTableRows) -> Iterator[bytes]:
        track = thread.track
        yield b'%b,"samples":' % json_bytes(thread_members(self.timeline.tracks, thread, self.names[track]))[:-1]
        yield from self._sample_table(rows)
        yield b',"markers":%b}' % marker_table(self.markers, rows_between(self.markers.track, track, track + 1))

    def _sample_table(self, rows: SampleTableRows) -> Iterator[bytes]:
        samples, is_blank = self.profile.samples, rows.sample < 0
        weight_type, weight = (b"tracing-ms", samples.value) if self.weighted_by_time else (b"samples", samples.count)
        encode = json_milliseconds if self.weighted_by_time else json_numbers
        yield b'{"length":%d,"weightType":"%b"' % (len(rows), weight_type)
        yield from json_member("stack", np.where(is_blank, -1, self.stacks.sample_stacks[rows.sample]), json_nullable)
        yield from json_member("time", rows.time, json_milliseconds)
        yield from json_member("weight", np.where(is_blank, 0, weight[rows.sample]), encode)
        yield from json_member("threadCPUDelta", rows.cpu_time)
        yield b"}"

    def counters(self, samples: I64) -> Iterator[JsonObject]:
        """Yield the counter of running threads, if it is known, and the event counters of these rows of
        Profile.samples.
        """
        timeline = self.timeline
        pid, steps = timeline.tracks.pid, running_steps(self.profile, timeline.origin)
        if len(steps) and self.threads:
            yield _running_counter(steps, int(pid[self.threads[0].track]))
        # reversed, so that the first thread of a process wins
        first_threads = {int(pid[thread.track]): index for index, thread in reversed(list(enumerate(self.threads)))}
        yield from _event_counters(self.profile, samples, timeline, first_threads)


def threads_to_write(
    profile: Profile, frames: LocationFrames, in_samples_tables: Bools, with_markers: bool, strings: StringInterner[str]
) -> ThreadsToWrite:
    """Compute everything that is written of threads.

    ``in_samples_tables`` (samples,) selects the rows of Profile.samples for the samples tables.
    """
    timeline = timeline_of(profile)
    samples = samples_by_track(profile, timeline, flatnonzero(in_samples_tables))
    stacks = shared_stacks(profile, frames)
    has_fields = False if profile.samples.fields is None else profile.samples.fields >= 0  # only markers show fields
    marker_samples = flatnonzero((~in_samples_tables | has_fields) & are_samples(profile))
    markers = no_rows(Markers)
    if with_markers:
        event_categories = category_list(profile.events)[1]
        events = event_markers(profile, timeline, marker_samples, stacks.sample_stacks, event_categories, strings)
        markers = merge_markers([events, switch_markers(switch_spans(profile, timeline), strings)])
    return ThreadsToWrite(
        profile,
        timeline,
        list(thread_lifetimes(timeline)),
        track_names(profile, timeline.tracks),
        stacks,
        samples,
        bool(profile.samples.waits[samples.samples].any()),
        markers,
    )


_COLOURS = ("blue", "green", "magenta", "orange", "purple", "red", "teal", "yellow")


def _event_counters(
    profile: Profile, samples: I64, timeline: Timeline, first_threads: dict[int, int]
) -> Iterator[JsonObject]:
    has_counter = np.array([not (event.is_wait or is_tracepoint(event.name)) for event in profile.events], np.bool_)
    samples = samples[has_counter[profile.samples.event[samples]]]
    names = [one_line(event.name) for event in profile.events]
    for counter, rows in counters_of(profile, samples, timeline.tracks.pid[timeline.sample_tracks[samples]], names):
        values = profile.samples.value[rows].tolist()
        table = {"length": len(rows), "time": (timeline.times(rows) / 1e6).tolist(), "count": values}
        unit = profile.events[counter.event].unit
        members = _counter(counter.name, unit, counter.event, counter.pid, first_threads[counter.pid])
        yield members | {"samples": table}


def _running_counter(steps: Steps, pid: int) -> JsonObject:
    """The viewer interpolates linearly: a row without a change precedes each change, so that it draws steps."""
    changes = zeros(2 * len(steps))
    changes[1::2] = np.diff(steps.threads, prepend=0)
    counter = _counter(RUNNING_TITLE, "count", 0, pid, 0)
    counter["description"] = f"{RUNNING_TITLE} at once, of the whole recording"
    counter["display"] = {
        "graphType": "line-accumulated",
        "unit": "",
        "color": _COLOURS[0],
        "markerSchemaLocation": None,
        "sortWeight": 10,
        "label": RUNNING_TITLE,
        "tooltipRows": [_tooltip("accumulated", RUNNING_TITLE)],
    }
    time = repeat(steps.time, 2) / 1e6
    return counter | {"samples": {"length": len(time), "time": time.tolist(), "count": changes.tolist()}}


def _counter(name: str, unit: str, colour: int, pid: int, main_thread: int) -> JsonObject:
    return {
        "name": name,
        "category": "perf",
        "description": f"{name} of the process" + (f" in {unit}" if unit != "count" else ""),
        "pid": str(pid),
        "mainThreadIndex": main_thread,
        "display": {
            "graphType": "line-rate",
            "unit": "",
            "color": _COLOURS[colour % len(_COLOURS)],
            "markerSchemaLocation": None,
            "sortWeight": 50,
            "label": name,
            "tooltipRows": [
                _tooltip("count", f"{name} since the sample before"),
                _tooltip("selection-total", f"{name} in the selection") | {"requiresPreviewSelection": True},
            ],
        },
    }


def _tooltip(source: str, label: str) -> JsonObject:
    return {"type": "value", "source": source, "format": {"unit": "number"}, "label": label}
