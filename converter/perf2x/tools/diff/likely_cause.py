"""Finds the likely cause of growth: the function that explains most of it, and the caller that explains most of that.

Functions that only grew in proportion, as on a slower machine, explain nothing.
"""

import re
from collections.abc import Mapping, Set

from perf2x.model.filters.frame_presets import is_runtime
from perf2x.model.number_format import format_amount
from perf2x.model.totals.totals import Key
from perf2x.tools.diff.changes import Comparison
from perf2x.tools.diff.moved_code import CallersOf, CostColumn

_LIBRARY = re.compile(r"<?([^:]* as )?(std|core|alloc|hashbrown|__gnu_cxx)::")
"""Functions of the language's library that are compiled into the program, such as instances of templates."""

_MOST = 0.9
"""Largest share of the earlier cost that a candidate may have with its callees, because ``main`` explains nothing."""


def likely_cause(costs: Comparison, grown: Set[Key], callers_of: CallersOf) -> str:
    """Return ``caller → function, +growth of +growth`` for the function that explains most of the growth of ``grown``.

    If no function's self cost explains more than half of it, total costs are examined. Callers are the nearest ones
    outside runtimes and libraries. Returns "" if no single function explains more than half, or if only one function
    grew and no single caller explains its growth.
    """
    rows = [row for row in costs.lines if row.key in grown]
    libraries = {row.key for row in costs.lines if is_runtime(*row.key) or _LIBRARY.match(row.name)}
    own = {row.key: row.sides("self") for row in rows}
    before, after = (sum(side) for side in zip(*own.values(), strict=True))
    column: CostColumn = "own"
    found = _explaining(own, before, after) if len(rows) > 1 else [(rows[0].self, rows[0].key)]
    if not found:
        small = (row for row in rows if row.total_before <= _MOST * before and row.key not in libraries)
        column, found = "total", _explaining({row.key: row.sides("total") for row in small}, before, after)
    sides = [callers_of(side, libraries, column) for side in (0, 1)]
    if column == "total":
        outer = {caller for _, key in found for caller in sides[1].get(key, {}) if caller != key}
        found = [one for one in found if one[1] not in outer]
    if len(found) != 1:
        return ""
    ((growth, function),) = found
    was, now = (callers.get(function, {}) for callers in sides)
    calls = {caller: (was.get(caller, 0), round(now.get(caller, 0) * costs.scale)) for caller in {**was, **now}}
    callers = _explaining(calls, *own[function]) if column == "own" else []
    if len(callers) != 1:
        if len(rows) == 1:
            return ""
        callers = [(growth, min(calls) if len(calls) == 1 else ("", ""))]
    ((growth, caller),) = callers
    amounts = (format_amount(value, costs.before.unit) for value in (growth, after - before))
    return f"likely cause: {caller[0]}{' → ' * bool(caller[0])}{function[0]}, +{' of +'.join(amounts)}"


def _explaining(parts: Mapping[Key, tuple[int, int]], before: int, after: int) -> list[tuple[int, Key]]:
    """Return growth and key of the parts that account for more than half of the growth beyond proportion."""
    growth, before, found = after - before, max(before, 1), []
    for key, (was, now) in parts.items():
        beyond = (now - was) * before - growth * was
        if 2 * beyond > growth * (before - was) and 2 * (now - was) < 3 * growth:
            found.append((now - was, key))
    return found
