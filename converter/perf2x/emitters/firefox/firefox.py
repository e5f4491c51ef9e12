"""Firefox Profiler's processed format: samples of one event by thread; other events as markers and counters.

Source of truth: firefox-devtools/profiler, docs-developer/CHANGELOG-formats.md, src/types/profile.ts and the upgraders.
Perfetto reads it too, if "meta" is the first key, samples carry ``time`` (with ``timeDeltas`` it finds none) and no
marker's ``endTime`` is null.

``meta`` describes the recording, and the units of all numbers.
"""

from typing import Annotated, BinaryIO

import numpy as np

from perf2x.base.columnar import TextInterner, flatnonzero, unique, zeros
from perf2x.emitters.encoding.json_encoder import JsonObject, json_bytes
from perf2x.emitters.firefox.markers import events_with_fields, marker_schemas
from perf2x.emitters.firefox.shared_tables import category_list, libraries_of, shared_tables
from perf2x.emitters.firefox.write_threads import drawing_of
from perf2x.emitters.flame.picture_title import heading
from perf2x.model.plugin_options import FINISHED, START_TIME, Format, Needs
from perf2x.model.printable_text import one_line
from perf2x.model.profile import Profile, ProfileEvent, find_event, keep_samples, location_frames, sampled
from perf2x.model.setting import Setting

_VERSION = 65
"""Processed-format version: tables are shared since 60, counters have display options since 63; the viewer upgrades.

Perfetto (56 and later) reads the stacks of versions 60 to 65; in 66 callers are encoded differently.
"""


class Firefox(Format):
    """Firefox Profiler JSON: threads over time, other events as markers; for profiler.firefox.com and Perfetto."""

    suffix = ".firefox.json"
    needs = Needs(
        timeline=True,
        times=True,
        columns=frozenset({"cpu", "counts", "fields"}),
        honours=FINISHED | {START_TIME},
        viewer="open it: profiler.firefox.com",
    )

    event: Annotated[
        str | None,
        Setting("Event that makes the samples; the others become markers; default: a clock, else the first."),
    ] = None
    markers: Annotated[bool, Setting("Write the other events and context switches as markers.")] = True
    counters: Annotated[
        bool,
        Setting("Write counter tracks: of the other events by process, and of how many threads ran at once."),
    ] = True

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write one JSON object, ``meta`` first, then thread by thread: processes by pid, main threads first."""
        if profile.samples.time is None:
            profile = keep_samples(profile, zeros(0))
        chosen, others = self._kinds(profile)
        is_sample, frames, texts = np.isin(profile.samples.event, chosen), location_frames(profile), TextInterner[str]()
        drawing = drawing_of(profile, frames, is_sample, self.markers, texts)
        out.write(b'{"meta":' + json_bytes(self._meta(profile, chosen, others)))
        libraries = libraries_of(profile)
        out.write(b',"libs":' + json_bytes(libraries.entries) + b',"pages":[],"profilerOverhead":[],"counters":[')
        counters = drawing.counters(flatnonzero(~is_sample)) if self.counters else iter(())
        out.write(b",".join(b"\n" + json_bytes(counter) for counter in counters))
        out.write(b'],"threads":[')
        out.writelines(drawing.threads())
        shared = shared_tables(profile, frames, drawing.stacks, libraries, texts)
        out.write(b'],"shared":' + json_bytes(shared | {"stringArray": texts.table()}) + b"}\n")

    def _meta(self, profile: Profile, chosen: list[int], others: list[int]) -> JsonObject:
        events = [profile.events[row] for row in chosen]
        clock = next((event for event in events if not event.is_wait), None)
        has_switches = self.markers and bool(profile.switches)
        marked = sorted({*others, *events_with_fields(profile)}) if self.markers else []
        meta = profile.meta
        return {
            "version": 33,
            "preprocessedProfileVersion": _VERSION,
            "product": heading(profile),
            "importedFrom": "perf2x",
            "interval": _interval(clock),
            "startTime": meta.wall_start_ns / 1_000_000,
            "processType": 0,
            "debug": False,
            "stackwalk": 1,
            "symbolicated": True,
            "oscpu": " ".join(text for text in ("Linux", one_line(meta.os_release), one_line(meta.arch)) if text),
            "categories": category_list(profile.events)[0],
            "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
            "pausedRanges": [],
            "markerSchema": marker_schemas(profile, marked, has_switches),
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
        }

    def _kinds(self, profile: Profile) -> tuple[list[int], list[int]]:
        """Return the events that become samples, the selected one first, and the other events that have samples.

        Waits and a clock are shown together, unless an event was named: both measure time.
        """
        if not profile.events:
            return [], []
        with_samples = unique(profile.samples.event[sampled(profile)]).tolist()
        first = find_event(profile, self.event) if self.event is not None else _first_of(profile, with_samples)
        beside = [
            row for row in with_samples if self.event is None and _are_time(profile.events[first], profile.events[row])
        ]
        chosen = [row for row in (first, *beside) if not profile.events[row].is_count]
        return chosen, [row for row in with_samples if row not in chosen]

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Return the event that became samples, and the events that became markers."""
        chosen, others = self._kinds(profile)
        if not others:
            return ()
        samples, names = (", ".join(profile.events[row].name for row in rows) for rows in (chosen, others))
        kind = "markers are" if self.markers else "counters are" if self.counters else "left out:"
        return (f"samples are {samples}; {kind} {names}",)


def _first_of(profile: Profile, rows: list[int]) -> int:
    """Return the default event or, if that does not measure time, a clock, because samples stand for CPU time."""
    clocks = [row for row in rows if profile.events[row].unit == "nanoseconds" and not profile.events[row].is_wait]
    is_time = profile.events[profile.default_event].unit == "nanoseconds"
    return clocks[0] if clocks and not is_time else profile.default_event


def _are_time(one: ProfileEvent, other: ProfileEvent) -> bool:
    """Return whether one event is a clock and the other consists of waits."""
    return one.is_wait != other.is_wait and one.unit == other.unit == "nanoseconds"


def _interval(event: ProfileEvent | None) -> float:
    """Return milliseconds between two samples of a busy thread, if known."""
    if event is not None and event.frequency:
        return 1000 / event.frequency
    if event is not None and event.period and event.unit == "nanoseconds":
        return event.period / 1e6
    return 1.0
