"""Samples, markers and counters of a Firefox profile, computed for all threads at once and written thread by thread.

Counter tracks show the other events of each process, and how many threads ran at the same time.
"""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from perf2x.base.columnar import (
    I64,
    Bools,
    Frozen,
    TextInterner,
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
    in_order,
    marker_table,
    switch_markers,
    switch_spans,
)
from perf2x.emitters.firefox.sample_rows import (
    Lane,
    Moments,
    Timeline,
    TrackSamples,
    lanes_of,
    moments_of,
    rows_between,
    thread_head,
    timeline_of,
)
from perf2x.emitters.firefox.shared_tables import SharedStacks, category_list, shared_stacks
from perf2x.emitters.timeline.counters import TITLE, Steps, counters_of, running_steps
from perf2x.emitters.timeline.tracks import track_names
from perf2x.model.printable_text import one_line
from perf2x.model.profile import LocationFrames, Profile, sampled
from perf2x.model.recording import is_tracepoint

_ROWS_AT_ONCE = 1 << 17


class ThreadDrawing(Frozen):
    """Samples and markers of all tracks, sorted by track; ``lanes`` are in the order of writing."""

    profile: Profile
    timeline: Timeline
    lanes: list[Lane]
    names: list[tuple[str, str]]
    """Names of each track and of its process."""
    stacks: SharedStacks
    samples: Moments
    are_times: bool
    """Whether samples are weighted by value, because waits among them differ in length; otherwise each counts as one.
    """
    markers: Markers

    def threads(self) -> Iterator[bytes]:
        """Yield the JSON of all threads in chunks, with commas between threads."""
        comma = b"\n"
        for lanes in self._lanes_together():
            first = min(lane.track for lane in lanes)
            rows = self.samples.of_tracks(first, first + len(lanes))
            for lane in lanes:
                yield comma
                yield from self._thread(lane, take_rows_of(rows, rows_between(rows.track, lane.track, lane.track + 1)))
                comma = b",\n"

    def _lanes_together(self) -> Iterator[list[Lane]]:
        """Yield lanes of whole processes, some ten thousand samples at a time.

        Lanes and tracks are in the same order.
        """
        pid, count = self.timeline.tracks.pid, np.diff(self.samples.ends)
        together: list[Lane] = []
        size = 0
        for lane, following in zip_longest(self.lanes, self.lanes[1:]):
            together.append(lane)
            size += int(count[lane.track])
            if following is None or (size >= _ROWS_AT_ONCE and pid[lane.track] != pid[following.track]):
                yield together
                together, size = [], 0

    def _thread(self, lane: Lane, rows: TrackSamples) -> Iterator[bytes]:
        yield b'%b,"samples":' % json_bytes(thread_head(self.timeline.tracks, lane, self.names[lane.track]))[:-1]
        yield from self._sample_table(rows)
        rows_of_markers = rows_between(self.markers.track, lane.track, lane.track + 1)
        yield b',"markers":%b}' % marker_table(self.markers, rows_of_markers)

    def _sample_table(self, rows: TrackSamples) -> Iterator[bytes]:
        """Yield the samples table of a thread; the stack is null if it is unknown or the thread stops."""
        samples, is_pause = self.profile.samples, rows.sample < 0
        kind, weight = (b"tracing-ms", samples.value) if self.are_times else (b"samples", samples.count)
        encode = json_milliseconds if self.are_times else json_numbers
        yield b'{"length":%d,"weightType":"%b"' % (len(rows), kind)
        yield from json_member("stack", np.where(is_pause, -1, self.stacks.of_sample[rows.sample]), json_nullable)
        yield from json_member("time", rows.time, json_milliseconds)
        yield from json_member("weight", np.where(is_pause, 0, weight[rows.sample]), encode)
        yield from json_member("threadCPUDelta", rows.cpu_time)
        yield b"}"

    def counters(self, rows: I64) -> Iterator[JsonObject]:
        """Yield the counter of running threads, where known, and the event counters of these samples."""
        timeline = self.timeline
        pid, steps = timeline.tracks.pid, running_steps(self.profile, timeline.origin)
        if len(steps) and self.lanes:
            yield _running_counter(steps, int(pid[self.lanes[0].track]))
        main = {int(pid[lane.track]): number for number, lane in reversed(list(enumerate(self.lanes)))}
        yield from _event_counters(self.profile, rows, timeline, main)


