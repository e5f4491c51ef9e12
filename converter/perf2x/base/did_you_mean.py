"""Suggests existing names for a misspelled one."""

from collections.abc import Iterable

_MIN_SIMILARITY = 0.6  # of a suggestion, from 0 to 1, as difflib measures it


def close_names(typed: str, known: Iterable[str], most: int = 3, alike: float = _MIN_SIMILARITY) -> list[str]:
    """Return up to ``most`` of the ``known`` names that are similar to ``typed``, the most similar first.

    ``alike`` is the minimum similarity.
    """
    from difflib import get_close_matches  # needed only for errors

    return get_close_matches(typed, sorted(known), most, alike)


def did_you_mean(typed: str, known: Iterable[str], alike: float = _MIN_SIMILARITY) -> str:
    """Return the end of an error message, such as ``; did you mean pprof?``; "" if no known name is similar."""
    close = close_names(typed, known, alike=alike)
    return f"; did you mean {' or '.join(close)}?" if close else ""
