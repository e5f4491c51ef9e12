"""Finds the likely cause of growth: the function and the caller that explain most of it."""

import re
from collections.abc import Mapping, Set

from perf2x.model.filters.frame_presets import is_runtime
from perf2x.model.number_format import format_amount
from perf2x.model.totals.totals import Key
from perf2x.tools.diff.changes import Comparison
from perf2x.tools.diff.moved_code import CallersOf, CostColumn

# Functions of the language's library that are compiled into the program, such as instances of templates.
_LIBRARY = re.compile(r"<?([^:]* as )?(std|core|alloc|hashbrown|__gnu_cxx)::")

# A function with more than this share of the grown functions' earlier cost explains nothing: ``main``, for example.
_MAX_SHARE = 0.9


def likely_cause(costs: Comparison, grown: Set[Key], callers_of: CallersOf) -> str:
    """Return a sentence on the function that explains most of the growth of the functions ``grown``; "" for none.

    It reads ``likely cause: caller → function, +12 ms of +15 ms``: the explained growth, and all growth of ``grown``.
    If no function's self cost explains more than half of the growth, total costs are examined. Callers are the nearest
    ones outside runtimes and libraries. If only one function grew, a single caller must explain its growth.
    """
    rows = [row for row in costs.rows if row.key in grown]
    libraries = {row.key for row in costs.rows if is_runtime(*row.key) or _LIBRARY.match(row.name)}
    self_costs = {row.key: row.before_and_after("self") for row in rows}
    before, after = (sum(side) for side in zip(*self_costs.values(), strict=True))
    column: CostColumn = "own"
    explaining = _explaining(self_costs, before, after) if len(rows) > 1 else [(rows[0].self, rows[0].key)]
    if not explaining:
        candidates = (row for row in rows if row.total_before <= _MAX_SHARE * before and row.key not in libraries)
        total_costs = {row.key: row.before_and_after("total") for row in candidates}
        column, explaining = "total", _explaining(total_costs, before, after)
    callers_before, callers_after = (callers_of(side, libraries, column) for side in (0, 1))
    if column == "total":  # a function that calls another one of these grew only because the other one did
        callers_of_others = {caller for _, key in explaining for caller in callers_after.get(key, {}) if caller != key}
        explaining = [(growth, key) for growth, key in explaining if key not in callers_of_others]
    if len(explaining) != 1:
        return ""
    ((growth, function),) = explaining
    old, new = callers_before.get(function, {}), callers_after.get(function, {})
    calls = {caller: (old.get(caller, 0), round(new.get(caller, 0) * costs.scale)) for caller in {**old, **new}}
    explaining_callers = _explaining(calls, *self_costs[function]) if column == "own" else []
    if len(explaining_callers) != 1:
        if len(rows) == 1:
            return ""
        explaining_callers = [(growth, min(calls) if len(calls) == 1 else ("", ""))]
    ((growth, caller),) = explaining_callers
    amounts = (format_amount(value, costs.before.unit) for value in (growth, after - before))
    return f"likely cause: {caller[0]}{' → ' * bool(caller[0])}{function[0]}, +{' of +'.join(amounts)}"


def _explaining(parts: Mapping[Key, tuple[int, int]], before: int, after: int) -> list[tuple[int, Key]]:
    """Return (growth, key) of each part that explains more than half of the growth from ``before`` to ``after``.

    If everything grew in proportion, a part with the cost ``old`` would grow by ``growth * old / before``, and
    everything else by ``growth * (before - old) / before``. A part explains the growth if it grew beyond its proportion
    by more than half of what everything else should have grown. But if it grew by at least 1.5 times as much as the
    whole, other parts shrank, so it does not explain the growth.
    """
    growth, before, found = after - before, max(before, 1), []
    for key, (old, new) in parts.items():
        beyond = (new - old) * before - growth * old  # times ``before``, to stay in integers
        if 2 * beyond > growth * (before - old) and 2 * (new - old) < 3 * growth:
            found.append((new - old, key))
    return found
