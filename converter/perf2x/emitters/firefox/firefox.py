"""Firefox Profiler's processed format: samples of one event, or of a clock and waits; others as markers and counters.

Source of truth: firefox-devtools/profiler, docs-developer/CHANGELOG-formats.md, src/types/profile.ts and the upgraders.
Perfetto reads the format, too, if ``meta`` is the first key, samples have ``time`` instead of ``timeDeltas``, and no
marker's ``endTime`` is null.
"""

from typing import Annotated, BinaryIO

import numpy as np

from perf2x.base.columnar import StringInterner, flatnonzero, unique, zeros
from perf2x.emitters.encoding.json_encoder import JsonObject, json_bytes
from perf2x.emitters.firefox.markers import events_with_fields, marker_schemas
from perf2x.emitters.firefox.shared_tables import category_list, libraries_of, shared_tables
from perf2x.emitters.firefox.write_threads import threads_to_write
from perf2x.emitters.flame.picture_title import heading
from perf2x.model.plugin_options import FINISHED, START_TIME, Format, Needs
from perf2x.model.printable_text import one_line
from perf2x.model.profile import Profile, ProfileEvent, are_samples, find_event, keep_samples, location_frames
from perf2x.model.setting import Setting

_VERSION = 65
"""Version of the processed format; the viewer upgrades older ones.

Threads share their tables since version 60, counters have display options since version 63. Perfetto (56 and later)
reads the stacks of versions 60 to 65; version 66 encodes callers differently.
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
        """Write one JSON object, thread by thread (processes by pid, main threads first)."""
        if profile.samples.time is None:
            profile = keep_samples(profile, zeros(0))  # without times there is no timeline
        sample_events, marker_events = self._select_events(profile)
        frames, strings = location_frames(profile), StringInterner[str]()
        in_samples_tables = np.isin(profile.samples.event, sample_events)
        threads = threads_to_write(profile, frames, in_samples_tables, self.markers, strings)
        out.write(b'{"meta":' + json_bytes(self._meta(profile, sample_events, marker_events)))
        libraries = libraries_of(profile)
        out.write(b',"libs":' + json_bytes(libraries.entries) + b',"pages":[],"profilerOverhead":[],"counters":[')
        counters = threads.counters(flatnonzero(~in_samples_tables)) if self.counters else iter(())
        out.write(b",".join(b"\n" + json_bytes(counter) for counter in counters))
        out.write(b'],"threads":[')
        out.writelines(threads.encoded_threads())
        shared = shared_tables(profile, frames, threads.stacks, libraries, strings)
        out.write(b'],"shared":' + json_bytes(shared | {"stringArray": strings.table()}) + b"}\n")

    def _meta(self, profile: Profile, sample_events: list[int], marker_events: list[int]) -> JsonObject:
        not_waits = (profile.events[row] for row in sample_events if not profile.events[row].is_wait)
        sampling_event = next(not_waits, None)
        has_switches = self.markers and bool(profile.switches)
        with_schema = sorted({*marker_events, *events_with_fields(profile)}) if self.markers else []
        meta = profile.meta
        return {
            "version": 33,  # of the Gecko format
            "preprocessedProfileVersion": _VERSION,
            "product": heading(profile),
            "importedFrom": "perf2x",
            "interval": _interval_ms(sampling_event),
            "startTime": meta.wall_start_ns / 1_000_000,
            "processType": 0,
            "debug": False,
            "stackwalk": 1,
            "symbolicated": True,
            "oscpu": " ".join(text for text in ("Linux", one_line(meta.os_release), one_line(meta.arch)) if text),
            "categories": category_list(profile.events)[0],
            "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
            "pausedRanges": [],
            "markerSchema": marker_schemas(profile, with_schema, has_switches),
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
        }

    def _select_events(self, profile: Profile) -> tuple[list[int], list[int]]:
        """Return the events (rows of Profile.events) that make the samples, and all other events with samples.

        By default, waits and a clock make the samples together.
        """
        if not profile.events:
            return [], []
        sampled_events = unique(profile.samples.event[are_samples(profile)]).tolist()
        first = find_event(profile, self.event) if self.event is not None else _default_event(profile, sampled_events)
        joined_events = [
            row
            for row in sampled_events
            if self.event is None and _are_clock_and_waits(profile.events[first], profile.events[row])
        ]
        # not readings of perf stat
        sample_events = [row for row in (first, *joined_events) if not profile.events[row].is_count]
        return sample_events, [row for row in sampled_events if row not in sample_events]

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Say which events make the samples, and what became of the others."""
        sample_events, other_events = self._select_events(profile)
        if not other_events:
            return ()
        samples, others = (
            ", ".join(profile.events[row].name for row in rows) for rows in (sample_events, other_events)
        )
        treatment = "markers are" if self.markers else "counters are" if self.counters else "left out:"
        return (f"samples are {samples}; {treatment} {others}",)


def _default_event(profile: Profile, sampled_events: list[int]) -> int:
    """Return the default event or, if that does not measure time, the first clock, as the viewer shows CPU time."""
    clocks = [
        row for row in sampled_events if profile.events[row].unit == "nanoseconds" and not profile.events[row].is_wait
    ]
    measures_time = profile.events[profile.default_event].unit == "nanoseconds"
    return clocks[0] if clocks and not measures_time else profile.default_event


def _are_clock_and_waits(one: ProfileEvent, other: ProfileEvent) -> bool:
    return one.is_wait != other.is_wait and one.unit == other.unit == "nanoseconds"


def _interval_ms(event: ProfileEvent | None) -> float:
    """Return the milliseconds between two samples of a busy thread; 1 if they are unknown."""
    if event is not None and event.frequency:
        return 1000 / event.frequency
    if event is not None and event.period and event.unit == "nanoseconds":
        return event.period / 1e6
    return 1.0
