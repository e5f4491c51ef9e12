"""Slices of a Chrome trace: complete events (``X``), one for neighbouring samples of a track that share a frame.

Slices are found in batches of samples (emitters/timeline/frame_slices.py), and written as chunks of JSON, each of which
many slices share.
"""

from collections.abc import Generator, Iterator

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I64,
    AnyArray,
    Frozen,
    arange,
    as_int64,
    begins_run,
    bincount,
    cumsum,
    flatnonzero,
    group_rows,
    narrow,
    number_keys,
    repeat,
    row_slices,
    sum_of,
    take,
    take_rows_of,
    unique_inverse,
    zeros,
)
from perf2x.emitters.chrome.chrome_times import TICK_NS, event_ends, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.emitters.timeline.frame_slices import Piles, piles_of
from perf2x.emitters.timeline.shown_samples import ShownSamples, in_ticks, on_cpus, shown_samples
from perf2x.emitters.timeline.tracks import Tracks, cpu_tracks_of, has_cpus, tracks_of
from perf2x.model.printable_text import printable
from perf2x.model.profile import (
    FrameTree,
    LocationFrames,
    Profile,
    Wait,
    ancestors,
    are_jit,
    expand,
    location_frames,
    merge_stacks,
    paths_of_length,
)

_FRAMES_PER_BATCH, _MIN_SAMPLES_PER_BATCH = 1 << 18, 1 << 12
_OFF_CPU = "off-cpu"
_MODE_CATEGORIES: dict[int, str] = {
    CpuMode.KERNEL: "kernel",
    CpuMode.USER: "user",
    CpuMode.HYPERVISOR: "hypervisor",
    CpuMode.GUEST_KERNEL: "guest",
    CpuMode.GUEST_USER: "guest",
}


Label = tuple[str, str, bytes]
"""Name, category ("" if unknown) and arguments (a JSON object; b"" for none) of a slice."""


