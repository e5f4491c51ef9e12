"""Other events beside the one that a table is about, as columns: their costs, or the ratio of two of them.

Events are sampled apart, each with stacks of its own. So a ratio is one of two estimates: it has limits, and there is
none where too few samples tell what to divide by.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from perf2x.analysis.diff.noise import Measured, quantile, ratio_interval
from perf2x.analysis.totals import Total, Totals, totals
from perf2x.base.errors import SettingError
from perf2x.model.number_format import format_percent
from perf2x.model.profile.profile import Profile, events_called, plain_names

_RATIOS = {
    "ipc": (("instructions",), ("cycles", "cpu-cycles"), 1),
    "mpki": (("cache-misses", "LLC-load-misses"), ("instructions",), 1000),
    "mispredicts": (("branch-misses",), ("branches", "branch-instructions"), 1),
}
_SECOND = 1_000_000_000
"""Ratios to a clock are per second."""
_THOUSAND = 1000
_CONFIDENCE = 0.95
Key = tuple[str, str]
"""Name and object of a row."""
Estimate = tuple[float, float, float]
"""A ratio and its limits."""
Cell = int | Estimate | None
"""A cost, or a ratio; None where samples do not tell."""


class ColumnSpec(Struct, frozen=True):
    """What the user asked for."""

    name: str
    event: int
    per: int = -1
    """The event to divide by; −1: none."""
    factor: int = 1


def column_specs(profile: Profile, names: Sequence[str]) -> list[ColumnSpec]:
    """Events (``all``: each but the default one), ratios by name, and ``A/B``; SettingError for what there is not."""
    return [spec for name in names for spec in _specs(profile, name)]


def _specs(profile: Profile, name: str) -> Iterator[ColumnSpec]:
    if name == "all":
        used = sorted(set(profile.samples.event.tolist()) - {profile.default_event})
        names = plain_names(profile.events)
        yield from (ColumnSpec(names[row], row) for row in used)
        return
    ratios = [_RATIOS[name]] if name in _RATIOS else _divided(name)
    rows = [(row, -1, 1) for row in events_called(profile, name)] or [
        (part, whole, _SECOND if profile.events[whole].unit == "nanoseconds" else factor)
        for parts, wholes, factor in ratios
        for part in _first(profile, parts)
        for whole in _first(profile, wholes)
    ]
    if len(rows) != 1:
        listed = ", ".join(event.name for event in profile.events) or "none"
        needs = f" ({' or '.join(ratios[0][0])} by {' or '.join(ratios[0][1])})" if name in _RATIOS else ""
        what = "is ambiguous" if rows else "is not in this recording"
        raise SettingError("", "columns", f" {name}{needs} {what}; it has {listed}")
    yield ColumnSpec(name, *rows[0])


def _divided(name: str) -> list[tuple[tuple[str, ...], tuple[str, ...], int]]:
    """The ways to read ``A/B``, as names of events may have slashes of their own."""
    cuts = [at for at, sign in enumerate(name) if sign == "/"]
    return [((name[:at],), (name[at + 1 :],), 1) for at in cuts]


def _first(profile: Profile, names: Sequence[str]) -> list[int]:
    return next(filter(None, (events_called(profile, name) for name in names)), [])


class EventColumn(Struct, frozen=True):
    """Costs of another event, or ratios, in a table of functions, objects or threads."""

    name: str
    cost: Totals
    per: Totals | None = None
    """None: no ratio."""
    factor: int = 1

    @property
    def parts(self) -> list[Totals]:
        """Tables of its events."""
        return [self.cost, *([self.per] if self.per else [])]

    @property
    def whole(self) -> Cell:
        """The cell of all samples."""
        return self._cell([Total("", "", table.whole, 0, table.squares) for table in self.parts], "self")

    def cells(self, keys: Sequence[Key], sort: str) -> list[Cell]:
        """The cells of these rows."""
        found = [{(row.name, row.object): row for row in table.rows} for table in self.parts]
        return [self._cell([rows.get(key) or Total(*key, 0, 0) for rows in found], sort) for key in keys]

    def _cell(self, rows: Sequence[Total], sort: str) -> Cell:
        sides = [(row.own, row.own_squares) if sort == "self" else (row.total, row.total_squares) for row in rows]
        if len(sides) == 1:
            return sides[0][0]
        typical = [table.squares / table.whole if table.whole else 0.0 for table in self.parts]
        return ratio(*(Measured(*side, one) for side, one in zip(sides, typical, strict=True)), self.factor)

    def columns(self, keys: Sequence[Key], sort: str) -> dict[str, Sequence[float | None]]:
        """Columns of a table: costs, or ratios with ``_low`` and ``_high``."""
        name, cells = f"{sort}_{self.name}", self.cells(keys, sort)
        ends = ("", "_low", "_high") if self.per else ("",)
        return {
            name + end: [cell[at] if isinstance(cell, tuple) else cell for cell in cells] for at, end in enumerate(ends)
        }

    def texts(self, keys: Sequence[Key], sort: str) -> list[str]:
        """Shares of the event, or ratios with their limits."""
        return [cell_text(cell, self.whole) for cell in self.cells(keys, sort)]


def event_columns(profile: Profile, by: str, value: str, names: Sequence[str]) -> list[EventColumn]:
    """Make the columns; SettingError for an event that there is not, and for ratios of anything but periods."""
    specs = column_specs(profile, names)
    if names and value not in ("period", "samples"):
        raise SettingError("", "columns", f" counts events, not {value}")
    if value == "samples" and any(spec.per >= 0 for spec in specs):
        raise SettingError("", "columns", " divides what events counted, not samples; leave out ", "value")
    tables = {row: totals(profile, row, by, value) for spec in specs for row in (spec.event, spec.per) if row >= 0}
    return [EventColumn(spec.name, tables[spec.event], tables.get(spec.per), spec.factor) for spec in specs]


def wholes(columns: Sequence[EventColumn]) -> dict[str, Cell]:
    """The cell of each column for all samples."""
    return {one.name: one.whole for one in columns}


def with_rows_of(table: Totals, beside: Sequence[EventColumn]) -> Totals:
    """The table with rows for what only other events have."""
    others = {(row.name, row.object) for one in beside for part in one.parts for row in part.rows}
    others -= {(row.name, row.object) for row in table.rows}
    return replace(table, rows=[*table.rows, *(Total(*key, 0, 0) for key in sorted(others))])


def ratio(part: Measured, whole: Measured, factor: int) -> Estimate | None:
    """A ratio and its limits, to six digits: the last ones may differ between machines."""
    if whole.value <= 0:
        return None
    value = part.value / whole.value
    limits = ratio_interval(part, whole, quantile(_CONFIDENCE)) if whole.squares else (value, value)
    if limits is None:
        return None
    value, low, high = (float(f"{factor * each:.6g}") for each in (value, *limits))
    return value, low, high


def cell_text(cell: Cell, whole: Cell) -> str:
    """``12.3 %`` of a cost; ``1.2 (0.98–1.5)``, ``1.2`` of exact counts; a dash where samples do not tell."""
    if cell is None or isinstance(cell, int):
        return "–" if cell is None or not isinstance(whole, int) else format_percent(cell, whole)
    value, low, high = map(number_text, cell)
    return value if cell[1] == cell[2] else f"{value} ({low}–{high})"


def number_text(value: float) -> str:
    """Three digits, and all of those before the point."""
    return f"{value:.3g}" if value < _THOUSAND else f"{value:,.0f}"
