"""Walks the prefix tree of stacks, and rebuilds it when stacks change; one numpy pass per level, never per stack."""

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

_SUMMED = frozenset({"value", "count", "latency"})
_LEAVES_AT_ONCE = 1 << 15
_RUNS = 2048
"""Number of runs that are summed one by one; after these, passes over all remaining rows together are cheaper."""


def depths(parent: AnyArray) -> I64:
    """Return the distance of every row from its root (0 for roots).

    In trees sorted by level, as from `prefix_tree`, parents are ascending: a level ends at the first row whose parent
    is in it.
    """
    if not (parent[1:] >= parent[:-1]).all():
        return path_sums(parent, np.ones(len(parent), np.int64)) - 1
    number, ends = parent.dtype.type, [0, int(parent.searchsorted(parent.dtype.type(0)))]
    while ends[-1] > ends[-2]:
        ends.append(int(parent.searchsorted(number(ends[-1]))))
    return row_numbers(np.diff(ends))


def path_sums(parent: AnyArray, own: I64) -> I64:
    """Return (rows,) the sum of ``own`` over each row and all its ancestors.

    A run of rows whose parents all precede the run, such as a level, takes one pass. If there are more than ``_RUNS``
    runs, the remaining rows are summed by pointer doubling, in log(depth) passes::

        parent    -1 0 1 2 3
        pass 1     1 2 2 2 2     one number added, ancestor = the parent's parent
        pass 2     1 2 3 4 4     the ancestor's sum added, ancestor = its ancestor
        pass 3     1 2 3 4 5
    """
    total, farthest = np.append(own, 0), np.maximum.accumulate(parent)
    begin, kind = 0, parent.dtype.type
    for _ in range(_RUNS):
        end = int(farthest.searchsorted(kind(begin)))
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


def with_callers(parent: AnyArray, rows: AnyArray) -> Bools:
    """Return (rows of the tree,) True for the given rows and all their ancestors.

    Each pass goes up one step for all rows.
    """
    found = falses(len(parent))
    rows = unique(rows[rows >= 0])
    while len(rows):
        found[rows] = True
        above = unique(parent[rows])
        rows = above[(above >= 0) & ~found[above]]
    return found


def merged_tree(parent: I64, location: I32, depth: I64, is_used: Bools) -> tuple[Stacks, I32]:
    """Merge several concatenated trees into one: equal rows with equal parents become one.

    Returns the tree, sorted as by `prefix_tree`, and the new row of each old row, −1 for rows that are not ``is_used``.
    Shape of the new rows: (rows + 1,); the last entry, for row −1, is −1.
    """
    rows = flatnonzero(is_used)
    rows = rows[argsort_small(depth[rows])]
    number, bits = np.full(len(parent) + 1, -1, np.int32), int(location.max(initial=0)).bit_length()
    parents, items = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    above = total = 0
    for level in np.split(rows, cumsum(bincount(depth[rows]))[:-1]) if len(rows) else ():
        up, item = number[parent[level]], location[level]
        kept, place = group_pairs(as_int64(np.maximum(up - above, 0)), as_int64(item), len(parents[-1]), bits)
        number[level] = total + place
        parents.append(up[kept])
        items.append(item[kept])
        above, total = total, total + len(kept)
    return Stacks(np.concatenate(parents), np.concatenate(items)), number


def paths(parent: I64, depth: I64, rows: I64, outermost_first: bool) -> ListArray:
    """Return the rows from each given row to its root, both included, innermost or outermost first.

    Row −1 has an empty path. ``depth`` is depths(parent).
    """
    lengths = np.where(rows >= 0, depth[rows] + 1, 0) if len(depth) else zeros(len(rows))
    return paths_of_length(parent, rows, lengths, outermost_first)


