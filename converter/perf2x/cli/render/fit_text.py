"""Measures text in cells of a terminal, and shortens it to a number of cells.

East Asian characters take two cells, combining marks none. The package rich knows the widths; it is imported only for
text that is not ASCII.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

_ELLIPSIS = "…"
# Minimum width of a column of names, in cells.
_MIN_WIDTH = 8
# Maximum number of characters shown per cell: a name may pile up combining marks, which take no cells.
_MAX_CHARACTERS_PER_CELL = 4
# Bytes reserved for the line that says how many lines were left out.
_RESERVED_BYTES = 200


def cell_width(text: str) -> int:
    """Return the number of cells that a text without control characters occupies.

    The characters … and – take one cell each, like those of ASCII, and are frequent: they do not need rich either.
    """
    if text.replace(_ELLIPSIS, "").replace("–", "").isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, room: int, *, at_end: bool = False) -> str:
    """Return the text in at most ``room`` cells; an ellipsis replaces what does not fit.

    It replaces the middle of the text, or with ``at_end`` the end.
    """
    if len(text) <= _MAX_CHARACTERS_PER_CELL * room and cell_width(text) <= room:
        return text
    if room < 1:
        return ""
    tail = 0 if at_end else (room - 1) // 2
    return _beginning(text, room - 1 - tail) + _ELLIPSIS + _end(text, tail)


def divide_width(widths: Sequence[int], room: int) -> list[int]:
    """Divide ``room`` cells among columns; return the width of each, at most its entry in ``widths``.

    Columns that need less than an equal share get what they need. The others share the rest equally, but if that is
    less than 8 cells, each gets 8 (or all that it needs), even if there is not enough room: [3, 40, 30] in 43 cells →
    [3, 20, 20].
    """
    shares = [0] * len(widths)
    # narrowest first, so that what a narrow column does not need is left for the wider ones
    for served, column in enumerate(sorted(range(len(widths)), key=lambda column: widths[column])):
        share = room // (len(widths) - served)
        shares[column] = min(widths[column], max(share, _MIN_WIDTH))
        room -= shares[column]
    return shares


def first_lines(lines: Iterable[str], max_bytes: int) -> Iterator[str]:
    """Yield the lines that fit into ``max_bytes`` of UTF-8, then a line with the number of lines left out.

    After the first line that does not fit, all lines are left out. Empty lines are not counted. ``max_bytes`` is at
    least 200, the space that is reserved for the last line.
    """
    bytes_left, left_out = max_bytes - _RESERVED_BYTES, 0
    for line in lines:
        bytes_left -= len(line.encode()) + 1
        if bytes_left < 0:
            left_out += bool(line)
        else:
            yield line
    if left_out:
        yield from ("", f"… and {left_out:,} more lines, left out to stay below {max_bytes:,} bytes.")


def _beginning(text: str, room: int) -> str:
    """Return the longest beginning of a text that fits into ``room`` cells, found by binary search over its length."""
    lengths = range(1, min(len(text), _MAX_CHARACTERS_PER_CELL * room) + 1)
    return text[: bisect_right(lengths, room, key=lambda length: cell_width(text[:length]))]


def _end(text: str, room: int) -> str:
    """Return the longest end of a text that fits into ``room`` cells and does not begin with a combining mark."""
    lengths = range(1, min(len(text), _MAX_CHARACTERS_PER_CELL * room) + 1)
    size = bisect_right(lengths, room, key=lambda length: cell_width(text[len(text) - length :]))
    tail = text[len(text) - size :]
    while tail and not cell_width(tail[0]):
        tail = tail[1:]  # a mark without its letter would combine with the ellipsis
    return tail
