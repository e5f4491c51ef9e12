"""Boxes of a picture: merged frames with their weights and places, the narrowest left out."""

from perf2x.base.columnar import (
    I64,
    Frozen,
    arange,
    argsort,
    as_int64,
    cumsum,
    flatnonzero,
    lexsort,
    searchsorted,
    sum_of,
    zeros,
)
from perf2x.model.profile import FrameTree, LocationFrames, Profile, expand, weighed_tree


class Rectangles(Frozen):
    """Columns of one entry a box, level by level, each level from left to right; the first is the whole."""

    depth: I64
    frame: I64
    """Row of LocationFrames; −1 of the whole."""
    start: I64
    """Left edge in the event's unit."""
    total: I64
    left_out: int
    """Number of boxes wide enough that were one too many."""

    def __len__(self) -> int:
        return len(self.depth)


def boxes_of(profile: Profile, frames: LocationFrames, event: int, least: float, most: int) -> Rectangles:
    """Return the boxes of an event that are at least ``least`` of the whole wide, at most the widest ``most``."""
    samples, stacks = profile.samples, expand(profile.stacks, frames.of_location)
    held = flatnonzero(samples.event == event)
    # merged by name, object and mode
    tree, _, total = weighed_tree(stacks, arange(len(frames)), samples.stack[held], samples.value[held])
    start = _positions(tree, total, _name_ranks(frames))
    whole = sum_of(total[:1])
    wide = flatnonzero((total >= least * whole) & (total > 0))
    # by width, then outer ones, then from the left: a box never comes before the one that it stands on
    widest = lexsort((start[wide], tree.depth[wide], -total[wide]))[:most]
    rows = wide[widest]
    rows = rows[lexsort((start[rows], tree.depth[rows]))]
    return Rectangles(tree.depth[rows], tree.key[rows], start[rows], total[rows], len(wide) - len(rows))


def _name_ranks(frames: LocationFrames) -> I64:
    """Return the rank of each frame's name among all."""
    return argsort(as_int64(sorted(range(len(frames)), key=frames.name.__getitem__)))


def _positions(tree: FrameTree, total: I64, rank: I64) -> I64:
    """Return the left edge of each row; children of one parent lie side by side in the order of their names."""
    start = zeros(len(tree))
    for level in range(1, int(tree.depth.max()) + 1 if len(tree) else 0):
        rows = flatnonzero(tree.depth == level)
        rows = rows[lexsort((rank[tree.key[rows]], tree.parent[rows]))]
        before = cumsum(total[rows]) - total[rows]
        first = searchsorted(tree.parent[rows], tree.parent[rows], side="left")
        start[rows] = start[tree.parent[rows]] + before - before[first]
    return start
