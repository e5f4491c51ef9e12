r"""Makes recorded names printable: for output formats, terminals and logs.

Names may contain any byte. Inside perf2x, undecodable bytes are surrogate escapes (PEP 383). No format can contain
these, so they are written as ``\xNN``.

A name may also rewrite the screen, forge a log line with a line break, or reverse the direction of the text. So printed
names go through ``escaped``, messages through ``safe_message``.
"""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")
_CONTROLS = re.compile("[\x00-\x1f\x7f]")


def printable(text: str) -> str:
    r"""Write every undecodable byte as ``\xNN``, so that the text can be encoded as UTF-8."""
    if text.isascii():
        return text
    return _SURROGATES.sub(lambda found: f"\\x{ord(found.group()) & 0xFF:02x}", text)


def undo_printable(text: str) -> str:
    r"""Turn ``\x80`` to ``\xff`` into undecodable bytes again."""
    if "\\x" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(0xDC00 + int(found.group(1), 16)), text)


def one_line(text: str) -> str:
    """Make text printable, replace ASCII control characters by spaces, and strip spaces."""
    return without_controls(text).strip(" ")


def without_controls(text: str) -> str:
    """Make text ``printable``, and replace ASCII control characters by spaces."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub(" ", printable(text))


def base_name(filename: str) -> str:
    """Shorten an object's path to ``libc.so.6``, and ``[kernel.kallsyms]_text`` to ``[kernel.kallsyms]``."""
    if filename.startswith("[") and "]" in filename:
        return filename[: filename.index("]") + 1]
    return filename.rstrip("/").rsplit("/", 1)[-1]


def bracketed(filename: str) -> str:
    """Name a frame for which only the object is known: ``[libc.so.6]``; ``[unknown]`` for ""."""
    name = base_name(filename)
    return name if name.startswith("[") else f"[{name or 'unknown'}]"


NAME_LENGTH = 120
# Maximum length of a word in a message; longer than the paths that people type.
_WORD_LENGTH = 400
MESSAGE_LENGTH = 4000


def escaped(text: str) -> str:
    r"""Escape characters that are not printable: ``\x1b``, ``\n``, ``\u202e``."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def short(name: str, most: int = NAME_LENGTH) -> str:
    """Escape a name, and replace its middle by ``…`` if it has more than ``most`` characters."""
    name = escaped(name)
    if len(name) <= most:
        return name
    head = most // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def safe_message(line: str) -> str:
    """Escape a line and limit its length: long words, and then a long line, lose their middle."""
    line = escaped(line)
    if len(line) > _WORD_LENGTH:
        line = " ".join(short(word, _WORD_LENGTH) for word in line.split(" "))
    return short(line, MESSAGE_LENGTH)
