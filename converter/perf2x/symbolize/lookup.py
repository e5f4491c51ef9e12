"""Which symbol holds an address: ends of functions, ties and nesting decided as perf decides them.

Source of truth: tools/perf/util/symbol.c symbols__fixup_end, choose_best_symbol, symbols__fixup_duplicate and
symbols__find. perf edits a tree symbol by symbol; here the same answers come from sorted columns, and names are looked
at only where an address was asked for and several symbols start at one place.
"""

from collections.abc import Callable

import numpy as np

from perf2x.classes import dataclass
from perf2x.model.arrays import I64, U8, U64, Bools
from perf2x.objects.symtab import STB_GLOBAL, STB_WEAK, STT_NOTYPE

PAGE = 4096
NESTING_AT_MOST = 1000
"""Levels of symbols within symbols; real tables have two, and a hostile one must not take forever."""
ROUNDS_AT_MOST = 64
"""Enough for any table whose nesting is real; fewer shortcuts only mean more steps."""


@dataclass(frozen=True, slots=True)
class SymbolColumns:
    """Symbols in the order of insertion; ``end`` is one past the last byte, ``end == start`` when no size is known."""

    start: U64
    end: U64
    type: U8
    binding: U8
    name: Callable[[int], str]
    """Row to the name that ties are judged by, demangled as it will be shown."""


class SymbolIndex:
    """Answers batches of addresses over one table of symbols."""

    def __init__(self, symbols: SymbolColumns) -> None:
        self._symbols = symbols
        order = np.argsort(symbols.start, kind="stable")
        order = order[~_inner_labels(symbols, order)]
        start = symbols.start[order]
        end = np.maximum(symbols.end[order], start)
        end = _fixed_ends(start, end)
        first = np.flatnonzero(np.concatenate([[True], start[1:] != start[:-1]])) if len(start) else order
        self._order, self._first = order, first
        self._last = np.append(first[1:], len(start)).astype(np.int64)
        self._score = _score(start, end, symbols, order)
        self._start = start[first]
        self._end = end
        # the farthest end of each group's best symbols: names are not looked at yet
        best = np.maximum.reduceat(self._score, first) if len(first) else self._score
        is_best = self._score == np.repeat(best, self._last - first)
        reach = np.where(is_best, end, start)
        self._reach = np.maximum.reduceat(reach, first) if len(first) else end
        self._outer: I64 | None = None

    def find(self, address: U64) -> I64:
        """(n,) row of the symbol that holds each address, −1 for none."""
        result = np.full(len(address), -1, np.int64)
        if not len(self._start):
            return result
        group = np.searchsorted(self._start, address, "right").astype(np.int64) - 1
        group = self._climb(group, address)
        hit = np.unique(group[group >= 0])
        chosen = np.array([self._choose(int(g)) for g in hit], np.int64)
        at = np.searchsorted(hit, group[group >= 0])
        result[group >= 0] = self._order[chosen[at]]
        return result

    def _climb(self, group: I64, address: U64) -> I64:
        """From the nearest start down to the nearest symbol that still reaches the address; −1 where none does."""
        group = group.copy()
        for _ in range(NESTING_AT_MOST):
            missed = np.flatnonzero((group >= 0) & ~self._holds(group, address))
            if not len(missed):
                return group
            group[missed] = self._enclosing()[group[missed]]
        return np.where(self._holds(group, address), group, -1)

    def _holds(self, group: I64, address: U64) -> Bools:
        """symbols__find: below the end, or exactly at a symbol without length."""
        safe = np.maximum(group, 0)
        holds: Bools = (address < self._reach[safe]) | (address == self._start[safe])
        return holds

    def _enclosing(self) -> I64:
        """(groups,) the nearest earlier group that reaches farther, −1 for none; made when first needed.

        ::

            reach    90  20  15  60         group 2 (15): 1 reaches farther; 3 (60): 0 does
            outer    -1   0   1   0         pointers jump over everything that reaches less, doubling each round
        """
        if self._outer is None:
            outer = np.arange(-1, len(self._start) - 1, dtype=np.int64)
            for _ in range(ROUNDS_AT_MOST):
                short = np.flatnonzero((outer >= 0) & (self._reach[outer] <= self._reach))
                if not len(short):
                    break
                outer[short] = outer[outer[short]]
            self._outer = outer
        return self._outer

    def _choose(self, group: int) -> int:
        """choose_best_symbol over the symbols that start at one address: position in sorted order."""
        rows = range(int(self._first[group]), int(self._last[group]))
        best = max(int(self._score[row]) for row in rows)
        tied = [row for row in rows if self._score[row] == best]
        winner = tied[0]
        for row in tied[1:]:
            if not _first_is_better(self._name(winner), self._name(row)):
                winner = row
        return winner

    def _name(self, position: int) -> str:
        return self._symbols.name(int(self._order[position]))


def _inner_labels(symbols: SymbolColumns, order: I64) -> Bools:
    """(n,) labels without type and size inside a function that has a size: the function is meant.

    perf finds one or the other, whichever lies nearer to the root of its tree.
    """
    start, kind = symbols.start[order], symbols.type[order]
    end = np.maximum(symbols.end[order], start)
    sized = (end > start) & (kind != STT_NOTYPE)
    reach = np.maximum.accumulate(np.where(sized, end, np.uint64(0))) if len(start) else end
    inner: Bools = (end == start) & (kind == STT_NOTYPE) & (reach > start)
    return inner


def _fixed_ends(start: U64, end: U64) -> U64:
    """symbols__fixup_end: a symbol without size reaches to the next start, the last one to the end of the next page."""
    if not len(start):
        return end
    last = min(-(-int(start[-1]) // PAGE) * PAGE + PAGE, 2**64 - 1)
    following = np.append(start[1:], np.uint64(last))
    return np.where(end == start, np.maximum(following, start), end)


def _score(start: U64, end: U64, symbols: SymbolColumns, order: I64) -> I64:
    """The part of choose_best_symbol that needs no names, as one number: with length, with a type, not weak, global."""
    binding, kind = symbols.binding[order], symbols.type[order]
    score: I64 = (end > start).astype(np.int64) * 8 + (kind != STT_NOTYPE) * 4
    score += (binding != STB_WEAK) * 2 + (binding == STB_GLOBAL)
    return score


def _first_is_better(first: str, second: str) -> bool:
    """The rest of choose_best_symbol: fewer leading underscores, then the longer name, then not a SyS alias."""
    mine, other = (len(name) - len(name.lstrip("_")) for name in (first, second))
    if mine != other:
        return mine < other
    if len(first) != len(second):
        return len(first) > len(second)
    return not first.startswith(("SyS", "compat_SyS"))
