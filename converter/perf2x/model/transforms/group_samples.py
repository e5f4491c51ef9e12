"""Groups samples differently: adds a root frame to every stack, merges threads of a process, folds recursion.

All are pure functions from profile to profile.
"""

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
    location_rows,
    rewrite_stacks,
    select_entries,
    sum_samples,
    used_stacks,
    with_synthetic_frames,
)
from perf2x.model.transforms.drop_unused import compact


def grouped(profile: Profile, grouping: Grouping) -> Profile:
    """Apply all of ``grouping``, recursion first."""
    if grouping.fold_recursion:
        profile = _fold_recursion(profile)
    if grouping.merge_threads:
        profile = _merge_threads(profile)
    if grouping.root not in ("", "none"):
        profile = _with_roots(profile, grouping.root)
    threads = profile.threads
    nameless = len(threads) > 0 and not (threads.comm.any() or (threads.pid >= 0).any())
    return replace(profile, own_roots=grouping.root != "" or nameless)


def _fold_recursion(profile: Profile) -> Profile:
    """Merge consecutive frames of a function that calls itself into the innermost one: a b b b c becomes a b c.

    Indirect recursion (a b a b) stays. Locations without names are equal if they are the same location.
    """
    kind = _functions_of(profile)

    def folded(rows: ListArray) -> ListArray:
        return select_entries(rows, ends_run(row_numbers(rows.lengths), kind[rows.values]))

    return rewrite_stacks(profile, folded)


def _merge_threads(profile: Profile) -> Profile:
    """Merge the threads of each process, under the process's name and id; samples that become equal are summed."""
    threads = profile.threads
    columns = [as_int64(threads.pid), as_int64(threads.process)]
    first, inverse = group_rows(columns)
    order = lexsort((first, threads.pid[first]))
    rank = np.empty(len(order), np.int64)
    rank[order] = arange(len(order))
    chosen = first[order]
    merged = Threads(
        pid=threads.pid[chosen], tid=threads.pid[chosen], comm=threads.process[chosen], process=threads.process[chosen]
    )
    number = as_int32(rank[inverse])
    samples = replace(profile.samples, thread=number[profile.samples.thread])
    # Merged switches of several threads do not show when the process ran.
    return compact(sum_samples(replace(profile, threads=merged, samples=samples, switches=None, parents=None)))


def _with_roots(profile: Profile, root: str) -> Profile:
    """Add a synthetic root frame to every stack: comm, process (``name-PID``), thread (``comm-PID/TID``), cpu, or a
    part of the cgroup's path.

    Raises OptionError if samples have no CPU or cgroup.
    """
    samples = profile.samples
    column = samples.cpu if root == "cpu" else samples.cgroup if root in CGROUP_PARTS else samples.thread
    if column is None:
        raise SettingError("", "root", f" {root}: the profile does not have the {root} of its samples")
    used, kind = unique_inverse(column)
    name = _ROOT_TEXTS[root]
    texts = [name(profile, row) for row in used.tolist()]
    titles, title = number_keys(texts)
    grown, first_location = with_synthetic_frames(profile, titles)
    return _hung(grown, title[kind] + first_location)


def _part_text(part: str) -> Callable[[Profile, int], str]:
    return lambda profile, row: cgroup_part(part, profile.strings[row]) or "?"


_ROOT_TEXTS: dict[str, Callable[[Profile, int], str]] = {
    "comm": lambda profile, row: profile.strings[profile.threads.comm[row]] or "?",
    "process": lambda profile, row: (
        f"{profile.strings[profile.threads.process[row]] or '?'}-{profile.threads.pid[row]}"
    ),
    "thread": lambda profile, row: (
        f"{profile.strings[profile.threads.comm[row]] or '?'}-{profile.threads.pid[row]}/{profile.threads.tid[row]}"
    ),
    "cpu": lambda profile, row: f"cpu {row}" if row >= 0 else "cpu ?",
    **{part: _part_text(part) for part in CGROUP_PARTS},
}


def _hung(profile: Profile, root: I64) -> Profile:
    """Put every sample's stack under the location ``root`` (samples,)."""
    leaves, place = used_stacks(profile)
    first, pair = group_rows([root, place])
    rows = location_rows(profile, leaves)[place[first]] if len(leaves) else location_rows(profile, leaves)
    roots = ListArray(arange(len(first) + 1), root[first])
    parent, location, leaf = prefix_tree(side_by_side([roots, rows]))
    stacks = replace(profile.stacks, parent=parent, location=location)
    samples = replace(profile.samples, stack=leaf[pair] if len(pair) else profile.samples.stack)
    return sum_samples(replace(profile, stacks=stacks, samples=samples))


def _functions_of(profile: Profile) -> I64:
    """Return (locations,) a number that is equal for locations with equal functions; unique without lines."""
    locations = profile.locations
    lines = prefix_tree(ListArray(locations.line_offsets, as_int64(locations.line_function)))[2]
    return np.where(lines >= 0, lines, -1 - arange(len(locations)))
