"""Suggests known names for a misspelled one."""

from collections.abc import Iterable

_ALIKE = 0.6
"""Minimum similarity of a suggestion, from 0 to 1, as difflib measures it."""


def close_names(typed: str, known: Iterable[str], most: int = 3, alike: float = _ALIKE) -> list[str]:
    """Return up to ``most`` known names that are similar to ``typed``, the most similar first."""
    from difflib import get_close_matches  # needed only for errors

    return get_close_matches(typed, sorted(known), most, alike)


def did_you_mean(typed: str, known: Iterable[str], alike: float = _ALIKE) -> str:
    """Return the end of an error message, such as ``; did you mean pprof?``; "" if no known name is similar."""
    close = close_names(typed, known, alike=alike)
    return f"; did you mean {' or '.join(close)}?" if close else ""
