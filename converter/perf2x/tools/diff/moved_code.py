"""Finds moved code: functions that were renamed, split or inlined, so that their cost continues under other names.

Code may have moved from a function that now costs less to one that now costs more if

- the first function vanished, or the second one appeared,
- both have similar callers, or one called the other,
- and their joint cost is unchanged within noise, or within a tenth if all functions that cost less vanished.

A function's callers are the nearest ones that both recordings have. All functions that such moves connect, directly or
through others, are one group.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.model.number_format import format_percent, shortened_list
from perf2x.model.totals.totals import Key
from perf2x.tools.diff.changes import Change, Comparison

# Cost of a function by caller.
Callers = Mapping[Key, int]
# Self costs (``own``), or total costs.
CostColumn = Literal["own", "total"]
# The type of RecordingPair.callers: (side, functions to skip, column) → callers of each function.
CallersOf = Callable[[int, Set[Key], CostColumn], Mapping[Key, Callers]]

# Minimum share of the callers, by cost, that two functions have in common.
_MIN_COMMON_CALLERS = 0.5
# Minimum share of a vanished function's cost that came from the caller into which it was inlined.
_MIN_SHARE_OF_CALLER = 0.05
# Ignore changes this many times smaller than the smallest change to explain.
_MAX_RATIO = 20
# Maximum number of functions that cost more, and of those that cost less.
_MAX_FUNCTIONS = 50
_MAX_NAMES = 3


class MovedCode(Frozen):
    """Explains growth by moved code."""

    costs: Comparison
    limited: Comparison
    """These functions, with the costs or shares that the limit (``--fail-above``) applies to."""
    sort: str
    """The column to compare: ``self`` or ``total``."""
    callers_of: CallersOf
    allowed: float
    """The growth of moved code that is still acceptable, in the event's unit."""

    def explained(self, grown: Sequence[Change]) -> Iterator[tuple[list[Key], str]]:
        """Yield groups of functions that only took over the cost of others, each with a sentence that says so.

        For each function of ``grown``, single functions are tried first, then the whole connected group.
        """
        rows = self.costs.rows
        least = min(row.change(self.sort) for row in grown) / _MAX_RATIO
        grew = sorted((row for row in rows if row.change(self.sort) > least), key=self._by_size)[:_MAX_FUNCTIONS]
        shrank = sorted((row for row in rows if -row.change(self.sort) > least), key=self._by_size)[:_MAX_FUNCTIONS]
        only_in_one_recording = {row.key for row in rows if not (row.total_before and row.total_after)}
        before, after = (self.callers_of(side, only_in_one_recording, "total") for side in (0, 1))
        # functions from which code may have moved
        links = {new.key: [old for old in shrank if _may_have_moved(new, old, before, after)] for new in grew}
        explained = set[Key]()
        for grown_row in sorted(grown, key=self._by_size):
            pairs = [([grown_row], [old]) for old in links.get(grown_row.key, ())]
            for grown_group, shrunk_group in [*pairs, _connected(grown_row, grew, links)]:
                keys = {row.key for row in (*grown_group, *shrunk_group)}
                if shrunk_group and not keys & explained and (sides := self._unchanged_cost(keys, shrunk_group)):
                    explained |= keys
                    yield [row.key for row in grown_group], f"{_sentence(grown_group, shrunk_group)}, together {sides}"
                    break

    def _by_size(self, row: Change) -> tuple[int, Key]:
        return -abs(row.change(self.sort)), row.key

    def _unchanged_cost(self, keys: set[Key], shrunk_group: Sequence[Change]) -> str:
        """Return the joint cost before and after, as text; "" if it has changed.

        For two functions, it is enough if their joint share is unchanged. For more, their cost must be unchanged,
        because shares also fall when other functions grow.
        """
        vanished = not any(row.total_after for row in shrunk_group)
        for compared in (self.costs, self.limited)[: 1 if len(keys) > 2 else 2]:
            old, new, (low, high) = compared.joint_cost(keys, self.sort)
            # within noise; or within a tenth, if the functions that shrank vanished
            if (low <= 0 <= high or (vanished and abs(new - old) * 10 <= old)) and new - old <= self.allowed:
                old, new, _ = self.limited.joint_cost(keys, self.sort)
                total = self.limited.before.cost
                return f"{format_percent(old, total)} before and {format_percent(new, total)} after"
        return ""


def _may_have_moved(new: Change, old: Change, before: Mapping[Key, Callers], after: Mapping[Key, Callers]) -> bool:
    appeared, vanished = not new.total_before, not old.total_after
    old_callers, new_callers = (
        {key: cost / sum(callers.values()) for key, cost in callers.items()}
        for callers in (before[old.key], after[new.key])
    )
    return (appeared or vanished) and (
        sum(min(share, new_callers.get(key, 0.0)) for key, share in old_callers.items()) >= _MIN_COMMON_CALLERS
        or (appeared and new_callers.get(old.key, 0.0) >= _MIN_COMMON_CALLERS)  # split off
        or (vanished and old_callers.get(new.key, 0.0) >= _MIN_SHARE_OF_CALLER)  # inlined
    )


def _connected(
    new: Change, grew: Sequence[Change], links: Mapping[Key, Sequence[Change]]
) -> tuple[list[Change], list[Change]]:
    grown_keys, shrunk_keys = {new.key}, set[Key]()
    while True:
        linked = {old.key for key in grown_keys for old in links.get(key, ())}
        if linked == shrunk_keys:
            break
        shrunk_keys = linked
        grown_keys |= {row.key for row in grew if any(old.key in linked for old in links[row.key])}
    shrank = {old.key: old for key in grown_keys for old in links.get(key, ())}
    return [row for row in grew if row.key in grown_keys], list(shrank.values())


def _sentence(grown_group: Sequence[Change], shrunk_group: Sequence[Change]) -> str:
    names = (shortened_list([row.name for row in rows], _MAX_NAMES) for rows in (shrunk_group, grown_group))
    appeared = not any(row.total_before for row in grown_group)
    vanished = not any(row.total_after for row in shrunk_group)
    move = "inlined" if vanished and not appeared else "split" if appeared and len(shrunk_group) == 1 else "moved"
    move = "renamed" if appeared and vanished and len(grown_group) == len(shrunk_group) == 1 else move
    return f"{move}: {' → '.join(names)}"
