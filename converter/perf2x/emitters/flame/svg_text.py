"""Names in XML, and labels shortened to fit their box without a script to measure them."""

import re
from html import escape

from perf2x.model.printable_text import one_line

LETTER = 6.62
"""Width in pixels of a letter of the picture's monospaced font at 11 px."""
LONGEST = 500
"""Characters of a name that a title shows, from both of its ends."""
# East Asian letters and emoji are two cells wide; a fixed list, because Python's and rich's change with their versions
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\U0001f300-\U0001faff]"
)
_NOT_XML = re.compile("[\ufffe\uffff]")


def shown_name(name: str) -> str:
    """Return a name as one line of at most LONGEST characters valid in XML; long names lose their middle."""
    if len(name) > LONGEST:
        name = name[: LONGEST // 2 + 20] + "…" + name[len(name) - LONGEST // 2 + 21 :]
    return _NOT_XML.sub("\ufffd", one_line(name))


def xml(text: str) -> str:
    """Escape text between tags."""
    return escape(text, quote=False)


def fitted(text: str, room: float) -> str:
    """Return the text, or its beginning and an ellipsis, in ``room`` pixels; "" if three letters do not fit."""
    cells = int(room / LETTER)
    if cells < 3:
        return ""
    if text.isascii():
        return text if len(text) <= cells else text[: cells - 1] + "…"
    taken = fits = 0
    for place, letter in enumerate(text):
        taken += 2 if _WIDE.match(letter) else 1
        if taken > cells:
            return text[:fits] + "…"
        fits = place + 1 if taken < cells else fits
    return text
