"""Walks the prefix tree of stacks, and rebuilds it when stacks change; one numpy pass per level, never per stack.

A row of `Stacks` is a location; parents have smaller row numbers. The number of a stack is the row of its innermost
location, its leaf; −1 is an empty stack. Trees built here are also sorted by level, as `prefix_tree` sorts them.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    AnyArray,
    Bools,
    ListArray,
    arange,
    argsort_small,
    as_int32,
    as_int64,
    as_intp,
    bincount,
    cumsum,
    falses,
    flatnonzero,
    group_pairs,
    group_rows,
    offsets_of,
    prefix_tree,
    row_numbers,
    row_slices,
    sorted_runs,
    sum_runs,
    take_rows_of,
    unique,
    unique_inverse,
    zeros,
)
from perf2x.model.profile.profile import Profile, ProfileSamples, Stacks
from perf2x.model.profile.recorded_samples import DROPPED

# Columns that are summed when samples are equal in all others.
_SUMMED = frozenset({"value", "count", "latency"})
# Stacks to expand at a time, which bounds memory.
_LEAVES_AT_ONCE = 1 << 15
# `path_sums` sums this many runs one by one; after these, passes over all remaining rows together are cheaper.
_MAX_RUNS = 2048


def depths(parent: AnyArray) -> I64:
    """Return (rows,) the number of each row's ancestors; 0 for roots."""
    if not (parent[1:] >= parent[:-1]).all():
        return path_sums(parent, np.ones(len(parent), np.int64)) - 1
    # a level ends before the first row whose parent is in it; a number of another dtype would convert all of ``parent``
    number, ends = parent.dtype.type, [0, int(parent.searchsorted(parent.dtype.type(0)))]
    while ends[-1] > ends[-2]:
        ends.append(int(parent.searchsorted(number(ends[-1]))))
    return row_numbers(np.diff(ends))


def path_sums(parent: AnyArray, values: I64) -> I64:
    """Return (rows,) the sum of ``values`` (rows,) over each row and all its ancestors.

    A run of rows, such as a level, contains no parent of its rows, and is summed in one pass. Rows after the first
    ``_MAX_RUNS`` runs are summed by pointer doubling, in log(depth) passes::

        parent    -1 0 1 2 3
        values     1 1 1 1 1     each row's ancestor is its parent
        pass 1     1 2 2 2 2     add the ancestor's number, and go on to the ancestor's ancestor
        pass 2     1 2 3 4 4
        pass 3     1 2 3 4 5
    """
    total, last_parent = np.append(values, 0), np.maximum.accumulate(parent)  # 0 for parent −1
    begin, number = 0, parent.dtype.type
    for _ in range(_MAX_RUNS):
        end = int(last_parent.searchsorted(number(begin)))
        if end == begin:
            break
        total[begin:end] += total[parent[begin:end]]
        begin = end
    if begin < len(parent):
        ancestor = as_int64(parent)
        ancestor[:begin] = -1
        while (rows := flatnonzero(ancestor >= 0)).size:
            up = ancestor[rows]
            total[rows] += total[up]
            ancestor[rows] = ancestor[up]
    return total[:-1]


def are_on_paths(parent: AnyArray, rows: AnyArray) -> Bools:
    """Return (rows of the tree,) True for the given rows and their ancestors; −1 is ignored."""
    found = falses(len(parent))
    rows = unique(rows[rows >= 0])
    while len(rows):
        found[rows] = True
        above = unique(parent[rows])
        rows = above[(above >= 0) & ~found[above]]
    return found


def merged_tree(parent: I64, location: I32, depth: I64, is_used: Bools) -> tuple[Stacks, I32]:
    """Merge several concatenated trees into one: rows of one location under the same merged parent become one row.

    ``depth`` is depths(parent). All ancestors of used rows must be used. Returns the tree, sorted as `prefix_tree`
    sorts, and (rows + 1,) the new row of each old row, −1 for unused ones and for the last entry.
    """
    rows = flatnonzero(is_used)
    rows = rows[argsort_small(depth[rows])]
    new_row, bits = np.full(len(parent) + 1, -1, np.int32), int(location.max(initial=0)).bit_length()
    parents, locations = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    first_above = total = 0  # first new row of the level above, and number of new rows so far
    for level in np.split(rows, cumsum(bincount(depth[rows]))[:-1]) if len(rows) else ():
        new_parent, level_location = new_row[parent[level]], location[level]
        # parents are numbered from the first row of their level; the parent of roots becomes 0
        pairs = as_int64(np.maximum(new_parent - first_above, 0)), as_int64(level_location)
        kept, index_in_level = group_pairs(*pairs, len(parents[-1]), bits)
        new_row[level] = total + index_in_level
        parents.append(new_parent[kept])
        locations.append(level_location[kept])
        first_above, total = total, total + len(kept)
    return Stacks(np.concatenate(parents), np.concatenate(locations)), new_row


