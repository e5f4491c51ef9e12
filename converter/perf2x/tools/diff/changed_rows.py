"""The table of changes between two recordings that ``perf2x diff`` and the library's ``diff`` show."""

from collections.abc import Iterable, Mapping, Sequence

from perf2x.base.frozen_struct import Frozen
from perf2x.model.number_format import format_amount, format_change, format_factor, plural
from perf2x.model.totals.event_columns import Cell, EventColumn, number_text
from perf2x.model.totals.sampling_noise import difference_limits
from perf2x.model.totals.totals import Key
from perf2x.tools.diff.changes import SMALLEST_SHOWN_PART, Change, Comparison, excludes_zero
from perf2x.tools.diff.pair_options import Work
from perf2x.tools.tables.result_table import COSTS, ResultTable

_SIDES = ("before", "after")


class ColumnChange(Frozen):
    """A column of an event or ratio other than the compared event, in both recordings."""

    before: EventColumn
    after: EventColumn
    scale: float
    """Factor for costs of the later recording; ratios are not scaled."""

    @property
    def name(self) -> str:
        """The name to show."""
        return self.before.name

    def pairs(self, keys: Sequence[Key], sort: str) -> list[tuple[Cell, Cell]]:
        """Return the cells (before, after) of the rows with these keys."""
        after = self.after.cells(keys, sort)
        scaled = (round(cell * self.scale) if isinstance(cell, int) else cell for cell in after)
        return list(zip(self.before.cells(keys, sort), scaled, strict=True))

    def columns(self, keys: Sequence[Key], sort: str) -> dict[str, Sequence[object]]:
        """Return the columns ``self_X_before`` and ``self_X_after``; for ratios also ``self_X_significant``.

        X is the name of the event or ratio. The prefix is ``sort``: ``self`` or ``total``.
        """
        name, pairs = f"{sort}_{self.name}", self.pairs(keys, sort)
        found: dict[str, Sequence[object]] = {
            f"{name}_{side}": [number_of(pair[index]) for pair in pairs] for index, side in enumerate(_SIDES)
        }
        return found | (
            {f"{name}_significant": [_is_significant(*pair) for pair in pairs]} if self.before.is_ratio else {}
        )

    def texts(self, keys: Sequence[Key], sort: str) -> list[str]:
        """Return the cells as text: a cost's change in percent of the event's total before, or both ratios.

        A ``~`` marks changes of ratios that noise explains.
        """
        total_before = self.before.tables[0].cost
        return [
            format_change(after - before, total_before)
            if isinstance(before, int) and isinstance(after, int)
            else _change_text(before, after)
            for before, after in self.pairs(keys, sort)
        ]


def number_of(cell: Cell) -> float | None:
    """Return a cost, or a ratio without its confidence limits; None for a cell without a value."""
    return cell[0] if isinstance(cell, tuple) else cell


def _is_significant(before: Cell, after: Cell) -> bool:
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return False
    return excludes_zero(difference_limits(before[0], after[0], before[1:], after[1:]))


def _change_text(before: Cell, after: Cell) -> str:
    numbers = (number_of(before), number_of(after))
    shown = " → ".join("–" if number is None else number_text(number) for number in numbers)
    return shown if _is_significant(before, after) or before == after else f"~{shown}"


class RowSelection(Frozen):
    """Rows to show, and their order."""

    by: str
    """Function, object or thread."""
    sort: str
    """The column whose largest changes come first: ``self`` or ``total``."""
    limit: int = 0
    """Maximum number of rows; 0: all."""
    all: bool = False
    """Also show unchanged rows."""


