"""Firefox Profiler's processed format: threads with samples over time, the other events as markers.

Source of truth: firefox-devtools/profiler, docs-developer/CHANGELOG-formats.md and its upgraders; version 49 is
written, which every later reader upgrades. Perfetto reads it too, if "meta" is the first key and samples carry ``time``
(with ``timeDeltas`` it finds none).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import numpy as np
from msgspec import Struct

from perf2x.analysis.event_lookup import find_event
from perf2x.analysis.frames import location_frames
from perf2x.columnar.arrays import I64, AnyArray
from perf2x.columnar.unique import unique
from perf2x.emit.encoding.json_encoder import json_bytes
from perf2x.emit.firefox.tables import CATEGORIES, ThreadTables, frame_texts, with_nulls
from perf2x.emit.flame.frame_tree import expand
from perf2x.emit.flame.title import heading
from perf2x.emit.timeline.tracks import Tracks, tracks_of
from perf2x.tables.output_text import one_line
from perf2x.tables.plugin_options import check_choices, option
from perf2x.tables.profile import Profile

_VERSION = 49


@dataclass(frozen=True, slots=True)
class Firefox:
    """Firefox Profiler JSON: threads over time, other events as markers; for profiler.firefox.com and Perfetto."""

    suffix: ClassVar[str] = ".firefox.json"
    timeline: ClassVar[bool] = True
    needs_time: ClassVar[bool] = True
    columns: ClassVar[frozenset[str]] = frozenset({"cpu"})

    event: str | None = option(None, "event that makes the samples; the others become markers; default: the first")
    markers: bool = option(True, "write the other events as markers")

    def __post_init__(self) -> None:
        check_choices(self)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write one JSON object, ``meta`` first, then thread by thread: processes by pid, leaders first."""
        kind = find_event(profile, self.event) if profile.events else 0
        out.write(b'{"meta":' + json_bytes(_meta_object(profile, kind)))
        out.write(b',"libs":[],"pages":[],"counters":[],"profilerOverhead":[],"threads":[')
        for at, lane in enumerate(_thread_lanes(profile)):
            out.write((b",\n" if at else b"\n") + json_bytes(lane.thread(profile, kind, self.markers)))
        out.write(b"\n]}\n")

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Say which event became samples, and which became markers."""
        chosen = find_event(profile, self.event) if profile.events else 0
        others = [row for row in unique(profile.samples.event).tolist() if row != chosen]
        if not others:
            return ()
        names = ", ".join(profile.events[row].name for row in others)
        return (f"samples are {profile.events[chosen].name}; "
                + (f"markers are {names}" if self.markers else f"left out: {names}"),)  # fmt: skip


def _thread_lanes(profile: Profile) -> Iterator["_Lane"]:
    """Threads by process, leaders first."""
    samples = profile.samples
    if samples.time is None or not len(samples):
        return
    frames = location_frames(profile)
    rows = expand(profile.stacks, frames.of_location)
    tracks, track = tracks_of(profile)
    texts = frame_texts(profile, frames)
    time = (samples.time - samples.time[0]).astype(np.float64) / 1e6
    order = np.argsort(track, kind="stable")
    ends = np.searchsorted(track[order], np.arange(len(tracks) + 1))
    for lane in np.lexsort((tracks.tid, tracks.tid != tracks.pid, tracks.pid)).tolist():
        chosen = order[ends[lane] : ends[lane + 1]]
        tables = ThreadTables(texts, rows, rows.innermost(samples.stack[chosen].astype(np.int64)))
        yield _Lane(tracks, lane, chosen, time[chosen], tables)


class _Lane(Struct, frozen=True):
    """One thread's rows: ``rows`` in Profile.samples, their times in milliseconds, and its tables."""

    tracks: Tracks
    lane: int
    rows: I64
    time: AnyArray
    tables: ThreadTables

    def thread(self, profile: Profile, kind: int, with_markers: bool) -> dict[str, object]:
        """The thread's object; samples of event ``kind``, markers of the others."""
        is_sample = profile.samples.event[self.rows] == kind
        marked = np.flatnonzero(~is_sample) if with_markers else np.zeros(0, np.int64)
        thread = self._head(profile) | self.tables.tables()
        thread["samples"] = self._samples(profile, np.flatnonzero(is_sample))
        thread["markers"] = self._markers(profile, marked)
        return thread | {"stringArray": self.tables.strings()}

    def _head(self, profile: Profile) -> dict[str, object]:
        """Return all members of a thread but its tables."""
        pid, tid = int(self.tracks.pid[self.lane]), int(self.tracks.tid[self.lane])
        cpu, thread = int(self.tracks.cpu[self.lane]), int(self.tracks.thread[self.lane])
        threads, text = profile.threads, profile.strings
        return {
            "name": f"swapper/{cpu}" if cpu >= 0 else one_line(text[threads.comm[thread]]),
            "processName": "idle" if pid == 0 else one_line(text[threads.process[thread]]),
            "processType": "default",
            "isMainThread": pid == tid,
            "pid": str(pid),
            "tid": str(tid),
            "registerTime": float(self.time[0]),
            "unregisterTime": float(self.time[-1]),
            "processStartupTime": float(self.time[0]),
            "processShutdownTime": None,
            "pausedRanges": [],
            "showMarkersInTimeline": False,
        }

    def _samples(self, profile: Profile, at: I64) -> dict[str, object]:
        """A sample without a stack has the stack null."""
        return {
            "length": len(at),
            "weightType": "samples",
            "stack": with_nulls(self.tables.stack[at]),
            "time": self.time[at].tolist(),
            "weight": profile.samples.count[self.rows[at]].tolist(),
        }

    def _markers(self, profile: Profile, at: I64) -> dict[str, object]:
        """Instants named after their event, with the stack as cause."""
        names = [self.tables.intern(one_line(event.name)) for event in profile.events] if len(at) else []
        stacks, times = with_nulls(self.tables.stack[at]), self.time[at].tolist()
        return {
            "length": len(at),
            "name": [names[event] for event in profile.samples.event[self.rows[at]].tolist()],
            "startTime": times,
            "endTime": [None] * len(at),
            "phase": [0] * len(at),
            "category": [0] * len(at),
            "data": [_marker(stack, time) for stack, time in zip(stacks, times, strict=True)],
        }


def _marker(stack: int | None, time: float) -> dict[str, object]:
    """A marker's payload; the cause is where the event happened."""
    return {"type": "event"} if stack is None else {"type": "event", "cause": {"time": time, "stack": stack}}


def _meta_object(profile: Profile, kind: int) -> dict[str, object]:
    meta = profile.meta
    event = profile.events[kind] if profile.events else None
    interval = 1000 / event.frequency if event and event.frequency else 1.0
    schema = {
        "name": "event",
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "chartLabel": "{marker.name}",
        "tableLabel": "{marker.name}",
        "data": [],
    }
    return {
        "version": 24,
        "preprocessedProfileVersion": _VERSION,
        "product": heading(profile),
        "importedFrom": "perf2x",
        "interval": interval,
        "startTime": meta.wall_start_ns / 1_000_000,
        "processType": 0,
        "debug": False,
        "stackwalk": 1,
        "symbolicated": True,
        "oscpu": " ".join(text for text in ("Linux", one_line(meta.os_release), one_line(meta.arch)) if text),
        "categories": [{"name": name, "color": colour, "subcategories": ["Other"]} for name, colour in CATEGORIES],
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "pausedRanges": [],
        "markerSchema": [schema],
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"},
        "usesOnlyOneStackType": True,
        "doesNotUseFrameImplementation": True,
        "sourceCodeIsNotOnSearchfox": True,
    }
