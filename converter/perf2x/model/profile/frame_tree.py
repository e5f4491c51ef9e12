"""Prefix trees of frames: stacks expanded by inlining, grouped (by thread, by process name), merged by displayed frame.

Profile.stacks distinguishes locations, but viewers distinguish *texts*: two call sites of one function are one box.
Everything here is one numpy pass per level of depth, never a loop over stacks.
"""

from itertools import pairwise

import numpy as np

from perf2x.base.columnar import (
    I64,
    AnyArray,
    Bools,
    ColumnTable,
    Frozen,
    ListArray,
    arange,
    argsort_rows,
    argsort_small,
    as_int64,
    begins_run,
    bincount,
    cumsum,
    falses,
    flatnonzero,
    group_pairs,
    minus_ones,
    offsets_of,
    repeat,
    searchsorted,
    sum_at,
    unique,
    unique_inverse,
    zeros,
)
from perf2x.model.profile.profile import Stacks
from perf2x.model.profile.stack_tree import path_sums


class FrameRows(Frozen):
    """Stacks with one row per frame instead of one per location."""

    parent: I64
    frame: I64
    row_of_stack: I64
    """Row of the innermost frame of each row in Profile.stacks."""
    depth: I64
    """Number of frames above each row."""

    def innermost(self, stack: I64) -> I64:
        """Return the frame row of each stack; −1 stays −1."""
        return np.append(self.row_of_stack, -1)[stack]


class FrameTree(ColumnTable):
    """A tree of merged frames. Rows 0 … groups − 1 are the groups themselves (key −1, parent −1, depth 0)."""

    parent: I64
    key: I64
    depth: I64


def expand(stacks: Stacks, frames_of_location: ListArray) -> FrameRows:
    """Return one row per frame; the parent of a location's outermost frame is its caller's innermost frame."""
    rows = frames_of_location[as_int64(stacks.location)]
    start, end = rows.offsets[:-1], rows.offsets[1:]
    parent = arange(-1, len(rows.values) - 1)
    caller = as_int64(stacks.parent)
    parent[start] = np.where(caller >= 0, end[caller] - 1, -1) if len(stacks) else -1
    sizes = rows.lengths
    depth = arange(len(parent)) + repeat(path_sums(stacks.parent, sizes) - end, sizes)
    return FrameRows(parent, rows.values, end - 1, depth)


def folded(rows: FrameRows, key_of_frame: I64) -> FrameRows:
    """Merge frames with the same key and parent, before groups multiply the work.

    Each row keeps one of the frames that it merges. Rows are sorted by level, parent, key.
    """
    order = argsort_small(rows.depth)
    place_of = np.full(len(order) + 1, len(order), np.int64)  # the last entry is for parent −1, here and in ``row``
    place_of[order] = arange(len(order))
    above, frame = place_of[rows.parent[order]], rows.frame[order]
    key, row = key_of_frame[frame], minus_ones(len(order) + 1)
    bits = int(key.max(initial=0)).bit_length()
    parents, kept = [zeros(0)], [zeros(0)]
    before, count = -1, 0
    for level in _levels(rows.depth):
        parent = row[above[level]]
        first, place = group_pairs(parent - before, key[level], len(parents[-1]), bits)
        row[level] = place + count
        parents.append(parent[first])
        kept.append(first + level.start)
        before, count = count, count + len(first)
    sizes = [len(level) for level in parents[1:]]
    depth = repeat(arange(len(sizes)), sizes)
    return FrameRows(np.concatenate(parents), frame[np.concatenate(kept)], row[place_of[rows.row_of_stack]], depth)


def merge_stacks(
    rows: FrameRows, key_of_frame: I64, stack: AnyArray, group: I64 | None = None
) -> tuple[FrameTree, I64]:
    """Merge all (group, stack) pairs into one tree: frames of one key under one parent become one row.

    ``group`` counts from 0 without gaps, None puts all pairs in one group; ``stack`` is a row of Profile.stacks or −1.
    Also returns the tree row of each pair (the group's own row for −1). Rows are sorted by level, parent, key.
    """
    rows, stack = folded(rows, key_of_frame), as_int64(stack)
    group = zeros(len(stack)) if group is None else group
    groups = int(group.max()) + 1 if len(group) else 0
    # look up equal pairs once
    width_of_group = int(stack.max(initial=-1)) + 2
    distinct, place = unique_inverse(group * width_of_group + stack + 1)
    group, stack = distinct // width_of_group, distinct % width_of_group - 1
    of_groups = _of_one_group if groups == 1 else _of_groups
    tree, node = of_groups(rows, key_of_frame, group, stack)
    return tree, node[place]


def weighed_tree(rows: FrameRows, key_of_frame: I64, stack: AnyArray, weight: I64) -> tuple[FrameTree, I64, I64]:
    """Merge stacks as ``merge_stacks`` does, in one group.

    Also returns each row's own weight, and its weight including all rows below it; ``weight`` has one number per
    ``stack``.
    """
    tree, node = merge_stacks(rows, key_of_frame, stack)
    own = sum_at(node, weight, len(tree))
    total = own.copy()
    add_to_parents(total, tree.parent, tree.depth)
    return tree, own, total


def _of_one_group(rows: FrameRows, key_of_frame: I64, group: I64, stack: I64) -> tuple[FrameTree, I64]:
    """Merge distinct pairs of a single group, using only the folded rows that stacks need."""
    leaf, depth = rows.innermost(stack), rows.depth
    is_used = falses(len(depth))
    is_used[leaf[leaf >= 0]] = True
    for level in _levels(depth)[:0:-1]:
        is_used[rows.parent[level][is_used[level]]] = True
    number = np.append(cumsum(is_used), 0)  # row 0 belongs to the group; it is the parent of the outermost frames
    parent, key = number[rows.parent[is_used]], key_of_frame[rows.frame[is_used]]
    tree = FrameTree(np.append(-1, parent), np.append(-1, key), np.append(0, depth[is_used] + 1))
    return tree, number[leaf]


