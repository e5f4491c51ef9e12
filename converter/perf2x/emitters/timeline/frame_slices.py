"""Converts samples to slices: neighbouring samples share the slices of the outer frames that they have in common.

::

    samples   a;b;c   a;b   a;d   (gap)   a;b
    depth 1    [a              ]           [a ]
    depth 2    [b          ][d ]           [b ]
    depth 3    [c   ]

Slices that begin and end together, as the last two above, are one row of a table: a *pile*.

Where slices meet, Speedscope opens the first new slice before it closes an old one of the same name, and misplaces
slices. Only in this case do the old slices end a tick earlier.
"""

import numpy as np

from perf2x.base.columnar import (
    I64,
    AnyArray,
    Bools,
    ColumnTable,
    arange,
    argsort_small,
    as_int64,
    begins_run,
    falses,
    flatnonzero,
    join_tables,
    ranges,
    repeat,
    row_numbers,
    take_rows_of,
    unique_inverse,
)
from perf2x.emitters.timeline.shown_samples import ShownSamples
from perf2x.model.profile import FrameTree, ancestors, paths_of_length


class Piles(ColumnTable):
    """Slices that begin and end together, one below the other; by track, start, depth."""

    first: I64
    """The first row of the shown samples that they cover, which has their track and start."""
    last: I64
    """The last row that they cover."""
    node: I64
    """The innermost slice's row of the frame tree; the rows of the other slices are its ancestors."""
    count: I64
    """Number of slices."""


def piles_of(
    shown: ShownSamples, node: AnyArray, tree: FrameTree, name_key: I64, min_depth: int, min_ticks: int
) -> tuple[Piles, I64]:
    """Return the slices of shown samples, and (piles,) their durations in ticks.

    ``node`` (rows of ``shown``,) are rows of the tree; ``name_key`` (rows of the tree,) has equal numbers for equal
    names. Frames above ``min_depth`` and slices shorter than ``min_ticks`` are omitted.
    """
    shared, ends_early = _shared_depths(shown, node, tree, name_key, min_depth)
    ends_early &= shown.end > shown.start + 1
    depth = tree.depth[node]
    count = depth - np.maximum(shared[:-1], shared[1:])  # (rows,) the number of slices that cover only the row
    rows = flatnonzero(count)
    piles = join_tables([_long_piles(node, tree, depth, shared), Piles(rows, rows, node[rows], count[rows])])
    piles = take_rows_of(piles, argsort_small(piles.first))
    duration = shown.end[piles.last] - shown.start[piles.first]
    if min_ticks > 1:
        is_long_enough = duration >= min_ticks
        piles, duration = take_rows_of(piles, is_long_enough), duration[is_long_enough]
    return piles, duration - ends_early[piles.last]


def _long_piles(node: AnyArray, tree: FrameTree, depth: I64, shared: I64) -> Piles:
    """Return the piles that cover more than one row, in order.

    Slices of one depth do not overlap, so beginnings and ends, both sorted by depth, are in the same order. Here a
    slice of depth 1 covers rows 0 to 2, one of depth 2 rows 0 and 1::

        row       0 1 2
        depth     2 3 1        begin    depth 1 at row 0, depth 2 at row 0        by depth: rows 0 and 0
        shared   0 2 1 0       end      depth 2 at row 1, depth 1 at row 2        by depth: rows 2 and 1
    """
    begun, ended = np.maximum(np.diff(shared), 0), np.maximum(-np.diff(shared), 0)
    slice_depth, first = ranges(shared[:-1] + 1, begun), row_numbers(begun)
    last = np.empty(len(slice_depth), np.int64)
    last[argsort_small(slice_depth)] = row_numbers(ended)[argsort_small(ranges(shared[1:] + 1, ended))]
    # slices with the same rows are neighbours: they become a pile
    outermost = flatnonzero(begins_run(first, last))
    count = np.diff(outermost, append=len(first))
    first, last, innermost_depth = first[outermost], last[outermost], slice_depth[outermost] + count - 1
    return Piles(first, last, ancestors(tree.parent, node[first], depth[first] - innermost_depth), count)


def _shared_depths(
    shown: ShownSamples, node: AnyArray, tree: FrameTree, name_key: I64, min_depth: int
) -> tuple[I64, Bools]:
    """Compare the stack of each row with that of the row before.

    Returns (rows + 1,) the depth of the shared frames, ``min_depth`` − 1 for none, and (rows,) whether an ending slice
    has the name of the outermost one that begins next.
    """
    rows = flatnonzero(shown.meets_next[:-1])
    pairs, pair_index = unique_inverse(as_int64(node[rows]) * len(tree) + node[rows + 1])
    node_before, node_after = pairs // len(tree), pairs % len(tree)
    common = _common_depth(tree, node_before, node_after, min_depth)
    shared = np.full(len(node) + 1, min_depth - 1, np.int64)
    shared[rows + 1] = common[pair_index]
    ended = tree.depth[node_before] - common
    begun = tree.depth[node_after] - common
    changes = flatnonzero((ended > 0) & (begun > 0))
    begun_name = name_key[ancestors(tree.parent, node_after[changes], begun[changes] - 1)]
    ended_paths = paths_of_length(tree.parent, node_before[changes], ended[changes])
    has_equal_names = falses(len(pairs))
    is_equal = name_key[ended_paths.values] == repeat(begun_name, ended[changes])
    has_equal_names[changes[row_numbers(ended[changes])[is_equal]]] = True
    ends_early = falses(len(node))
    ends_early[rows] = has_equal_names[pair_index]
    return shared, ends_early


def _common_depth(tree: FrameTree, one: I64, other: I64, min_depth: int) -> I64:
    """Return (pairs,) the depth of the innermost common ancestor of two rows of the tree, at least ``min_depth`` − 1.

    A row is an ancestor of itself here.
    """
    deeper_by = tree.depth[one] - tree.depth[other]
    one = ancestors(tree.parent, one, np.maximum(deeper_by, 0))
    other = ancestors(tree.parent, other, np.maximum(-deeper_by, 0))
    common, rows = np.empty(len(one), np.int64), arange(len(one))
    depth = np.append(tree.depth, -1)  # the last entry is for the parent of roots
    while len(rows):
        is_equal = one == other
        common[rows[is_equal]] = np.maximum(depth[one[is_equal]], min_depth - 1)
        rows, one, other = rows[~is_equal], tree.parent[one[~is_equal]], tree.parent[other[~is_equal]]
    return common
