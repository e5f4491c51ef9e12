"""The hottest paths: chains of calls from the outermost function down to where the cost divides into small parts."""

import numpy as np
from msgspec import Struct

from perf2x.analysis.report.call_tree import CallTree


class HotPath(Struct, frozen=True):
    """One chain of calls."""

    names: list[tuple[str, str]]
    """Function and object, outermost first."""
    own: int
    """Cost of the last function by itself, called along this path."""
    total: int
    """Cost with all that it calls."""


def hot_paths(tree: CallTree, least: float, most: int) -> list[HotPath]:
    """Return the costliest paths that end where nothing below takes ``least`` of the whole; no two share a sample.

    At most ``most``, the costliest first; of equal ones the one further out, then by its place in the tree.
    """
    whole = int(tree.own.sum())
    is_hot = (tree.total >= least * whole) & (tree.total > 0)
    goes_on = np.zeros(len(is_hot), np.bool_)
    inner = tree.parent[is_hot & (tree.parent >= 0)]
    goes_on[inner] = True
    ends = np.flatnonzero(is_hot & ~goes_on)
    ends = ends[np.lexsort((ends, tree.depth[ends], -tree.total[ends]))][:most]
    return [HotPath(_path(tree, row), int(tree.own[row]), int(tree.total[row])) for row in ends.tolist()]


def _path(tree: CallTree, row: int) -> list[tuple[str, str]]:
    found = []
    while row >= 0:
        found.append(tree.names[int(tree.line[row])])
        row = int(tree.parent[row])
    return found[::-1]
