"""Suggestions for names that are nearly right."""

from collections.abc import Iterable

_ALIKE = 0.6
"""Minimum similarity of a suggestion, from 0 to 1, as difflib measures it."""


def close_names(typed: str, known: Iterable[str], most: int = 3, alike: float = _ALIKE) -> list[str]:
    """Return the known names that are most similar to the typed one, best first."""
    from difflib import get_close_matches  # needed only for errors

    return get_close_matches(typed, sorted(known), most, alike)


def did_you_mean(typed: str, known: Iterable[str], alike: float = _ALIKE) -> str:
    """Return the end of a message, ``; did you mean pprof?``; "" if nothing is close."""
    close = close_names(typed, known, alike=alike)
    return f"; did you mean {' or '.join(close)}?" if close else ""
