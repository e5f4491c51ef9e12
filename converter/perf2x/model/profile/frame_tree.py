"""Prefix trees of frames, as flame graphs and call trees show them, made from the prefix tree of locations.

Two call sites in one function are one frame, and a location with inlined functions is several frames::

    Profile.stacks  ── expand ──▶  FrameRows      a row per frame
    FrameRows  ── merge_stacks ──▶  FrameTree     rows with the same key under the same parent become one row

A key is, for example, the index of the frame's name. Stacks of different groups, such as threads, are never merged.
Python loops go over the levels of a tree, never over its rows.
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
    """The tree of stacks with one row per frame.

    Shapes: ``parent``, ``frame`` and ``depth`` (rows,); ``row_of_stack`` (rows of Profile.stacks,).
    """

    parent: I64  # −1 for outermost frames
    frame: I64  # a value of ``frames_of_location`` (see `expand`)
    row_of_stack: I64
    """Row of the innermost frame of each row of Profile.stacks."""
    depth: I64
    """Number of frames above each row; 0 for outermost frames."""

    def innermost(self, stack: I64) -> I64:
        """Return (n,) the row of each stack's innermost frame; −1 stays −1."""
        return np.append(self.row_of_stack, -1)[stack]


class FrameTree(ColumnTable):
    """A tree of merged frames, sorted by level. Rows 0 … groups − 1 are the groups: key −1, parent −1, depth 0."""

    parent: I64
    key: I64
    depth: I64


def expand(stacks: Stacks, frames_of_location: ListArray) -> FrameRows:
    """Make one row per frame.

    ``frames_of_location`` lists each location's frames, outermost first. The caller's innermost frame calls the first
    of them; the others are inlined into the frame before them::

        location            L0 calls L1      frames of L0: a      of L1: b, with c inlined
        frame, parent       a −1,  b 0,  c 1
    """
    frames = frames_of_location[as_int64(stacks.location)]
    start, end = frames.offsets[:-1], frames.offsets[1:]
    parent = arange(-1, len(frames.values) - 1)  # right for inlined frames
    caller = as_int64(stacks.parent)
    parent[start] = np.where(caller >= 0, end[caller] - 1, -1) if len(stacks) else -1
    sizes = frames.lengths
    # a list ends at row end − 1, whose depth is path_sums − 1
    depth = arange(len(parent)) + repeat(path_sums(stacks.parent, sizes) - end, sizes)
    return FrameRows(parent, frames.values, end - 1, depth)


def merge_siblings(rows: FrameRows, key_of_frame: I64) -> FrameRows:
    """Merge rows with the same key under the same parent, and number the merged rows by level, parent, key."""
    order = argsort_small(rows.depth)
    # the last entry is for parent −1
    position_of_row = np.full(len(order) + 1, len(order), np.int64)
    position_of_row[order] = arange(len(order))
    parent_position, frame = position_of_row[rows.parent[order]], rows.frame[order]
    key, merged_row = key_of_frame[frame], minus_ones(len(order) + 1)
    bits = int(key.max(initial=0)).bit_length()
    parents, kept_positions = [zeros(0)], [zeros(0)]
    first_above, count = -1, 0  # first row of the level above, and number of rows so far
    for level in _levels(rows.depth):
        parent = merged_row[parent_position[level]]
        first, index_in_level = group_pairs(parent - first_above, key[level], len(parents[-1]), bits)
        merged_row[level] = index_in_level + count
        parents.append(parent[first])
        kept_positions.append(first + level.start)
        first_above, count = count, count + len(first)
    sizes = [len(level) for level in parents[1:]]
    depth = repeat(arange(len(sizes)), sizes)
    row_of_stack = merged_row[position_of_row[rows.row_of_stack]]
    return FrameRows(np.concatenate(parents), frame[np.concatenate(kept_positions)], row_of_stack, depth)


