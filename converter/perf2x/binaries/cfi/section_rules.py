"""Rules of one section of call frame information by address; functions are decoded when an address falls into them."""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64
from perf2x.base.columnar.growable import GrowableColumns
from perf2x.base.columnar.unique import unique
from perf2x.binaries.cfi.entry_index import FrameIndex
from perf2x.binaries.cfi.function_rules import MOST, decode_functions
from perf2x.binaries.cfi.unwind_rules import NO_RULE, RuleTable


class FrameSource:
    """The index of one section, and the rule rows of the functions decoded so far."""

    def __init__(self, index: FrameIndex) -> None:
        self.index = index
        count = len(index.start)
        self._first: I64 = np.full(count, -1, np.int64)
        """(n,) first row of each function, −1 before it is decoded"""
        self._stop: I64 = np.zeros(count, np.int64)
        self._end: U64 = np.zeros(count, np.uint64)
        """(n,) svma behind each function"""
        self._start, self._rule = GrowableColumns(np.uint64), GrowableColumns(np.int32)

    def find(self, svma: U64, table: RuleTable, problems: list[str]) -> I32:
        """(n,) rule numbers of addresses, NO_RULE outside functions."""
        result = np.full(len(svma), NO_RULE, np.int32)
        function = self.index.find(svma)
        rows = np.flatnonzero(function >= 0)
        function = function[rows]
        new = unique(function[self._first[function] < 0])
        for begin in range(0, len(new), MOST):
            self._decode(new[begin : begin + MOST], table, problems)
        inside = svma[rows] < self._end[function]
        rows, function = rows[inside], function[inside]
        row = self._last_row(function, svma[rows])
        known = row >= self._first[function]
        result[rows[known]] = self._rule[0][row[known]]
        return result

    def _last_row(self, function: I64, svma: U64) -> I64:
        """(n,) the last row of each function that starts at or before an address; by bisection, all side by side."""
        low, high, start = self._first[function], self._stop[function], self._start[0]
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            goes_on = (low < high) & (start[np.minimum(middle, len(start) - 1)] <= svma)
            high = np.where(goes_on, high, middle)
            low = np.where(goes_on, middle + 1, low)
        return low - 1

    def _decode(self, function: I64, table: RuleTable, problems: list[str]) -> None:
        found = decode_functions(self.index.section, self.index.offset[function], table, problems)
        first = len(self._start) + found.offsets
        self._first[function], self._stop[function], self._end[function] = first[:-1], first[1:], found.end
        self._start.extend(found.start)
        self._rule.extend(found.rule)
