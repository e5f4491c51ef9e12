"""Measures text in cells of a terminal, shortens it to a number of cells, and cuts a page to a number of bytes.

East Asian characters take two cells, combining marks none. rich knows the widths; only text beyond ASCII imports it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

_ELLIPSIS = "…"
# Minimum width of a shortened column, in cells.
_MIN_WIDTH = 8
# Maximum number of characters shown per cell: a name may pile up combining marks, which take no cells.
_MAX_CHARACTERS_PER_CELL = 4
# Bytes kept free for the line that says how many lines were left out.
_RESERVED_BYTES = 200


def cell_width(text: str) -> int:
    """Return the number of cells of a text without control characters.

    … and – are too frequent to import rich for them.
    """
    if text.replace(_ELLIPSIS, "").replace("–", "").isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, room: int, *, at_end: bool = False) -> str:
    """Return the text in at most ``room`` cells; an ellipsis replaces its middle (``at_end``: its end)."""
    if len(text) <= _MAX_CHARACTERS_PER_CELL * room and cell_width(text) <= room:
        return text
    if room < 1:
        return ""
    end_room = 0 if at_end else (room - 1) // 2
    return _beginning(text, room - 1 - end_room) + _ELLIPSIS + _end(text, end_room)


def divide_width(widths: Sequence[int], room: int) -> list[int]:
    """Divide ``room`` cells among columns that need ``widths`` cells; return the width that each gets.

    Narrow columns get what they need; the others share the rest: [3, 40, 30] in 43 cells → [3, 20, 20]. 8 cells are the
    minimum, even if ``room`` is exceeded: [3, 40, 30] in 9 cells → [3, 8, 8].
    """
    shares = [0] * len(widths)
    # narrowest first: what a narrow column does not need is left for the wider ones
    for served, column in enumerate(sorted(range(len(widths)), key=lambda column: widths[column])):
        share = room // (len(widths) - served)
        shares[column] = min(widths[column], max(share, _MIN_WIDTH))
        room -= shares[column]
    return shares


def first_lines(lines: Iterable[str], max_bytes: int) -> Iterator[str]:
    """Yield the first lines, of at most ``max_bytes`` of UTF-8; the last one counts those left out, if any."""
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
    lengths = range(1, min(len(text), _MAX_CHARACTERS_PER_CELL * room) + 1)
    return text[: bisect_right(lengths, room, key=lambda length: cell_width(text[:length]))]


def _end(text: str, room: int) -> str:
    """Return the longest end of a text that fits, and does not begin with a combining mark."""
    lengths = range(1, min(len(text), _MAX_CHARACTERS_PER_CELL * room) + 1)
    size = bisect_right(lengths, room, key=lambda length: cell_width(text[len(text) - length :]))
    tail = text[len(text) - size :]
    while tail and not cell_width(tail[0]):
        tail = tail[1:]  # a mark without its letter would combine with the ellipsis
    return tail