def merge_stacks(
    rows: FrameRows, key_of_frame: I64, stack: AnyArray, group: I64 | None = None
) -> tuple[FrameTree, I64]:
    """Merge the stacks of each group into one tree: frames with the same key under the same parent become one row.

    ``stack`` (n,) has rows of Profile.stacks, or −1; ``group`` (n,) has their groups, from 0 without gaps; None: one
    group.

    Returns the tree, sorted by level, parent, key, and (n,) the tree row of each stack's innermost frame. That of an
    empty stack is its group's.
    """
    rows, stack = merge_siblings(rows, key_of_frame), as_int64(stack)
    group = zeros(len(stack)) if group is None else group
    groups = int(group.max()) + 1 if len(group) else 0
    # equal pairs are looked up once; a pair is group · stacks_per_group + stack + 1
    stacks_per_group = int(stack.max(initial=-1)) + 2
    distinct, pair_index = unique_inverse(group * stacks_per_group + stack + 1)
    group, stack = distinct // stacks_per_group, distinct % stacks_per_group - 1
    merge = _merge_in_one_group if groups == 1 else _merge_in_groups
    tree, tree_row = merge(rows, key_of_frame, group, stack)
    return tree, tree_row[pair_index]


def weighted_tree(rows: FrameRows, key_of_frame: I64, stack: AnyArray, weight: I64) -> tuple[FrameTree, I64, I64]:
    """Merge stacks in one group; also return (rows of the tree,) the self and the total weight of each row.

    ``weight`` (n,) has a weight for each of ``stack`` (n,). The self weight sums the stacks that end at a row, the
    total weight those that contain it.
    """
    tree, tree_row = merge_stacks(rows, key_of_frame, stack)
    self_weight = sum_at(tree_row, weight, len(tree))
    total = self_weight.copy()
    add_to_parents(total, tree.parent, tree.depth)
    return tree, self_weight, total


def _merge_in_one_group(rows: FrameRows, key_of_frame: I64, group: I64, stack: I64) -> tuple[FrameTree, I64]:
    """The tree consists of the group's row and the ``rows`` (from `merge_siblings`) that any stack needs."""
    leaf, depth = rows.innermost(stack), rows.depth
    is_used = falses(len(depth))
    is_used[leaf[leaf >= 0]] = True
    for level in _levels(depth)[:0:-1]:  # innermost level first; outermost frames have no parents
        is_used[rows.parent[level][is_used[level]]] = True
    # row 0 is the group; the appended 0 makes it the parent of outermost frames, and the row of empty stacks
    tree_row = np.append(cumsum(is_used), 0)
    parent, key = tree_row[rows.parent[is_used]], key_of_frame[rows.frame[is_used]]
    tree = FrameTree(np.append(-1, parent), np.append(-1, key), np.append(0, depth[is_used] + 1))
    return tree, tree_row[leaf]


