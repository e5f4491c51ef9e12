"""Converts samples to slices: neighbouring samples share the slices of the outer frames that they have in common.

::

    samples   a;b;c   a;b   a;d   (gap)   a;b
    depth 1    [a              ]           [a ]
    depth 2    [b          ][d ]           [b ]
    depth 3    [c   ]

A slice covers some neighbouring samples, so two slices of a track are nested or disjoint. Slices that begin and end
together, as the last two above, are one row of a table: a *pile*.

Where some slices end and others begin at the same time, Speedscope opens the first new slice before it closes the old
ones if an old slice has the same name, and then misplaces slices. Only in this case do the old slices end a tick
earlier.
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
    """Row of the frame tree of the innermost slice; the others are its ancestors."""
    count: I64
    """Number of slices."""


def piles_of(
    shown: ShownSamples, node: AnyArray, tree: FrameTree, name_key: I64, min_depth: int, min_ticks: int
) -> tuple[Piles, I64]:
    """Return the slices of shown samples, and (piles,) their durations in ticks.

    ``node`` (rows of ``shown``,) is the row of the tree of each innermost frame; ``name_key`` (rows of the tree,) has
    equal numbers for equal names. Rows of the tree above ``min_depth`` are not drawn; slices shorter than ``min_ticks``
    are omitted.
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

    ``depth`` and ``shared`` are those of ``piles_of``. Where ``shared`` rises from one entry to the next, slices of
    several rows begin; where it falls, they end. Slices of one depth do not overlap, so the first to begin is the
    first to end: beginnings and ends, both sorted by depth, are in the same order. In this example, a slice of depth 1
    covers rows 0 to 2, and one of depth 2 rows 0 and 1::

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
    """Return how much of its stack each row shares with the row before, and whether slices must end a tick early.

    The first is (rows + 1,) the depth to which the row continues the slices of the row before; ``min_depth`` − 1 if it
    continues none, as for the first row and for the entry after the last one. The second is (rows,) whether a slice
    that ends with the row has the same name as the outermost slice that begins with the next one.
    """
    rows = flatnonzero(shown.meets_next[:-1])
    # equal pairs of neighbours are compared once
    pairs, pair_index = unique_inverse(as_int64(node[rows]) * len(tree) + node[rows + 1])
    node_before, node_after = pairs // len(tree), pairs % len(tree)
    common = _common_depth(tree, node_before, node_after, min_depth)
    shared = np.full(len(node) + 1, min_depth - 1, np.int64)
    shared[rows + 1] = common[pair_index]
    ended = tree.depth[node_before] - common  # numbers of slices that end and begin between the rows of a pair
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
        common[rows[is_equal]] = np.maximum(depth[one[is_equal]], min_depth - 1)  # rows above min_depth do not count
        rows, one, other = rows[~is_equal], tree.parent[one[~is_equal]], tree.parent[other[~is_equal]]
    return common
