"""The tables of a report: those of ``top``, callers, and hottest paths."""

from collections.abc import Iterable

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import I64, Frozen, as_int64, falses, flatnonzero, lexsort, sum_at, sum_of, unique_inverse
from perf2x.model.filters.frame_presets import is_runtime
from perf2x.model.profile import FrameTree, Profile, expand, location_frames, path_sums, paths, weighted_tree
from perf2x.model.totals.totals import Key, Row, rows_of_frames, weights
from perf2x.tools.tables.top_rows import TopTable


class CallTree(Frozen):
    """The call tree of one event, with a row for each path of calls, which ends at its function.

    Row 0 is the root (key −1).
    """

    names: list[Key]
    """Function and object of each number in ``tree.key``."""
    tree: FrameTree
    own: I64
    """(rows,) self costs."""
    total: I64
    """(rows,) total costs."""


class HotPath(Frozen):
    """One chain of calls."""

    frames: list[Key]
    """Outermost first."""
    own: int
    """Self cost of the last function along this path."""
    total: int
    """Total cost of the last function along this path."""

    @property
    def functions(self) -> list[str]:
        """Names, outermost first."""
        return [name for name, _ in self.frames]

    @property
    def displayed_functions(self) -> list[str]:
        """The names, with one ``…`` for consecutive functions of a runtime.

        The last function is always shown. If all others belong to a runtime, they are shown, too.
        """
        is_shown = [not is_runtime(*key) for key in self.frames[:-1]] + [True]
        if sum(is_shown) == 1:
            return self.functions
        rows = zip(self.functions, is_shown, [True, *is_shown], strict=False)
        return [name if shown else "…" for name, shown, previous_shown in rows if shown or previous_shown]


class Caller(Row):
    """One caller of a function; its name is "" if the function has no caller."""

    value: int
    """Cost of the function when called from this caller."""


class ReportTables(Frozen):
    """Tables of the default event, costliest rows first."""

    by_self: TopTable
    by_total: TopTable
    objects: TopTable
    threads: TopTable
    callers: dict[Key, list[Caller]]
    paths: list[HotPath]
    kernel: int
    """Cost of samples in the kernel."""
    idle: int
    """Cost of samples of process 0, whose threads are the idle tasks of all CPUs."""


def report_tables(profile: Profile, value: str, limit: int, columns: Iterable[str] = ()) -> ReportTables:
    """Return the tables; ``value``, ``limit`` and ``columns`` are as in ``TopTable``.

    ``limit`` also limits the paths; callers are not limited.
    """
    by_self = TopTable(profile, "function", "self", value, limit, [*columns])
    by_total = by_self.sorted_by("total")
    objects, threads = (TopTable(profile, kind, "self", value, limit) for kind in ("object", "thread"))
    calls, samples, cost = call_tree(profile, value), profile.samples, _costs(profile, value)
    # mode of each sample's innermost frame; samples without a stack count as user code
    mode = np.append(profile.locations.mode[profile.stacks.location], CpuMode.USER)[samples.stack]
    pid = np.append(profile.threads.pid, -1)[samples.thread]
    kernel_cost, idle_cost = (sum_of(cost[is_part]) for is_part in (mode == CpuMode.KERNEL, pid == 0))
    callers = callers_of(calls, [*by_self.keys, *by_total.keys])
    return ReportTables(by_self, by_total, objects, threads, callers, hot_paths(calls, limit), kernel_cost, idle_cost)


def call_tree(profile: Profile, value: str = "period") -> CallTree:
    """Merge stacks by function and object, with the costs of the default event."""
    frames = location_frames(profile)
    names, row_of_frame = rows_of_frames(frames, "function")
    stacks = expand(profile.stacks, frames.of_location)
    return CallTree(names, *weighted_tree(stacks, row_of_frame, profile.samples.stack, _costs(profile, value)))


def _costs(profile: Profile, value: str) -> I64:
    """Return (samples,) costs; 0 for samples of other events."""
    return np.where(profile.samples.event == profile.default_event, weights(profile, value), 0)


def hot_paths(calls: CallTree, limit: int, min_share: float = 0.05) -> list[HotPath]:
    """Return up to ``limit`` paths, costliest first; each has at least two functions, and no two share a sample.

    A path ends where no callee has, along this path, at least the share ``min_share`` of the cost. Ties are ordered by
    length, then by row.
    """
    tree, total = calls.tree, calls.total
    is_hot = (total >= min_share * sum_of(calls.own)) & (total > 0) & (tree.depth > 1)
    has_hot_callee = falses(len(tree))
    has_hot_callee[tree.parent[is_hot]] = True
    ends = flatnonzero(is_hot & ~has_hot_callee)
    ends = ends[lexsort((ends, tree.depth[ends], -total[ends]))][:limit]
    chains = paths(tree.parent, tree.depth, ends, outermost_first=True).rows()
    return [
        HotPath([calls.names[number] for number in tree.key[chain[1:]].tolist()], own, cost)
        for chain, own, cost in zip(chains, calls.own[ends].tolist(), total[ends].tolist(), strict=True)
    ]


def callers_of(calls: CallTree, functions: Iterable[Key]) -> dict[Key, list[Caller]]:
    """Return the callers of each function, costliest first; their values add up to the function's total.

    The callers of a recursive function are those of its outermost call.
    """
    names, tree, callers = [*calls.names, ("", "")], calls.tree, {}  # the last name is for key −1
    for function in dict.fromkeys(functions):
        is_function = tree.key == names.index(function)
        # in an outermost call, the function is on the path from the root only once, at its end
        is_outermost = is_function & (path_sums(tree.parent, as_int64(is_function)) == 1)
        outermost = flatnonzero(is_outermost & (calls.total > 0))
        caller, caller_row = unique_inverse(tree.key[tree.parent[outermost]])
        value = sum_at(caller_row, calls.total[outermost], len(caller))
        costs = zip(caller.tolist(), value.tolist(), strict=True)
        rows = [Caller(names[number][0], names[number][1], cost) for number, cost in costs]
        callers[function] = sorted(rows, key=lambda row: (-row.value, *row.key))
    return callers
