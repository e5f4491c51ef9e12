"""Boxes of a flame graph: rows of the tree of merged stacks, with widths and positions; the narrowest are left out."""

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
from perf2x.model.profile import FrameTree, LocationFrames, Profile, expand, weighted_tree


class Rectangles(Frozen):
    """Columns with one row per box, level by level, each level from left to right; the first row is the total."""

    depth: I64
    frame: I64
    """Row of LocationFrames; −1 for the total."""
    start: I64
    """Left edge in the event's unit; the total begins at 0."""
    total: I64
    """Width in the event's unit."""
    left_out: int
    """Number of boxes that were wide enough but exceeded the maximum."""

    def __len__(self) -> int:
        return len(self.depth)


def boxes_of(profile: Profile, frames: LocationFrames, event: int, min_share: float, max_boxes: int) -> Rectangles:
    """Return an event's boxes of at least this share (0 to 1) of the total: all, or the ``max_boxes`` widest."""
    samples, stacks = profile.samples, expand(profile.stacks, frames.of_location)
    event_samples = flatnonzero(samples.event == event)
    tree, _, total = weighted_tree(
        stacks, arange(len(frames)), samples.stack[event_samples], samples.value[event_samples]
    )
    start = _positions(tree, total, _name_ranks(frames))
    grand_total = sum_of(total[:1])
    wide_rows = flatnonzero((total >= min_share * grand_total) & (total > 0))
    # callers are before callees of equal width, so that no box is kept without its caller
    widest = lexsort((start[wide_rows], tree.depth[wide_rows], -total[wide_rows]))[:max_boxes]
    rows = wide_rows[widest]
    rows = rows[lexsort((start[rows], tree.depth[rows]))]
    return Rectangles(tree.depth[rows], tree.key[rows], start[rows], total[rows], len(wide_rows) - len(rows))


def _name_ranks(frames: LocationFrames) -> I64:
    return argsort(as_int64(sorted(range(len(frames)), key=frames.name.__getitem__)))


def _positions(tree: FrameTree, total: I64, name_rank: I64) -> I64:
    """Return (rows of the tree,) left edges: children are side by side from their parent's left edge on, by name."""
    start = zeros(len(tree))
    for level in range(1, int(tree.depth.max()) + 1 if len(tree) else 0):
        rows = flatnonzero(tree.depth == level)
        rows = rows[lexsort((name_rank[tree.key[rows]], tree.parent[rows]))]
        total_before = cumsum(total[rows]) - total[rows]
        first_sibling = searchsorted(tree.parent[rows], tree.parent[rows], side="left")
        start[rows] = start[tree.parent[rows]] + total_before - total_before[first_sibling]
    return start