def paths(parent: I64, depth: I64, rows: I64, outermost_first: bool) -> ListArray:
    """Return a list for each given row: all rows from it to its root, or in reverse if ``outermost_first``.

    Row −1 has an empty list. ``depth`` is depths(parent).
    """
    lengths = np.where(rows >= 0, depth[rows] + 1, 0) if len(depth) else zeros(len(rows))
    return paths_of_length(parent, rows, lengths, outermost_first)


def paths_of_length(parent: AnyArray, rows: I64, lengths: I64, outermost_first: bool = False) -> ListArray:
    """Return a list of ``lengths`` (n,) rows for each given row: itself and the rows above it.

    A list ends with the given row if ``outermost_first``.
    """
    offsets = offsets_of(lengths)
    values = np.empty(offsets[-1], np.int64)
    order = argsort_small(lengths)  # by length: unfinished paths are always the last ones
    cursor = as_int64(rows[order])
    first, step = ((offsets[1:] - 1)[order], -1) if outermost_first else (offsets[:-1][order], 1)
    # ``done`` paths have reached their length
    for step_count, done in enumerate(cumsum(bincount(lengths, 1))[:-1].tolist()):
        values[first[done:] + step * step_count] = cursor[done:]
        cursor[done:] = parent[cursor[done:]]
    return ListArray(offsets, values)


def ancestors(parent: I64, rows: I64, steps: I64) -> I64:
    """Return (n,) the ancestor that is ``steps`` (n,) above each given row."""
    order = argsort_small(steps)
    cursor = as_int64(rows[order])
    for done in cumsum(bincount(steps, 1))[:-1].tolist():
        cursor[done:] = parent[cursor[done:]]
    result = np.empty(len(rows), np.int64)
    result[order] = cursor
    return result


def samples_by_leaf(samples: ProfileSamples, rows: int, is_counted: Bools | None = None) -> I64:
    """Return (``rows``,) the number of samples with each leaf; ``is_counted`` (samples,) selects samples."""
    # np.bincount adds floats, which are exact below 2**53 samples
    count = samples.count if is_counted is None else samples.count * is_counted
    return as_int64(np.bincount(as_intp(samples.stack) + 1, count, rows + 1)[1:])


def used_leaves(profile: Profile) -> tuple[I64, I64]:
    """Return the distinct leaves, ascending, and (samples,) the index of each sample's leaf; −1 is a leaf, too."""
    leaves, leaf_index = unique_inverse(as_int64(profile.samples.stack) + 1)
    return leaves - 1, leaf_index


def stack_locations(profile: Profile, leaves: I64) -> ListArray:
    """Return each leaf's locations, outermost first; none for −1."""
    parent = as_int64(profile.stacks.parent)
    path = paths(parent, depths(parent), leaves, outermost_first=True)
    return ListArray(path.offsets, as_int64(profile.stacks.location[path.values]))


def kinds_in_stacks(
    profile: Profile, leaves: I64, kinds: ListArray, count: int
) -> Iterator[tuple[slice, I64, I64, I64]]:
    """Find out which kinds of frame, such as functions or objects, each stack contains.

    ``kinds`` lists the kinds of each location's frames, outermost first; kinds are numbers below ``count``. To save
    memory, stacks are processed in spans. Yields for each span:

    - the slice of ``leaves``;
    - (stacks of the span,) the kind of the innermost frame, −1 for a stack without frames;
    - (pairs,) and (pairs,): each distinct pair of a stack, counted from the span's start, and a kind in it.
    """
    for span in row_slices(len(leaves) if count else 0, _LEAVES_AT_ONCE):
        rows = stack_locations(profile, leaves[span])
        found = kinds[rows.values]
        ends = found.offsets[rows.offsets]
        stack, kind = np.divmod(unique(row_numbers(np.diff(ends)) * count + found.values), count)
        last = np.where(np.diff(ends) > 0, ends[1:] - 1, -1)
        yield span, np.append(found.values, -1)[last], stack, kind


