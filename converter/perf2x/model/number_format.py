"""Formats numbers for people: amounts of an event, percentages, changes, and short lists."""

from collections.abc import Iterable, Sequence

# Name of the event of inputs whose values have an unknown unit. In folded stacks they may be samples, times or bytes.
WEIGHT = "weight"
_TIME_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


def format_amount(value: int, unit: str, total: int | None = None) -> str:
    """Return ``12.34 ms`` for nanoseconds, ``1,234`` for any other unit.

    A time is shown in the largest unit in which it is at least 1, or in ns. To show several amounts in the same unit,
    pass their total as ``total``: the unit is the largest in which this total is at least 10, or ns.
    """
    if unit != "nanoseconds":
        return f"{value:,}"
    for nanoseconds, name in _TIME_UNITS:
        if abs(value if total is None else total // 10) >= nanoseconds:
            return f"{value / nanoseconds:,.2f} {name}"
    return f"{value:,} ns"


def format_percent(part: float, whole: float) -> str:
    """Return ``12.3 %``; a dash if ``whole`` is 0."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def format_change(change: float, whole: float) -> str:
    """Return a change in percent of ``whole``, with a sign: ``+1.2 %``."""
    text = format_percent(change, whole)
    return text if change < 0 or not whole else f"+{text}"


def format_factor(before: int, after: int) -> str:
    """Return the ratio of two costs: ``×2.04``, ``×1,113``. If ``before`` is 0: ``new``, or "" if both are 0."""
    if not before:
        return "new" * bool(after)
    return f"×{after / before:,.{2 * (after < 100 * before)}f}"  # two decimals below 100


def count_noun(events: Iterable[str]) -> str:
    """Return the noun for numbers of samples of these events: ``samples``, or ``units of weight`` if all are WEIGHT."""
    return "units of weight" if {*events} == {WEIGHT} else "samples"


def plural(number: int, word: str) -> str:
    """Return ``1 thread``, ``2 threads``."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def shortened_list(names: Sequence[str], most: int) -> str:
    """Return at most ``most`` of the names, and the number of the others: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
