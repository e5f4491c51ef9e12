"""Applies the options of `Grouping`."""

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    ListArray,
    arange,
    as_int32,
    as_int64,
    ends_run,
    group_rows,
    lexsort,
    number_keys,
    prefix_tree,
    row_numbers,
    side_by_side,
    unique_inverse,
)
from perf2x.errors import SettingError
from perf2x.model.cgroup_parts import CGROUP_PARTS, cgroup_part
from perf2x.model.filters.filter_options import Grouping
from perf2x.model.profile import (
    Profile,
    Threads,
    rewrite_stacks,
    select_entries,
    stack_locations,
    sum_samples,
    used_leaves,
    with_synthetic_frames,
)
from perf2x.model.transforms.drop_unused import compact


def grouped(profile: Profile, grouping: Grouping) -> Profile:
    """Apply the groupings that are set: recursion, then threads, then root frames."""
    if grouping.fold_recursion:
        profile = _fold_recursion(profile)
    if grouping.merge_threads:
        profile = _merge_threads(profile)
    if grouping.root not in ("", "none"):
        profile = _with_roots(profile, grouping.root)
    threads = profile.threads
    # without names and ids of threads, root frames that formats add would all have the same name
    are_nameless = len(threads) > 0 and not (threads.comm.any() or (threads.pid >= 0).any())
    return replace(profile, has_final_roots=grouping.root != "" or are_nameless)


def _fold_recursion(profile: Profile) -> Profile:
    """Keep the innermost of consecutive frames of one function: a b b b c becomes a b c, but a b a b stays."""
    function_list = _function_list_numbers(profile)

    def fold(rows: ListArray) -> ListArray:
        return select_entries(rows, ends_run(row_numbers(rows.lengths), function_list[rows.values]))

    return rewrite_stacks(profile, fold)


def _merge_threads(profile: Profile) -> Profile:
    """Merge the threads of each process, under the process's name and id."""
    threads = profile.threads
    columns = [as_int64(threads.pid), as_int64(threads.process)]
    first, group = group_rows(columns)
    # by pid, then by the first of the merged threads
    order = lexsort((first, threads.pid[first]))
    new_row = np.empty(len(order), np.int64)
    new_row[order] = arange(len(order))
    kept = first[order]
    merged = Threads(
        pid=threads.pid[kept], tid=threads.pid[kept], comm=threads.process[kept], process=threads.process[kept]
    )
    row_of_thread = as_int32(new_row[group])
    samples = replace(profile.samples, thread=row_of_thread[profile.samples.thread])
    # merged switches would not show when the process ran
    return compact(sum_samples(replace(profile, threads=merged, samples=samples, switches=None, parents=None)))


def _with_roots(profile: Profile, root: str) -> Profile:
    """Add a root frame, named after the property that ``root`` selects, to every stack.

    Raises SettingError if it is the CPU or cgroup and samples have none.
    """
    samples = profile.samples
    column = samples.cpu if root == "cpu" else samples.cgroup if root in CGROUP_PARTS else samples.thread
    if column is None:
        raise SettingError("", "root", f" {root}: the profile does not have the {root} of its samples")
    values, value_index = unique_inverse(column)
    name_of_value = _ROOT_NAMES[root]
    # values such as threads of one comm may have the same name
    names, name_index = number_keys([name_of_value(profile, value) for value in values.tolist()])
    with_frames, first_location = with_synthetic_frames(profile, names)
    return _with_root_locations(with_frames, name_index[value_index] + first_location)


def _name_by_cgroup(part: str) -> Callable[[Profile, int], str]:
    return lambda profile, path: cgroup_part(part, profile.strings[path]) or "?"


# Name the frame, given a row of threads, a CPU, or the string index of a cgroup's path.
_ROOT_NAMES: dict[str, Callable[[Profile, int], str]] = {
    "comm": lambda profile, row: profile.strings[profile.threads.comm[row]] or "?",
    "process": lambda profile, row: (
        f"{profile.strings[profile.threads.process[row]] or '?'}-{profile.threads.pid[row]}"
    ),
    "thread": lambda profile, row: (
        f"{profile.strings[profile.threads.comm[row]] or '?'}-{profile.threads.pid[row]}/{profile.threads.tid[row]}"
    ),
    "cpu": lambda profile, cpu: f"cpu {cpu}" if cpu >= 0 else "cpu ?",
    **{part: _name_by_cgroup(part) for part in CGROUP_PARTS},
}


def _with_root_locations(profile: Profile, root: I64) -> Profile:
    leaves, leaf_index = used_leaves(profile)
    first, pair = group_rows([root, leaf_index])
    # without samples there are no lists to choose from
    rows = stack_locations(profile, leaves)[leaf_index[first]] if len(leaves) else stack_locations(profile, leaves)
    roots = ListArray(arange(len(first) + 1), root[first])
    parent, location, leaf = prefix_tree(side_by_side([roots, rows]))
    stacks = replace(profile.stacks, parent=parent, location=location)
    samples = replace(profile.samples, stack=leaf[pair] if len(pair) else profile.samples.stack)
    return sum_samples(replace(profile, stacks=stacks, samples=samples))


def _function_list_numbers(profile: Profile) -> I64:
    """(locations,) equal numbers for equal lists of functions; distinct negative ones for unknown functions."""
    locations = profile.locations
    # equal lists end at the same node; the empty list ends at −1
    node = prefix_tree(ListArray(locations.line_offsets, as_int64(locations.line_function)))[2]
    return np.where(node >= 0, node, -1 - arange(len(locations)))
