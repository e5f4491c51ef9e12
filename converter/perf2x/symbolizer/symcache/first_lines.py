"""The lowest line of functions with code of their own in a symcache, which keeps no declared lines.

A viewer that shows a function's source from its start line on would leave sampled lines out if that were the line of
the first instruction: compilers move statements, and code inlined at the beginning belongs to other functions. To read
declared lines from DWARF takes ten times as long as to build the symcache (glibc: 2.7 s beside 0.27 s). A function that
was inlined everywhere has no instruction at its brace; viewers show more of it if they begin above the first sample.
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, U32, U64, AnyArray, arange, flatnonzero, searchsorted
from perf2x.base.columnar.unique import unique

NOTHING = 0xFFFFFFFF
"""Marks what a symcache does not know: the entry of an inlined function, a missing name or file."""
_LINE_BITS, _RANK_BITS = 24, 20
_MAX_LINE, _MAX_RANK = (1 << _LINE_BITS) - 1, (1 << _RANK_BITS) - 1


def first_lines(tables: tuple[U32, U32, U32], name: U64, file: U64) -> I64:
    """(n,) lowest line that any instruction of a function has in a file, 0 without one and if it is always inlined.

    ``tables`` are files, functions and locations of a symcache (see read_symcache.py). Functions go by the offsets of
    their names: those inlined at one place and called at another have a number for each kind. Of more than a million
    names or files, and of lines beyond 16 million, none is known.
    """
    files, functions, locations = tables
    called = _ranks(unique(functions[functions[:, 2] != NOTHING, 0]).astype(np.uint64), name) > 0
    names, places = unique(name[called])[:_MAX_RANK], unique(file[file < len(files)])[:_MAX_RANK]
    name_rank, file_rank = _ranks(names, functions[:, 0]), _ranks(places, arange(len(files)))
    word = _sorted_lines(np.append(name_rank, np.uint64(0)), np.append(file_rank, np.uint64(0)), locations)
    wanted = _ranks(names, name) << np.uint64(_RANK_BITS) | _ranks(places, file)
    nearest = np.append(word, np.uint64(0))[searchsorted(word, wanted << np.uint64(_LINE_BITS))]
    is_found = nearest >> np.uint64(_LINE_BITS) == wanted
    return np.where(is_found, nearest & np.uint64(_MAX_LINE), np.uint64(0)).astype(np.int64)


def _sorted_lines(name_rank: U64, file_rank: U64, locations: U32) -> U64:
    """Words of (name, file, line), rising, of all locations with ranks.

    ``name_rank`` (functions + 1,) and ``file_rank`` (files + 1,) have ranks from 1 on, 0 for rows that nobody wants,
    and a 0 at the end, for numbers outside their table.
    """
    wanted = (name_rank > 0)[np.minimum(locations[:, 2], len(name_rank) - 1)]
    row = flatnonzero(wanted)
    name, line = name_rank[locations[row, 2]], locations[row, 1]
    file = file_rank[np.minimum(locations[row, 0], len(file_rank) - 1)]
    known = (file > 0) & (line > 0) & (line <= _MAX_LINE)
    place = name[known] << np.uint64(_RANK_BITS) | file[known]
    return np.sort(place << np.uint64(_LINE_BITS) | line[known])


def _ranks(known: U64, values: AnyArray) -> U64:
    """(n,) place of each value among the rising numbers ``known``, from 1 on; 0 for others."""
    values = values.astype(np.uint64)
    at = searchsorted(known, values)
    is_known = np.append(known, np.uint64(0))[at] == values
    return np.where(is_known & (at < len(known)), at + 1, 0).astype(np.uint64)