def drawing_of(
    profile: Profile, frames: LocationFrames, is_sample: Bools, with_markers: bool, texts: TextInterner[str]
) -> ThreadDrawing:
    """Return what to draw: samples where ``is_sample`` (samples,), and all others as markers with ``with_markers``."""
    timeline = timeline_of(profile)
    samples = moments_of(profile, timeline, flatnonzero(is_sample))
    stacks = shared_stacks(profile, frames)
    has_fields = False if profile.samples.fields is None else profile.samples.fields >= 0  # only markers show fields
    rows = flatnonzero((~is_sample | has_fields) & sampled(profile))
    markers = no_rows(Markers)
    if with_markers:
        category = category_list(profile.events)[1]
        of_events = event_markers(profile, timeline, rows, stacks.of_sample, category, texts)
        markers = in_order([of_events, switch_markers(switch_spans(profile, timeline), texts)])
    return ThreadDrawing(
        profile,
        timeline,
        list(lanes_of(timeline)),
        track_names(profile, timeline.tracks),
        stacks,
        samples,
        bool(profile.samples.waits[samples.order].any()),
        markers,
    )


_COLOURS = ("blue", "green", "magenta", "orange", "purple", "red", "teal", "yellow")


def _event_counters(profile: Profile, rows: I64, timeline: Timeline, main: dict[int, int]) -> Iterator[JsonObject]:
    """Yield a counter for each event and process among these samples, except tracepoints.

    ``main`` is the index of each process's first thread.
    """
    shown = np.array([not (event.is_wait or is_tracepoint(event.name)) for event in profile.events], np.bool_)
    rows = rows[shown[profile.samples.event[rows]]]
    names = [one_line(event.name) for event in profile.events]
    for one, part in counters_of(profile, rows, timeline.tracks.pid[timeline.track[rows]], names):
        counts = profile.samples.value[part].tolist()
        table = {"length": len(part), "time": (timeline.times(part) / 1e6).tolist(), "count": counts}
        unit = profile.events[one.event].unit
        yield _counter(one.name, unit, one.event, one.pid, main[one.pid]) | {"samples": table}


def _running_counter(steps: Steps, pid: int) -> JsonObject:
    """Return the counter of threads that ran at the same time in all processes, on the first thread (of ``pid``).

    The viewer interpolates linearly, so each change is preceded by a row of change 0.
    """
    changes = zeros(2 * len(steps))
    changes[1::2] = np.diff(steps.threads, prepend=0)
    counter = _counter(TITLE, "count", 0, pid, 0)
    counter["description"] = f"{TITLE} at once, of the whole recording"
    counter["display"] = {
        "graphType": "line-accumulated",
        "unit": "",
        "color": _COLOURS[0],
        "markerSchemaLocation": None,
        "sortWeight": 10,
        "label": TITLE,
        "tooltipRows": [_tooltip("accumulated", TITLE)],
    }
    time = repeat(steps.time, 2) / 1e6
    return counter | {"samples": {"length": len(time), "time": time.tolist(), "count": changes.tolist()}}


def _counter(name: str, unit: str, kind: int, pid: int, thread: int) -> JsonObject:
    return {
        "name": name,
        "category": "perf",
        "description": f"{name} of the process" + (f" in {unit}" if unit != "count" else ""),
        "pid": str(pid),
        "mainThreadIndex": thread,
        "display": {
            "graphType": "line-rate",
            "unit": "",
            "color": _COLOURS[kind % len(_COLOURS)],
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
