"""Converts samples to slices: neighbouring samples share the boxes of the outer frames that they have in common.

::

    samples   a;b;c   a;b   a;d   (gap)   a;b
    depth 1    [a              ]           [a ]
    depth 2    [b          ][d ]           [b ]
    depth 3    [c   ]

A slice is a run of rows, so two slices of a track are nested or disjoint. Slices that begin and end together, as the
last two above, are one row of a table: a pile.

Where old slices end at the time at which new ones begin, Speedscope opens the first new slice before it closes the old
ones if an old slice has the same name, and then gets confused. Only in this case the old slices end a tick earlier.
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
    """Boxes of a timeline that begin and end together, one below the other; by track, start, depth."""

    first: I64
    """The first row of the shown samples that they cover, which has their track and start."""
    last: I64
    """The last row that they cover."""
    node: I64
    """Row of the frame tree of the innermost box; the others are its ancestors."""
    count: I64


def piles_of(
    shown: ShownSamples, node: AnyArray, tree: FrameTree, key: I64, outermost: int, shortest: int
) -> tuple[Piles, I64]:
    """Return the slices of all rows; ``node`` is the tree row of each shown sample, ``key`` the name of each tree row.

    Tree rows above depth ``outermost`` are not drawn; slices shorter than ``shortest`` ticks are omitted.
    """
    shared, is_mistakable = _shared(shown, node, tree, key, outermost)
    is_mistakable &= shown.end > shown.start + 1
    depth = tree.depth[node]
    alone = depth - np.maximum(shared[:-1], shared[1:])  # (rows,) slices that cover only the row
    rows = flatnonzero(alone)
    piles = join_tables([_long_piles(node, tree, depth, shared), Piles(rows, rows, node[rows], alone[rows])])
    piles = take_rows_of(piles, argsort_small(piles.first))
    duration = shown.end[piles.last] - shown.start[piles.first]
    if shortest > 1:
        kept = duration >= shortest
        piles, duration = take_rows_of(piles, kept), duration[kept]
    return piles, duration - is_mistakable[piles.last]


def _long_piles(node: AnyArray, tree: FrameTree, depth: I64, shared: I64) -> Piles:
    """Return the piles that cover more than one row, in order.

    On each level the slices alternate: the first to begin is the first to end::

        depth    2 3 1      begin   0:1 0:2              by level   1: 0   2: 0
        shared     2 1 0    end             1:2   2:1               1: 2   2: 1
    """
    begun, ended = np.maximum(np.diff(shared), 0), np.maximum(-np.diff(shared), 0)
    level, first = ranges(shared[:-1] + 1, begun), row_numbers(begun)
    last = np.empty(len(level), np.int64)
    last[argsort_small(level)] = row_numbers(ended)[argsort_small(ranges(shared[1:] + 1, ended))]
    start = flatnonzero(begins_run(first, last))
    count = np.diff(start, append=len(first))
    first, last, innermost = first[start], last[start], level[start] + count - 1
    return Piles(first, last, ancestors(tree.parent, node[first], depth[first] - innermost), count)


def _shared(shown: ShownSamples, node: AnyArray, tree: FrameTree, key: I64, outermost: int) -> tuple[I64, Bools]:
    """Return how much of its stack each row shares with its neighbours; equal pairs of rows are compared once.

    Returns the depth to which each row continues the boxes of the row before, ``outermost`` − 1 for no box; and whether
    a slice that ends with the row has the same name as the outermost slice that begins with the next row.
    Shapes: (rows + 1,) and (rows,).
    """
    rows = flatnonzero(shown.joined[:-1])
    pairs, pair = unique_inverse(as_int64(node[rows]) * len(tree) + node[rows + 1])
    one, other = pairs // len(tree), pairs % len(tree)
    met = _common_depth(tree, one, other, outermost)
    shared = np.full(len(node) + 1, outermost - 1, np.int64)
    shared[rows + 1] = met[pair]
    ended = tree.depth[one] - met
    begun = tree.depth[other] - met
    some = flatnonzero((ended > 0) & (begun > 0))
    name = key[ancestors(tree.parent, other[some], begun[some] - 1)]
    closed = paths_of_length(tree.parent, one[some], ended[some])
    is_met = falses(len(pairs))
    is_met[some[row_numbers(ended[some])[key[closed.values] == repeat(name, ended[some])]]] = True
    is_mistakable = falses(len(node))
    is_mistakable[rows] = is_met[pair]
    return shared, is_mistakable


def _common_depth(tree: FrameTree, one: I64, other: I64, outermost: int) -> I64:
    """Return (pairs,) the depth to which two rows of the tree are equal, at least ``outermost`` − 1."""
    deeper = tree.depth[one] - tree.depth[other]
    one = ancestors(tree.parent, one, np.maximum(deeper, 0))
    other = ancestors(tree.parent, other, np.maximum(-deeper, 0))
    common, rows = np.empty(len(one), np.int64), arange(len(one))
    depth = np.append(tree.depth, -1)  # the last entry is above the roots
    while len(rows):
        met = one == other
        common[rows[met]] = np.maximum(depth[one[met]], outermost - 1)  # undrawn groups do not count
        rows, one, other = rows[~met], tree.parent[one[~met]], tree.parent[other[~met]]
    return common