def costs_of_kinds(
    profile: Profile, leaves: I64, kinds: ListArray, count: int, columns: Sequence[AnyArray]
) -> list[tuple[AnyArray, AnyArray]]:
    """Sum the self and the total cost of each kind of frame, for each column of weights.

    ``leaves``, ``kinds`` and ``count`` are as in `kinds_in_stacks`. A column (leaves, …) has the weight of each stack.
    A stack counts once in the total cost of a kind. Shape of both costs: (count, …).
    """
    # the last entry is for stacks without frames, whose kind is −1
    sums = [tuple(np.zeros((count + 1, *column.shape[1:]), column.dtype) for _ in range(2)) for column in columns]
    for span, innermost, stack, kind in kinds_in_stacks(profile, leaves, kinds, count):
        for (self_cost, total), column in zip(sums, columns, strict=True):
            np.add.at(self_cost, innermost, column[span])
            np.add.at(total, kind, column[span][stack])
    return [(self_cost[:-1], total[:-1]) for self_cost, total in sums]


def rewrite_stacks(profile: Profile, change: Callable[[ListArray], ListArray]) -> Profile:
    """Change every stack; samples that become equal are summed, except in a timeline.

    ``change`` takes the distinct stacks as lists of locations, outermost first, and returns the new lists.
    """
    leaves, leaf_index = used_leaves(profile)
    parent, location, new_leaf = prefix_tree(change(stack_locations(profile, leaves)))
    stack = new_leaf[leaf_index] if len(leaves) else profile.samples.stack
    samples = replace(profile.samples, stack=as_int32(stack))
    recorded = profile.recorded
    if recorded is not None:
        new_row = np.full(len(profile.stacks.parent), DROPPED, np.int32)
        new_row[leaves[leaves >= 0]] = new_leaf[leaves >= 0]
        recorded = recorded.renumber(None, new_row)
    return sum_samples(replace(profile, stacks=Stacks(parent, location), samples=samples, recorded=recorded))


def select_entries(rows: ListArray, keep: Bools) -> ListArray:
    """Keep the entries of lists where ``keep`` (entries of all lists,) is True."""
    lengths = bincount(row_numbers(rows.lengths)[keep], len(rows))
    return ListArray(offsets_of(lengths), rows.values[keep])


def sum_samples(profile: Profile) -> Profile:
    """Sum equal samples, and sort them by content; a timeline stays unchanged."""
    if profile.samples.time is not None:
        return profile
    return replace(profile, samples=sum_sample_rows(profile.samples))


def sum_sample_rows(samples: ProfileSamples) -> ProfileSamples:
    """Sum rows that are equal in all columns but ``_SUMMED``, sorted by content. Samples must not have times."""
    columns = {name: getattr(samples, name) for name in ProfileSamples.__struct_fields__ if name != "time"}
    present = {name: column for name, column in columns.items() if column is not None}
    keys = {name: column for name, column in present.items() if name not in _SUMMED}
    order, begins = sorted_runs(list(keys.values()))
    first = order[begins]
    summed = {name: column[first] for name, column in keys.items()}
    summed |= {name: sum_runs(present[name], order, begins) for name in _SUMMED & present.keys()}
    return replace(samples, **summed)


def keep_samples(profile: Profile, rows: I64 | Bools) -> Profile:
    """Keep the given rows of samples: row numbers in their new order, or (samples,) a mask."""
    return replace(profile, samples=take_rows_of(profile.samples, rows))


def without_times(profile: Profile, *, keep_cpu: bool, keep_wait: bool = False) -> Profile:
    """Convert a timeline to an aggregated profile, without anything that has a time.

    With ``keep_cpu``, samples of different CPUs are not summed; with ``keep_wait``, waits are not summed with others.
    """
    cpu = profile.samples.cpu if keep_cpu else None
    wait = profile.samples.wait if keep_wait else None
    samples = replace(profile.samples, time=None, cpu=cpu, wait=wait, fields=None)
    return sum_samples(
        replace(profile, samples=samples, switches=None, running=None, losses=None, parents=None, fields=())
    )


def equal_rows(parent: I64, location: I64, changed: I64) -> I64:
    """Find rows that became equal because the locations of the ``changed`` rows were replaced.

    Equal rows have the same location and equal parents. Returns (rows,) the first row to which each row is equal.

    If a changed row and a sibling become equal, their children become siblings, and count as changed in the next round.
    There is at most one round per level.
    """
    first_equal = arange(len(parent))
    while len(changed):
        is_parent = falses(len(parent) + 1)  # the last entry is for −1
        is_parent[parent[changed]] = True
        rows = flatnonzero(is_parent[parent])
        first, group = group_rows([parent[rows], location[rows]])
        replacement = arange(len(parent) + 1)
        replacement[rows], replacement[-1] = rows[first[group]], -1
        first_equal, new_parent = replacement[first_equal], replacement[parent]
        parent, changed = new_parent, flatnonzero(new_parent != parent)
    return first_equal
