"""Where addresses lie in the source: functions, files and lines in columns, innermost inlined function first."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I64, Bools
from perf2x.columnar.ragged import offsets_of, ranges


class Site(Struct, frozen=True):
    """A function as debug info knows it."""

    symbol: str
    """Linkage name where debug info has one, "" when it has no name at all."""
    path: str
    start_line: int = 0
    """The declared line where debug info was read unit by unit; from symcaches, which do not keep it, the line of the
    first instruction. 0 where unknown: symcaches have none for inlined functions.
    """


class Places(Struct, frozen=True):
    """``n`` addresses; address i has rows ``offsets[i]`` to ``offsets[i + 1]``, none where debug info is silent."""

    offsets: I64
    """(n + 1,)"""
    site: I64
    """(rows,) index into ``sites``."""
    line: I64
    """(rows,) source line, 0 where unknown."""
    sites: Sequence[Site]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def chain(self, index: int) -> list[tuple[Site, int]]:
        """One address: (function, line) innermost first; for tests and single questions."""
        rows = range(int(self.offsets[index]), int(self.offsets[index + 1]))
        return [(self.sites[int(self.site[row])], int(self.line[row])) for row in rows]

    @property
    def has_line(self) -> Bools:
        """(n,) whether any row of the address has a line."""
        known = np.concatenate([[0], np.cumsum(self.line > 0)])
        result: Bools = known[self.offsets[1:]] > known[self.offsets[:-1]]
        return result

    @property
    def is_whole(self) -> Bools:
        """(n,) whether the address has a line, and every function there a name."""
        nameless = np.array([not site.symbol for site in self.sites], np.bool_)[self.site]
        lost = np.concatenate([[0], np.cumsum(nameless)])
        result: Bools = self.has_line & (lost[self.offsets[1:]] == lost[self.offsets[:-1]])
        return result

    def take(self, addresses: I64) -> "Places":
        """The places of some addresses, by index."""
        count = np.diff(self.offsets)[addresses]
        rows = ranges(self.offsets[addresses], count)
        return Places(offsets_of(count), self.site[rows], self.line[rows], self.sites)


def places_of(chains: Sequence[Sequence[tuple[Site, int]]]) -> Places:
    """Chains of (function, line) one by one as a table; equal sites become one."""
    number: dict[Site, int] = {}
    rows = [(number.setdefault(site, len(number)), line) for chain in chains for site, line in chain]
    site, line = np.array(rows, np.int64).reshape(-1, 2).T.copy()
    count = np.array([len(chain) for chain in chains], np.int64)
    return Places(offsets_of(count), site, line, list(number))


def replaced(places: Places, addresses: I64, better: Places) -> Places:
    """``places`` with those of ``addresses`` (rising indices) taken from ``better``, one of each."""
    count, start = np.diff(places.offsets), places.offsets[:-1].copy()
    count[addresses] = np.diff(better.offsets)
    start[addresses] = better.offsets[:-1] + len(places.site)
    rows = ranges(start, count)
    site = np.concatenate([places.site, better.site + len(places.sites)])[rows]
    line = np.concatenate([places.line, better.line])[rows]
    return Places(offsets_of(count), site, line, [*places.sites, *better.sites])
