"""Suggests existing names for a misspelled one."""

from collections.abc import Iterable

_MIN_SIMILARITY = 0.6  # minimum similarity of a suggestion, from 0 to 1, as measured by difflib


def close_names(
    typed: str, names: Iterable[str], max_count: int = 3, min_similarity: float = _MIN_SIMILARITY
) -> list[str]:
    """Return up to ``max_count`` of ``names`` that are similar to ``typed``, the most similar first."""
    from difflib import get_close_matches  # needed only for errors

    return get_close_matches(typed, sorted(names), max_count, min_similarity)


def did_you_mean(typed: str, names: Iterable[str], min_similarity: float = _MIN_SIMILARITY) -> str:
    """Return the end of an error message, such as ``; did you mean pprof?``; "" if none of ``names`` is similar."""
    close = close_names(typed, names, min_similarity=min_similarity)
    return f"; did you mean {' or '.join(close)}?" if close else ""
