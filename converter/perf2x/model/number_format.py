"""Numbers formatted for people."""

from collections.abc import Iterable, Sequence

WEIGHT = "weight"
"""The event of counts in unknown units, as in folded stacks: samples, nanoseconds or bytes."""
_TIMES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


def format_amount(value: int, unit: str, scale_of: int | None = None) -> str:
    """Return ``12.34 ms``, or ``1,234``.

    With ``scale_of``, use the largest unit of time of which ``scale_of`` is at least ten.
    """
    if unit != "nanoseconds":
        return f"{value:,}"
    for size, name in _TIMES:
        if abs(value if scale_of is None else scale_of // 10) >= size:
            return f"{value / size:,.2f} {name}"
    return f"{value:,} ns"


def format_percent(part: float, whole: float) -> str:
    """Return ``12.3 %``; a dash if the total is 0."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def format_change(change: float, whole: float) -> str:
    """Return a change in percent of the total, with a sign: ``+1.2 %``."""
    text = format_percent(change, whole)
    return text if change < 0 or not whole else f"+{text}"


def format_factor(before: int, after: int) -> str:
    """Return the ratio of two costs: ``×2.04``, ``×1,113``; ``new`` where only the first is 0, "" where both are."""
    if not before:
        return "new" * bool(after)
    return f"×{after / before:,.{2 * (after < 100 * before)}f}"


def counted_as(events: Iterable[str]) -> str:
    """Return what the numbers of samples of these events count."""
    return "units of weight" if {*events} == {WEIGHT} else "samples"


def plural(number: int, word: str) -> str:
    """Return ``1 thread``, ``2 threads``."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def first_of(names: Sequence[str], most: int) -> str:
    """Return ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
