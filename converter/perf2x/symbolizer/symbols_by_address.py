"""Index of symbols by address, with perf's rules for ends of functions, for ties and for nesting.

An address usually belongs to the last symbol that starts at or before it. There are three complications:

- Several symbols may start at one address (aliases). All symbols with the same start form a *group*, identified by the
  position of its last symbol in the order of starts. Its best symbol is chosen on a hit, because this may need names.
- A symbol may have no size; it then ends where the next one starts.
- A symbol may lie inside another (hand-written assembler). An address after the inner one belongs to the nearest
  earlier group whose *reach*, the farthest end of its best symbols, is beyond the address.

Source of truth: tools/perf/util/symbol.c symbols__fixup_end, choose_best_symbol, symbols__fixup_duplicate and
symbols__find.
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
"""Maximum number of enclosing groups to try for an address; real tables nest symbols in two levels."""
_MAX_DOUBLINGS = 64
"""Maximum number of rounds in `_Nesting`, enough for every real table. In other tables, lookups take longer."""


class SymbolColumns(Frozen):
    """Symbols in perf's order of insertion; the columns are (symbols,).

    ``type`` has the STT_… constants of ELF, ``binding`` its STB_….
    """

    start: U64
    end: U64
    """One past the last byte; equal to ``start`` if the size is unknown."""
    type: U8
    binding: U8
    name: Callable[[int], str]
    """Returns the name of a row. Names are not a column, because decoding all would take longer than the lookups."""
    demangle: Callable[[str], str] = str
    """Converts a name to the form that perf displays, which decides ties."""


class SymbolIndex:
    """Finds symbols for batches of addresses; private methods identify symbols by position in the sorted order."""

    def __init__(self, symbols: SymbolColumns) -> None:
        self._symbols = symbols
        order = argsort_rows([symbols.start])
        is_inner_label = _inner_labels(symbols, order)
        self._order = order = order[~is_inner_label] if is_inner_label is not None else order
        self._start = symbols.start[order]
        self._end = np.maximum(symbols.end[order], self._start)

    def find(self, address: U64) -> I64:
        """Return (n,) the row in `SymbolColumns` of the symbol that each address belongs to, −1 for none."""
        result = minus_ones(len(address))
        has_group, groups, group_index = self._groups_of_addresses(address)
        if len(has_group):
            result[has_group] = self._order[self._winners(self._groups(groups))[group_index]]
        return result

    def extents(self, address: U64) -> tuple[U64, U64]:
        """Return (n,) start and end (exclusive) of the group at each address; both are 0 where `find` finds none.

        The end is the farthest of the best symbols' ends.
        """
        start, end = np.zeros(len(address), np.uint64), np.zeros(len(address), np.uint64)
        has_group, groups, group_index = self._groups_of_addresses(address)
        if len(has_group):
            start[has_group], end[has_group] = self._start[groups][group_index], self._groups(groups).reach[group_index]
        return start, end

    def _groups_of_addresses(self, address: U64) -> tuple[I64, I64, I64]:
        """Return the indices of addresses in a group, the distinct groups, and each address's index among these."""
        group = searchsorted(self._start, address, "right") - 1
        if len(self._start):
            group = self._reaching_groups(group, address)
        has_group = flatnonzero(group >= 0)
        return has_group, *unique_inverse(group[has_group])

    def _reaching_groups(self, nearest_group: I64, address: U64) -> I64:
        """Return (n,) the last group at or before ``nearest_group`` that reaches each address, −1 for none."""
        has_nearest_group = flatnonzero(nearest_group >= 0)
        groups, group_index = unique_inverse(nearest_group[has_nearest_group])
        reach = np.zeros(len(nearest_group), np.uint64)
        reach[has_nearest_group] = self._groups(groups).reach[group_index]
        # as in symbols__find: before the end, or exactly at a symbol without length
        is_reached = (address < reach) | (address == self._start[nearest_group])
        result = np.where(is_reached, nearest_group, -1)
        missed_rows = flatnonzero((nearest_group >= 0) & ~is_reached)
        if len(missed_rows):  # most missed addresses are beyond all earlier symbols, too
            missed_rows = missed_rows[self._farthest_end[nearest_group[missed_rows]] > address[missed_rows]]
        if len(missed_rows):
            result[missed_rows] = self._nesting.reaching_groups(nearest_group[missed_rows], address[missed_rows])
        return result

    @cached_property
    def _farthest_end(self) -> U64:
        return np.maximum.accumulate(self._ends(arange(len(self._start))))

    @cached_property
    def _nesting(self) -> "_Nesting":
        all_groups = flatnonzero(ends_run(self._start))
        return _Nesting(all_groups, self._groups(all_groups).reach)

    def _ends(self, position: I64) -> U64:
        """Return (n,) ends as symbols__fixup_end leaves them: a symbol without size ends where the next one starts.

        The last symbol then ends at ``roundup(start, 4096) + 4096``.
        """
        start, end = self._start[position], self._end[position]
        page_end = min(-(-int(self._start[-1]) // PAGE) * PAGE + PAGE, 2**64 - 1)
        is_last = position + 1 == len(self._start)
        next_start = np.where(is_last, np.uint64(page_end), self._start[np.where(is_last, position, position + 1)])
        return np.where(end == start, np.maximum(next_start, start), end)

    def _groups(self, last: I64) -> "_Groups":
        """``last`` (groups,) is each group's last symbol, ascending."""
        first = searchsorted(self._start, self._start[last], "left")
        count = last + 1 - first
        symbol = ranges(first, count)
        group_start = offsets_of(count)[:-1]
        start, end = self._start[symbol], self._ends(symbol)
        score = _score(start, end, self._symbols, self._order[symbol])
        if not len(symbol):
            return _Groups(symbol, group_start, count, score == 0, end)
        is_best = score == repeat(np.maximum.reduceat(score, as_intp(group_start)), count)
        reach = np.maximum.reduceat(np.where(is_best, end, start), as_intp(group_start))
        return _Groups(symbol, group_start, count, is_best, reach)

    def _winners(self, groups: "_Groups") -> I64:
        best = flatnonzero(groups.is_best)
        group = repeat(arange(len(groups.group_start)), groups.count)[best]
        # best_count[i] rows of ``best`` from first_best[i] on are the best of group i
        first_best = searchsorted(group, arange(len(groups.group_start)))
        winner = groups.symbol[best[first_best]]
        best_count = np.append(first_best[1:], len(best)) - first_best
        for tied_group in flatnonzero(best_count > 1).tolist():
            start = int(first_best[tied_group])
            tied_symbols = groups.symbol[best[start : start + int(best_count[tied_group])]]
            winner[tied_group] = self._choose(tied_symbols.tolist())
        return winner

    def _choose(self, tied_symbols: list[int]) -> int:
        winner, winner_name = tied_symbols[0], self._name(tied_symbols[0])
        for position in tied_symbols[1:]:
            name = self._name(position)
            if not _first_is_better(winner_name, name, self._symbols.demangle):
                winner, winner_name = position, name
        return winner

    def _name(self, position: int) -> str:
        return self._symbols.name(int(self._order[position]))


class _Groups(Frozen):
    symbol: I64
    """(members,) positions in the sorted order, group by group."""
    group_start: I64
    """(groups,) index in ``symbol`` of each group's first member."""
    count: I64
    is_best: Bools
    """(members,) True if no member of the group is better, names aside."""
    reach: U64
    """(groups,) the farthest end of the best members."""


class _Nesting:
    """Finds groups that enclose others, for addresses after the end of the nearest group.

    The *outer* group of a group is the nearest earlier one that reaches farther. All groups that contain an address are
    found by going from the nearest group to outer ones.
    """

    def __init__(self, groups: I64, reach: U64) -> None:
        self._groups, self._reach = groups, reach
        self._outer = self._outer_groups()

    def reaching_groups(self, nearest_group: I64, address: U64) -> I64:
        group = self._outer[searchsorted(self._groups, nearest_group)]
        for _ in range(_MAX_NESTING - 1):
            missed_rows = flatnonzero((group >= 0) & (address >= self._reach[group]))
            if not len(missed_rows):
                break
            group[missed_rows] = self._outer[group[missed_rows]]
        is_reached = (group >= 0) & (address < self._reach[group])
        return np.where(is_reached, self._groups[group], -1)

    def _outer_groups(self) -> I64:
        """Return (groups,) the index of each group's outer group, −1 for none.

        At first, every group points to the one before it. In each round, if the group pointed to does not reach
        farther, its pointer is copied, so the distance doubles::

            reach    90  20  15  60
            pointers -1   0   1   2         at first; group 3 (60) points to group 2 (15)
            pointers -1   0   1   1         after a round; group 1 (20) does not reach farther either
            pointers -1   0   1   0         after another round; all pointers are final
        """
        outer = arange(-1, len(self._reach) - 1)
        for _ in range(_MAX_DOUBLINGS):
            too_short = flatnonzero((outer >= 0) & (self._reach[outer] <= self._reach))
            if not len(too_short):
                break
            outer[too_short] = outer[outer[too_short]]
        return outer


def _inner_labels(symbols: SymbolColumns, order: I64) -> Bools | None:
    """Return (symbols,) True for labels inside functions; None if the table has no labels.

    A label has neither type nor size. Addresses after it belong to the function here; in perf, the shape of its
    red-black tree decides. ``order`` (symbols,) sorts by start; the result is in this order.
    """
    is_label = (symbols.type == STT_NOTYPE) & (symbols.end <= symbols.start)
    if not is_label.any():
        return None
    start, is_label = symbols.start[order], is_label[order]
    end = np.maximum(symbols.end[order], start)
    has_size = (end > start) & (symbols.type[order] != STT_NOTYPE)
    farthest_end = np.maximum.accumulate(np.where(has_size, end, np.uint64(0)))
    is_inner: Bools = is_label & (farthest_end > start)
    return is_inner


def _score(start: U64, end: U64, symbols: SymbolColumns, row: I64) -> I64:
    """Return (n,) scores; the best symbol has the highest score (choose_best_symbol, names aside)."""
    binding, kind = symbols.binding[row], symbols.type[row]
    score: I64 = as_int64(end > start) * 8 + (kind != STT_NOTYPE) * 4
    score += (binding != STB_WEAK) * 2 + (binding == STB_GLOBAL)
    return score


def _first_is_better(first: str, second: str, demangle: Callable[[str], str]) -> bool:
    """Compare two names as choose_best_symbol does.

    Fewer leading underscores are better, then a longer name. Otherwise the first is better, unless it is an alias of a
    system call (``SyS_…``, ``compat_SyS_…``).
    """
    if first != second:
        first, second = demangle(first), demangle(second)
        underscores, others = (len(name) - len(name.lstrip("_")) for name in (first, second))
        if underscores != others:
            return underscores < others
        if len(first) != len(second):
            return len(first) > len(second)
    return not first.startswith(("SyS", "compat_SyS"))