def _of_groups(rows: FrameRows, key_of_frame: I64, group: I64, stack: I64) -> tuple[FrameTree, I64]:
    """Merge distinct pairs of several groups."""
    groups = int(group.max()) + 1 if len(group) else 0
    levels = _closure(rows.parent, rows.depth, group, rows.innermost(stack))
    parents, keys, level_sizes = [minus_ones(groups)], [minus_ones(groups)], [groups]
    stride, width = max(len(rows.parent), 1), int(key_of_frame.max()) + 1 if len(key_of_frame) else 1
    pairs_above = nodes_above = zeros(0)
    node_of: list[tuple[I64, I64]] = []
    for pairs in levels:
        row = pairs % stride
        above = rows.parent[row]
        parent = np.where(above >= 0, 0, pairs // stride)
        inner = flatnonzero(above >= 0)
        parent[inner] = nodes_above[searchsorted(pairs_above, pairs[inner] - row[inner] + above[inner])]
        merged, node = unique_inverse(parent * width + key_of_frame[rows.frame[row]])
        nodes_above, pairs_above = node + sum(level_sizes), pairs
        node_of.append((pairs, nodes_above))
        parents.append(merged // width)
        keys.append(merged % width)
        level_sizes.append(len(merged))
    tree_depth = repeat(arange(len(level_sizes)), level_sizes)
    tree = FrameTree(np.concatenate(parents), np.concatenate(keys), tree_depth)
    return tree, _look_up(node_of, group, stack, rows, stride)


def _closure(parent: I64, depth_of_row: I64, group: I64, row: I64) -> list[I64]:
    """Return the given (group, row) pairs and the pairs of all ancestors of the rows, by level, outermost level first.

    A pair is one number, group · rows + row; the pairs of a level are sorted and unique. A row of −1 is left out.
    ``depth_of_row`` is depths(parent).
    """
    stride = max(len(parent), 1)
    kept = row >= 0
    pairs = unique(group[kept] * stride + row[kept])
    depth = depth_of_row[pairs % stride] if len(pairs) else pairs
    levels: list[I64] = []
    below = zeros(0)
    for level in range(int(depth.max()) if len(depth) else -1, -1, -1):
        up = below - below % stride + parent[below % stride] if len(below) else below
        below = unique(np.append(pairs[depth == level], up))
        levels.append(below)
    return levels[::-1]


def _look_up(node_of: list[tuple[I64, I64]], group: I64, stack: I64, rows: FrameRows, stride: int) -> I64:
    """Return the tree row of each (group, stack) pair."""
    node = as_int64(group)
    if not node_of:
        return node
    pairs = np.concatenate([level[0] for level in node_of])
    nodes = np.concatenate([level[1] for level in node_of])
    order = argsort_rows([pairs])
    kept = flatnonzero(stack >= 0)
    keys = group[kept] * stride + rows.row_of_stack[stack[kept]]
    node[kept] = nodes[order[searchsorted(pairs[order], keys)]]
    return node


def add_to_parents(values: I64, parent: I64, depth: I64) -> None:
    """Add to each row's value those of all its descendants; rows are sorted by level."""
    for level in _levels(depth)[:0:-1]:
        np.add.at(values, parent[level], values[level].copy())  # numpy would copy both views of one array


def _levels(depth: I64) -> list[slice]:
    """Return the rows of each depth, outermost first, of rows sorted by level."""
    ends = cumsum(bincount(depth)).tolist() if len(depth) else []
    return [slice(begin, end) for begin, end in pairwise([0, *ends])]


def reading_order(rows: FrameRows, rank_of_inner: I64, rank_of_leaf: I64, is_line: Bools) -> I64:
    """Return (rows,) the position of the line that ends on each row when all lines are sorted as text.

    A row has two positions among its siblings: as the last frame of its own line (``rank_of_leaf``) and as an inner
    frame of the lines below it (``rank_of_inner``), because ``a``, ``a b;x`` and ``a;x`` sort in this order, not as a
    tree does. ``rows`` come from ``folded``, with keys in the order of ``rank_of_inner``. Rows without a line have no
    valid position.
    """
    below = as_int64(is_line)
    add_to_parents(below, rows.parent, rows.depth)
    above, line = rows.parent + 1, flatnonzero(is_line)
    width = int(max(rank_of_inner.max(initial=0), rank_of_leaf.max(initial=0))) + 1
    leaf = above[line] * width + rank_of_leaf[line]
    by_text = argsort_rows([leaf])
    line, leaf = line[by_text], leaf[by_text]
    following = searchsorted(above * width + rank_of_inner, leaf)  # the row before which each line is sorted
    before = offsets_of(below - is_line)  # number of lines below all rows before each one
    first = np.maximum.accumulate(np.where(begins_run(above), arange(len(above)), 0))  # the first of the row's siblings
    base = before[first] + offsets_of(bincount(above[line], len(above)))[above]
    start = before[:-1] + cumsum(bincount(following, len(above) + 1))[:-1] - base  # lines of earlier siblings
    for level in _levels(rows.depth)[1:]:
        start[level] += start[rows.parent[level]]
    position = np.append(start, 0)[rows.parent]
    position[line] += before[following] + arange(len(line)) - base[line]
    return position
