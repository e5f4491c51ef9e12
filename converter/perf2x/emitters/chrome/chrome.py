"""Chrome trace JSON: a flame chart over time for Perfetto, chrome://tracing and Speedscope.

Source of truth: the "Trace Event Format" document, and the three viewers' importers. Speedscope shows ``args`` as part
of the name, so they are optional. It looks for a V8 profile if the first event has ``cat``, so that event has none.
Perfetto refuses escaped surrogate pairs, so text is written as UTF-8.
"""

from collections.abc import Iterator
from typing import Annotated, BinaryIO, cast

from perf2x.base.columnar import I64, flatnonzero
from perf2x.base.files.background_writer import BackgroundWriter
from perf2x.emitters.chrome.chrome_slices import Drawing, drawings_of, slice_events
from perf2x.emitters.chrome.chrome_tracks import (
    counter_events,
    marker_events,
    running_events,
    state_events,
    trace_metadata,
    track_metadata,
)
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.emitters.timeline.shown_samples import origin_of
from perf2x.emitters.timeline.tracks import has_cpus
from perf2x.errors import SettingError
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.profile import Profile, are_samples, find_event
from perf2x.model.setting import Setting

_SLOW_SLICES = 1_000_000
"""Number of slices above which viewers become slow."""
_SAMPLES_FOR_WRITER_THREAD = 200_000
"""From this number of samples on, a second thread writes the file while this one formats."""
_BYTES_PER_WRITE = 1 << 16
"""Pieces of output are collected until they have this many bytes."""


class Chrome(Format, dict=True):
    """Chrome trace JSON, a flame chart over time: for Perfetto, chrome://tracing and Speedscope."""

    suffix = ".trace.json"
    needs = Needs(
        timeline=True,
        times=True,
        columns=frozenset({"cpu", "counts"}),
        viewer="open it: ui.perfetto.dev or speedscope.app",
    )

    event: Annotated[str | None, Setting("Draw the samples of this event only; default: of all events.")] = None
    per_cpu: Annotated[bool, Setting("Also write a track for each CPU, with the stacks that ran there.")] = False
    args: Annotated[bool, Setting("Object and source file of each slice (Speedscope shows them after its name).")] = (
        False
    )
    states: Annotated[
        bool,
        Setting("When threads ran, on which CPU, and how many at once, if context switches were recorded."),
    ] = True
    markers: Annotated[
        bool, Setting("Instants for samples that represent no time: other events next to a clock event.")
    ] = True
    counters: Annotated[
        bool, Setting("A curve for each other event and process; counts of perf stat always have one.")
    ] = False
    min_duration: Annotated[int, Setting("Leave out slices shorter than this many microseconds.", least=0)] = 0
    max_events: Annotated[int, Setting("Refuse to write more slices than this; 0: no limit.", least=0)] = 0

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write one JSON object, event by event."""
        drawings = self._drawings(profile)
        if self.max_events:
            count = sum(drawing.slice_count(self.min_duration) for drawing in drawings)
            if count > self.max_events:
                raise SettingError(f"{count} slices are more than ", "max_events", f"={self.max_events}; ", *_REMEDIES)
        if len(profile.samples) < _SAMPLES_FOR_WRITER_THREAD:
            self._write(profile, drawings, out)
        else:
            with BackgroundWriter(out) as writer:
                self._write(profile, drawings, cast("BinaryIO", writer))

    def _write(self, profile: Profile, drawings: list[Drawing], out: BinaryIO) -> None:
        origin = origin_of(profile)
        metadata = json_bytes(trace_metadata(profile, origin))
        out.write(b'{"displayTimeUnit":"ns","metadata":%b,"traceEvents":[\n' % metadata)
        pieces: list[bytes] = []
        size = 0
        for piece in self._events(profile, drawings, origin):
            if size >= _BYTES_PER_WRITE:
                out.write(b"".join(pieces))
                pieces.clear()
                size = 0
            pieces.append(piece)
            size += len(piece)
        out.write(b"".join(pieces)[:-2] + b"\n]}\n")  # the last event has no comma

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Warn of slow viewers and of missing CPU tracks."""
        if self.per_cpu and not has_cpus(profile):
            return (*self._slowness_note(profile), _NO_CPUS)
        return self._slowness_note(profile)

    def _slowness_note(self, profile: Profile) -> tuple[str, ...]:
        count = self._count(profile)
        return (
            (f"{count / 1e6:.1f} million slices make viewers slow; {''.join(_REMEDIES)}",)
            if count > _SLOW_SLICES
            else ()
        )

    def _count(self, profile: Profile) -> int:
        """Return the number of slices, or a cheap upper bound of it that is below the limit of the warning."""
        count: int
        written, count = self.__dict__.get("_written", (None, 0))
        if written is profile:
            return count
        drawings = self._drawings(profile)
        bound = sum(drawing.slice_bound() for drawing in drawings)
        return bound if bound <= _SLOW_SLICES else sum(drawing.slice_count(self.min_duration) for drawing in drawings)

    def _drawings(self, profile: Profile) -> list[Drawing]:
        return drawings_of(profile, self._drawn_samples(profile), self.per_cpu, self.args)

    def _drawn_samples(self, profile: Profile) -> I64:
        is_drawn = are_samples(profile)
        if self.event is not None and profile.events:
            is_drawn &= profile.samples.event == find_event(profile, self.event)
        return flatnonzero(is_drawn)

    def _events(self, profile: Profile, drawings: list[Drawing], origin: int) -> Iterator[bytes]:
        sort_index = 0
        for drawing in drawings:
            yield from track_metadata(profile, drawing.tracks, drawing.span_counts, sort_index)
            sort_index += len(drawing.tracks)
        count = 0
        for drawing in drawings:
            count += yield from slice_events(drawing, self.min_duration)
        self.__dict__["_written"] = profile, count  # a cache, not an option
        if self.states:
            yield from state_events(profile, drawings[0].tracks)
            yield from running_events(profile, drawings[0].tracks, origin)
        if self.markers:
            yield from marker_events(profile, drawings[0].tracks, origin, self._drawn_samples(profile))
        yield from counter_events(profile, drawings[0].tracks, origin, with_samples=self.counters)


_NO_CPUS = "there are no tracks of CPUs, because the samples have no CPU (perf record --sample-cpu, or -a)"
# A setting's name, then text: the last arguments of an error.
_REMEDIES = "min_duration", " leaves out the short ones, perfetto traces are about twenty times smaller"
