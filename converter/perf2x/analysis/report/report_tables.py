"""All tables of a report about one profile: functions, objects, threads, callers, paths, and shares of the whole.

Who calls the hottest functions, and what each caller accounts for.

The hottest paths: chains of calls from the outermost function down to where the cost divides into small parts.

The calls of one event as a tree of functions, with their costs: what callers and hottest paths are read from.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.analysis.annotate.make_listings import choose_functions
from perf2x.analysis.event_columns import EventColumn, event_columns
from perf2x.analysis.top_rows import sort_rows
from perf2x.analysis.totals import Total, Totals, lines_of_frames, totals, weights
from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I64, flatnonzero, lexsort, sum_of
from perf2x.base.errors import OptionError
from perf2x.model.profile.frame_tree import add_to_parents, expand, folded, levels
from perf2x.model.profile.profile import Profile, find_event
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
    tree = folded(expand(profile.stacks, frames.of_location), line_of_frame)
    own = np.zeros(len(tree.depth), np.int64)
    leaf = tree.innermost(profile.samples.stack[rows].astype(np.int64))
    np.add.at(own, leaf[leaf >= 0], weight[leaf >= 0])
    found = CallTree(names, line_of_frame[tree.frame], tree.parent, tree.depth, own, own.copy())
    add_to_parents(found.total, found.parent, found.depth)
    return found


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
    whole = sum_of(tree.own)
    is_hot = (tree.total >= least * whole) & (tree.total > 0)
    goes_on = np.zeros(len(is_hot), np.bool_)
    inner = tree.parent[is_hot & (tree.parent >= 0)]
    goes_on[inner] = True
    ends = flatnonzero(is_hot & ~goes_on)
    ends = ends[lexsort((ends, tree.depth[ends], -tree.total[ends]))][:most]
    return [HotPath(_path(tree, row), int(tree.own[row]), int(tree.total[row])) for row in ends.tolist()]


def _path(tree: CallTree, row: int) -> list[tuple[str, str]]:
    found = []
    while row >= 0:
        found.append(tree.names[int(tree.line[row])])
        row = int(tree.parent[row])
    return found[::-1]


MOST = 63
"""Functions that can be asked for at once: one bit of a row for each."""


class Caller(Struct, frozen=True):
    """One caller of a function; an empty name where nothing called it."""

    name: str
    object: str
    value: int
    """Cost of the function where this one called it."""


def callers_of(tree: CallTree, functions: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Caller]]:
    """Return the callers of each (name, object), the costliest first; their values add up to the function's total.

    Of a function that stands several times in a stack the outermost call counts. ValueError beyond MOST functions.
    """
    if len(functions) > MOST:
        raise ValueError(f"callers of more than {MOST} functions")
    bit_of_name = {name: 1 << place for place, name in enumerate(functions)}
    bit_of_line = np.array([bit_of_name.get(name, 0) for name in tree.names], np.int64)
    bit = bit_of_line[tree.line] if len(tree.line) else tree.line
    above = np.zeros(len(bit), np.int64)  # wanted functions among the callers of each row
    for level in levels(tree.depth)[1:]:
        parent = tree.parent[level]
        above[level] = above[parent] | bit[parent]
    outermost = flatnonzero((bit != 0) & (bit & above == 0) & (tree.total > 0))
    sums: dict[tuple[int, int], int] = {}
    caller = np.where(tree.parent >= 0, tree.line[tree.parent], -1)[outermost]
    columns = (tree.line[outermost], caller, tree.total[outermost])
    for line, by, value in zip(*(column.tolist() for column in columns), strict=True):
        sums[line, by] = sums.get((line, by), 0) + value
    found: dict[tuple[str, str], list[Caller]] = {name: [] for name in functions}
    for (line, by), value in sums.items():
        found[tree.names[line]].append(Caller(*(tree.names[by] if by >= 0 else ("", "")), value))
    return {name: sorted(rows, key=lambda row: (-row.value, row.name, row.object)) for name, rows in found.items()}


_LEAST_OF_PATH = 0.05


class ReportTables(Struct, frozen=True):
    """Tables of one event, the costliest rows first."""

    whole: Totals
    by_self: list[Total]
    by_total: list[Total]
    objects: list[Total]
    threads: list[Total]
    callers: dict[tuple[str, str], list[Caller]]
    paths: list[HotPath]
    kernel: int
    """Cost of samples in the kernel."""
    idle: int
    """Cost of idle CPUs: samples of thread 0."""
    beside: Sequence[EventColumn] = ()
    """Other events and ratios, of functions."""


def report_tables(profile: Profile, value: str, rows: int, columns: Sequence[str] = ()) -> ReportTables:
    """Return the first ``rows`` of every table of the event to see first; ``value`` as in ``totals``."""
    beside = event_columns(profile, "function", value, columns)
    found = totals(profile, None, "function", value)
    by_self, by_total = _first(found.rows, "self", rows), _first(found.rows, "total", rows)
    objects, threads = (_first(totals(profile, None, kind, value).rows, "self", rows) for kind in ("object", "thread"))
    if not profile.events:
        return ReportTables(found, by_self, by_total, objects, threads, {}, [], 0, 0, beside)
    held, weight = _samples(profile, value)
    tree = call_tree(profile, held, weight)
    wanted = list(dict.fromkeys((row.name, row.object) for row in [*by_self, *by_total]))[:MOST]
    return ReportTables(
        found, by_self, by_total, objects, threads, callers_of(tree, wanted), hot_paths(tree, _LEAST_OF_PATH, rows),
        sum_of(weight[_in_kernel(profile, held)]),
        sum_of(weight[profile.threads.pid[profile.samples.thread[held]] == 0]),
        beside,
    )  # fmt: skip


def callers_by_name(profile: Profile, function: str) -> dict[tuple[str, str], list[Caller]]:
    """Return the callers of each function of that name or glob, by period; OptionError where there is none."""
    found = choose_functions(profile, ListingOptions(function, value="period"))
    if len(found) > MOST:
        raise OptionError(f"{function}: {len(found):,} functions have such names; callers of {MOST} are shown at most")
    return callers_of(call_tree(profile, *_samples(profile, "period")), found) if found else {}


def _samples(profile: Profile, value: str) -> tuple[I64, I64]:
    """Rows of the event to see first, and their weights."""
    held = flatnonzero(profile.samples.event == find_event(profile, None))
    return held, weights(profile, value)[held]


def _first(rows: Sequence[Total], sort: str, most: int) -> list[Total]:
    """The costliest rows by ``self`` or ``total``."""
    return [row for row in sort_rows(rows, sort) if (row.own if sort == "self" else row.total)][:most]


def _in_kernel(profile: Profile, rows: I64) -> I64:
    """Places among ``rows`` whose innermost frame is the kernel's."""
    stack = profile.samples.stack[rows]
    held = flatnonzero(stack >= 0)
    mode = profile.locations.mode[profile.stacks.location[stack[held]]]
    found: I64 = held[mode == int(CpuMode.KERNEL)]
    return found
