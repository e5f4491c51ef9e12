"""The hottest functions, objects or threads, as ``perf2x top`` and the library's ``top`` show them."""

from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np

from perf2x.base.columnar import argsort, as_int64, flatnonzero, sum_at, sum_of, take_rows_of, unique
from perf2x.model.number_format import WEIGHT, format_amount, format_percent, plural
from perf2x.model.profile import Profile, count_threads
from perf2x.model.totals.event_columns import EventColumn, cell_text, event_columns, with_rows_of
from perf2x.model.totals.totals import Total, totals, weights
from perf2x.tools.tables.result_table import ResultTable


class TopTable(ResultTable):
    """Self and total costs of functions, objects or threads, highest first."""

    def __init__(
        self, profile: Profile, by: str, sort: str, value: str, limit: int, columns: Sequence[str] = ()
    ) -> None:
        waits = [
            event.name
            for row, event in enumerate(profile.events)
            if event.is_wait and row != profile.default_event and row in profile.samples.event
        ]
        self.other_columns = event_columns(profile, by, value, columns or (waits if value == "period" else ()))
        self.whole = with_rows_of(totals(profile, None, by, value), self.other_columns)
        self.by, self.value = by, value
        self._threads = _threads_shown(profile, self.other_columns) if by == "thread" else 0
        self.limit = limit or None
        self._sort_by(sort)
        if value == "latency":
            self.other_columns = [EventColumn("period", (), tables=(totals(profile, None, by),))]
        self._duration_ns = profile.meta.duration_ns

    def sorted_by(self, sort: str) -> "TopTable":
        """Return a table of the same profile, sorted by another column."""
        table = copy(self)
        table._sort_by(sort)
        return table

    def _sort_by(self, sort: str) -> None:
        self.sort = sort
        self.rows: list[Total] = self.whole.sorted_by(sort)[: self.limit]

    @property
    def totals_note(self) -> str:
        """The sums, the duration, ratios of all samples, and how many rows are shown, if there are any."""
        ratios = "".join(
            f", {column.name} {cell_text(column.overall, None)}" for column in self.other_columns if column.is_ratio
        )
        rows = plural(len(self.whole.rows), self.by)
        if self.by == "thread" and self._threads != len(self.whole.rows):
            rows = f"{plural(len(self.whole.rows), 'name')} of {plural(self._threads, 'thread')}"
        shown = f"; showing {len(self.rows):,} of {rows}" if self.whole.rows else ""
        return f"{self.summary}{ratios}{shown}"

    @property
    def summary(self) -> str:
        """The number of samples, their sum, and the duration of the recording."""
        whole = self.whole
        time = f" in {self._duration_ns / 1e9:.3f} s" if self._duration_ns else ""
        samples = (
            f"{plural(whole.samples, 'sample')}, "
            if (whole.samples and whole.event != WEIGHT) or not whole.cost
            else ""
        )
        return f"{samples}{format_amount(whole.cost, whole.unit)}{time}"

    @property
    def columns(self) -> Mapping[str, Sequence[object]]:
        """Columns ``name``, ``object``, ``self``, ``total``, and ``self_X`` and ``total_X`` of each requested event.

        Ratios also have ``self_X_low``, ``self_X_high`` …, which are None without enough samples. Latencies have
        ``period``.
        """
        return self.name_columns | self._costs | self.other_columns_by_name

    @property
    def display_cells(self) -> Mapping[str, Sequence[str]]:
        """Costs as shares of the total; other events and ratios; objects; names."""
        total = self.whole.cost
        shares = {column: [format_percent(cost, total) for cost in costs] for column, costs in self._costs.items()}
        return shares | self.other_column_cells | self.name_cells

    @property
    def _costs(self) -> dict[str, Sequence[int]]:
        return {"self": [row.self for row in self.rows], "total": [row.total for row in self.rows]}


def _threads_shown(profile: Profile, other_columns: Sequence[EventColumn]) -> int:
    events = [profile.default_event, *(row for column in other_columns for row in column.events)]
    shown = as_int64(unique(profile.samples.thread[np.isin(profile.samples.event, events)]))
    return count_threads(take_rows_of(profile.threads, shown))


def linked_functions(profile: Profile, value: str) -> tuple[int, dict[str, int]]:
    """Return the self cost of inlined functions, and the three highest self costs of linked functions, by name.

    A linked function is a symbol of an object; its self cost includes that of functions inlined into it.
    """
    samples, line_offsets = profile.samples, profile.locations.line_offsets
    rows = flatnonzero((samples.event == profile.default_event) & (samples.stack >= 0))
    location, cost = profile.stacks.location[samples.stack[rows]], weights(profile, value)[rows]
    line_count = np.diff(line_offsets)[location]
    is_named = flatnonzero(line_count)
    # a location's lines are innermost first
    outermost = profile.locations.line_function[line_offsets[1:][location[is_named]] - 1]
    sums = sum_at(outermost, cost[is_named], len(profile.functions))
    costliest = argsort(-sums)[:3].tolist()
    cost_by_name = {profile.strings[profile.functions.name[row]]: int(sums[row]) for row in costliest}
    return sum_of(cost[line_count > 1]), cost_by_name