def paths_of_length(parent: AnyArray, rows: I64, lengths: I64, outermost_first: bool = False) -> ListArray:
    """Return the first ``lengths`` rows of the path from each given row towards its root."""
    offsets = offsets_of(lengths)
    values = np.empty(offsets[-1], np.int64)
    order = argsort_small(lengths)  # by length, so that unfinished paths are always the last ones
    cursor = as_int64(rows[order])
    at, step = ((offsets[1:] - 1)[order], -1) if outermost_first else (offsets[:-1][order], 1)
    for number, done in enumerate(cumsum(bincount(lengths, 1))[:-1].tolist()):
        values[at[done:] + step * number] = cursor[done:]
        cursor[done:] = parent[cursor[done:]]
    return ListArray(offsets, values)


def ancestors(parent: I64, rows: I64, steps: I64) -> I64:
    """Return the ancestor ``steps`` above each given row."""
    order = argsort_small(steps)
    cursor = as_int64(rows[order])
    for done in cumsum(bincount(steps, 1))[:-1].tolist():
        cursor[done:] = parent[cursor[done:]]
    result = np.empty(len(rows), np.int64)
    result[order] = cursor
    return result


def stack_weights(samples: ProfileSamples, rows: int, counted: Bools | None = None) -> I64:
    """Return (rows,) the number of samples whose leaf is each row of the tree.

    ``counted`` (samples,): which samples to count; None: all.
    """
    # floating point is exact below 2**53 samples
    count = samples.count if counted is None else samples.count * counted
    return as_int64(np.bincount(as_intp(samples.stack) + 1, count, rows + 1)[1:])


def used_stacks(profile: Profile) -> tuple[I64, I64]:
    """Return the distinct leaf rows of the samples (may include −1), and the index of each sample's leaf."""
    leaves, place = unique_inverse(as_int64(profile.samples.stack) + 1)
    return leaves - 1, place


def location_rows(profile: Profile, leaves: I64) -> ListArray:
    """Return (leaves,) rows of location numbers, outermost first; empty for −1."""
    parent = as_int64(profile.stacks.parent)
    path = paths(parent, depths(parent), leaves, outermost_first=True)
    return ListArray(path.offsets, as_int64(profile.stacks.location[path.values]))


def kinds_in_stacks(
    profile: Profile, leaves: I64, kinds: ListArray, count: int
) -> Iterator[tuple[slice, I64, I64, I64]]:
    """Find the kinds of frame (for example functions, or objects) in each stack, for some stacks at a time.

    ``kinds`` lists the kinds of each location, from 0 to ``count`` − 1, outermost first. Yields the span of ``leaves``;
    the innermost kind of each stack in it (−1: none); and every pair of stack, counted from the span's start, and kind
    that it contains, as two columns.
    """
    for span in row_slices(len(leaves) if count else 0, _LEAVES_AT_ONCE):
        rows = location_rows(profile, leaves[span])
        found = kinds[rows.values]
        ends = found.offsets[rows.offsets]
        stack, kind = np.divmod(unique(row_numbers(np.diff(ends)) * count + found.values), count)
        last = np.where(np.diff(ends) > 0, ends[1:] - 1, -1)
        yield span, np.append(found.values, -1)[last], stack, kind


def costs_of_kinds(
    profile: Profile, leaves: I64, kinds: ListArray, count: int, columns: Sequence[AnyArray]
) -> list[tuple[AnyArray, AnyArray]]:
    """Sum each column of weights by kind: over the stacks that end in the kind, and over all that contain it.

    Kinds are those of `kinds_in_stacks`; a stack that contains a kind twice counts once. Shapes: columns (stacks, …);
    both sums (count, …).
    """
    sums = [tuple(np.zeros((count + 1, *column.shape[1:]), column.dtype) for _ in range(2)) for column in columns]
    for span, leaf, stack, kind in kinds_in_stacks(profile, leaves, kinds, count):
        for (own, total), column in zip(sums, columns, strict=True):
            np.add.at(own, leaf, column[span])
            np.add.at(total, kind, column[span][stack])
    return [(own[:-1], total[:-1]) for own, total in sums]


