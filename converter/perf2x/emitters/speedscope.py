"""Speedscope's own format: one profile for each pair of thread and event, its stacks in time order.

Source of truth: speedscope's file-format-schema.json ("sampled" profiles). Unlike pprof and Chrome traces, it keeps
threads separate, inlined frames visible and every event's values exact.
"""

from collections.abc import Iterator
from typing import Annotated, BinaryIO

import numpy as np

from perf2x.base.columnar import I64, AnyArray, row_slices, rows_by, sum_of, unique, zeros
from perf2x.emitters.encoding.decimal_text import chunk_array, without_nuls
from perf2x.emitters.encoding.json_encoder import json_bytes, json_member
from perf2x.emitters.flame.picture_title import heading
from perf2x.emitters.timeline.tracks import Tracks, track_names, tracks_of
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.printable_text import one_line
from perf2x.model.profile import (
    FrameRows,
    LocationFrames,
    Profile,
    expand,
    find_event,
    location_frames,
    paths,
    used_leaves,
)
from perf2x.model.setting import Setting

_ROWS_PER_PIECE = 1 << 15
_STACKS_PER_PIECE = 1 << 13
# units of events that Speedscope has, too; all others are written as "none"
_UNITS = {"nanoseconds": "nanoseconds", "bytes": "bytes"}


class Speedscope(Format):
    """Speedscope JSON: one profile per thread and event, in time order, inlined frames included."""

    suffix = ".speedscope.json"
    needs = Needs(timeline=True, columns=frozenset({"cpu"}), viewer="open it: speedscope.app")

    event: Annotated[
        str | None, Setting("Write only the samples of this event; default: all events.", ("--event",))
    ] = None

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write one JSON object, thread by thread, the busiest first."""
        frames = location_frames(profile)
        head = {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "perf2x",
            "name": heading(profile),
            "activeProfileIndex": 0,
        }
        out.write(json_bytes(head)[:-1] + b',"shared":{"frames":[\n')
        out.write(b",\n".join(_frame_objects(profile, frames)))
        out.write(b'\n]},"profiles":[\n')
        comma = b""
        for parts in self._profiles(profile, frames):
            out.write(comma)
            out.writelines(parts)
            comma = b",\n"
        out.write(b"\n]}\n")

    def _profiles(self, profile: Profile, frames: LocationFrames) -> Iterator[Iterator[bytes]]:
        samples = profile.samples
        if not len(samples):
            return
        tracks, sample_tracks = tracks_of(profile)
        names = track_names(profile, tracks)
        events = _events_to_write(profile, self.event)
        stacks, stack_index = used_leaves(profile)
        texts = _stack_texts(expand(profile.stacks, frames.of_location), stacks)
        rows_by_event = dict(rows_by(samples.event))
        for event in events:
            event_rows = rows_by_event.get(event, zeros(0))
            for track, rows in _tracks_by_weight(sample_tracks, samples.value, event_rows):
                name = _title(names[track][0], tracks, track) + (
                    f": {one_line(profile.events[event].name)}" * (len(events) > 1)
                )
                unit = _UNITS.get(profile.events[event].unit, "none")
                yield _profile(name, unit, _stack_arrays(texts, stack_index[rows]), samples.value[rows])


def _tracks_by_weight(sample_tracks: I64, value: I64, event_rows: I64) -> list[tuple[int, I64]]:
    tracks = [(track, event_rows[rows]) for track, rows in rows_by(sample_tracks[event_rows])]
    return sorted(tracks, key=lambda pair: -sum_of(value[pair[1]]))


def _stack_texts(tree: FrameRows, stacks: I64) -> AnyArray:
    """Return (stacks,) JSON arrays of frame numbers, outermost first, without the closing bracket: ``[7,12,9``.

    ``stacks`` are rows of Profile.stacks, −1 for no stack. Each frame is a cell of eight or sixteen bytes (``[7,``,
    ``12,``, ``9]``), padded with NULs, which are removed from all cells at once.
    """
    count = int(tree.frame.max(initial=0)) + 1
    numbers = [b"%d" % number for number in range(count)]
    forms = (b"%b,", b"[%b,", b"%b]", b"[%b]")  # an inner, outermost, innermost, or the only frame
    texts = [form % number for form in forms for number in numbers]
    cells = np.array(texts, "S8" if len(texts[-1]) <= 8 else "S16")
    result: list[bytes] = []
    for part in row_slices(len(stacks), _STACKS_PER_PIECE):
        leaf = tree.innermost(stacks[part])
        path = paths(tree.parent, tree.depth, leaf, outermost_first=True)
        cell, has_frames = tree.frame[path.values], path.lengths > 0
        cell[path.offsets[:-1][has_frames]] += count
        cell[path.offsets[1:][has_frames] - 1] += 2 * count
        arrays = iter(without_nuls(cells[cell]).split(b"]"))
        result += [next(arrays) if not_empty else b"[" for not_empty in has_frames.tolist()]
    return chunk_array(result)


def _stack_arrays(texts: AnyArray, stack_index: I64) -> Iterator[bytes]:
    for rows in row_slices(len(stack_index), _ROWS_PER_PIECE):
        arrays = b"],".join(texts[stack_index[rows]].tolist())
        yield (b"," if rows.start else b"") + arrays + b"]"


def _profile(name: str, unit: str, stacks: Iterator[bytes], weights: I64) -> Iterator[bytes]:
    head = {"type": "sampled", "name": name, "unit": unit, "startValue": 0, "endValue": sum_of(weights)}
    yield json_bytes(head)[:-1] + b',"samples":['
    yield from stacks
    yield b"]"
    yield from json_member("weights", weights)
    yield b"}"


def _frame_objects(profile: Profile, frames: LocationFrames) -> Iterator[bytes]:
    strings, functions = profile.strings, profile.functions
    for row, (name, function) in enumerate(zip(frames.name, frames.function.tolist(), strict=True)):
        file = one_line(strings[functions.filename[function]]) if function >= 0 else ""
        file = file or one_line(frames.object[row])
        entry = b'{"name":' + json_bytes(one_line(name) or "[unknown]")
        yield entry + (b',"file":%b}' % json_bytes(file) if file else b"}")


def _events_to_write(profile: Profile, event: str | None) -> list[int]:
    if event is not None:
        return [find_event(profile, event)]
    sampled_events = unique(profile.samples.event).tolist()
    return sorted(sampled_events, key=lambda row: (row != profile.default_event, row))


def _title(name: str, tracks: Tracks, track: int) -> str:
    if tracks.cpu[track] >= 0:
        return name
    pid, tid = int(tracks.pid[track]), int(tracks.tid[track])
    return f"{one_line(name) or '?'} ({pid})" if pid == tid else f"{one_line(name) or '?'} ({pid}/{tid})"
