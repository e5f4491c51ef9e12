"""Index of symbols by address, with perf's rules for ends of functions, for ties and for nesting.

Source of truth: tools/perf/util/symbol.c symbols__fixup_end, choose_best_symbol, symbols__fixup_duplicate and
symbols__find. perf edits a tree symbol by symbol; this index gets the same answers from sorted columns, and compares
names only if several symbols start at an address that was looked up.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from perf2x.base.binaries.elf.symtab import STB_GLOBAL, STB_WEAK, STT_NOTYPE
from perf2x.base.columnar import (
    I64,
    U8,
    U64,
    Bools,
    Frozen,
    arange,
    argsort_rows,
    as_int64,
    as_intp,
    ends_run,
    flatnonzero,
    minus_ones,
    offsets_of,
    ranges,
    repeat,
    searchsorted,
    unique_inverse,
)

PAGE = 4096
_MAX_NESTING = 1000
"""Maximum nesting of symbols. Real tables have two levels; a hostile one must not take forever."""
_MAX_ROUNDS = 64
"""Maximum rounds of pointer doubling, enough for every real table; if more were needed, lookups would take more steps.
"""


class SymbolColumns(Frozen):
    """Symbols in perf's order of insertion."""

    start: U64
    end: U64
    """One past the last byte; equal to ``start`` if the size is unknown."""
    type: U8
    binding: U8
    name: Callable[[int], str]
    """Returns the name of a row. It is a function because decoding all names would take longer than the lookups."""
    shown: Callable[[str], str] = str
    """Returns the form of a name that perf displays (demangled), which decides ties."""


