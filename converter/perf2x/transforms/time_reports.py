"""Figures on waits, apart from the modules that find them: every conversion has a place for them."""

from msgspec import Struct


class WaitReport(Struct, frozen=True):
    """Waits that ``--off-cpu`` found, before filters by name; times in nanoseconds."""

    waits: int
    waited_ns: int
    preempted_ns: int
    nameless_ns: int
    """Time of waits without a stack."""
    near_ns: int = 0
    """Most time between a sample and a departure that has its stack; 0 where departures have stacks themselves."""
    open_ns: int = 0
    """Time of waits that the recording ends in."""
