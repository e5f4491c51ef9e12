"""Speedscope's own format: one profile per thread (and event), weights in the event's unit, stacks in time order.

Source of truth: speedscope's file-format-schema.json ("sampled" profiles). Unlike pprof and Chrome traces, it keeps
threads separate, inlined frames visible and every event's values exact.
"""

from collections.abc import Iterator
from typing import Annotated, BinaryIO

import numpy as np

from perf2x.base.columnar import I64, AnyArray, row_slices, rows_by, sum_of, unique, zeros
from perf2x.emitters.encoding.decimal_text import chunk_array, without_nulls
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
    used_stacks,
)
from perf2x.model.setting import Setting

_ROWS_PER_PIECE = 1 << 15
_STACKS_PER_PIECE = 1 << 13
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
        """Yield one profile per track and event with samples: default event first, then the heaviest threads."""
        samples = profile.samples
        if not len(samples):
            return
        tracks, track = tracks_of(profile)
        names = track_names(profile, tracks)
        kinds = _in_order(profile, self.event)
        stacks, place = used_stacks(profile)
        texts = _stack_texts(expand(profile.stacks, frames.of_location), stacks)
        rows_of = dict(rows_by(samples.event))
        for kind in kinds:
            rows = rows_of.get(kind, zeros(0))
            for lane, chosen in _tracks_by_weight(track, samples.value, rows):
                name = _title(names[lane][0], tracks, lane) + (
                    f": {one_line(profile.events[kind].name)}" * (len(kinds) > 1)
                )
                unit = _UNITS.get(profile.events[kind].unit, "none")
                yield _profile(name, unit, _arrays(texts, place[chosen]), samples.value[chosen])


def _tracks_by_weight(track: I64, value: I64, samples: I64) -> list[tuple[int, I64]]:
    """Return the tracks of some samples (rows, ascending), heaviest first, with the rows on each."""
    lanes = [(lane, samples[rows]) for lane, rows in rows_by(track[samples])]
    return sorted(lanes, key=lambda lane: -sum_of(value[lane[1]]))


def _stack_texts(rows: FrameRows, stacks: I64) -> AnyArray:
    """Return (stacks,) each stack as an array of frame numbers, outermost first, without the closing bracket.

    Every number is a cell of eight or sixteen bytes, padded with NULs that are removed from many stacks at once.
    """
    count = int(rows.frame.max(initial=0)) + 1
    numbers = [b"%d" % number for number in range(count)]
    forms = (b"%b,", b"[%b,", b"%b]", b"[%b]")  # an inner, outermost, innermost, or the only frame
    texts = [form % number for form in forms for number in numbers]
    cells = np.array(texts, "S8" if len(texts[-1]) <= 8 else "S16")
    result: list[bytes] = []
    for part in row_slices(len(stacks), _STACKS_PER_PIECE):
        leaf = rows.innermost(stacks[part])
        path = paths(rows.parent, rows.depth, leaf, outermost_first=True)
        chosen, full = rows.frame[path.values], path.lengths > 0
        chosen[path.offsets[:-1][full]] += count
        chosen[path.offsets[1:][full] - 1] += 2 * count
        arrays = iter(without_nulls(cells[chosen]).split(b"]"))
        result += [next(arrays) if some else b"[" for some in full.tolist()]
    return chunk_array(result)


def _arrays(texts: AnyArray, place: I64) -> Iterator[bytes]:
    """Yield each sample's stack."""
    for rows in row_slices(len(place), _ROWS_PER_PIECE):
        some = b"],".join(texts[place[rows]].tolist())
        yield (b"," if rows.start else b"") + some + b"]"


def _profile(name: str, unit: str, stacks: Iterator[bytes], weights: I64) -> Iterator[bytes]:
    """Yield one "sampled" profile; its values are positions on the axis of summed weights."""
    head = {"type": "sampled", "name": name, "unit": unit, "startValue": 0, "endValue": sum_of(weights)}
    yield json_bytes(head)[:-1] + b',"samples":['
    yield from stacks
    yield b"]"
    yield from json_member("weights", weights)
    yield b"}"


def _frame_objects(profile: Profile, frames: LocationFrames) -> Iterator[bytes]:
    text, functions = profile.strings, profile.functions
    for row, (name, function) in enumerate(zip(frames.name, frames.function.tolist(), strict=True)):
        file = one_line(text[functions.filename[function]]) if function >= 0 else ""
        file = file or one_line(frames.object[row])
        entry = b'{"name":' + json_bytes(one_line(name) or "[unknown]")
        yield entry + (b',"file":%b}' % json_bytes(file) if file else b"}")


def _in_order(profile: Profile, event: str | None) -> list[int]:
    """Return the events to write, the default one first."""
    if event is not None:
        return [find_event(profile, event)]
    sampled = unique(profile.samples.event).tolist()
    return sorted(sampled, key=lambda row: (row != profile.default_event, row))


def _title(name: str, tracks: Tracks, lane: int) -> str:
    if tracks.cpu[lane] >= 0:
        return name
    pid, tid = int(tracks.pid[lane]), int(tracks.tid[lane])
    return f"{one_line(name) or '?'} ({pid})" if pid == tid else f"{one_line(name) or '?'} ({pid}/{tid})"
