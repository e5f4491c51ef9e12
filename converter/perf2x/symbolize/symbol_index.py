"""Which symbol holds an address: ends of functions, ties and nesting decided as perf decides them.

Source of truth: tools/perf/util/symbol.c symbols__fixup_end, choose_best_symbol, symbols__fixup_duplicate and
symbols__find. perf edits a tree symbol by symbol; here the same answers come from sorted columns, and names are looked
at only where an address was asked for and several symbols start at one place.
"""

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from perf2x.binary.elf.symtab import STB_GLOBAL, STB_WEAK, STT_NOTYPE
from perf2x.columnar.arrays import I64, U8, U64, Bools
from perf2x.columnar.ragged import offsets_of, ranges
from perf2x.columnar.unique import argsort_rows, unique_inverse

PAGE = 4096
NESTING_AT_MOST = 1000
"""Levels of symbols within symbols; real tables have two, and a hostile one must not take forever."""
ROUNDS_AT_MOST = 64
"""Enough for any table whose nesting is real; fewer shortcuts only mean more steps."""


def _as_it_is(name: str) -> str:
    return name


class SymbolColumns(Struct, frozen=True):
    """Symbols in the order of insertion; ``end`` is one past the last byte, ``end == start`` when no size is known."""

    start: U64
    end: U64
    type: U8
    binding: U8
    name: Callable[[int], str]
    """Row to name."""
    shown: Callable[[str], str] = _as_it_is
    """Name to what ties are judged by: demangled as it will be shown."""


