"""All tables of a report about one profile: functions, objects, threads, callers, paths, and shares of the whole."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.analysis.annotate.choose_functions import choose_functions
from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.analysis.report.call_tree import call_tree
from perf2x.analysis.report.callers import MOST, Caller, callers_of
from perf2x.analysis.report.hot_paths import HotPath, hot_paths
from perf2x.analysis.top_rows import sort_rows
from perf2x.analysis.totals import Total, Totals, totals, weights
from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I64
from perf2x.base.errors import OptionError
from perf2x.model.profile.event_lookup import find_event
from perf2x.model.profile.profile import Profile

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


def report_tables(profile: Profile, value: str, rows: int) -> ReportTables:
    """Return the first ``rows`` of every table of the event to see first; ``value`` as in ``totals``."""
    found = totals(profile, None, "function", value)
    by_self, by_total = _first(found.rows, "self", rows), _first(found.rows, "total", rows)
    objects, threads = (_first(totals(profile, None, kind, value).rows, "self", rows) for kind in ("object", "thread"))
    if not profile.events:
        return ReportTables(found, by_self, by_total, objects, threads, {}, [], 0, 0)
    held, weight = _samples(profile, value)
    tree = call_tree(profile, held, weight)
    wanted = list(dict.fromkeys((row.name, row.object) for row in [*by_self, *by_total]))[:MOST]
    return ReportTables(
        found, by_self, by_total, objects, threads, callers_of(tree, wanted), hot_paths(tree, _LEAST_OF_PATH, rows),
        int(weight[_in_kernel(profile, held)].sum()),
        int(weight[profile.threads.pid[profile.samples.thread[held]] == 0].sum()),
    )  # fmt: skip


def callers_by_name(profile: Profile, function: str) -> dict[tuple[str, str], list[Caller]]:
    """Return the callers of each function of that name or glob, by period; OptionError where there is none."""
    found = choose_functions(profile, ListingOptions(function, value="period"))
    if len(found) > MOST:
        raise OptionError(f"{function}: {len(found):,} functions have such names; callers of {MOST} are shown at most")
    return callers_of(call_tree(profile, *_samples(profile, "period")), found) if found else {}


def _samples(profile: Profile, value: str) -> tuple[I64, I64]:
    """Rows of the event to see first, and their weights."""
    held = np.flatnonzero(profile.samples.event == find_event(profile, None))
    return held, weights(profile, value)[held]


def _first(rows: Sequence[Total], sort: str, most: int) -> list[Total]:
    """The costliest rows by ``self`` or ``total``."""
    return [row for row in sort_rows(rows, sort) if (row.own if sort == "self" else row.total)][:most]


def _in_kernel(profile: Profile, rows: I64) -> I64:
    """Places among ``rows`` whose innermost frame is the kernel's."""
    stack = profile.samples.stack[rows]
    held = np.flatnonzero(stack >= 0)
    mode = profile.locations.mode[profile.stacks.location[stack[held]]]
    found: I64 = held[mode == int(CpuMode.KERNEL)]
    return found
