"""The calls of one event as a tree of functions, with their costs: what callers and hottest paths are read from."""

import numpy as np
from msgspec import Struct

from perf2x.analysis.totals import lines_of_frames
from perf2x.base.columnar.arrays import I64
from perf2x.model.profile.frame_tree import expand, folded
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import location_frames


class CallTree(Struct, frozen=True):
    """Rows level by level, callers first; calls of one function by one row are one row."""

    names: list[tuple[str, str]]
    """Function and base name of its object, of each line of ``line``."""
    line: I64
    parent: I64
    """Row of the caller; −1 of outermost functions."""
    depth: I64
    own: I64
    """Cost of the row by itself, in what ``weight`` counts."""
    total: I64
    """Cost with all that it calls."""


def call_tree(profile: Profile, rows: I64, weight: I64) -> CallTree:
    """Merge the stacks of these samples by function and object; ``weight`` is one number for each of ``rows``."""
    frames = location_frames(profile)
    names, line_of_frame = lines_of_frames(frames, "function")
    tree, depth = folded(expand(profile.stacks, frames.of_location), line_of_frame)
    own = np.zeros(len(depth), np.int64)
    leaf = tree.innermost(profile.samples.stack[rows].astype(np.int64))
    np.add.at(own, leaf[leaf >= 0], weight[leaf >= 0])
    found = CallTree(names, line_of_frame[tree.frame], tree.parent, depth, own, own.copy())
    for level in levels(found)[:0:-1]:
        np.add.at(found.total, found.parent[level], found.total[level])
    return found


def levels(tree: CallTree) -> list[slice]:
    """Return the rows of each depth, outermost first."""
    ends = np.cumsum(np.bincount(tree.depth)).tolist() if len(tree.depth) else []
    return [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
