"""Makes recorded names printable: for output formats, terminals and logs.

Names come from files and kernels and may hold any byte. Undecodable ones arrive as surrogate escapes (PEP 383), which
no format can carry, and for which Perfetto refuses a whole file; they leave as ``\\xNN``.

A name may also hold escape sequences that rewrite the screen, line breaks that forge a log line, or marks that turn the
direction of the text around. Everything that is printed goes through ``plain``, messages through ``message``.
"""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")
_CONTROLS = re.compile("[\x00-\x1f\x7f]")


def printable(text: str) -> str:
    """The text with every undecodable byte as ``\\xNN``; always encodable as UTF-8."""
    if text.isascii():
        return text
    return _SURROGATES.sub(lambda found: f"\\x{ord(found.group()) & 0xFF:02x}", text)


def as_recorded(text: str) -> str:
    """Undo ``printable``: ``\\xNN`` from 80 on stands for an undecodable byte again."""
    if "\\x" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(0xDC00 + int(found.group(1), 16)), text)


def one_line(text: str) -> str:
    """Make text printable, with control characters as spaces and no space at either end."""
    return without_controls(text).strip(" ")


def without_controls(text: str) -> str:
    """Make text printable, with control characters as spaces."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub(" ", printable(text))


def base_name(filename: str) -> str:
    """Return the short name of an object: ``libc.so.6``, not its path; ``[kernel.kallsyms]``, without ``_text``."""
    if filename.startswith("[") and "]" in filename:
        return filename[: filename.index("]") + 1]
    return filename.rstrip("/").rsplit("/", 1)[-1]


def bracketed(filename: str) -> str:
    """Name a frame that is known only by its object: ``[libc.so.6]``; ``[unknown]`` without one."""
    name = base_name(filename)
    return name if name.startswith("[") else f"[{name or 'unknown'}]"


NAME_LENGTH = 120
"""Characters that a message spends on one name."""
_WORD_LENGTH = 400
"""Characters of a word in a message; paths that people type are shorter."""
MESSAGE_LENGTH = 4000


def plain(text: str) -> str:
    r"""Escape the characters that are not printable: ``\x1b``, ``\n``, ``\u202e``.

    These are control characters (C0, C1, DEL), line and paragraph separators, marks of direction and other invisible
    characters, lone surrogates, and spaces other than the usual one.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def short(name: str, most: int = NAME_LENGTH) -> str:
    """Escape a name and shorten it to ``most`` characters: a long one keeps its beginning and its end."""
    name = plain(name)
    if len(name) <= most:
        return name
    head = most // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def message(line: str) -> str:
    """Escape a line and bound its length; words that nobody would type are shortened in the middle."""
    line = plain(line)
    if len(line) > _WORD_LENGTH:
        line = " ".join(short(word, _WORD_LENGTH) for word in line.split(" "))
    return short(line, MESSAGE_LENGTH)