class Drawing(Frozen):
    """Tracks of one kind (threads or CPUs), and the stacks that they show over time."""

    tracks: Tracks
    shown: ShownSamples
    """Times are in ticks (`TICK_NS`)."""
    tree: FrameTree
    """Merged stacks, each below its group (depth 0): a Wait on tracks of threads, a thread on tracks of CPUs."""
    node: AnyArray
    """(rows of ``shown``,) the row of the tree for the innermost frame; int32 if that suffices."""
    label_index: I64
    """(rows of the tree,) index in ``labels``."""
    wait: I64
    """(rows of the tree,) the Wait of each row; 0: no wait."""
    labels: list[Label]
    min_depth: int
    """Depth of the outermost slices: 0 if the tree's groups are drawn, too, else 1."""
    span_counts: I64
    """(tracks,) number of rows of ``shown`` on each track."""

    def slice_bound(self) -> int:
        """Return an upper bound of the number of slices: the frames of all samples."""
        return sum_of(self.tree.depth[self.node] + (1 - self.min_depth))

    def slice_count(self, min_duration_us: int) -> int:
        """Return the number of slices that are at least this many microseconds long."""
        return sum(sum_of(piles.count) for _, piles, _ in self.piles(min_duration_us))

    def piles(self, min_duration_us: int) -> Iterator[tuple[ShownSamples, Piles, I64]]:
        """Yield batches of slices that are at least this long: the samples, piles, durations in ticks."""
        min_ticks = min_duration_us * 1000 // TICK_NS
        name_key = number_keys(name for name, _, _ in self.labels)[1][self.label_index]
        for shown, node in self._batches():
            yield shown, *piles_of(shown, node, self.tree, name_key, self.min_depth, min_ticks)

    def _batches(self) -> Iterator[tuple[ShownSamples, AnyArray]]:
        """Yield shown samples and their rows of the tree, in batches that cut no slice."""
        mean_depth = max(self.slice_bound() // max(len(self.shown), 1), 1)
        min_samples = max(_FRAMES_PER_BATCH // mean_depth, _MIN_SAMPLES_PER_BATCH)
        cuts = flatnonzero(~self.shown.meets_next[:-1]) + 1
        first, count = 0, len(self.shown)
        while first < count:
            next_cut = int(np.searchsorted(cuts, first + min_samples))
            end = int(cuts[next_cut]) if next_cut < len(cuts) else count
            rows = slice(first, end)
            yield take_rows_of(self.shown, rows), self.node[rows]
            first = end


def drawings_of(profile: Profile, drawn_samples: AnyArray, per_cpu: bool, with_arguments: bool) -> list[Drawing]:
    """Return the drawing of threads and, with ``per_cpu``, if CPUs are known, that of CPUs.

    ``drawn_samples`` are rows of Profile.samples. ``with_arguments``: slices have object and source file as arguments.
    """
    tracks, sample_tracks = tracks_of(profile)
    sample_tracks, drawn_samples = narrow(sample_tracks), narrow(drawn_samples)
    shown = shown_samples(profile, sample_tracks, drawn_samples)
    del sample_tracks, drawn_samples  # here and below: large arrays are freed as soon as possible
    shown_on_cpus = on_cpus(profile, shown) if per_cpu and has_cpus(profile) else None
    shown = in_ticks(shown, TICK_NS)
    drawings = [_threads_drawing(profile, tracks, shown, with_arguments)]
    if shown_on_cpus is not None:
        drawings.append(_cpus_drawing(profile, in_ticks(shown_on_cpus, TICK_NS), with_arguments))
    return drawings


def _threads_drawing(profile: Profile, tracks: Tracks, shown: ShownSamples, with_arguments: bool) -> Drawing:
    waits, group = unique_inverse(as_int64(profile.samples.waits[shown.sample]))
    return _drawing(profile, tracks, shown, (group, [""] * len(waits), waits), with_arguments, 1)


def _cpus_drawing(profile: Profile, shown: ShownSamples, with_arguments: bool) -> Drawing:
    threads, strings = profile.threads, profile.strings
    used, group = unique_inverse(as_int64(profile.samples.thread[shown.sample]))
    names = [f"{printable(strings[threads.comm[row]])} ({threads.tid[row]})" for row in used.tolist()]
    return _drawing(profile, cpu_tracks_of(profile), shown, (group, names, zeros(len(names))), with_arguments, 0)


def _drawing(
    profile: Profile,
    tracks: Tracks,
    shown: ShownSamples,
    groups: tuple[I64, list[str], I64],
    with_arguments: bool,
    min_depth: int,
) -> Drawing:
    """``groups``: (rows of ``shown``,) the group of each, the names of the groups, and (groups,) their Waits."""
    group, group_names, group_waits = groups
    frames = location_frames(profile)
    labels, frame_label, group_label = _labels_of(profile, frames, group_names, with_arguments)
    stack = profile.samples.stack[shown.sample]
    tree, node = merge_stacks(expand(profile.stacks, frames.of_location), frame_label, stack, group)
    row_groups = ancestors(tree.parent, arange(len(tree)), tree.depth)  # the first rows of the tree are the groups
    label_index = np.where(tree.key < 0, group_label[row_groups], tree.key)  # rows of groups have no key
    waits, counts = group_waits[row_groups], bincount(shown.track, len(tracks))
    return Drawing(tracks, shown, tree, narrow(node), label_index, waits, labels, min_depth, counts)


_SLICES_PER_WRITE = 1 << 13
# names of Chrome's trace viewer
_COLOURS = {
    Wait.BLOCKED: b"thread_state_sleeping",
    Wait.PREEMPTED: b"thread_state_runnable",
    Wait.UNKNOWN: b"grey",
    Wait.UNPLACED: b"grey",
}


def slice_events(drawing: Drawing, min_duration_us: int) -> Generator[bytes, None, int]:
    """Yield the complete events that are at least this long, parents before children; return their number.

    An event consists of three chunks: a head, the start, and a tail. Distinct heads are made once for the drawing,
    distinct starts and tails once for a batch::

        {"ph":"X","name":"main","cat":"user","ts": | 12.5 | ,"dur":250,"pid":7,"tid":7},
    """
    count = 0
    heads, head_index = _heads(drawing)
    end_chunks = event_ends(drawing.tracks.pid, drawing.tracks.tid)
    for shown, piles, duration in drawing.piles(min_duration_us):
        # neighbouring piles may begin at the same sample, and then share the chunk of its start
        is_new_start = begins_run(piles.first)
        starts, start_index = time_chunks(shown.start[piles.first[is_new_start]]), cumsum(is_new_start) - 1
        tails, tail_index = _tails(shown.track[piles.first], duration, end_chunks)
        slices = paths_of_length(drawing.tree.parent, piles.node, piles.count, outermost_first=True)
        # chunk_index (slices, 3): each slice's head, start and tail
        chunks, chunk_index = np.concatenate([heads, starts, tails]), np.empty((len(slices.values), 3), np.int64)
        chunk_index[:, 0] = head_index[slices.values]
        chunk_index[:, 1] = repeat(start_index + len(heads), piles.count)
        chunk_index[:, 2] = repeat(tail_index + (len(heads) + len(starts)), piles.count)
        for rows in row_slices(len(chunk_index), _SLICES_PER_WRITE):
            yield b"".join(take(chunks, chunk_index[rows].reshape(-1)).tolist())
        count += len(chunk_index)
    return count


def _tails(track: AnyArray, duration: I64, end_chunks: AnyArray) -> tuple[AnyArray, I64]:
    """Return the distinct chunks that follow a start, and (piles,) the index of each pile's chunk.

    ``end_chunks`` (tracks,) are those of `event_ends`.
    """
    durations, duration_index = unique_inverse(duration)
    tracks, track_index = unique_inverse(track)
    pairs, tail_index = unique_inverse(track_index * len(durations) + duration_index)
    duration_chunks, id_chunks = time_chunks(durations).tolist(), end_chunks[tracks].tolist()
    rows = zip((pairs // len(durations)).tolist(), (pairs % len(durations)).tolist(), strict=True)
    return chunk_array(b',"dur":%b%b' % (duration_chunks[time], id_chunks[ids]) for ids, time in rows), tail_index


def _heads(drawing: Drawing) -> tuple[AnyArray, I64]:
    """Return the distinct chunks that precede a start, and (rows of the tree,) the index of each row's chunk."""
    first, head_index = group_rows([drawing.label_index, drawing.wait])
    pairs = zip(drawing.label_index[first].tolist(), drawing.wait[first].tolist(), strict=True)
    return chunk_array(_head(drawing.labels[label], wait) for label, wait in pairs), head_index


def _head(label: Label, wait: int) -> bytes:
    name, category, arguments = label
    category = _OFF_CPU if wait in _COLOURS else category
    head = b'{"ph":"X","name":%b' % json_bytes(name)
    if category:
        head += b',"cat":"%b"' % category.encode()
    if wait in _COLOURS:
        head += b',"cname":"%b"' % _COLOURS[Wait(wait)]
    if arguments:
        head += b',"args":%b' % arguments
    return head + b',"ts":'


def _labels_of(
    profile: Profile, frames: LocationFrames, group_names: list[str], with_arguments: bool
) -> tuple[list[Label], I64, I64]:
    """Return the distinct labels, and the indices in them of the labels (frames,) of frames and (groups,) of groups."""
    modes = zip(frames.mode.tolist(), are_jit(profile, frames).tolist(), strict=True)
    categories = ["jit" if is_jit else _MODE_CATEGORIES.get(mode, "") for mode, is_jit in modes]
    arguments = _arguments(profile, frames) if with_arguments else [b""] * len(frames)
    of_frames = zip(map(printable, frames.name), categories, arguments, strict=True)
    labels, index = number_keys([*of_frames, *((name, "", b"") for name in group_names)])
    return labels, index[: len(frames)], index[len(frames) :]


def _arguments(profile: Profile, frames: LocationFrames) -> list[bytes]:
    strings, functions = profile.strings, profile.functions
    result = []
    for object_name, function in zip(frames.object, frames.function.tolist(), strict=True):
        args = {"object": printable(object_name)} if object_name else {}
        source = strings[functions.filename[function]] if function >= 0 else ""
        if source:
            line = int(functions.start_line[function])
            args["source"] = printable(source) + (f":{line}" if line else "")
        result.append(json_bytes(args) if args else b"")
    return result
