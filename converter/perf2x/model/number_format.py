"""Formats numbers for people."""

from collections.abc import Iterable, Sequence

# Name of events whose values have an unknown unit. In folded stacks they may be samples, times or bytes.
WEIGHT = "weight"
_TIME_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


def format_amount(value: int, unit: str, total: int | None = None) -> str:
    """Write ``12.34 ms`` for nanoseconds, ``1,234`` for any other unit.

    A time is shown in the largest unit in which it is at least 1; with ``total``, in the largest one in which the total
    is at least 10, so that several amounts have the same unit. The smallest is ns.
    """
    if unit != "nanoseconds":
        return f"{value:,}"
    for nanoseconds, name in _TIME_UNITS:
        if abs(value if total is None else total // 10) >= nanoseconds:
            return f"{value / nanoseconds:,.2f} {name}"
    return f"{value:,} ns"


def format_percent(part: float, whole: float) -> str:
    """Write ``12.3 %``; a dash if ``whole`` is 0."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def format_change(change: float, whole: float) -> str:
    """Write a change in percent of ``whole``, with a sign: ``+1.2 %``."""
    text = format_percent(change, whole)
    return text if change < 0 or not whole else f"+{text}"


def format_factor(before: int, after: int) -> str:
    """Write the ratio of two costs: ``×2.04``, ``×1,113``, or ``new`` if ``before`` is 0; "" if both are 0."""
    if not before:
        return "new" * bool(after)
    return f"×{after / before:,.{2 * (after < 100 * before)}f}"  # two decimals below 100


def count_noun(events: Iterable[str]) -> str:
    """Return ``units of weight`` if all events are WEIGHT, else ``samples``."""
    return "units of weight" if {*events} == {WEIGHT} else "samples"


def plural(number: int, word: str) -> str:
    """Write ``1 thread``, ``2 threads``."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def shortened_list(names: Sequence[str], most: int) -> str:
    """List at most ``most`` of the names: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
