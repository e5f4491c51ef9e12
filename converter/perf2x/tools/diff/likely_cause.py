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

# Functions of the language's library that are compiled into the program, such as instances of templates.
_LIBRARY = re.compile(r"<?([^:]* as )?(std|core|alloc|hashbrown|__gnu_cxx)::")

# Maximum share of the total before that a function and its callees may have, because ``main`` explains nothing.
_MOST = 0.9


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
        candidates = (row for row in rows if row.total_before <= _MOST * before and row.key not in libraries)
        column, found = "total", _explaining({row.key: row.sides("total") for row in candidates}, before, after)
    callers_before, callers_after = (callers_of(side, libraries, column) for side in (0, 1))
    if column == "total":  # a caller of another candidate grew only because the callee did
        outer = {caller for _, key in found for caller in callers_after.get(key, {}) if caller != key}
        found = [(growth, key) for growth, key in found if key not in outer]
    if len(found) != 1:
        return ""
    ((growth, function),) = found
    old, new = callers_before.get(function, {}), callers_after.get(function, {})
    calls = {caller: (old.get(caller, 0), round(new.get(caller, 0) * costs.scale)) for caller in {**old, **new}}
    callers = _explaining(calls, *own[function]) if column == "own" else []
    if len(callers) != 1:
        if len(rows) == 1:
            return ""
        callers = [(growth, min(calls) if len(calls) == 1 else ("", ""))]
    ((growth, caller),) = callers
    amounts = (format_amount(value, costs.before.unit) for value in (growth, after - before))
    return f"likely cause: {caller[0]}{' → ' * bool(caller[0])}{function[0]}, +{' of +'.join(amounts)}"


def _explaining(parts: Mapping[Key, tuple[int, int]], before: int, after: int) -> list[tuple[int, Key]]:
    """Return growth and key of each part that explains more than half of the growth, apart from proportional growth.

    In proportion, a part with the cost ``old`` would grow by ``growth * old / before``. What it grew beyond that must
    be more than half of ``growth * (before - old) / before``, the proportional growth of everything else. A part that
    grew by more than 1.5 times the total does not explain it either, because others must then have shrunk.
    """
    growth, before, found = after - before, max(before, 1), []
    for key, (old, new) in parts.items():
        beyond = (new - old) * before - growth * old  # multiplied by ``before``, to stay in integers
        if 2 * beyond > growth * (before - old) and 2 * (new - old) < 3 * growth:
            found.append((new - old, key))
    return found
