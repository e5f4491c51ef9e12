"""Slices of a Chrome trace: one complete event (``X``) per box, made from lanes, samples and the merged stacks.

A thread's wait has the category "off-cpu" and one of the colours that the format defines by name (``cname``); other
slices have the category of their frame.
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
from perf2x.emitters.chrome.chrome_times import TICK_NS, ids_of, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.emitters.timeline.frame_slices import Piles, piles_of
from perf2x.emitters.timeline.shown_samples import ShownSamples, in_ticks, on_cpus, shown_samples
from perf2x.emitters.timeline.tracks import Tracks, cpu_tracks_of, knows_cpus, tracks_of
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

_FEWEST_AT_ONCE, _FRAMES_AT_ONCE = 1 << 12, 1 << 18
_OFF_CPU = "off-cpu"
_MODES: dict[int, str] = {
    CpuMode.KERNEL: "kernel",
    CpuMode.USER: "user",
    CpuMode.HYPERVISOR: "hypervisor",
    CpuMode.GUEST_KERNEL: "guest",
    CpuMode.GUEST_USER: "guest",
}


Label = tuple[str, str, bytes]
"""Name, category ("" if unknown) and arguments (a JSON object; b"" for none) of a slice."""


class Drawing(Frozen):
    """Lanes of one kind (threads or CPUs), and what each shows over time."""

    tracks: Tracks
    shown: ShownSamples
    tree: FrameTree
    node: AnyArray
    """Tree row of each shown sample; 32 bits if that suffices."""
    key: I64
    """(tree rows,) index of each row's label."""
    kind: I64
    """(tree rows,) the Wait of each row; 0: no wait."""
    labels: list[Label]
    outermost: int
    """Depth of the outermost slices: 0 if the tree's groups are drawn, too."""
    weight: I64
    """(tracks,) number of samples on each lane."""

    def at_most(self) -> int:
        """Return a cheap upper bound of the number of slices."""
        return sum_of(self.tree.depth[self.node])

    def count(self, shortest: int) -> int:
        """Return the number of slices to write, which are at least ``shortest`` microseconds long."""
        return sum(sum_of(piles.count) for _, piles, _ in self.piles(shortest))

    def piles(self, shortest: int) -> Iterator[tuple[ShownSamples, Piles, I64]]:
        """Yield slices with their durations and the samples that they cover, some ten thousand at a time."""
        least, names = shortest * 1000 // TICK_NS, number_keys(name for name, _, _ in self.labels)[1][self.key]
        for shown, node in self.runs():
            yield shown, *piles_of(shown, node, self.tree, names, self.outermost, least)

    def runs(self) -> Iterator[tuple[ShownSamples, AnyArray]]:
        """Yield shown samples and their tree rows in batches, cut where a thread pauses so that no slice crosses a cut.

        Deeper stacks make smaller batches, because every frame may become a slice.
        """
        depth = max(self.at_most() // max(len(self.shown), 1), 1)
        at_least, cuts = max(_FRAMES_AT_ONCE // depth, _FEWEST_AT_ONCE), flatnonzero(~self.shown.joined[:-1]) + 1
        first, count = 0, len(self.shown)
        while first < count:
            place = int(np.searchsorted(cuts, first + at_least))
            end = int(cuts[place]) if place < len(cuts) else count
            rows = slice(first, end)
            yield take_rows_of(self.shown, rows), self.node[rows]
            first = end


def drawings_of(profile: Profile, sample: AnyArray, per_cpu: bool, with_arguments: bool) -> list[Drawing]:
    """Return one lane per thread, and with ``per_cpu`` one per CPU; ``sample`` are rows of samples, ascending."""
    tracks, track = tracks_of(profile)
    track, sample = narrow(track), narrow(sample)
    shown = shown_samples(profile, track, sample)
    del track, sample  # here and below: large arrays are freed as soon as possible
    shown_on_cpus = on_cpus(profile, shown) if per_cpu and knows_cpus(profile) else None
    shown = in_ticks(shown, TICK_NS)
    drawings = [_threads_drawing(profile, tracks, shown, with_arguments)]
    if shown_on_cpus is not None:
        drawings.append(_cpus_drawing(profile, in_ticks(shown_on_cpus, TICK_NS), with_arguments))
    return drawings


def _threads_drawing(profile: Profile, tracks: Tracks, shown: ShownSamples, with_arguments: bool) -> Drawing:
    """Return the lanes of threads; waiting stacks are slices of their own, even below the same callers."""
    kinds, group = unique_inverse(as_int64(profile.samples.waits[shown.sample]))
    return _drawing(profile, tracks, shown, (group, [""] * len(kinds), kinds), with_arguments, 1)


def _cpus_drawing(profile: Profile, shown: ShownSamples, with_arguments: bool) -> Drawing:
    """Return the lanes of CPUs, in which each stack is below the name of its thread."""
    thread = as_int64(profile.samples.thread[shown.sample])
    threads, text = profile.threads, profile.strings
    labels = [f"{printable(text[comm])} ({tid})" for comm, tid in zip(threads.comm, threads.tid, strict=True)]
    used, group = unique_inverse(thread)
    names = [labels[row] for row in used.tolist()]
    return _drawing(profile, cpu_tracks_of(profile), shown, (group, names, zeros(len(names))), with_arguments, 0)


def _drawing(
    profile: Profile,
    tracks: Tracks,
    shown: ShownSamples,
    groups: tuple[I64, list[str], I64],
    with_arguments: bool,
    outermost: int,
) -> Drawing:
    """Merge the stacks of each group; ``groups``: the group of each row, and the names and waits of the groups."""
    group, names, kinds = groups
    frames = location_frames(profile)
    labels, of_frame, of_group = _labels_of(profile, frames, names, with_arguments=with_arguments)
    stack = profile.samples.stack[shown.sample]
    tree, node = merge_stacks(expand(profile.stacks, frames.of_location), of_frame, stack, group)
    root = ancestors(tree.parent, arange(len(tree)), tree.depth)  # the first rows are the groups
    key = np.where(tree.key < 0, np.append(of_group, 0)[np.minimum(root, len(of_group))], tree.key)
    kind = kinds[root] if len(kinds) else zeros(len(tree))
    weight = bincount(shown.track, len(tracks))
    return Drawing(tracks, shown, tree, narrow(node), key, kind, labels, outermost, weight)


_SLICES_PER_WRITE = 1 << 13
_COLOURS = {
    Wait.BLOCKED: b"thread_state_sleeping",
    Wait.PREEMPTED: b"thread_state_runnable",
    Wait.UNKNOWN: b"grey",
    Wait.UNPLACED: b"grey",
}


def slice_events(drawing: Drawing, shortest: int) -> Generator[bytes, None, int]:
    """Yield complete events, parents before children, at least ``shortest`` microseconds long; return their number.

    Each event is three texts: one before the start, the start, and one after it. The first and the last are shared.
    """
    count = 0
    heads, head = _heads(drawing)
    ids = ids_of(drawing.tracks.pid, drawing.tracks.tid)
    for shown, piles, duration in drawing.piles(shortest):
        is_new = begins_run(piles.first)
        starts, start = time_chunks(shown.start[piles.first[is_new]]), cumsum(is_new) - 1
        tails, tail = _tails(shown.track[piles.first], duration, ids)
        boxes = paths_of_length(drawing.tree.parent, piles.node, piles.count, outermost_first=True)
        texts, text = np.concatenate([heads, starts, tails]), np.empty((len(boxes.values), 3), np.int64)
        text[:, 0] = head[boxes.values]
        text[:, 1] = repeat(start + len(heads), piles.count)
        text[:, 2] = repeat(tail + (len(heads) + len(starts)), piles.count)
        for rows in row_slices(len(text), _SLICES_PER_WRITE):
            yield b"".join(take(texts, text[rows].reshape(-1)).tolist())
        count += len(text)
    return count


def _tails(track: AnyArray, duration: I64, ids: AnyArray) -> tuple[AnyArray, I64]:
    """Return the distinct texts that follow a start, and (piles,) the index of each pile's text."""
    length, of_length = unique_inverse(duration)
    tracks, of_track = unique_inverse(track)
    pair, tail = unique_inverse(of_track * len(length) + of_length)
    lengths, endings = time_chunks(length).tolist(), ids[tracks].tolist()
    pairs = zip((pair // len(length)).tolist(), (pair % len(length)).tolist(), strict=True)
    return chunk_array(b',"dur":%b%b' % (lengths[length], endings[track]) for track, length in pairs), tail


def _heads(drawing: Drawing) -> tuple[AnyArray, I64]:
    """Return the distinct texts that precede a start, and (tree rows,) the index of each row's text."""
    first, head = group_rows([drawing.key, drawing.kind])
    pairs = zip(drawing.key[first].tolist(), drawing.kind[first].tolist(), strict=True)
    return chunk_array(_head(drawing.labels[label], kind) for label, kind in pairs), head


def _head(label: Label, kind: int) -> bytes:
    name, category, arguments = label
    category = _OFF_CPU if kind in _COLOURS else category
    text = b'{"ph":"X","name":%b' % json_bytes(name)
    if category:
        text += b',"cat":"%b"' % category.encode()
    if kind in _COLOURS:
        text += b',"cname":"%b"' % _COLOURS[Wait(kind)]
    if arguments:
        text += b',"args":%b' % arguments
    return text + b',"ts":'


def _labels_of(
    profile: Profile, frames: LocationFrames, groups: list[str], *, with_arguments: bool
) -> tuple[list[Label], I64, I64]:
    """Return the distinct labels, then the label of each frame and of each group."""
    modes = zip(frames.mode.tolist(), are_jit(profile, frames).tolist(), strict=True)
    categories = ["jit" if is_jit else _MODES.get(mode, "") for mode, is_jit in modes]
    arguments = _arguments(profile, frames) if with_arguments else [b""] * len(frames)
    of_frames = zip(map(printable, frames.name), categories, arguments, strict=True)
    labels, place = number_keys([*of_frames, *((name, "", b"") for name in groups)])
    return labels, place[: len(frames)], place[len(frames) :]


def _arguments(profile: Profile, frames: LocationFrames) -> list[bytes]:
    """Return the object and, if known, the source file and the line where the function begins."""
    text, functions = profile.strings, profile.functions
    result = []
    for object_name, row in zip(frames.object, frames.function.tolist(), strict=True):
        facts = {"object": printable(object_name)} if object_name else {}
        if row >= 0 and text[functions.filename[row]]:
            line = int(functions.start_line[row])
            facts["source"] = printable(text[functions.filename[row]]) + (f":{line}" if line else "")
        result.append(json_bytes(facts) if facts else b"")
    return result
