"""Finds moved code: functions that were renamed, split or inlined, so that their cost continues under other names.

Code may have moved from a function that costs less to one that costs more if the former vanished or the latter
appeared, and both have similar callers, or one called the other. Their joint cost must be unchanged within noise, or
within a tenth if a function vanished. A function's callers are the nearest ones that both recordings have.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.model.number_format import first_of, format_percent
from perf2x.model.totals.totals import Key
from perf2x.tools.diff.changes import Change, Comparison

Callers = Mapping[Key, int]
"""The cost of a function by caller, in one of the recordings."""
CostColumn = Literal["own", "total"]
"""Costs of functions by themselves, or with all that they call."""
CallersOf = Callable[[int, Set[Key], CostColumn], Mapping[Key, Callers]]
"""The type of RecordingPair.callers."""

_ALIKE = 0.5
"""Minimum share of the callers, by cost, that two functions must have in common."""
_PART = 0.05
"""Minimum share of a vanished function's cost that must come from the caller into which it was inlined."""
_SMALL = 20
"""Changes this many times smaller than the smallest one to explain are ignored."""
_MOST = 50
"""Maximum number of functions that cost more, and of those that cost less, to compare."""
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
        """Yield groups of functions that only took over the cost of others, each with a sentence."""
        rows = self.costs.lines
        least = min(row.moved(self.sort) for row in grown) / _SMALL
        won = sorted((row for row in rows if row.moved(self.sort) > least), key=self._size)[:_MOST]
        lost = sorted((row for row in rows if -row.moved(self.sort) > least), key=self._size)[:_MOST]
        lone = {row.key for row in rows if not (row.total_before and row.total_after)}
        before, after = (self.callers_of(side, lone, "total") for side in (0, 1))
        links = {new.key: [old for old in lost if _fit(new, old, before, after)] for new in won}
        done = set[Key]()
        for new in sorted(grown, key=self._size):
            choices = [([new], [old]) for old in links.get(new.key, ())]
            for news, olds in [*choices, _connected(new, won, links)]:
                keys = {row.key for row in (*news, *olds)}
                if olds and not keys & done and (sides := self._same(keys, olds)):
                    done |= keys
                    yield [row.key for row in news], f"{_sentence(news, olds)}, together {sides}"
                    break

    def _size(self, row: Change) -> tuple[int, Key]:
        return -abs(row.moved(self.sort)), row.key

    def _same(self, keys: set[Key], olds: Sequence[Change]) -> str:
        """Return the joint cost of some functions before and after, as text; "" if it has changed.

        For two functions, an unchanged share is enough; for more it is not, because shares fall when other functions
        grow.
        """
        gone = not any(row.total_after for row in olds)
        for compared in (self.costs, self.limited)[: 1 if len(keys) > _PAIR else 2]:
            was, now, (low, high) = compared.together(keys, self.sort)
            if (low <= 0 <= high or (gone and abs(now - was) * 10 <= was)) and now - was <= self.allowed:
                was, now, _ = self.limited.together(keys, self.sort)
                whole = self.limited.before.whole
                return f"{format_percent(was, whole)} before and {format_percent(now, whole)} after"
        return ""


def _fit(new: Change, old: Change, before: Mapping[Key, Callers], after: Mapping[Key, Callers]) -> bool:
    """Return whether code may have moved from ``old`` to ``new``, which costs more, judging by their callers."""
    came, gone = not new.total_before, not old.total_after
    was, now = (
        {key: cost / sum(callers.values()) for key, cost in callers.items()}
        for callers in (before[old.key], after[new.key])
    )
    return (came or gone) and (
        sum(min(part, now.get(key, 0.0)) for key, part in was.items()) >= _ALIKE
        or (came and now.get(old.key, 0.0) >= _ALIKE)
        or (gone and was.get(new.key, 0.0) >= _PART)
    )


def _connected(
    new: Change, won: Sequence[Change], links: Mapping[Key, Sequence[Change]]
) -> tuple[list[Change], list[Change]]:
    """Return all functions that the links connect with ``new``, directly or through others.

    Those that cost more come first, then those that cost less.
    """
    news, olds = {new.key}, set[Key]()
    while True:
        more = {old.key for key in news for old in links.get(key, ())}
        if more == olds:
            break
        olds, news = more, news | {row.key for row in won if any(old.key in more for old in links[row.key])}
    found = {old.key: old for key in news for old in links.get(key, ())}
    return [row for row in won if row.key in news], list(found.values())


def _sentence(news: Sequence[Change], olds: Sequence[Change]) -> str:
    names = (first_of([row.name for row in rows], _NAMED) for rows in (olds, news))
    came, gone = not any(row.total_before for row in news), not any(row.total_after for row in olds)
    kind = "inlined" if gone and not came else "split" if came and len(olds) == 1 else "moved"
    kind = "renamed" if came and gone and len(news) == len(olds) == 1 else kind
    return f"{kind}: {' → '.join(names)}"
