r"""Makes recorded names printable: for output formats, terminals and logs.

Names come from files and kernels and may contain any byte. Inside perf2x, undecodable bytes are surrogate escapes
(PEP 383). No format can contain these, and Perfetto would reject the whole file, so they are written as ``\xNN``.

A name may also contain escape sequences that rewrite the screen, line breaks that forge a log line, or marks that
reverse the direction of the text. Names that are printed go through ``escaped``, whole messages through
``safe_message``.
"""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")
_CONTROLS = re.compile("[\x00-\x1f\x7f]")


def printable(text: str) -> str:
    r"""Return the text with every undecodable byte as ``\xNN``; always encodable as UTF-8."""
    if text.isascii():
        return text
    return _SURROGATES.sub(lambda found: f"\\x{ord(found.group()) & 0xFF:02x}", text)


def undo_printable(text: str) -> str:
    r"""Return the text in which ``\x80`` to ``\xff`` are undecodable bytes again."""
    if "\\x" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(0xDC00 + int(found.group(1), 16)), text)


def one_line(text: str) -> str:
    """Make text printable, replace ASCII control characters by spaces, and remove spaces at both ends."""
    return without_controls(text).strip(" ")


def without_controls(text: str) -> str:
    """Make text printable (see ``printable``), and replace ASCII control characters by spaces."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub(" ", printable(text))


def base_name(filename: str) -> str:
    """Return the short name of an object: ``libc.so.6``, not its path; ``[kernel.kallsyms]``, without ``_text``."""
    if filename.startswith("[") and "]" in filename:
        return filename[: filename.index("]") + 1]
    return filename.rstrip("/").rsplit("/", 1)[-1]


def bracketed(filename: str) -> str:
    """Return the name of a frame for which only the object is known: ``[libc.so.6]``; ``[unknown]`` for ""."""
    name = base_name(filename)
    return name if name.startswith("[") else f"[{name or 'unknown'}]"


# Maximum length of a name in a message.
NAME_LENGTH = 120
# Maximum length of a word in a message; longer than the paths that people type.
_WORD_LENGTH = 400
# Maximum length of a message.
MESSAGE_LENGTH = 4000


def escaped(text: str) -> str:
    r"""Escape characters that are not printable: ``\x1b``, ``\n``, ``\u202e``.

    These are control characters (C0, C1, DEL), line and paragraph separators, direction marks and other invisible
    characters, lone surrogates, and spaces other than U+0020.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def short(name: str, most: int = NAME_LENGTH) -> str:
    """Escape a name and shorten it to ``most`` characters: the middle of a long name is replaced by ``…``."""
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
