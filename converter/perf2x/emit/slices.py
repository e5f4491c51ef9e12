"""Moments to slices: neighbouring samples that share the outer part of their stacks share the boxes drawn for it.

::

    moments     a;b;c   a;b   a;d   (gap)   a;b
    depth 1    [a              ]           [a ]
    depth 2    [b          ][d ]           [b ]
    depth 3    [c   ]

A slice is a run of rows, so it can never overlap another one of its track without holding it.

Where slices end at the very moment at which others begin, Speedscope opens the first new one before it has closed the
old ones if any of those has its name, and then loses its place. Exactly there ends come a quarter of a microsecond
earlier: a fraction that doubles hold exactly, so that nothing misnests elsewhere.
"""

import numpy as np

from perf2x.classes import dataclass
from perf2x.emit.tracks import Moments
from perf2x.emit.tree import FrameTree
from perf2x.model.arrays import I64, Bools
from perf2x.model.ordering import order_of


@dataclass(frozen=True, slots=True)
class Slices:
    """Boxes of a timeline; by track, start, depth, so parents stand before their children."""

    track: I64
    start: I64
    duration: I64
    node: I64
    """Row of the frame tree."""
    is_early: Bools
    """The slice ends a quarter of a microsecond before ``start + duration``."""

    def __len__(self) -> int:
        return len(self.track)


def slices_of(moments: Moments, node: I64, tree: FrameTree, key: I64, outermost: int, shortest: int) -> Slices:
    """Slices of all rows; ``node`` is the tree row of each moment, ``key`` the name of each tree row.

    Tree rows above depth ``outermost`` are not drawn; slices under ``shortest`` µs are left out.
    """
    cursor, depth = node.copy(), tree.depth[node].astype(np.int32)
    opens = np.full(len(node) + 1, -1, np.int64)  # (rows + 1,) key of the outermost slice that begins at a row
    first_rows, last_rows, nodes = [], [], []
    for level in range(int(depth.max(initial=-1)), outermost - 1, -1):
        rows = np.flatnonzero(depth >= level)  # their cursors have come up to this level
        here = cursor[rows]
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = (here[1:] != here[:-1]) | (np.diff(rows) != 1) | ~moments.joined[rows[1:] - 1]
        at = np.flatnonzero(begins)
        first_rows.append(rows[at])
        last_rows.append(rows[np.append(at[1:], len(rows)) - 1])
        nodes.append(here[at])
        opens[rows[at]] = key[here[at]]  # outer levels come later and win
        cursor[rows] = tree.parent[here]
    if not nodes:
        none = np.zeros(0, np.int64)
        return Slices(none, none, none, none, np.zeros(0, np.bool_))
    first, last, which = np.concatenate(first_rows), np.concatenate(last_rows), np.concatenate(nodes)
    duration = moments.end[last] - moments.start[first]
    kept = np.flatnonzero(duration >= shortest)
    order = kept[order_of((first[kept], tree.depth[which[kept]]))]
    is_mistakable = np.zeros(len(node), np.bool_)  # (rows,) a slice ends with the row that bears the next one's name
    is_mistakable[last[moments.joined[last] & (opens[last + 1] == key[which])]] = True
    first, last, which = first[order], last[order], which[order]
    return Slices(moments.track[first], moments.start[first], duration[order], which, is_mistakable[last])
