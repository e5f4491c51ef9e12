"""Speedscope's own format: one profile per thread (and event), weights in the event's unit, stacks in time order.

Source of truth: speedscope's file-format-schema.json ("sampled" profiles). Unlike pprof and Chrome traces, this keeps
threads apart, inlined frames visible and every event's numbers exact.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO, ClassVar

import numpy as np

from perf2x.classes import dataclass
from perf2x.emit.events import event_index
from perf2x.emit.frames import Frames, frames_of
from perf2x.emit.heading import heading
from perf2x.emit.jsontext import json_bytes, json_column
from perf2x.emit.text import one_line
from perf2x.emit.tracks import Tracks, tracks_of
from perf2x.emit.tree import expand
from perf2x.model.arrays import I64
from perf2x.model.options import check_choices, option
from perf2x.model.ordering import unique
from perf2x.model.profile import Profile
from perf2x.model.ragged import Ragged, reverse_rows, small_order
from perf2x.model.stacks import depths, paths

_ROWS_PER_PIECE = 1 << 15
_UNITS = {"nanoseconds": "nanoseconds", "bytes": "bytes"}


@dataclass(frozen=True, slots=True)
class Speedscope:
    """Speedscope JSON: one profile per thread and event, in time order, inlined frames included."""

    suffix: ClassVar[str] = ".speedscope.json"
    timeline: ClassVar[bool] = True
    columns: ClassVar[frozenset[str]] = frozenset({"cpu"})

    event: str | None = option(None, "write the samples of this event only; default: of all events")

    def __post_init__(self) -> None:
        check_choices(self)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write one JSON object, thread by thread, the busiest first."""
        frames = frames_of(profile)
        head = {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "perf2x",
            "name": heading(profile),
            "activeProfileIndex": 0,
        }
        out.write(json_bytes(head)[:-1] + b',"shared":{"frames":[\n')
        out.write(b",\n".join(_frames(profile, frames)))
        out.write(b'\n]},"profiles":[\n')
        comma = b""
        for pieces in self._profiles(profile, frames):
            out.write(comma)
            out.writelines(pieces)
            comma = b",\n"
        out.write(b"\n]}\n")

    def _profiles(self, profile: Profile, frames: Frames) -> Iterator[Iterator[bytes]]:
        """One profile for each track and event that has samples: default event first, then the heaviest threads."""
        samples = profile.samples
        if not len(samples):
            return
        tracks, track = tracks_of(profile)
        rows = expand(profile.stacks, frames.of_location)
        depth = depths(rows.parent)
        kinds = _in_order(profile, self.event)
        for kind in kinds:
            wanted = np.flatnonzero(samples.event == kind)
            weight = np.zeros(len(tracks), np.int64)
            np.add.at(weight, track[wanted], samples.value[wanted])
            order = wanted[small_order(track[wanted])]
            ends = np.searchsorted(track[order], np.arange(len(tracks) + 1))
            for lane in np.lexsort((np.arange(len(tracks)), -weight)).tolist():
                chosen = order[ends[lane] : ends[lane + 1]]
                if len(chosen):
                    leaf = rows.innermost(samples.stack[chosen].astype(np.int64))
                    name = _track_name(profile, tracks, lane) + (
                        f": {one_line(profile.events[kind].name)}" * (len(kinds) > 1)
                    )
                    unit = _UNITS.get(profile.events[kind].unit, "none")
                    yield _profile(name, unit, _Stacks(rows.parent, rows.frame, depth, leaf), samples.value[chosen])


@dataclass(frozen=True, slots=True)
class _Stacks:
    """Samples of one profile: a row of the frame tree each."""

    parent: I64
    frame: I64
    depth: I64
    leaf: I64

    def pieces(self) -> Iterator[bytes]:
        """Each sample as an array of frames, outermost first; stacks that come again in a piece are written once."""
        for start in range(0, len(self.leaf), _ROWS_PER_PIECE):
            leaf, place = np.unique(self.leaf[start : start + _ROWS_PER_PIECE], return_inverse=True)
            path = reverse_rows(paths(self.parent, self.depth, leaf))
            texts = _arrays(Ragged(path.offsets, self.frame[path.values]))
            yield (b"," if start else b"") + b",".join([texts[row] for row in place.tolist()])


def _arrays(rows: Ragged) -> list[bytes]:
    numbers, ends = rows.values.tolist(), rows.offsets.tolist()
    return [repr(numbers[start:end]).encode().translate(None, b" ") for start, end in pairwise(ends)]


def _profile(name: str, unit: str, stacks: _Stacks, weights: I64) -> Iterator[bytes]:
    """One "sampled" profile; its values are positions on the axis of summed weights."""
    head = {"type": "sampled", "name": name, "unit": unit, "startValue": 0, "endValue": int(weights.sum())}
    yield json_bytes(head)[:-1] + b',"samples":['
    yield from stacks.pieces()
    yield b'],"weights":'
    yield from json_column(weights)
    yield b"}"


def _frames(profile: Profile, frames: Frames) -> Iterator[bytes]:
    text, functions = profile.strings, profile.functions
    for row, name in enumerate(frames.name):
        entry = {"name": one_line(name) or "[unknown]"}
        function = int(frames.function[row])
        file = one_line(text[functions.filename[function]]) if function >= 0 else ""
        if file or frames.object[row]:
            entry["file"] = file or one_line(frames.object[row])
        yield json_bytes(entry)


def _in_order(profile: Profile, event: str | None) -> list[int]:
    """Events to write, the default one first."""
    if event is not None:
        return [event_index(profile, event)]
    sampled = unique(profile.samples.event).tolist()
    return sorted(sampled, key=lambda row: (row != profile.default_event, row))


def _track_name(profile: Profile, tracks: Tracks, lane: int) -> str:
    pid, tid, cpu = int(tracks.pid[lane]), int(tracks.tid[lane]), int(tracks.cpu[lane])
    if cpu >= 0:
        return f"swapper/{cpu}"
    comm = one_line(profile.strings[profile.threads.comm[tracks.thread[lane]]]) or "?"
    return f"{comm} ({pid})" if pid == tid else f"{comm} ({pid}/{tid})"
