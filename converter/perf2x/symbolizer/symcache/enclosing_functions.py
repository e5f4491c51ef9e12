"""Functions that source lines stand in: GCC gives lambdas that no other file can see no name but ``operator()``.

Functions of one file lie beside one another or inside one another, so a line belongs to the function that begins last
before it, among those that end behind it::

    10  double work() {                     work: 10 to 14
    11    auto f = [](double x) {
    12      return x * x; };                12 is inside work
    14    return f(3); }
    15  auto g = [](double x) {
    16    return x + x; };                  16 is inside nothing
    18  int main() { …                      main: from 18 on
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, U8, U32, U64, Bools
from perf2x.base.columnar.unique import group_rows
from perf2x.symbolizer.source_locations import CALL_OPERATOR
from perf2x.symbolizer.symcache.first_lines import NOTHING

MAX_STEPS = 64
"""Functions that are tried for a line, those that begin nearest first."""
_LINE_BITS = 32
_CALL = np.frombuffer(CALL_OPERATOR.encode(), np.uint8)


def enclosing_functions(tables: tuple[U32, U32, U8], file: I64, line: I64) -> U64:
    """(n,) where the name of the function begins that a line of a file stands in, `NOTHING` where there is none.

    ``tables`` are functions, locations and strings of a symcache (see read_symcache.py).
    """
    in_file, first_line, last_line, name = _spans(*tables, file)
    at = np.searchsorted(in_file << _LINE_BITS | first_line, file << _LINE_BITS | line, "right") - 1
    found = np.full(len(file), NOTHING, np.uint64)
    waiting = np.arange(len(file))
    for _ in range(MAX_STEPS):
        waiting = waiting[at[waiting] >= 0]
        waiting = waiting[in_file[at[waiting]] == file[waiting]]
        holds = last_line[at[waiting]] >= line[waiting]
        found[waiting[holds]] = name[at[waiting[holds]]]
        waiting = waiting[~holds]
        at[waiting] -= 1
    return found


def _spans(functions: U32, locations: U32, strings: U8, file: I64) -> tuple[I64, I64, I64, U64]:
    """(functions,) file, first line, last line and name of each function with lines in one of the files, in this order.

    Of functions that begin at the same line only the one that ends last is kept: instances of a template begin alike.
    """
    row = np.flatnonzero(_has_place(locations, file, len(functions)))
    name, line = functions[locations[row, 2], 0].astype(np.uint64), locations[row, 1].astype(np.int64)
    in_file = locations[row, 0].astype(np.int64)
    first, function = group_rows([in_file, name])
    low, high = line[first], line[first]
    np.minimum.at(low, function, line)
    np.maximum.at(high, function, line)
    in_file, name = in_file[first], name[first]
    named = np.flatnonzero(_is_named(strings, name))
    order = named[group_rows([in_file[named], low[named], NOTHING - high[named]])[0]]
    kept = order[_begins(in_file[order], low[order])]
    return in_file[kept], low[kept], high[kept], name[kept]


def _has_place(locations: U32, file: I64, functions: int) -> Bools:
    """(locations,) true where a location has a line in one of the files, and a function."""
    wanted = np.zeros(int(file.max(initial=0)) + 2, np.bool_)
    wanted[file] = True
    line = locations[:, 1]
    is_known: Bools = (line > 0) & (line < NOTHING) & (locations[:, 2] < functions)
    return is_known & wanted[np.minimum(locations[:, 0], len(wanted) - 1)]


def _is_named(strings: U8, offset: U64) -> Bools:
    """(n,) true where a name, a length as LEB128 and text, is one, and not that of a nameless call operator."""
    padded = np.append(strings, np.zeros(len(_CALL) + 2, np.uint8))
    inside = offset < len(strings)
    at = np.where(inside, offset, 0).astype(np.int64)
    text = at + 1 + (padded[at] >= 0x80)
    starts = padded[text[:, None] + np.arange(len(_CALL))]
    named: Bools = inside & (padded[at] > 0) & (starts != _CALL).any(1)
    return named


def _begins(file: I64, line: I64) -> Bools:
    """(n,) true where a pair differs from the one before it."""
    differs = np.ones(len(file), np.bool_)
    differs[1:] = (file[1:] != file[:-1]) | (line[1:] != line[:-1])
    return differs