class DiffTable(ResultTable):
    """Functions, objects or threads before and after, largest changes first."""

    def __init__(
        self,
        comparison: Comparison,
        changes: Iterable[Change],
        selection: RowSelection,
        sources: tuple[str, str],
        other_columns: Sequence[ColumnChange],
        notes: Sequence[str],
        renamed_objects: Sequence[tuple[str, str]],
        work: Work | None,
    ) -> None:
        largest_first = sorted(changes, key=lambda row: (-abs(row.change(selection.sort)), *row.key))
        cost = max(comparison.before.cost, 1)
        self.changed = [
            row
            for row in largest_first
            if selection.all or abs(row.change(selection.sort)) * SMALLEST_SHOWN_PART >= cost
        ]
        """The changed rows, or all if ``selection.all``, before the limit cuts them."""
        self.comparison = comparison
        self.whole = comparison.before
        self.no_rows_note = f"no {selection.by} changed"
        self.rows: list[Change] = self.changed[: selection.limit or None]
        self.by = selection.by
        self.sort = selection.sort
        self.unchanged_count = len(largest_first) - len(self.changed)
        """Number of rows that are left out, because their changes would be shown as 0.0 %."""
        self.sources = sources
        self.notes = notes
        self.renamed_objects = renamed_objects
        self.work = work
        self.other_columns = other_columns
        """Other events and ratios; if latencies are compared, the periods come first."""

    @property
    def totals_note(self) -> str:
        """Both totals, how costs were scaled, and what ``~`` means."""
        before, after = self.comparison.before, self.comparison.cost_after
        totals = f"{format_amount(before.cost, before.unit)} before, {format_amount(after, before.unit)} after"
        marked = any(_may_be_noise(row, column) for row in self.rows for column in COSTS)
        hosts = self.comparison.hosts
        notes = _compared_note(self.work, self.comparison.normalize) + ("; ~ may be noise" if marked else "")
        notes += f", of samples or among {hosts.degrees_of_freedom + 1} hosts" if marked and hosts else ""
        return f"{totals} ({format_change(after - before.cost, before.cost)}){notes}"

    @property
    def unchanged_note(self) -> str:
        """A sentence about the unchanged rows that are left out."""
        return f"left out: {plural(self.unchanged_count, self.by)} whose {self.sort} did not change"

    @property
    def columns(self) -> Mapping[str, Sequence[object]]:
        """The columns are ``name`` and ``object``, then costs with confidence intervals of their changes.

        ``_before``, ``_after``, ``_change_low``, ``_change_high`` and ``_significant`` follow ``self`` and ``total``.
        Other events and ratios come last, such as ``self_X_before``.
        """
        found = self.name_columns
        for column in COSTS:
            found |= {f"{column}_{side}": [getattr(row, f"{column}_{side}") for row in self.rows] for side in _SIDES}
            for index, end in enumerate(("low", "high")):
                found[f"{column}_change_{end}"] = [rounded(row.interval(column))[index] for row in self.rows]
            found[f"{column}_significant"] = [row.significant(column) for row in self.rows]
        return found | self.other_columns_by_name

    @property
    def display_cells(self) -> Mapping[str, Sequence[str]]:
        """Factors, and changes in percent of the total before, with ``~`` if noise explains them; then names."""
        total_before, changes = self.comparison.before.cost, {}
        for column in COSTS:
            changes[f"{column} ×"] = [format_factor(*row.before_and_after(column)) for row in self.rows]
            changes[f"{column} change"] = [
                "~" * _may_be_noise(row, column) + format_change(row.change(column), total_before) for row in self.rows
            ]
        return changes | self.other_column_cells | self.name_cells


def _compared_note(work: Sequence[float] | None, normalized: bool) -> str:
    if not work:
        return "; shares compared" if normalized else ""
    before, after = (f"{units:,.15g}" for units in work)
    return f"; per unit of work: {before} before, {after} after, scaled to {before}"


def _may_be_noise(row: Change, column: str) -> bool:
    return row.change(column) != 0 and not row.significant(column)


def rounded(limits: tuple[float, float]) -> list[float]:
    """Round limits to six significant digits, because further digits may differ between machines."""
    return [float(f"{limit:.6g}") for limit in limits]
