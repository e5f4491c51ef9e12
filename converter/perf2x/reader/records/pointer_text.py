"""Formats the targets of the kernel's ``%p`` with letters: network addresses, UUIDs, dumps, bitmaps.

Source of truth: tools/lib/traceevent (event-parse.c: print_arg_pointer, print_bitmask_to_seq, print_cpumask_to_seq).
"""

import re
from typing import Literal

Order = Literal["little", "big"]
SPECIAL = re.compile(r"[SsFf]|U[bBlL]?|[Ii](?:4[hnbl]?|6c?|Sp?c?[hnbl]?)|MF|[Mm]R?|h[CDN]?|bl?")
"""The letters after ``%p`` that select a format."""
_AF_INET, _AF_INET6 = 2, 10
_GUID = (3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15)


def pointed_text(special: str, part: bytes, most: int, order: Order) -> str:
    """Format a field's bytes by the letters after ``%p``.

    ``most`` is the width before the letters, negative for none.
    """
    kind, letters = special[0], special[1:]
    if kind in "Mm":
        return _mac(special, part)
    if kind in "Ii":
        if letters[0] == "S":
            return _socket(kind, letters[1:], part, order)
        if letters[0] == "4":
            return _ip4(kind, letters[1:], part, order) if len(part) == 4 else "INVALIDIPv4"
        return _ip6(kind, letters[1:], part) if len(part) == 16 else "INVALIDIPv6"
    if kind == "U":
        return _uuid(letters, part)
    if kind == "h":
        return hex_text(part[: max(most, 0)], {"C": ":", "D": "-", "N": ""}.get(letters, " "))
    return bit_list(part, order) if letters else bitmask(part, order)


def hex_text(part: bytes, between: str) -> str:
    """Format bytes as two digits each."""
    return between.join(f"{byte:02x}" for byte in part)


def bitmask(part: bytes, order: Order) -> str:
    """Format words of 32 bits, the highest first."""
    digits = f"{int.from_bytes(part, order):0{2 * len(part)}x}" if part else ""
    first = len(digits) % 8
    words = [digits[:first]] * bool(first) + [digits[at : at + 8] for at in range(first, len(digits), 8)]
    return ",".join(words)


def bit_list(part: bytes, order: Order) -> str:
    """Format the ranges of set bits: ``0-3,8``."""
    bits = f"{int.from_bytes(part, order):b}"[::-1]
    runs = ((run.start(), run.end() - 1) for run in re.finditer("1+", bits))
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)


def _mac(special: str, part: bytes) -> str:
    if len(part) != 6:
        return "INVALIDMAC"
    between = "" if special[0] == "m" else "-" if special == "MF" else ":"
    return hex_text(part[::-1] if special[1:] == "R" else part, between)


def _uuid(letters: str, part: bytes) -> str:
    if len(part) != 16:
        return "INVALIDUUID"
    digits = bytes(part[at] for at in _GUID).hex() if letters in ("l", "L") else part.hex()
    text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return text.upper() if letters in ("L", "B") else text


def _ip4(kind: str, letters: str, part: bytes, order: Order) -> str:
    reverse = letters == "l" or (letters == "h" and order == "little")
    return ".".join(f"{byte:03d}" if kind == "i" else f"{byte}" for byte in (part[::-1] if reverse else part))


def _ip6(kind: str, letters: str, part: bytes) -> str:
    words = [part[at : at + 2].hex() for at in range(0, 16, 2)]
    if not letters:
        return (":" if kind == "I" else "").join(words)
    tail = ""
    if part[:12] == b"\0" * 10 + b"\xff\xff" or part[8:12] in (b"\0\0\x5e\xfe", b"\2\0\x5e\xfe"):
        words, tail = words[:6], _ip4("I", "", part[12:], "big")
    text = ":".join([f"{int(word, 16):x}" for word in words] + [tail] * bool(tail))
    zeros = list(re.finditer(r"(?<![^:])0(?::0)+(?![^:])", text))
    if not zeros:
        return text
    longest = max(zeros, key=lambda run: run.end() - run.start())
    return f"{text[: longest.start()].removesuffix(':')}::{text[longest.end() :].removeprefix(':')}"


def _socket(kind: str, letters: str, part: bytes, order: Order) -> str:
    """Format a ``struct sockaddr``; "" for other families."""
    family, port = int.from_bytes(part[:2], order), int.from_bytes(part[2:4], "big")
    suffix = f":{port}" if "p" in letters else ""
    if family == _AF_INET:
        return _ip4(kind, letters[-1:], part[4:8], order) + suffix if len(part) >= 16 else "INVALIDIPv4"
    if family != _AF_INET6:
        return ""
    if len(part) < 28:
        return "INVALIDIPv6"
    text = _ip6(kind, "c" if "c" in letters else "", part[8:24])
    return f"[{text}]{suffix}" if suffix else text
