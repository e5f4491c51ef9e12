"""Boxes of a picture: merged frames with weights and positions, without the narrowest."""

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
    """Columns with one row per box, level by level, each level from left to right; the first row is the total."""

    depth: I64
    frame: I64
    """Row of LocationFrames; −1 for the total."""
    start: I64
    """Left edge in the event's unit."""
    total: I64
    left_out: int
    """Number of boxes that were wide enough but exceeded the maximum."""

    def __len__(self) -> int:
        return len(self.depth)


def boxes_of(profile: Profile, frames: LocationFrames, event: int, least: float, most: int) -> Rectangles:
    """Return an event's boxes of at least the share ``least`` of the total, at most the ``most`` widest."""
    samples, stacks = profile.samples, expand(profile.stacks, frames.of_location)
    in_event = flatnonzero(samples.event == event)
    # merged by name, object and mode
    tree, _, total = weighed_tree(stacks, arange(len(frames)), samples.stack[in_event], samples.value[in_event])
    start = _positions(tree, total, _name_ranks(frames))
    whole = sum_of(total[:1])
    wide = flatnonzero((total >= least * whole) & (total > 0))
    # by width, then depth, then position: a box is never kept without the one below it
    widest = lexsort((start[wide], tree.depth[wide], -total[wide]))[:most]
    rows = wide[widest]
    rows = rows[lexsort((start[rows], tree.depth[rows]))]
    return Rectangles(tree.depth[rows], tree.key[rows], start[rows], total[rows], len(wide) - len(rows))


def _name_ranks(frames: LocationFrames) -> I64:
    """Return the sort position of each frame's name."""
    return argsort(as_int64(sorted(range(len(frames)), key=frames.name.__getitem__)))


def _positions(tree: FrameTree, total: I64, rank: I64) -> I64:
    """Return the left edge of each row; children of one parent are side by side, by name."""
    start = zeros(len(tree))
    for level in range(1, int(tree.depth.max()) + 1 if len(tree) else 0):
        rows = flatnonzero(tree.depth == level)
        rows = rows[lexsort((rank[tree.key[rows]], tree.parent[rows]))]
        before = cumsum(total[rows]) - total[rows]
        first = searchsorted(tree.parent[rows], tree.parent[rows], side="left")
        start[rows] = start[tree.parent[rows]] + before - before[first]
    return start
