"""Turns recorded names into text that output formats can hold.

Names come from files and kernels and may hold any byte: undecodable ones arrive as surrogate escapes (PEP 383), which
no format can carry, and which Perfetto refuses a whole file for. They leave as ``\\xNN``.
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
