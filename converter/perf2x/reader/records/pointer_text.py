"""Formats what the kernel prints by ``%p`` and letters: network addresses, UUIDs, hex dumps, bitmaps.

The letters are those of Documentation/core-api/printk-formats.rst. Source of truth: tools/lib/traceevent
(event-parse.c: print_arg_pointer, print_bitmask_to_seq, print_cpumask_to_seq).
"""

import re
from typing import Literal

ByteOrderName = Literal["little", "big"]
# letters after ``%p`` that select a format: a function, a UUID, an IP or MAC address, a hex dump, a bitmap
POINTER_FORMAT = re.compile(r"[SsFf]|U[bBlL]?|[Ii](?:4[hnbl]?|6c?|Sp?c?[hnbl]?)|MF|[Mm]R?|h[CDN]?|bl?")
_AF_INET, _AF_INET6 = 2, 10
# order in which %pUl prints the bytes of a UUID: the first three fields are little-endian
_GUID_ORDER = (3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15)


def format_pointer(pointer_format: str, data: bytes, width: int, byte_order: ByteOrderName) -> str:
    """Format the bytes of a field; ``pointer_format`` matches POINTER_FORMAT, and does not ask for a function.

    ``width`` is the number between ``%`` and ``p``, negative for none; it limits the bytes of a hex dump.
    """
    kind, letters = pointer_format[0], pointer_format[1:]
    if kind in "Mm":
        return _mac(pointer_format, data)
    if kind in "Ii":
        if letters[0] == "S":
            return _socket(kind, letters[1:], data, byte_order)
        if letters[0] == "4":
            return _ip4(kind, letters[1:], data, byte_order) if len(data) == 4 else "INVALIDIPv4"
        return _ip6(kind, letters[1:], data) if len(data) == 16 else "INVALIDIPv6"
    if kind == "U":
        return _uuid(letters, data)
    if kind == "h":
        return hex_text(data[: max(width, 0)], {"C": ":", "D": "-", "N": ""}.get(letters, " "))
    return bit_list(data, byte_order) if letters else bitmask(data, byte_order)


def hex_text(data: bytes, separator: str) -> str:
    """Format each byte as two hex digits."""
    return separator.join(f"{byte:02x}" for byte in data)


def bitmask(data: bytes, byte_order: ByteOrderName) -> str:
    """Format a bitmap as hex words of 32 bits, the highest first: ``1,0000000f``."""
    digits = f"{int.from_bytes(data, byte_order):0{2 * len(data)}x}" if data else ""
    first_length = len(digits) % 8  # digits of the highest word, if it has fewer than the others
    words = [digits[:first_length]] * bool(first_length)
    words += [digits[start : start + 8] for start in range(first_length, len(digits), 8)]
    return ",".join(words)


def bit_list(data: bytes, byte_order: ByteOrderName) -> str:
    """Format a bitmap as the ranges of its set bits: ``0-3,8``."""
    bits = f"{int.from_bytes(data, byte_order):b}"[::-1]
    runs = ((run.start(), run.end() - 1) for run in re.finditer("1+", bits))
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)


def _mac(pointer_format: str, data: bytes) -> str:
    """``%pM`` or, without separators, ``%pm``; F means dashes, R reverse order."""
    if len(data) != 6:
        return "INVALIDMAC"
    separator = "" if pointer_format[0] == "m" else "-" if pointer_format == "MF" else ":"
    return hex_text(data[::-1] if pointer_format[1:] == "R" else data, separator)


def _uuid(letters: str, data: bytes) -> str:
    """``%pUb`` (big-endian, the default) or ``%pUl`` (little-endian); B and L use upper case."""
    if len(data) != 16:
        return "INVALIDUUID"
    digits = bytes(data[index] for index in _GUID_ORDER).hex() if letters in ("l", "L") else data.hex()
    text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return text.upper() if letters in ("L", "B") else text


def _ip4(kind: str, letters: str, data: bytes, byte_order: ByteOrderName) -> str:
    """``%pI4``, or with leading zeros ``%pi4``; l is little-endian, h host order."""
    reverse = letters == "l" or (letters == "h" and byte_order == "little")
    return ".".join(f"{byte:03d}" if kind == "i" else f"{byte}" for byte in (data[::-1] if reverse else data))


def _ip6(kind: str, letters: str, data: bytes) -> str:
    """``%pI6`` with colons, ``%pi6`` without, ``%pI6c`` shortened as in RFC 5952."""
    words = [data[start : start + 2].hex() for start in range(0, 16, 2)]
    if not letters:
        return (":" if kind == "I" else "").join(words)
    tail = ""
    # mapped IPv4 addresses and ISATAP interface ids end with a dotted IPv4 address
    if data[:12] == b"\0" * 10 + b"\xff\xff" or data[8:12] in (b"\0\0\x5e\xfe", b"\2\0\x5e\xfe"):
        words, tail = words[:6], _ip4("I", "", data[12:], "big")
    text = ":".join([f"{int(word, 16):x}" for word in words] + [tail] * bool(tail))
    zero_runs = list(re.finditer(r"(?<![^:])0(?::0)+(?![^:])", text))
    if not zero_runs:
        return text
    longest = max(zero_runs, key=lambda run: run.end() - run.start())
    return f"{text[: longest.start()].removesuffix(':')}::{text[longest.end() :].removeprefix(':')}"


def _socket(kind: str, letters: str, data: bytes, byte_order: ByteOrderName) -> str:
    family, port = int.from_bytes(data[:2], byte_order), int.from_bytes(data[2:4], "big")
    suffix = f":{port}" if "p" in letters else ""
    if family == _AF_INET:
        return _ip4(kind, letters[-1:], data[4:8], byte_order) + suffix if len(data) >= 16 else "INVALIDIPv4"
    if family != _AF_INET6:
        return ""
    if len(data) < 28:
        return "INVALIDIPv6"
    text = _ip6(kind, "c" if "c" in letters else "", data[8:24])
    return f"[{text}]{suffix}" if suffix else text
