"""Tables of a profile that a report needs beside those of ``top`` and ``diff``: callers, and hottest paths.

Callers are those of the outermost call of a function. Paths are chains of calls from the outermost function down to
where the cost divides into small parts.
"""

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.analysis.annotate.make_listings import choose_functions
from perf2x.analysis.top_rows import TopTable
from perf2x.analysis.totals import lines_of_frames, weights
from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I64, flatnonzero, lexsort, sum_of
from perf2x.base.columnar.unique import unique_inverse
from perf2x.base.errors import OptionError
from perf2x.model.profile.frame_tree import FrameTree, expand, weighed_tree
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import location_frames
from perf2x.model.profile.stack_tree import path_sums

_LEAST_OF_PATH = 0.05
_MOST = 63
"""Functions whose callers can be asked for at once."""
Key = tuple[str, str]
"""Function and base name of its object."""


class CallTree(Struct, frozen=True):
    """The calls of one event; those of one function by one row are one row."""

    names: list[Key]
    """Of each key of ``tree``."""
    tree: FrameTree
    own: I64
    """Cost of the row by itself, in what was to be counted."""
    total: I64
    """Cost with all that it calls."""


class HotPath(Struct, frozen=True):
    """One chain of calls."""

    functions: list[str]
    """Outermost first."""
    own: int
    """Cost of the last function by itself, called along this path."""
    total: int
    """Cost with all that it calls."""


class Caller(Struct, frozen=True):
    """One caller of a function; an empty name where nothing called it."""

    name: str
    object: str
    value: int
    """Cost of the function where this one called it."""


class ReportTables(Struct, frozen=True):
    """Tables of the event to see first, the costliest rows first."""

    by_self: TopTable
    by_total: TopTable
    objects: TopTable
    threads: TopTable
    callers: dict[Key, list[Caller]]
    """Of the functions in the first two."""
    paths: list[HotPath]
    kernel: int
    """Cost of samples in the kernel."""
    idle: int
    """Cost of idle CPUs: samples of thread 0."""


def report_tables(profile: Profile, value: str, rows: int, columns: Iterable[str] = ()) -> ReportTables:
    """Return the first ``rows`` of every table; ``value`` and other ``columns``, of functions, as in ``TopTable``."""
    by_self = TopTable(profile, "function", "self", value, rows, [*columns])
    by_total = by_self.sorted_by("total")
    objects, threads = (TopTable(profile, kind, "self", value, rows) for kind in ("object", "thread"))
    calls, samples = call_tree(profile, value), profile.samples
    held = flatnonzero(samples.event == profile.default_event)
    weight, stack = weights(profile, value)[held], samples.stack[held]
    mode = np.append(profile.locations.mode[profile.stacks.location], CpuMode.USER)[stack]
    kernel = sum_of(weight[mode == CpuMode.KERNEL])
    idle = sum_of(weight[np.append(profile.threads.pid, -1)[samples.thread[held]] == 0])
    callers = callers_of(calls, [*by_self.keys, *by_total.keys])
    return ReportTables(by_self, by_total, objects, threads, callers, hot_paths(calls, rows), kernel, idle)


def call_tree(profile: Profile, value: str = "period") -> CallTree:
    """Merge the stacks of the event to see first by function and object."""
    frames = location_frames(profile)
    names, line_of_frame = lines_of_frames(frames, "function")
    held = flatnonzero(profile.samples.event == profile.default_event)
    stacks = expand(profile.stacks, frames.of_location)
    weight = weights(profile, value)[held]
    return CallTree(names, *weighed_tree(stacks, line_of_frame, profile.samples.stack[held], weight))


def hot_paths(calls: CallTree, most: int, least: float = _LEAST_OF_PATH) -> list[HotPath]:
    """Return the costliest paths that end where nothing below takes ``least`` of the whole; no two share a sample.

    At most ``most``, the costliest first; of equal ones the one further out, then by its place in the tree.
    """
    tree, total = calls.tree, calls.total
    is_hot = (total >= least * sum_of(calls.own)) & (total > 0) & (tree.parent >= 0)
    goes_on = np.zeros(len(tree), np.bool_)
    goes_on[tree.parent[is_hot]] = True
    ends = flatnonzero(is_hot & ~goes_on)
    ends = ends[lexsort((ends, tree.depth[ends], -total[ends]))][:most]
    return [HotPath(_functions(calls, row), int(calls.own[row]), int(total[row])) for row in ends.tolist()]


def _functions(calls: CallTree, row: int) -> list[str]:
    """Names from the outermost function to that of the row."""
    found = []
    while row > 0:
        found.append(calls.names[int(calls.tree.key[row])][0])
        row = int(calls.tree.parent[row])
    return found[::-1]


def callers_of(calls: CallTree, functions: Iterable[Key]) -> dict[Key, list[Caller]]:
    """Return the callers of each function, the costliest first; their values add up to the function's total."""
    number = {name: place for place, name in enumerate(calls.names)}
    return {name: _callers(calls, number[name]) for name in dict.fromkeys(functions) if name in number}


def _callers(calls: CallTree, function: int) -> list[Caller]:
    is_it = calls.tree.key == function
    outermost = flatnonzero(is_it & (path_sums(calls.tree.parent, is_it.astype(np.int64)) == 1) & (calls.total > 0))
    caller, place = unique_inverse(calls.tree.key[calls.tree.parent[outermost]])
    value = np.zeros(len(caller), np.int64)
    np.add.at(value, place, calls.total[outermost])
    names = [*calls.names, ("", "")]  # the last one is that of key −1
    costs = zip(caller.tolist(), value.tolist(), strict=True)
    rows = [Caller(names[by][0], names[by][1], cost) for by, cost in costs]
    return sorted(rows, key=lambda row: (-row.value, row.name, row.object))


def callers_by_name(profile: Profile, function: str) -> dict[Key, list[Caller]]:
    """Return the callers of each function of that name or glob, by period; OptionError where there is none."""
    found = choose_functions(profile, ListingOptions(function, value="period"))
    if len(found) > _MOST:
        raise OptionError(f"{function}: {len(found):,} functions have such names; callers of {_MOST} are shown at most")
    return callers_of(call_tree(profile), found)
