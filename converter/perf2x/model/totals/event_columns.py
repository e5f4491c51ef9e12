"""Columns of other events in a table: the costs of an event, or the ratio of two events' costs.

Events are sampled separately, so a ratio has confidence limits, and is undefined if the divisor has too few samples.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.model.number_format import format_percent
from perf2x.model.profile import Costs, Measure, Profile
from perf2x.model.profile.selected_columns import SelectedColumn, selected_columns
from perf2x.model.totals.sampling_noise import SampledSum, quantile, ratio_interval
from perf2x.model.totals.totals import Key, Total, Totals, totals

_CONFIDENCE = 0.95
# Larger numbers get an exponent in format g with three significant digits.
_LARGE = 999.5
# Ratio, lower and upper confidence limit.
Estimate = tuple[float, float, float]
# A cost, or a ratio; None if there are too few samples for a ratio.
Cell = int | Estimate | None


class EventColumn(SelectedColumn):
    """A column of costs or ratios in a table of functions, objects or threads."""

    tables: tuple[Totals, ...] = ()
    """Tables of the event, or of the ratio's dividend and divisor."""

    @property
    def is_ratio(self) -> bool:
        """Whether it is the ratio of two events."""
        return len(self.tables) > 1

    @property
    def overall(self) -> Cell:
        """The event's cost, or the ratio, of all samples together."""
        return self.cell([(table.cost, table.squares) for table in self.tables])

    def cells(self, keys: Sequence[Key], kind: str) -> list[Cell]:
        """Make the cells for these keys; ``kind`` is ``self`` or ``total``."""
        costs_by_key = [{row.key: row.of(kind) for row in table.rows} for table in self.tables]
        return [self.cell([costs.get(key, (0, 0.0)) for costs in costs_by_key]) for key in keys]

    def cell(self, costs: Sequence[tuple[int, float]]) -> Cell:
        """Make a cell from the cost and the sum of squared weights of each event."""
        if not self.is_ratio:
            return costs[0][0]
        # squares / sum is the mean weight, in which larger samples count more
        dividend, divisor = (
            SampledSum(*cost, table.squares / (table.cost or 1)) for cost, table in zip(costs, self.tables, strict=True)
        )
        return _ratio(dividend, divisor, self.factor)

    def columns(self, keys: Sequence[Key], kind: str) -> dict[str, Sequence[float | None]]:
        """Make columns by name, such as "self_ipc" (``kind``, ``_``, event or ratio).

        The limits of a ratio are further columns, whose names end in ``_low`` and ``_high``.
        """
        cells = self.cells(keys, kind)
        suffixes = ("", "_low", "_high")[: 3 if self.is_ratio else 1]
        return {
            f"{kind}_{self.name}{suffix}": [cell[index] if isinstance(cell, tuple) else cell for cell in cells]
            for index, suffix in enumerate(suffixes)
        }

    def texts(self, keys: Sequence[Key], kind: str) -> list[str]:
        """Write costs in percent of the event, ratios with their limits."""
        return [cell_text(cell, self.overall) for cell in self.cells(keys, kind)]


def event_columns(profile: Profile, by: str, value: str, names: Sequence[str]) -> list[EventColumn]:
    """Make the columns that the user named; rows are of the kind ``by`` (row_kinds.py).

    Raises SettingError for an unknown event, and for a ``value`` other than the period.
    """
    if names and value != "period":
        raise SettingError("", "columns", " shows counts of events; leave out ", "value")
    columns = selected_columns(profile, names)
    tables = {row: totals(profile, row, by) for row in {row for column in columns for row in column.events}}
    return [
        EventColumn(column.name, column.events, column.factor, tuple(tables[row] for row in column.events))
        for column in columns
    ]


class LineColumns(Frozen):
    """Columns of other events next to the source lines of listings."""

    columns: list[EventColumn]
    measures: tuple[Measure, ...]
    """The measures of the listings, which must include all that `column_measures` returns."""

    def cells(self, costs: Costs) -> dict[str, Cell]:
        """Make a line's cells by column name, as if all its samples had the same weight."""
        cost_of = {(measure.event, measure.value): cost for measure, cost in zip(self.measures, costs, strict=True)}
        return {
            column.name: column.cell(
                [
                    (cost_of[row, "period"], cost_of[row, "period"] ** 2 / (cost_of[row, "samples"] or 1))
                    for row in column.events
                ]
            )
            for column in self.columns
        }


def column_measures(profile: Profile, names: Sequence[str]) -> list[Measure]:
    """Return the measures that `LineColumns` needs for these columns."""
    rows = sorted({row for column in selected_columns(profile, names) for row in column.events})
    return [Measure(row, value, profile.events[row].unit) for row in rows for value in ("period", "samples")]


def overall_cells(columns: Sequence[EventColumn]) -> dict[str, Cell]:
    """Cost or ratio of all samples together, by column name."""
    return {column.name: column.overall for column in columns}


def with_rows_of(table: Totals, columns: Sequence[EventColumn]) -> Totals:
    """Add the rows that only the columns' tables have, with cost 0."""
    others = {row.key for column in columns for column_table in column.tables for row in column_table.rows}
    others -= {row.key for row in table.rows}
    return replace(table, rows=[*table.rows, *(Total(*key, 0, 0) for key in sorted(others))])


def _ratio(dividend: SampledSum, divisor: SampledSum, factor: int) -> Estimate | None:
    """Round the ratio and its limits: further digits may differ between machines. None if undefined."""
    if divisor.value <= 0:
        return None
    value = dividend.value / divisor.value
    # counts of perf stat have no squares: they are exact
    limits = ratio_interval(dividend, divisor, quantile(_CONFIDENCE)) if divisor.squares else (value, value)
    if limits is None:
        return None
    value, low, high = (float(f"{factor * number:.6g}") for number in (value, *limits))
    return value, low, high


def cell_text(cell: Cell, overall: Cell) -> str:
    """Write ``12.3 %`` for a cost, as a share of ``overall``; for a ratio ``1.2 (0.98–1.5)``; a dash for None.

    Exact ratios have no limits.
    """
    if cell is None:
        return "–"
    if isinstance(cell, int):
        return format_percent(cell, overall if isinstance(overall, int) else 0)
    value, low, high = map(number_text, cell)
    return value if cell[1] == cell[2] else f"{value} ({low}–{high})"


def number_text(value: float) -> str:
    """Write three significant digits, and all digits before the decimal point."""
    return f"{value:.3g}" if value < _LARGE else f"{value:,.0f}"
