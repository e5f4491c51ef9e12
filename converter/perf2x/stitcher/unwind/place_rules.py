"""Rules of the places that samples were at lately, without a look at mappings and objects.

A place is an address in a process image (`chains.MappingFinder`). What was found for it serves all samples since the
mapping was made, if that one stays to the end::

    image, address  →  | made, 32 bits | rule, 32 bits |
"""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64, Bools
from perf2x.base.columnar.recent_lookups import RecentLookups
from perf2x.binaries.cfi.unwind_rules import NO_RULE
from perf2x.stitcher.unwind.unwound_chains import MappingFinder

_BITS = 18
"""Places of a large compiler: 60,000."""
_SHIFT = 32
_RULE = (1 << _SHIFT) - 1


class PlaceRules:
    """Rules by place; forgetful, so that no recording makes it grow."""

    def __init__(self) -> None:
        self._recent = RecentLookups(columns=2, bits=_BITS)

    def held(self, finder: MappingFinder, rows: I64, address: U64) -> tuple[I32, Bools]:
        """(n,) rules at the addresses of samples, and for which they are known; the others mean nothing."""
        found, is_held = self._recent.held(finder.image.take(rows), address.view(np.int64))
        is_held &= found >> _SHIFT <= finder.moment.take(rows)
        return (found & _RULE).astype(np.int32), is_held

    def learn(self, finder: MappingFinder, rows: I64, address: U64, mapping: I32, rule: I32) -> None:
        """Hold the rules of places, found in mappings that stay."""
        some = np.flatnonzero(rule != NO_RULE)
        image, made = finder.image.take(rows[some]), finder.made.take(mapping[some])
        self._recent.learn(made << _SHIFT | rule[some], image, address[some].view(np.int64))