def _merge_in_groups(rows: FrameRows, key_of_frame: I64, group: I64, stack: I64) -> tuple[FrameTree, I64]:
    """The tree is made of (group, row) pairs: a group may need only some ``rows`` (from `merge_siblings`)."""
    groups = int(group.max()) + 1 if len(group) else 0
    levels = _pairs_with_ancestors(rows.parent, rows.depth, group, rows.innermost(stack))
    parents, keys, level_sizes = [minus_ones(groups)], [minus_ones(groups)], [groups]
    # a pair is group · stride + row; parent and key are parent · width + key
    stride, width = max(len(rows.parent), 1), int(key_of_frame.max()) + 1 if len(key_of_frame) else 1
    pairs_above = tree_rows_above = zeros(0)
    tree_rows_of_levels: list[tuple[I64, I64]] = []
    for pairs in levels:
        row = pairs % stride
        row_above = rows.parent[row]
        parent = np.where(row_above >= 0, 0, pairs // stride)  # the parent of an outermost frame is its group
        inner = flatnonzero(row_above >= 0)
        parent[inner] = tree_rows_above[searchsorted(pairs_above, pairs[inner] - row[inner] + row_above[inner])]
        merged, index_in_level = unique_inverse(parent * width + key_of_frame[rows.frame[row]])
        tree_rows_above, pairs_above = index_in_level + sum(level_sizes), pairs
        tree_rows_of_levels.append((pairs, tree_rows_above))
        parents.append(merged // width)
        keys.append(merged % width)
        level_sizes.append(len(merged))
    tree_depth = repeat(arange(len(level_sizes)), level_sizes)
    tree = FrameTree(np.concatenate(parents), np.concatenate(keys), tree_depth)
    return tree, _tree_rows_of_pairs(tree_rows_of_levels, group, stack, rows, stride)


def _pairs_with_ancestors(parent: I64, depth_of_row: I64, group: I64, row: I64) -> list[I64]:
    """Add the pairs of all ancestors to (group, row) pairs, and sort them by level, outermost first.

    A pair is group · rows + row; the pairs of a level are sorted and unique. Row −1 has no pair.
    """
    stride = max(len(parent), 1)
    has_row = row >= 0
    pairs = unique(group[has_row] * stride + row[has_row])
    depth = depth_of_row[pairs % stride] if len(pairs) else pairs
    levels: list[I64] = []
    pairs_below = zeros(0)
    for level in range(int(depth.max()) if len(depth) else -1, -1, -1):
        parents = pairs_below - pairs_below % stride + parent[pairs_below % stride] if len(pairs_below) else pairs_below
        pairs_below = unique(np.append(pairs[depth == level], parents))
        levels.append(pairs_below)
    return levels[::-1]


def _tree_rows_of_pairs(
    tree_rows_of_levels: list[tuple[I64, I64]], group: I64, stack: I64, rows: FrameRows, stride: int
) -> I64:
    """Find (n,) the tree row of each (group, stack) pair, given the (group, row) pairs and tree rows of each level."""
    tree_row = as_int64(group)
    if not tree_rows_of_levels:
        return tree_row
    pairs = np.concatenate([level[0] for level in tree_rows_of_levels])
    tree_row_of_pair = np.concatenate([level[1] for level in tree_rows_of_levels])
    order = argsort_rows([pairs])
    has_stack = flatnonzero(stack >= 0)
    wanted = group[has_stack] * stride + rows.row_of_stack[stack[has_stack]]
    tree_row[has_stack] = tree_row_of_pair[order[searchsorted(pairs[order], wanted)]]
    return tree_row


def add_to_parents(values: I64, parent: I64, depth: I64) -> None:
    """Add to each row's value the values of its descendants, in place. Shapes: (rows,); rows are sorted by level."""
    for level in _levels(depth)[:0:-1]:
        # given two views of one array, numpy would copy both
        np.add.at(values, parent[level], values[level].copy())


def _levels(depth: I64) -> list[slice]:
    ends = cumsum(bincount(depth)).tolist() if len(depth) else []
    return [slice(begin, end) for begin, end in pairwise([0, *ends])]


def line_positions(rows: FrameRows, rank_of_inner: I64, rank_of_leaf: I64, is_line: Bools) -> I64:
    """Return (rows,) the position of each row's line when the lines of collapsed stacks are sorted as text.

    A line, such as ``main;f 42``, belongs to the row at which the stack ends, where ``is_line`` (rows,) is True. Other
    positions are meaningless.

    A space follows the last frame of a line, a semicolon every other one. With functions called ``a`` and ``a b``, the
    order is ``a 5``, ``a b;x 3``, ``a;x 2``. So each row has two ranks, ``rank_of_leaf`` and ``rank_of_inner``, which
    are comparable with each other. The keys of ``rows`` (from `merge_siblings`) must be in the order of
    ``rank_of_inner``.
    """
    lines_below = as_int64(is_line)
    add_to_parents(lines_below, rows.parent, rows.depth)  # now the lines of each row and of all rows below it
    # rows with the same parent are a family
    family, line_row = rows.parent + 1, flatnonzero(is_line)
    width = int(max(rank_of_inner.max(initial=0), rank_of_leaf.max(initial=0))) + 1
    # lines in the order of family, then rank as a leaf
    leaf_key = family[line_row] * width + rank_of_leaf[line_row]
    by_text = argsort_rows([leaf_key])
    line_row, leaf_key = line_row[by_text], leaf_key[by_text]
    # (lines,) the first sibling of the line's row that, as an inner frame, sorts after the line
    next_inner = searchsorted(family * width + rank_of_inner, leaf_key)
    below_before = offsets_of(lines_below - is_line)  # lines below all earlier rows
    first_sibling = np.maximum.accumulate(np.where(begins_run(family), arange(len(family)), 0))
    # lines of earlier families
    base = below_before[first_sibling] + offsets_of(bincount(family[line_row], len(family)))[family]
    # lines of the family: those below earlier siblings, and those of lesser leaf rank
    start = below_before[:-1] + cumsum(bincount(next_inner, len(family) + 1))[:-1] - base
    for level in _levels(rows.depth)[1:]:
        start[level] += start[rows.parent[level]]  # now the position of the first line below each row
    position = np.append(start, 0)[rows.parent]
    position[line_row] += below_before[next_inner] + arange(len(line_row)) - base[line_row]
    return position
