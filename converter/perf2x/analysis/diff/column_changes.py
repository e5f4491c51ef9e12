"""Columns of other events in a table of changes: costs and ratios before and after."""

from collections.abc import Sequence

from msgspec import Struct

from perf2x.analysis.diff.changes import excludes_zero
from perf2x.analysis.diff.noise import difference_limits
from perf2x.analysis.event_columns import Estimate, EventColumn, Key, number_text
from perf2x.model.number_format import format_change


class ColumnChange(Struct, frozen=True):
    """One column of both recordings."""

    before: EventColumn
    after: EventColumn
    scale: float
    """Factor of costs after; ratios need none."""

    def sides(self, keys: Sequence[Key], sort: str) -> list[list[float | None]]:
        """Numbers of the rows before, and after."""
        if self.before.per:
            return [[each and each[0] for each in one.ratios(keys, sort)] for one in (self.before, self.after)]
        after = [round(cost * self.scale) for cost in self.after.costs(keys, sort)]
        return [[*self.before.costs(keys, sort)], [*after]]

    def columns(self, keys: Sequence[Key], sort: str) -> dict[str, Sequence[float | None]]:
        """Columns ``self_X_before`` and ``self_X_after``; of ratios ``self_X_significant``, too."""
        name, (before, after) = f"{sort}_{self.before.name}", self.sides(keys, sort)
        found: dict[str, Sequence[float | None]] = {f"{name}_before": before, f"{name}_after": after}
        if self.before.per:
            found[f"{name}_significant"] = [_is_significant(*pair) for pair in self._pairs(keys, sort)]
        return found

    def texts(self, keys: Sequence[Key], sort: str) -> list[str]:
        """Changes in shares of the event before; ratios before and after, marked where noise explains the change."""
        if self.before.per:
            return [_change_text(*pair) for pair in self._pairs(keys, sort)]
        pairs = zip(*self.sides(keys, sort), strict=True)
        return [format_change((after or 0) - (before or 0), self.before.cost.whole) for before, after in pairs]

    def _pairs(self, keys: Sequence[Key], sort: str) -> list[tuple[Estimate | None, Estimate | None]]:
        return list(zip(self.before.ratios(keys, sort), self.after.ratios(keys, sort), strict=True))


def _is_significant(before: Estimate | None, after: Estimate | None) -> bool:
    if before is None or after is None:
        return False
    return excludes_zero(difference_limits(before[0], after[0], before[1:], after[1:]))


def _change_text(before: Estimate | None, after: Estimate | None) -> str:
    shown = " → ".join("–" if one is None else number_text(one[0]) for one in (before, after))
    return shown if _is_significant(before, after) or before == after else f"~{shown}"
