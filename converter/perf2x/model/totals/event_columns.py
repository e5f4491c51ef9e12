"""Columns of other events in a table: their costs, or the ratio of two of them.

Events are sampled separately, each with stacks of its own, so a ratio is a quotient of two estimates: it has confidence
limits, and is undefined if the divisor has too few samples.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.model.number_format import format_percent
from perf2x.model.profile import Costs, Measure, Profile
from perf2x.model.profile.selected_columns import SelectedColumn, selected_columns
from perf2x.model.totals.sampling_noise import Measured, quantile, ratio_interval
from perf2x.model.totals.totals import Key, Total, Totals, totals

_CONFIDENCE = 0.95
_ROUNDED = 999.5
Estimate = tuple[float, float, float]
"""A ratio and its confidence limits."""
Cell = int | Estimate | None
"""A cost, or a ratio; None if there are too few samples."""


class EventColumn(SelectedColumn):
    """A column of costs or ratios in a table of functions, objects or threads."""

    tables: tuple[Totals, ...] = ()
    """Totals of each of its events."""

    @property
    def is_ratio(self) -> bool:
        """Whether it divides the first event by the second."""
        return len(self.tables) > 1

    @property
    def whole(self) -> Cell:
        """The cell of all samples."""
        return self.cell([(table.whole, table.squares) for table in self.tables])

    def cells(self, keys: Sequence[Key], sort: str) -> list[Cell]:
        """Return the cells of these rows."""
        found = [{row.key: row.of(sort) for row in table.rows} for table in self.tables]
        return [self.cell([rows.get(key, (0, 0.0)) for rows in found]) for key in keys]

    def cell(self, sides: Sequence[tuple[int, float]]) -> Cell:
        """Return a cell from each event's count and sum of squared weights."""
        if not self.is_ratio:
            return sides[0][0]
        part, whole = (
            Measured(*side, table.squares / (table.whole or 1)) for side, table in zip(sides, self.tables, strict=True)
        )
        return _ratio(part, whole, self.factor)

    def columns(self, keys: Sequence[Key], sort: str) -> dict[str, Sequence[float | None]]:
        """Return columns of a table: costs, or ratios with ``_low`` and ``_high``."""
        cells = self.cells(keys, sort)
        ends = ("", "_low", "_high")[: 3 if self.is_ratio else 1]
        return {
            f"{sort}_{self.name}{end}": [cell[at] if isinstance(cell, tuple) else cell for cell in cells]
            for at, end in enumerate(ends)
        }

    def texts(self, keys: Sequence[Key], sort: str) -> list[str]:
        """Return shares of the event, or ratios with their limits, as text."""
        return [cell_text(cell, self.whole) for cell in self.cells(keys, sort)]


def event_columns(profile: Profile, by: str, value: str, names: Sequence[str]) -> list[EventColumn]:
    """Make the columns. Raises SettingError for an unknown event, and for any ``value`` but the period."""
    if names and value != "period":
        raise SettingError("", "columns", " shows counts of events; leave out ", "value")
    selected = selected_columns(profile, names)
    tables = {row: totals(profile, row, by) for row in {row for one in selected for row in one.events}}
    return [EventColumn(one.name, one.events, one.factor, tuple(tables[row] for row in one.events)) for one in selected]


class LineColumns(Frozen):
    """Columns of listings; the measures of the listings must include those of ``measures_beside``."""

    columns: list[EventColumn]
    measures: tuple[Measure, ...]

    def cells(self, costs: Costs) -> dict[str, Cell]:
        """Return cells by name from the costs of a line, whose samples are assumed to have equal weights."""
        of = {(one.event, one.value): cost for one, cost in zip(self.measures, costs, strict=True)}
        return {
            one.name: one.cell(
                [(of[row, "period"], of[row, "period"] ** 2 / (of[row, "samples"] or 1)) for row in one.events]
            )
            for one in self.columns
        }


def measures_beside(profile: Profile, names: Sequence[str]) -> list[Measure]:
    """Return the measures that `LineColumns` needs."""
    rows = sorted({row for one in selected_columns(profile, names) for row in one.events})
    return [Measure(row, value, profile.events[row].unit) for row in rows for value in ("period", "samples")]


def wholes(columns: Sequence[EventColumn]) -> dict[str, Cell]:
    """Return the cell of each column for all samples."""
    return {one.name: one.whole for one in columns}


def with_rows_of(table: Totals, beside: Sequence[EventColumn]) -> Totals:
    """Return the table with additional rows for functions that only other events have."""
    others = {row.key for one in beside for part in one.tables for row in part.rows}
    others -= {row.key for row in table.rows}
    return replace(table, rows=[*table.rows, *(Total(*key, 0, 0) for key in sorted(others))])


def _ratio(part: Measured, whole: Measured, factor: int) -> Estimate | None:
    """Return a ratio and its limits, to six digits, because further digits may differ between machines."""
    if whole.value <= 0:
        return None
    value = part.value / whole.value
    limits = ratio_interval(part, whole, quantile(_CONFIDENCE)) if whole.squares else (value, value)
    if limits is None:
        return None
    value, low, high = (float(f"{factor * each:.6g}") for each in (value, *limits))
    return value, low, high


def cell_text(cell: Cell, whole: Cell) -> str:
    """Return ``12.3 %`` for a cost; ``1.2 (0.98–1.5)``, or ``1.2`` for exact counts; a dash for None."""
    if cell is None:
        return "–"
    if isinstance(cell, int):
        return format_percent(cell, whole if isinstance(whole, int) else 0)
    value, low, high = map(number_text, cell)
    return value if cell[1] == cell[2] else f"{value} ({low}–{high})"


def number_text(value: float) -> str:
    """Return three significant digits, and all digits before the point."""
    return f"{value:.3g}" if value < _ROUNDED else f"{value:,.0f}"
