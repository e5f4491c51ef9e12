"""Shown samples to slices: neighbouring samples that share the outer part of their stacks share the boxes drawn for it.

::

    samples   a;b;c   a;b   a;d   (gap)   a;b
    depth 1    [a              ]           [a ]
    depth 2    [b          ][d ]           [b ]
    depth 3    [c   ]

A slice is a run of rows, so it can never overlap another one of its track without holding it.

Where slices end at the very time at which others begin, Speedscope opens the first new one before it has closed the
old ones if any of those has its name, and then loses its place. Exactly there ends come a tick earlier.
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, Bools, ColumnTable, flatnonzero, sum_of, take_rows_of
from perf2x.base.columnar.ragged import argsort_small, ranges, row_numbers
from perf2x.emitters.timeline.shown_samples import ShownSamples
from perf2x.model.profile.frame_tree import FrameTree
from perf2x.model.profile.stack_tree import ancestors, paths_of_length


class Slices(ColumnTable):
    """Boxes of a timeline; by track, start, depth, so parents stand before their children."""

    row: I64
    """Row of the shown samples that the slice begins with: its track and its start."""
    duration: I64
    node: I64
    """Row of the frame tree."""
    is_early: Bools
    """The slice ends a tick before ``start + duration``."""


def slices_of(shown: ShownSamples, node: I64, tree: FrameTree, key: I64, outermost: int, shortest: int) -> Slices:
    """Return the slices of all rows; ``node`` is the tree row of each shown sample, ``key`` the name of each tree row.

    Tree rows above depth ``outermost`` are not drawn; slices under ``shortest`` ticks are left out.
    """
    depth = tree.depth[node]
    shared = np.append(_shared(shown, node, tree, outermost), outermost - 1)  # (rows + 1,) at the end all slices end
    opened = paths_of_length(tree.parent, node, depth - shared[:-1], outermost_first=True)
    which, first = opened.values, row_numbers(opened.lengths)
    last = _last_rows(depth, shared)
    begins = np.full(len(node) + 1, -1, np.int64)  # (rows + 1,) key of the outermost slice that begins at a row
    some = flatnonzero(opened.lengths)
    begins[some] = key[which[opened.offsets[some]]]
    is_mistakable = np.zeros(len(node), np.bool_)  # (rows,) a slice ends with the row that bears the next one's name
    is_mistakable[last[shown.joined[last] & (begins[last + 1] == key[which])]] = True
    is_mistakable &= shown.end > shown.start + 1
    duration = shown.end[last] - shown.start[first]
    slices = Slices(first, duration, which, is_mistakable[last])
    kept = duration >= shortest
    return slices if kept.all() else take_rows_of(slices, kept)


def count_of(shown: ShownSamples, node: I64, tree: FrameTree, key: I64, outermost: int, shortest: int) -> int:
    """Count the slices that ``slices_of`` makes, without making them where none is left out."""
    if shortest > 1:
        return len(slices_of(shown, node, tree, key, outermost, shortest))
    return sum_of(tree.depth[node] - _shared(shown, node, tree, outermost))


def _shared(shown: ShownSamples, node: I64, tree: FrameTree, outermost: int) -> I64:
    """(rows,) depth down to which each row shows the boxes of the row before; ``outermost`` − 1 where it shows none."""
    shared = np.full(len(node), outermost - 1, np.int64)
    rows = flatnonzero(shown.joined[:-1]) + 1
    one, other = node[rows - 1], node[rows]
    deeper = tree.depth[one] - tree.depth[other]
    one, other = (
        ancestors(tree.parent, one, np.maximum(deeper, 0)),
        ancestors(tree.parent, other, np.maximum(-deeper, 0)),
    )
    depth = np.append(tree.depth, -1)  # the last one stands for what lies above different roots
    while len(rows):
        met = one == other
        shared[rows[met]] = np.maximum(depth[one[met]], outermost - 1)  # groups that are not drawn are not shared
        rows, one, other = rows[~met], tree.parent[one[~met]], tree.parent[other[~met]]
    return shared


def _last_rows(depth: I64, shared: I64) -> I64:
    """The last row of each slice, in the order in which slices begin.

    On one level slices begin and end in turns: the first to begin is the first to end::

        depth    2 3 1      begin   0:1 0:2   1:3              by level   1: 0   2: 0   3: 1
        shared     2 1 0    end               1:3 1:2   2:1               1: 2   2: 1   3: 1
    """
    begun, ended = depth - shared[:-1], depth - shared[1:]
    begin_level, end_level = ranges(shared[:-1] + 1, begun), ranges(shared[1:] + 1, ended)
    last = np.empty(len(begin_level), np.int64)
    last[argsort_small(begin_level)] = row_numbers(ended)[argsort_small(end_level)]
    return last
