"""What every style of Chrome trace draws: lanes, moments, and the tree of frame names."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.analysis.frames import frames_of
from perf2x.columnar.arrays import I64
from perf2x.columnar.unique import unique_inverse
from perf2x.emit.encoding.json_text import json_bytes
from perf2x.emit.flame.frame_tree import FrameTree, expand, merge
from perf2x.emit.timeline.slices import Slices, count_of, slices_of
from perf2x.emit.timeline.tracks import Moments, Tracks, cpu_tracks_of, moments_of, tracks_of
from perf2x.tables.output_text import printable
from perf2x.tables.profile import Profile

_ROWS_AT_ONCE = 1 << 18


class Drawing(Struct, frozen=True):
    """Lanes of one kind (threads, or CPUs) and what is shown on them when."""

    tracks: Tracks
    moments: Moments
    tree: FrameTree
    node: I64
    """Tree row of each moment."""
    key: I64
    """(tree rows,) name of each row."""
    names: list[bytes]
    """Names as JSON texts."""
    outermost: int
    """Depth of the outermost boxes: 0 where the tree's groups are drawn, too."""
    weight: I64
    """(tracks,) samples on each lane."""

    def at_most(self) -> int:
        """An upper bound of the number of slices that costs nothing."""
        return int(self.tree.depth[self.node].sum())

    def count(self, shortest: int) -> int:
        """The number of slices that will be written."""
        return sum(
            count_of(moments, node, self.tree, self.key, self.outermost, shortest) for moments, node in self.parts()
        )

    def slices(self, shortest: int) -> Iterator[tuple[Moments, Slices]]:
        """What is drawn, part by part."""
        for moments, node in self.parts():
            yield moments, slices_of(moments, node, self.tree, self.key, self.outermost, shortest)

    def parts(self) -> Iterator[tuple[Moments, I64]]:
        """Whole tracks at a time, some hundred thousand moments and the tree row of each.

        So memory stays bounded by the busiest track.
        """
        starts = np.flatnonzero(np.diff(self.moments.track, prepend=-1))
        ends = np.append(starts[1:], len(self.moments))
        first = 0
        for end in ends.tolist():
            if end - first >= _ROWS_AT_ONCE or end == len(self.moments):
                rows = slice(first, end)
                yield (
                    Moments(*(getattr(self.moments, name)[rows] for name in Moments.__struct_fields__)),
                    self.node[rows],
                )
                first = end


def threads_drawing(profile: Profile, wanted: I64) -> Drawing:
    """One lane per thread; ``wanted`` are the sample rows to draw, ascending."""
    tracks, track = tracks_of(profile)
    moments = moments_of(profile, track, wanted)
    return _drawing(profile, tracks, moments, np.zeros(len(moments), np.int64), [""], 1)


def cpus_drawing(profile: Profile, wanted: I64) -> Drawing:
    """One lane per CPU, each stack below the name of its thread."""
    tracks, track = cpu_tracks_of(profile)
    moments = moments_of(profile, track, wanted)
    thread = profile.samples.thread[moments.sample].astype(np.int64)
    threads, text = profile.threads, profile.strings
    labels = [f"{printable(text[comm])} ({tid})" for comm, tid in zip(threads.comm, threads.tid, strict=True)]
    used, group = unique_inverse(thread)
    return _drawing(profile, tracks, moments, group, [labels[row] for row in used.tolist()], 0)


def _drawing(
    profile: Profile, tracks: Tracks, moments: Moments, group: I64, groups: list[str], outermost: int
) -> Drawing:
    frames = frames_of(profile)
    index: dict[str, int] = {}
    key_of_frame = np.array([index.setdefault(printable(name), len(index)) for name in frames.name], np.int64)
    stack = profile.samples.stack[moments.sample].astype(np.int64)
    tree, node = merge(expand(profile.stacks, frames.of_location), key_of_frame, group, stack)
    group_key = np.array([index.setdefault(name, len(index)) for name in groups], np.int64)
    key = tree.key.copy()
    roots = np.flatnonzero(tree.key < 0)
    key[roots] = group_key[roots]
    weight = np.bincount(moments.track, minlength=len(tracks)).astype(np.int64)
    return Drawing(tracks, moments, tree, node, key, [json_bytes(name) for name in index], outermost, weight)
