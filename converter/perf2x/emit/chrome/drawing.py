"""Lanes, shown samples and the tree of frame names: the content of every style of Chrome trace."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.analysis.frames import location_frames
from perf2x.columnar.arrays import I64
from perf2x.columnar.columns import take_rows_of
from perf2x.columnar.unique import unique_inverse
from perf2x.emit.encoding.json_encoder import json_bytes
from perf2x.emit.flame.frame_tree import FrameTree, expand, merge_stacks
from perf2x.emit.timeline.shown import ShownSamples, in_ticks, on_cpus, shown_samples
from perf2x.emit.timeline.slices import Slices, count_of, slices_of
from perf2x.emit.timeline.tracks import Tracks, cpu_tracks_of, knows_cpus, tracks_of
from perf2x.tables.output_text import printable
from perf2x.tables.profile import Profile

_ROWS_AT_ONCE = 1 << 18


class Drawing(Struct, frozen=True):
    """Lanes of one kind (threads, or CPUs) and what is shown on them when."""

    tracks: Tracks
    shown: ShownSamples
    tree: FrameTree
    node: I64
    """Tree row of each shown sample."""
    key: I64
    """(tree rows,) name of each row."""
    names: list[bytes]
    """Names as JSON texts."""
    outermost: int
    """Depth of the outermost boxes: 0 where the tree's groups are drawn, too."""
    weight: I64
    """(tracks,) samples on each lane."""
    tick: int
    """Nanoseconds in a unit of the times of ``shown``."""

    def at_most(self) -> int:
        """An upper bound of the number of slices that costs nothing."""
        return int(self.tree.depth[self.node].sum())

    def count(self, shortest: int) -> int:
        """The number of slices that will be written; ``shortest`` is microseconds."""
        least = shortest * 1000 // self.tick
        return sum(count_of(shown, node, self.tree, self.key, self.outermost, least) for shown, node in self.parts())

    def slices(self, shortest: int) -> Iterator[tuple[ShownSamples, Slices]]:
        """Yield the slices, whole tracks at a time, with the samples that they are made of."""
        least = shortest * 1000 // self.tick
        for shown, node in self.parts():
            yield shown, slices_of(shown, node, self.tree, self.key, self.outermost, least)

    def parts(self) -> Iterator[tuple[ShownSamples, I64]]:
        """Yield whole tracks, some hundred thousand shown samples and the tree row of each.

        So memory stays bounded by the busiest track.
        """
        starts = np.flatnonzero(np.diff(self.shown.track, prepend=-1))
        ends = np.append(starts[1:], len(self.shown))
        first = 0
        for end in ends.tolist():
            if end - first >= _ROWS_AT_ONCE or end == len(self.shown):
                rows = slice(first, end)
                yield take_rows_of(self.shown, rows), self.node[rows]
                first = end


def drawings_of(profile: Profile, wanted: I64, tick: int, *, per_cpu: bool) -> list[Drawing]:
    """One lane per thread, and one per CPU if asked for; ``wanted`` are the sample rows to draw, ascending."""
    tracks, track = tracks_of(profile)
    shown = shown_samples(profile, track, wanted)
    drawn = in_ticks(shown, tick)
    drawings = [_drawing(profile, tracks, drawn, np.zeros(len(drawn), np.int64), [""], 1, tick)]
    if per_cpu and knows_cpus(profile):
        drawings.append(_cpus_drawing(profile, in_ticks(on_cpus(profile, shown), tick), tick))
    return drawings


def _cpus_drawing(profile: Profile, shown: ShownSamples, tick: int) -> Drawing:
    """Each stack below the name of its thread."""
    thread = profile.samples.thread[shown.sample].astype(np.int64)
    threads, text = profile.threads, profile.strings
    labels = [f"{printable(text[comm])} ({tid})" for comm, tid in zip(threads.comm, threads.tid, strict=True)]
    used, group = unique_inverse(thread)
    names = [labels[row] for row in used.tolist()]
    return _drawing(profile, cpu_tracks_of(profile), shown, group, names, 0, tick)


def _drawing(
    profile: Profile, tracks: Tracks, shown: ShownSamples, group: I64, groups: list[str], outermost: int, tick: int
) -> Drawing:
    frames = location_frames(profile)
    index: dict[str, int] = {}
    key_of_frame = np.array([index.setdefault(printable(name), len(index)) for name in frames.name], np.int64)
    stack = profile.samples.stack[shown.sample].astype(np.int64)
    tree, node = merge_stacks(expand(profile.stacks, frames.of_location), key_of_frame, group, stack)
    group_key = np.array([index.setdefault(name, len(index)) for name in groups], np.int64)
    key = tree.key.copy()
    roots = np.flatnonzero(tree.key < 0)
    key[roots] = group_key[roots]
    weight = np.bincount(shown.track, minlength=len(tracks)).astype(np.int64)
    return Drawing(tracks, shown, tree, node, key, [json_bytes(name) for name in index], outermost, weight, tick)