class SymbolIndex:
    """Answers batches of addresses over one table of symbols.

    Only the order of all symbols is worked out beforehand. Symbols that start at one address are a group; of groups
    that no address hits nothing is known.
    """

    def __init__(self, symbols: SymbolColumns) -> None:
        self._symbols = symbols
        order = argsort_rows([symbols.start])
        inner = _inner_labels(symbols, order)
        self._order = order = order[~inner] if inner is not None else order
        self._start = symbols.start[order]
        self._end = np.maximum(symbols.end[order], self._start)
        self._nesting: _Nesting | None = None
        self._bound: U64 | None = None

    def find(self, address: U64) -> I64:
        """(n,) row of the symbol that holds each address, −1 for none."""
        result = np.full(len(address), -1, np.int64)
        if not len(self._start):
            return result
        last = np.searchsorted(self._start, address, "right").astype(np.int64) - 1
        last = self._climb(last, address)
        found = np.flatnonzero(last >= 0)
        hit, at = unique_inverse(last[found])
        result[found] = self._order[self._winners(self._groups(hit))[at]]
        return result

    def _climb(self, last: I64, address: U64) -> I64:
        """From the nearest start down to the nearest symbol that still reaches the address; −1 where none does.

        Groups are told by their last symbol.
        """
        started = np.flatnonzero(last >= 0)
        hit, at = unique_inverse(last[started])
        reach = np.zeros(len(last), np.uint64)
        reach[started] = self._groups(hit).reach[at]
        # symbols__find: below the end, or exactly at a symbol without length
        held = (address < reach) | (address == self._start[last])
        result = np.where(held, last, -1)
        missed = np.flatnonzero((last >= 0) & ~held)
        if len(missed):
            if self._bound is None:
                self._bound = np.maximum.accumulate(self._ends(np.arange(len(self._start))))
            missed = missed[self._bound[last[missed]] > address[missed]]
        if len(missed):
            self._nesting = self._nesting or _Nesting(self._start, self._groups)
            result[missed] = self._nesting.climb(last[missed], address[missed])
        return result

    def _ends(self, rows: I64) -> U64:
        """symbols__fixup_end: a symbol without size reaches to the next start, the last one to the next page's end."""
        start, end = self._start[rows], self._end[rows]
        page = min(-(-int(self._start[-1]) // PAGE) * PAGE + PAGE, 2**64 - 1)
        is_last = rows + 1 == len(self._start)
        following = np.where(is_last, np.uint64(page), self._start[np.where(is_last, rows, rows + 1)])
        return np.where(end == start, np.maximum(following, start), end)

    def _groups(self, last: I64) -> "_Groups":
        """The groups that these symbols are the last of (rising)."""
        first = np.searchsorted(self._start, self._start[last], "left").astype(np.int64)
        count = last + 1 - first
        row = ranges(first, count)
        at = offsets_of(count)[:-1]
        start, end = self._start[row], self._ends(row)
        score = _score(start, end, self._symbols, self._order[row])
        if not len(row):
            return _Groups(row, at, count, score == 0, end)
        is_best = score == np.repeat(np.maximum.reduceat(score, at), count)
        return _Groups(row, at, count, is_best, np.maximum.reduceat(np.where(is_best, end, start), at))

    def _winners(self, groups: "_Groups") -> I64:
        """(groups,) choose_best_symbol over each group: names are looked at only where nothing else tells."""
        best = np.flatnonzero(groups.is_best)
        group = np.repeat(np.arange(len(groups.at)), groups.count)[best]
        first = np.searchsorted(group, np.arange(len(groups.at)))
        winner = groups.row[best[first]]
        ties = np.append(first[1:], len(best)) - first
        for tied in np.flatnonzero(ties > 1).tolist():
            start = int(first[tied])
            winner[tied] = self._choose(groups.row[best[start : start + int(ties[tied])]].tolist())
        return winner

    def _choose(self, tied: list[int]) -> int:
        """The rest of choose_best_symbol, for symbols that are equal in all but their names."""
        winner, mine = tied[0], self._name(tied[0])
        for row in tied[1:]:
            name = self._name(row)
            if not _first_is_better(mine, name, self._symbols.shown):
                winner, mine = row, name
        return winner

    def _name(self, position: int) -> str:
        return self._symbols.name(int(self._order[position]))


class _Groups(Struct, frozen=True):
    """Some groups, by positions in sorted order."""

    row: I64
    """(rows,) all symbols of all groups."""
    at: I64
    """(groups,) where each group begins in ``row``."""
    count: I64
    """(groups,)"""
    is_best: Bools
    """(rows,) as good as any of its group, names not looked at."""
    reach: U64
    """(groups,) the farthest end of each group's best symbols."""


class _Nesting:
    """Which groups lie in which: worked out for the whole table when an address lies behind the nearest end."""

    def __init__(self, start: U64, groups: Callable[[I64], _Groups]) -> None:
        self._last = np.flatnonzero(np.append(start[1:] != start[:-1], True))
        self._reach = groups(self._last).reach
        self._outer = self._enclosing()

    def climb(self, last: I64, address: U64) -> I64:
        """The nearest earlier group that reaches each address, −1 where none does."""
        group = self._outer[np.searchsorted(self._last, last)]
        for _ in range(NESTING_AT_MOST - 1):
            missed = np.flatnonzero((group >= 0) & (address >= self._reach[group]))
            if not len(missed):
                break
            group[missed] = self._outer[group[missed]]
        holds = (group >= 0) & (address < self._reach[group])
        return np.where(holds, self._last[group], -1)

    def _enclosing(self) -> I64:
        """(groups,) the nearest earlier group that reaches farther, −1 for none.

        ::

            reach    90  20  15  60         group 2 (15): 1 reaches farther; 3 (60): 0 does
            outer    -1   0   1   0         pointers jump over everything that reaches less, doubling each round
        """
        outer = np.arange(-1, len(self._reach) - 1, dtype=np.int64)
        for _ in range(ROUNDS_AT_MOST):
            short = np.flatnonzero((outer >= 0) & (self._reach[outer] <= self._reach))
            if not len(short):
                break
            outer[short] = outer[outer[short]]
        return outer


def _inner_labels(symbols: SymbolColumns, order: I64) -> Bools | None:
    """(n,) labels without type and size inside a function that has a size: the function is meant. None without labels.

    perf finds one or the other, whichever lies nearer to the root of its tree.
    """
    label = (symbols.type == STT_NOTYPE) & (symbols.end <= symbols.start)
    if not label.any():
        return None
    start, label = symbols.start[order], label[order]
    end = np.maximum(symbols.end[order], start)
    sized = (end > start) & (symbols.type[order] != STT_NOTYPE)
    reach = np.maximum.accumulate(np.where(sized, end, np.uint64(0)))
    inner: Bools = label & (reach > start)
    return inner


def _score(start: U64, end: U64, symbols: SymbolColumns, row: I64) -> I64:
    """The part of choose_best_symbol that needs no names, as one number: with length, with a type, not weak, global."""
    binding, kind = symbols.binding[row], symbols.type[row]
    score: I64 = (end > start).astype(np.int64) * 8 + (kind != STT_NOTYPE) * 4
    score += (binding != STB_WEAK) * 2 + (binding == STB_GLOBAL)
    return score


def _first_is_better(first: str, second: str, shown: Callable[[str], str]) -> bool:
    """The rest of choose_best_symbol: fewer leading underscores, then the longer name, then not a SyS alias."""
    if first != second:
        first, second = shown(first), shown(second)
        mine, other = (len(name) - len(name.lstrip("_")) for name in (first, second))
        if mine != other:
            return mine < other
        if len(first) != len(second):
            return len(first) > len(second)
    return not first.startswith(("SyS", "compat_SyS"))