class SymbolIndex:
    """Finds symbols for batches of addresses.

    Only the order of symbols is computed in advance. Symbols with the same start form a group; the best symbol of a
    group is chosen when an address hits the group.
    """

    def __init__(self, symbols: SymbolColumns) -> None:
        self._symbols = symbols
        order = argsort_rows([symbols.start])
        inner = _inner_labels(symbols, order)
        self._order = order = order[~inner] if inner is not None else order
        self._start = symbols.start[order]
        self._end = np.maximum(symbols.end[order], self._start)

    def find(self, address: U64) -> I64:
        """Return (n,) row of the symbol that contains each address, −1 for none."""
        result = minus_ones(len(address))
        found, hit, at = self._hit(address)
        if len(found):
            result[found] = self._order[self._winners(self._groups(hit))[at]]
        return result

    def extents(self, address: U64) -> tuple[U64, U64]:
        """Return (n,) first byte, and one past the last, of the symbols that `find` finds.

        Both are 0 where there is none.
        """
        start, end = np.zeros(len(address), np.uint64), np.zeros(len(address), np.uint64)
        found, hit, at = self._hit(address)
        if len(found):
            start[found], end[found] = self._start[hit][at], self._groups(hit).reach[at]
        return start, end

    def _hit(self, address: U64) -> tuple[I64, I64, I64]:
        """Return which addresses are in a group, the distinct groups, and the index of each such address's group."""
        last = searchsorted(self._start, address, "right") - 1
        if len(self._start):
            last = self._climb(last, address)
        found = flatnonzero(last >= 0)
        return found, *unique_inverse(last[found])

    def _climb(self, last: I64, address: U64) -> I64:
        """Return (n,) the nearest group, at or before the given one, that reaches each address; −1 for none.

        A group is identified by its last symbol.
        """
        started = flatnonzero(last >= 0)
        hit, at = unique_inverse(last[started])
        reach = np.zeros(len(last), np.uint64)
        reach[started] = self._groups(hit).reach[at]
        # as in symbols__find: before the end, or exactly at a symbol without length
        held = (address < reach) | (address == self._start[last])
        result = np.where(held, last, -1)
        missed = flatnonzero((last >= 0) & ~held)
        if len(missed):
            missed = missed[self._farthest_end[last[missed]] > address[missed]]
        if len(missed):
            result[missed] = self._nesting.climb(last[missed], address[missed])
        return result

    @cached_property
    def _farthest_end(self) -> U64:
        """(symbols,) the farthest end of each symbol and all symbols before it."""
        return np.maximum.accumulate(self._ends(arange(len(self._start))))

    @cached_property
    def _nesting(self) -> "_Nesting":
        last = flatnonzero(ends_run(self._start))
        return _Nesting(last, self._groups(last).reach)

    def _ends(self, rows: I64) -> U64:
        """Apply symbols__fixup_end: a symbol without size ends at the next start, the last at the next page's end."""
        start, end = self._start[rows], self._end[rows]
        page = min(-(-int(self._start[-1]) // PAGE) * PAGE + PAGE, 2**64 - 1)
        is_last = rows + 1 == len(self._start)
        following = np.where(is_last, np.uint64(page), self._start[np.where(is_last, rows, rows + 1)])
        return np.where(end == start, np.maximum(following, start), end)

    def _groups(self, last: I64) -> "_Groups":
        """Return the groups with these last symbols, in ascending order."""
        first = searchsorted(self._start, self._start[last], "left")
        count = last + 1 - first
        row = ranges(first, count)
        at = offsets_of(count)[:-1]
        start, end = self._start[row], self._ends(row)
        score = _score(start, end, self._symbols, self._order[row])
        if not len(row):
            return _Groups(row, at, count, score == 0, end)
        is_best = score == repeat(np.maximum.reduceat(score, as_intp(at)), count)
        return _Groups(row, at, count, is_best, np.maximum.reduceat(np.where(is_best, end, start), as_intp(at)))

    def _winners(self, groups: "_Groups") -> I64:
        """Return (groups,) each group's best symbol by choose_best_symbol; names are compared only for ties."""
        best = flatnonzero(groups.is_best)
        group = repeat(arange(len(groups.at)), groups.count)[best]
        first = searchsorted(group, arange(len(groups.at)))
        winner = groups.row[best[first]]
        ties = np.append(first[1:], len(best)) - first
        for tied in flatnonzero(ties > 1).tolist():
            start = int(first[tied])
            winner[tied] = self._choose(groups.row[best[start : start + int(ties[tied])]].tolist())
        return winner

    def _choose(self, tied: list[int]) -> int:
        """Choose among symbols that differ only in their names."""
        winner, best = tied[0], self._name(tied[0])
        for row in tied[1:]:
            name = self._name(row)
            if not _first_is_better(best, name, self._symbols.shown):
                winner, best = row, name
        return winner

    def _name(self, position: int) -> str:
        return self._symbols.name(int(self._order[position]))


class _Groups(Frozen):
    """Some groups; symbols are given by position in sorted order."""

    row: I64
    """(rows,) symbols of all groups."""
    at: I64
    """(groups,) first index in ``row``."""
    count: I64
    """(groups,)"""
    is_best: Bools
    """(rows,) True if no symbol of the group is better, names aside."""
    reach: U64
    """(groups,) the farthest end of the best symbols."""


class _Nesting:
    """Nesting of all groups of a table, computed when an address is after the end of the nearest group."""

    def __init__(self, last: I64, reach: U64) -> None:
        """``last`` (groups,) is the last symbol of each group, ascending; ``reach`` (groups,) its farthest end."""
        self._last, self._reach = last, reach
        self._outer = self._enclosing()

    def climb(self, last: I64, address: U64) -> I64:
        """Return (n,) nearest earlier group that reaches each address, −1 for none; groups by last symbol."""
        group = self._outer[searchsorted(self._last, last)]
        for _ in range(_MAX_NESTING - 1):
            missed = flatnonzero((group >= 0) & (address >= self._reach[group]))
            if not len(missed):
                break
            group[missed] = self._outer[group[missed]]
        holds = (group >= 0) & (address < self._reach[group])
        return np.where(holds, self._last[group], -1)

    def _enclosing(self) -> I64:
        """Return (groups,) nearest earlier group that reaches farther, −1 for none. ::

        reach    90  20  15  60         group 2 (15): group 1 reaches farther; group 3 (60): group 0 does
        outer    -1   0   1   0         pointers skip all groups that reach less far, twice as many each round
        """
        outer = arange(-1, len(self._reach) - 1)
        for _ in range(_MAX_ROUNDS):
            short = flatnonzero((outer >= 0) & (self._reach[outer] <= self._reach))
            if not len(short):
                break
            outer[short] = outer[outer[short]]
        return outer


def _inner_labels(symbols: SymbolColumns, order: I64) -> Bools | None:
    """Return (n,) True for labels without type and size inside a function with a size; None if there are no labels.

    Only the function is a correct answer for addresses there. perf finds the label or the function, whichever is nearer
    to the root of its tree.
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
    """Return (n,) rank by choose_best_symbol without names: has a size, has a type, is not weak, is global."""
    binding, kind = symbols.binding[row], symbols.type[row]
    score: I64 = as_int64(end > start) * 8 + (kind != STT_NOTYPE) * 4
    score += (binding != STB_WEAK) * 2 + (binding == STB_GLOBAL)
    return score


def _first_is_better(first: str, second: str, shown: Callable[[str], str]) -> bool:
    """Compare names as choose_best_symbol does: fewer leading underscores, then the longer name, then no SyS alias."""
    if first != second:
        first, second = shown(first), shown(second)
        underscores, others = (len(name) - len(name.lstrip("_")) for name in (first, second))
        if underscores != others:
            return underscores < others
        if len(first) != len(second):
            return len(first) > len(second)
    return not first.startswith(("SyS", "compat_SyS"))
