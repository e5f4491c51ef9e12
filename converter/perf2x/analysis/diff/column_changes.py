"""Columns of other events in a table of changes: costs and ratios before and after."""

from collections.abc import Sequence

from perf2x.analysis.diff.changes import excludes_zero
from perf2x.analysis.diff.noise import difference_limits
from perf2x.analysis.event_columns import Cell, EventColumn, number_text
from perf2x.analysis.totals import Key
from perf2x.base.frozen import Frozen
from perf2x.model.number_format import format_change


class ColumnChange(Frozen):
    """One column of both recordings."""

    before: EventColumn
    after: EventColumn
    scale: float
    """Factor of costs after; ratios need none."""

    @property
    def name(self) -> str:
        """The user's name for it."""
        return self.before.name

    def pairs(self, keys: Sequence[Key], sort: str) -> list[tuple[Cell, Cell]]:
        """Cells of the rows before and after."""
        after = self.after.cells(keys, sort)
        scaled = (round(cell * self.scale) if isinstance(cell, int) else cell for cell in after)
        return list(zip(self.before.cells(keys, sort), scaled, strict=True))

    def columns(self, keys: Sequence[Key], sort: str) -> dict[str, Sequence[object]]:
        """Columns ``self_X_before`` and ``self_X_after``; of ratios ``self_X_significant``, too."""
        name, pairs = f"{sort}_{self.name}", self.pairs(keys, sort)
        found: dict[str, Sequence[object]] = {
            f"{name}_{side}": [number_of(pair[at]) for pair in pairs] for at, side in enumerate(("before", "after"))
        }
        return found | (
            {f"{name}_significant": [_is_significant(*pair) for pair in pairs]} if self.before.is_ratio else {}
        )

    def texts(self, keys: Sequence[Key], sort: str) -> list[str]:
        """Changes in shares of the event before; ratios before and after, marked where noise explains the change."""
        whole = self.before.tables[0].whole
        return [
            format_change(after - before, whole)
            if isinstance(before, int) and isinstance(after, int)
            else _change_text(before, after)
            for before, after in self.pairs(keys, sort)
        ]


def number_of(cell: Cell) -> float | None:
    """A cost, or a ratio without its limits."""
    return cell[0] if isinstance(cell, tuple) else cell


def _is_significant(before: Cell, after: Cell) -> bool:
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return False
    return excludes_zero(difference_limits(before[0], after[0], before[1:], after[1:]))


def _change_text(before: Cell, after: Cell) -> str:
    numbers = (number_of(before), number_of(after))
    shown = " → ".join("–" if number is None else number_text(number) for number in numbers)
    return shown if _is_significant(before, after) or before == after else f"~{shown}"
