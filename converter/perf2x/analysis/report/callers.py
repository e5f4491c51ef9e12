"""Who calls the hottest functions, and what each caller accounts for."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.analysis.report.call_tree import CallTree, levels

MOST = 63
"""Functions that can be asked for at once: one bit of a row for each."""


class Caller(Struct, frozen=True):
    """One caller of a function; an empty name where nothing called it."""

    name: str
    object: str
    value: int
    """Cost of the function where this one called it."""


def callers_of(tree: CallTree, functions: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Caller]]:
    """Return the callers of each (name, object), the costliest first; their values add up to the function's total.

    Of a function that stands several times in a stack the outermost call counts. ValueError beyond MOST functions.
    """
    if len(functions) > MOST:
        raise ValueError(f"callers of more than {MOST} functions")
    bit_of_name = {name: 1 << place for place, name in enumerate(functions)}
    bit_of_line = np.array([bit_of_name.get(name, 0) for name in tree.names], np.int64)
    bit = bit_of_line[tree.line] if len(tree.line) else tree.line
    above = np.zeros(len(bit), np.int64)  # wanted functions among the callers of each row
    for level in levels(tree)[1:]:
        parent = tree.parent[level]
        above[level] = above[parent] | bit[parent]
    outermost = np.flatnonzero((bit != 0) & (bit & above == 0) & (tree.total > 0))
    sums: dict[tuple[int, int], int] = {}
    caller = np.where(tree.parent >= 0, tree.line[tree.parent], -1)[outermost]
    columns = (tree.line[outermost], caller, tree.total[outermost])
    for line, by, value in zip(*(column.tolist() for column in columns), strict=True):
        sums[line, by] = sums.get((line, by), 0) + value
    found: dict[tuple[str, str], list[Caller]] = {name: [] for name in functions}
    for (line, by), value in sums.items():
        found[tree.names[line]].append(Caller(*(tree.names[by] if by >= 0 else ("", "")), value))
    return {name: sorted(rows, key=lambda row: (-row.value, row.name, row.object)) for name, rows in found.items()}
