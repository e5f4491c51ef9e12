"""Finds moved code: functions that were renamed, split or inlined, so that their cost continues under other names.

Code may have moved from a function that now costs less to one that now costs more if

- the first function vanished, or the second one appeared,
- both have similar callers, or one called the other,
- and their joint cost is unchanged within noise; if a function vanished, within a tenth.

A function's callers are the nearest ones that both recordings have.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.model.number_format import first_of, format_percent
from perf2x.model.totals.totals import Key
from perf2x.tools.diff.changes import Change, Comparison

# The cost of a function by caller, in one of the recordings.
Callers = Mapping[Key, int]
# Costs of functions by themselves, or with all that they call.
CostColumn = Literal["own", "total"]
# The type of RecordingPair.callers.
CallersOf = Callable[[int, Set[Key], CostColumn], Mapping[Key, Callers]]

# Minimum share of the callers, by cost, that two functions must have in common.
_ALIKE = 0.5
# Minimum share of a vanished function's cost that must come from the caller into which it was inlined.
_PART = 0.05
# Changes this many times smaller than the smallest one to explain are ignored.
_SMALL = 20
# Maximum number of functions that cost more, and of those that cost less, to compare.
_MOST = 50
# Maximum number of functions to name in a sentence.
_NAMED = 3
_PAIR = 2


class MovedCode(Frozen):
    """Connects the functions of a comparison that cost more with those that cost less."""

    costs: Comparison
    limited: Comparison
    """The functions of ``costs`` with the costs or shares that the limit applies to."""
    sort: str
    callers_of: CallersOf
    allowed: float
    """The largest acceptable growth of moved code, in the event's unit."""

    def explained(self, grown: Sequence[Change]) -> Iterator[tuple[list[Key], str]]:
        """Yield groups of functions that only took over the cost of others, each with a sentence that explains it.

        ``grown`` are the functions that exceed the limit.
        """
        rows = self.costs.lines
        least = min(row.change(self.sort) for row in grown) / _SMALL
        grew = sorted((row for row in rows if row.change(self.sort) > least), key=self._size)[:_MOST]
        shrank = sorted((row for row in rows if -row.change(self.sort) > least), key=self._size)[:_MOST]
        in_one_only = {row.key for row in rows if not (row.total_before and row.total_after)}
        before, after = (self.callers_of(side, in_one_only, "total") for side in (0, 1))
        links = {new.key: [old for old in shrank if _may_have_moved(new, old, before, after)] for new in grew}
        explained = set[Key]()
        for new in sorted(grown, key=self._size):
            pairs = [([new], [old]) for old in links.get(new.key, ())]
            for news, olds in [*pairs, _connected(new, grew, links)]:
                keys = {row.key for row in (*news, *olds)}
                if olds and not keys & explained and (sides := self._same_cost(keys, olds)):
                    explained |= keys
                    yield [row.key for row in news], f"{_sentence(news, olds)}, together {sides}"
                    break

    def _size(self, row: Change) -> tuple[int, Key]:
        """Sort key: largest change first."""
        return -abs(row.change(self.sort)), row.key

    def _same_cost(self, keys: set[Key], olds: Sequence[Change]) -> str:
        """Return the joint cost of some functions before and after, as text; "" if it has changed.

        For two functions it is enough if their joint share is unchanged; for more it is not, because shares fall when
        other functions grow.
        """
        vanished = not any(row.total_after for row in olds)
        for compared in (self.costs, self.limited)[: 1 if len(keys) > _PAIR else 2]:
            old, new, (low, high) = compared.together(keys, self.sort)
            if (low <= 0 <= high or (vanished and abs(new - old) * 10 <= old)) and new - old <= self.allowed:
                old, new, _ = self.limited.together(keys, self.sort)
                total = self.limited.before.cost
                return f"{format_percent(old, total)} before and {format_percent(new, total)} after"
        return ""


def _may_have_moved(new: Change, old: Change, before: Mapping[Key, Callers], after: Mapping[Key, Callers]) -> bool:
    """Return whether code may have moved from ``old``, which shrank, to ``new``, which grew, judging by their callers.

    ``before`` and ``after`` are the callers of all functions in the two recordings.
    """
    appeared, vanished = not new.total_before, not old.total_after
    old_callers, new_callers = (
        {key: cost / sum(callers.values()) for key, cost in callers.items()}
        for callers in (before[old.key], after[new.key])
    )
    return (appeared or vanished) and (
        sum(min(share, new_callers.get(key, 0.0)) for key, share in old_callers.items()) >= _ALIKE
        or (appeared and new_callers.get(old.key, 0.0) >= _ALIKE)  # split off
        or (vanished and old_callers.get(new.key, 0.0) >= _PART)  # inlined
    )


def _connected(
    new: Change, grew: Sequence[Change], links: Mapping[Key, Sequence[Change]]
) -> tuple[list[Change], list[Change]]:
    """Return all functions that links connect with ``new``, directly or through others: those that grew, that shrank.

    ``links`` has the functions from which code may have moved to each of ``grew``.
    """
    news, olds = {new.key}, set[Key]()
    while True:
        linked = {old.key for key in news for old in links.get(key, ())}
        if linked == olds:
            break
        olds, news = linked, news | {row.key for row in grew if any(old.key in linked for old in links[row.key])}
    shrank = {old.key: old for key in news for old in links.get(key, ())}
    return [row for row in grew if row.key in news], list(shrank.values())


def _sentence(news: Sequence[Change], olds: Sequence[Change]) -> str:
    names = (first_of([row.name for row in rows], _NAMED) for rows in (olds, news))
    appeared, vanished = not any(row.total_before for row in news), not any(row.total_after for row in olds)
    kind = "inlined" if vanished and not appeared else "split" if appeared and len(olds) == 1 else "moved"
    kind = "renamed" if appeared and vanished and len(news) == len(olds) == 1 else kind
    return f"{kind}: {' → '.join(names)}"
