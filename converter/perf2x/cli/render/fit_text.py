"""Measures text in terminal cells, and shortens it in the middle if space is limited.

East Asian characters take two cells, combining marks none; rich knows the widths.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

_ELLIPSIS = "…"
# Minimum width of a column of names.
_LEAST = 8
# Maximum characters per cell: a name may pile up combining marks without getting wider.
_MARKS = 4
# Bytes reserved for the line that counts omitted ones.
_RESERVED = 200


def cell_width(text: str) -> int:
    """Return the number of cells that a plain text occupies."""
    if text.replace(_ELLIPSIS, "").replace("–", "").isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, room: int, *, at_end: bool = False) -> str:
    """Return the text in at most ``room`` cells, shortened in the middle, or ``at_end``."""
    if len(text) <= _MARKS * room and cell_width(text) <= room:
        return text
    if room < 1:
        return ""
    tail = 0 if at_end else (room - 1) // 2
    return _beginning(text, room - 1 - tail) + _ELLIPSIS + _end(text, tail)


def share_width(widths: Sequence[int], room: int) -> list[int]:
    """Return the width of each column: as requested, but at most an equal share of the remaining room (at least 8)."""
    shares = [0] * len(widths)
    for place, column in enumerate(sorted(range(len(widths)), key=lambda column: widths[column])):
        share = room // (len(widths) - place)
        shares[column] = min(widths[column], max(share, _LEAST))
        room -= shares[column]
    return shares


def first_lines(lines: Iterable[str], most: int) -> Iterator[str]:
    """Yield the lines that fit into ``most`` bytes of UTF-8 (at least 200), and a line with the number of others."""
    left, lost = most - _RESERVED, 0
    for line in lines:
        left -= len(line.encode()) + 1
        if left < 0:
            lost += bool(line)
        else:
            yield line
    if lost:
        yield from ("", f"… and {lost:,} more lines, left out to stay below {most:,} bytes.")


def _beginning(text: str, room: int) -> str:
    lengths = range(1, min(len(text), _MARKS * room) + 1)
    return text[: bisect_right(lengths, room, key=lambda length: cell_width(text[:length]))]


def _end(text: str, room: int) -> str:
    lengths = range(1, min(len(text), _MARKS * room) + 1)
    size = bisect_right(lengths, room, key=lambda length: cell_width(text[len(text) - length :]))
    tail = text[len(text) - size :]
    while tail and not cell_width(tail[0]):
        tail = tail[1:]  # a mark without its letter would combine with the ellipsis
    return tail