def rewrite_stacks(profile: Profile, change: Callable[[ListArray], ListArray]) -> Profile:
    """Change every stack that samples use; samples that become equal are summed.

    ``change`` takes rows of location numbers, outermost first, and returns the same number of rows. Samples of a
    timeline are not summed: each keeps its row.
    """
    leaves, place = used_stacks(profile)
    parent, location, leaf = prefix_tree(change(location_rows(profile, leaves)))
    stack = leaf[place] if len(leaves) else profile.samples.stack
    samples = replace(profile.samples, stack=as_int32(stack))
    recorded = profile.recorded
    if recorded is not None:
        number = np.full(len(profile.stacks.parent), DROPPED, np.int32)
        number[leaves[leaves >= 0]] = leaf[leaves >= 0]
        recorded = recorded.renumber(None, number)
    return sum_samples(replace(profile, stacks=Stacks(parent, location), samples=samples, recorded=recorded))


def select_entries(rows: ListArray, keep: Bools) -> ListArray:
    """Keep the entries where ``keep`` is True; rows may become empty."""
    lengths = bincount(row_numbers(rows.lengths)[keep], len(rows))
    return ListArray(offsets_of(lengths), rows.values[keep])


def sum_samples(profile: Profile) -> Profile:
    """Sum equal samples, sorted by content; a timeline is unchanged."""
    if profile.samples.time is not None:
        return profile
    return replace(profile, samples=sum_sample_rows(profile.samples))


def sum_sample_rows(samples: ProfileSamples) -> ProfileSamples:
    """Sum equal rows of samples without times, sorted by content."""
    columns = {name: getattr(samples, name) for name in ProfileSamples.__struct_fields__ if name != "time"}
    present = {name: column for name, column in columns.items() if column is not None}
    keys = {name: column for name, column in present.items() if name not in _SUMMED}
    order, begins = sorted_runs(list(keys.values()))
    first = order[begins]
    changed = {name: column[first] for name, column in keys.items()}
    changed |= {name: sum_runs(present[name], order, begins) for name in _SUMMED & present.keys()}
    return replace(samples, **changed)


def keep_samples(profile: Profile, rows: I64 | Bools) -> Profile:
    """Keep only these rows of samples, in the order given."""
    return replace(profile, samples=take_rows_of(profile.samples, rows))


def without_times(profile: Profile, *, keep_cpu: bool, keep_wait: bool = False) -> Profile:
    """Convert a timeline to an aggregated profile: drop everything that has a time, and sum equal samples.

    With ``keep_wait``, waits stay separate from samples that ran, for `without_scheduler_frames`.
    """
    cpu = profile.samples.cpu if keep_cpu else None
    wait = profile.samples.wait if keep_wait else None
    samples = replace(profile.samples, time=None, cpu=cpu, wait=wait, fields=None)
    return sum_samples(
        replace(profile, samples=samples, switches=None, running=None, losses=None, parents=None, fields=())
    )


def equal_rows(parent: I64, location: I64, changed: I64) -> I64:
    """Return (rows,) the first row of the tree that equals each row, after the location of ``changed`` rows changed.

    Rows are equal if their parents and locations are. So the children of equal rows may become equal, which takes one
    round per level. Only siblings of changed rows are compared.
    """
    same = arange(len(parent))
    while len(changed):
        is_parent = falses(len(parent) + 1)  # the last entry is for −1
        is_parent[parent[changed]] = True
        rows = flatnonzero(is_parent[parent])
        first, group = group_rows([parent[rows], location[rows]])
        stands_for = arange(len(parent) + 1)
        stands_for[rows], stands_for[-1] = rows[first[group]], -1
        same, above = stands_for[same], stands_for[parent]
        parent, changed = above, flatnonzero(above != parent)
    return same
