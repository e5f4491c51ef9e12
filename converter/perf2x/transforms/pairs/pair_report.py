"""Figures about pairs of tracepoints, for the summary."""

from msgspec import Struct


class PairReport(Struct, frozen=True):
    """Durations that one pair has, before filters by name."""

    name: str
    pairs: int
    paired_ns: int
    begins: int
    """Beginnings without an end."""
    ends: int
    """Ends without a beginning."""
