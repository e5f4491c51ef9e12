"""Chrome trace JSON: a flame chart over time for Perfetto, chrome://tracing and Speedscope.

Source of truth: the "Trace Event Format" document, and what the three viewers' importers accept. Complete events
(``X``) and metadata (``M``) only; no ``args`` on slices (Speedscope shows them as part of the name), no ``cat`` on the
first event (Speedscope would look for V8 profiles), no escapes beyond JSON's own (Perfetto refuses surrogate pairs).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import numpy as np

from perf2x.emit.events import event_index
from perf2x.emit.frames import frames_of
from perf2x.emit.jsontext import json_bytes
from perf2x.emit.slices import Slices, slices_of
from perf2x.emit.text import base_name, printable
from perf2x.emit.tracks import Moments, Tracks, moments_of, tracks_of
from perf2x.emit.tree import FrameTree, expand, merge
from perf2x.model.arrays import I64
from perf2x.model.errors import OptionError
from perf2x.model.options import check_choices, option
from perf2x.model.profile import Profile

_ROWS_AT_ONCE = 1 << 18
_SLICES_PER_WRITE = 1 << 14
_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Chrome:
    """Chrome trace JSON, a flame chart over time: for Perfetto, chrome://tracing and Speedscope."""

    suffix: ClassVar[str] = ".trace.json"
    timeline: ClassVar[bool] = True
    columns: ClassVar[frozenset[str]] = frozenset({"cpu"})

    event: str | None = option(None, "draw the samples of this event only; default: of all events")
    min_duration: int = option(0, "leave out slices shorter than this many microseconds")
    max_events: int = option(0, "refuse to write more events than this; 0: no limit")

    def __post_init__(self) -> None:
        check_choices(self)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write one JSON object, event by event."""
        drawing = _Drawing(self, profile)
        if self.max_events and (count := drawing.count()) > self.max_events:
            raise OptionError(f"{count} events are more than max_events={self.max_events}: raise it or min_duration")
        out.write(b'{"displayTimeUnit":"ns","metadata":%b,"traceEvents":[\n' % json_bytes(_metadata(profile)))
        events = drawing.events()
        out.write(next(events, b""))
        for piece in events:
            out.write(b",\n" + piece)
        out.write(b"\n]}\n")

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """A word of warning where viewers will be slow."""
        drawing = _Drawing(self, profile)
        if drawing.at_most() <= _MANY or (count := drawing.count()) <= _MANY:
            return ()
        return (
            f"{count / 1e6:.1f} million events: viewers will be slow; min_duration=MICROSECONDS leaves out the short",
        )


class _Drawing:
    """What is common to counting and writing: tracks, moments, and the tree of frame names."""

    def __init__(self, options: Chrome, profile: Profile) -> None:
        self.options, self.profile = options, profile
        samples = profile.samples
        wanted = np.arange(len(samples), dtype=np.int64)
        if options.event is not None and profile.events:
            wanted = np.flatnonzero(samples.event == event_index(profile, options.event))
        self.tracks, track = tracks_of(profile)
        self.moments: Moments = moments_of(profile, track, wanted)
        self.tree, self.node, self.names = _name_tree(profile, samples.stack[self.moments.sample].astype(np.int64))

    def at_most(self) -> int:
        """An upper bound of the number of slices that costs nothing."""
        return int(self.tree.depth[self.node].sum())

    def count(self) -> int:
        """The number of slices that will be written."""
        return sum(len(slices) for slices in self.slices())

    def slices(self) -> Iterator[Slices]:
        """Whole tracks at a time, some hundred thousand samples, so that memory stays bounded by the busiest track."""
        starts = np.flatnonzero(np.diff(self.moments.track, prepend=-1))
        ends = np.append(starts[1:], len(self.moments))
        first = 0
        for end in ends.tolist():
            if end - first >= _ROWS_AT_ONCE or end == len(self.moments):
                yield self._slices_of_rows(slice(first, end))
                first = end

    def _slices_of_rows(self, rows: slice) -> Slices:
        moments = self.moments
        part = Moments(*(getattr(moments, name)[rows] for name in Moments.__slots__))
        return slices_of(part, self.node[rows], self.tree, self.options.min_duration)

    def events(self) -> Iterator[bytes]:
        """Every event as JSON, names first; pieces of many, commas between."""
        yield from _track_names(self.profile, self.tracks)
        heads = [b'{"ph":"X","name":%b,"ts":' % name for name in self.names]
        pairs = zip(self.tracks.pid.tolist(), self.tracks.tid.tolist(), strict=True)
        tails = [b',"pid":%d,"tid":%d}' % pair for pair in pairs]
        for slices in self.slices():
            for start in range(0, len(slices), _SLICES_PER_WRITE):
                rows = slice(start, start + _SLICES_PER_WRITE)
                columns = (
                    self.tree.key[slices.node[rows]],
                    slices.start[rows],
                    slices.duration[rows],
                    slices.track[rows],
                )
                yield b",\n".join(
                    b'%b%d,"dur":%d%b' % (heads[name], begin, duration, tails[track])
                    for name, begin, duration, track in zip(*(column.tolist() for column in columns), strict=True)
                )


def _name_tree(profile: Profile, stack: I64) -> tuple[FrameTree, I64, list[bytes]]:
    """Frames merged by name, the tree row of each stack, and the names as JSON texts."""
    frames = frames_of(profile)
    index: dict[str, int] = {}
    key = np.array([index.setdefault(name, len(index)) for name in frames.name], np.int64)
    rows = expand(profile.stacks, frames.of_location)
    tree, node = merge(rows, key, np.zeros(len(stack), np.int64), stack)
    return tree, node, [json_bytes(printable(name)) for name in index]


def _track_names(profile: Profile, tracks: Tracks) -> Iterator[bytes]:
    """Metadata events: each process and thread by name. The first event of the file has no ``cat``."""
    threads, text = profile.threads, profile.strings
    named = set()
    for pid, tid, thread, cpu in zip(*(getattr(tracks, name).tolist() for name in Tracks.__slots__), strict=True):
        if pid not in named:
            named.add(pid)
            process = printable(text[threads.process[thread]]) if pid else "idle"
            yield json_bytes({"ph": "M", "name": "process_name", "pid": pid, "tid": tid, "args": {"name": process}})
        name = f"swapper/{cpu}" if cpu >= 0 else printable(text[threads.comm[thread]])
        yield json_bytes({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}})


def _metadata(profile: Profile) -> dict[str, object]:
    """Facts about the recording; ``ts`` 0 is ``start-ns`` on the recording's clock."""
    meta, start = profile.meta, profile.samples.time
    facts = {
        "source": printable(base_name(meta.source)),
        "start-ns": int(start[0]) if start is not None and len(start) else 0,
        "wall-start-ns": meta.wall_start_ns,
        "hostname": printable(meta.hostname),
        "os-release": printable(meta.os_release),
        "command": printable(" ".join(meta.command_line)),
        "perf-version": printable(meta.perf_version),
    }
    return {"tool": "perf2x"} | {key: value for key, value in facts.items() if value}
