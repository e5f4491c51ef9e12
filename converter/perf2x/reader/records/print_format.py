"""Formats a tracepoint's samples by its ``print fmt``, as perf prints them.

A print format is a printf format with C expressions as arguments: ``"comm=%s pid=%d", REC->comm, REC->pid``. The
expressions are parsed by print_expressions.py; each conversion becomes a function that takes the fields of a sample and
returns text.

Source of truth: tools/lib/traceevent (event-parse.c: print_str_arg, pretty_print).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from perf2x.reader.records.format_tokens import PrintFormatError, Tokens, adjacent_strings
from perf2x.reader.records.pointer_text import POINTER_FORMAT, format_pointer
from perf2x.reader.records.print_expressions import (
    BYTE_ORDER,
    MASK,
    Expression,
    Field,
    Fields,
    as_number,
    parse_argument,
    wrapped,
)

_CONVERSION = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?"
                         r"(?P<length>hh?|ll?|[Lzjt])?(?P<kind>[diouxXcsp%])"
                         r"(?P<special>(?<=p)[A-Za-z]\w*)?")  # fmt: skip
# Takes a kernel address; returns the name of its function, with the offset in the function if the bool is True.
AddressFormatter = Callable[[int, bool], str]


def compile_format(
    text: str, format_address: AddressFormatter, kernel_strings: Mapping[str, str]
) -> Callable[[Fields], str]:
    """Return a function that formats the fields of a sample. Raises PrintFormatError for unsupported formats.

    ``format_address`` is called for ``%pS`` and similar conversions. ``kernel_strings`` has the kernel's strings by
    address, written as ``0xffffffff8281a2a4``: they are what ``%s`` prints for a pointer.
    """
    tokens = Tokens(text.replace("(REC)->", "REC->"))
    printf_format = adjacent_strings(tokens)
    arguments = []
    while tokens.accept(","):
        arguments.append(parse_argument(tokens, 0))
    if tokens.kind:
        raise PrintFormatError(text)
    parts: list[str | Callable[[Fields], str]] = []
    next_arguments, end = iter(arguments), 0
    for conversion in _CONVERSION.finditer(printf_format):
        parts.append(printf_format[end : conversion.start()])
        is_percent = conversion["kind"] == "%"
        parts.append("%" if is_percent else _formatter_of(conversion, next_arguments, format_address, kernel_strings))
        # letters after %p that do not select a format are literal text
        end = conversion.end() - len(conversion["special"] or "") + _pointer_format_length(conversion["special"])
    parts.append(printf_format[end:])
    return lambda fields: "".join(part if isinstance(part, str) else part(fields) for part in parts)


def _pointer_format_length(pointer_format: str | None) -> int:
    """Return how many of the characters after ``%p`` select a format (``%pI4``: 2); the rest is literal text."""
    match = POINTER_FORMAT.match(pointer_format or "")
    return match.end() if match else 0


def _formatter_of(
    match: "re.Match[str]",
    arguments: Iterator[Expression],
    format_address: AddressFormatter,
    kernel_strings: Mapping[str, str],
) -> Callable[[Fields], str]:
    """Return a function that formats one conversion, such as ``%-5d``, for the fields of a sample.

    ``match`` is the conversion as a match of ``_CONVERSION``. It takes as many of the ``arguments`` as it needs.
    Python's % operator does most of the work, but ignores lengths and signs, and lacks %p and C's # for octal numbers.
    """
    stars = [next(arguments, _zero_argument) for part in (match["width"], match["precision"]) if part == "*"]
    argument, kind = next(arguments, _zero_argument), match["kind"]
    pointer_format = (match["special"] or "")[: _pointer_format_length(match["special"])]
    if pointer_format[:1] in ("S", "s", "F", "f"):
        return lambda fields: format_address(as_number(argument(fields)) & MASK, pointer_format[0] in "SF")
    if pointer_format:
        if not isinstance(argument, Field):
            raise PrintFormatError(match[0])
        width_of = stars[0] if stars else lambda fields: int(match["width"] or -1)  # −1: no width
        return lambda fields: format_pointer(
            pointer_format, argument.raw_bytes(fields), as_number(width_of(fields)), fields.get(BYTE_ORDER, "little")
        )
    # the argument's size, by the conversion's length modifier; without one, that of an int
    bits = (
        64 if match["length"] in ("l", "ll", "L", "z", "j", "t") else {"h": 16, "hh": 8}.get(match["length"] or "", 32)
    )
    python_kind = {"i": "d", "u": "d", "p": "x"}.get(kind, kind)
    precision = "." + match["precision"] if match["precision"] else ""
    spec = f"%{match['flags']}{match['width'] or ''}{precision}{python_kind}"

    # ``sizes`` are the width and precision that arguments (*) specify, ``shown`` is the value to print
    def alternate(sizes: tuple[int, ...], shown: int) -> str:
        """Return a number in C's alternate form (``#``): 0 has no prefix; octal numbers begin with one 0."""
        digits: str = (spec if shown and kind != "o" else spec.replace("#", "")) % (*sizes, shown)
        return "0" + digits if shown and kind == "o" else digits

    def text(fields: Fields) -> str:
        value = argument(fields)
        sizes = tuple(as_number(star(fields)) for star in stars)
        if kind == "s":
            address = as_number(value)
            shown: Any = value if isinstance(value, str) else kernel_strings.get(f"{address:#x}", f"{address:x}")
        elif kind == "c":
            shown = chr(as_number(value) & 0xFF)
        else:
            shown = wrapped(as_number(value), 64 if kind == "p" else bits, signed=kind in "di")
        if kind == "p":
            return f"{shown:#x}" if shown else "(nil)"
        if kind in "xXo" and "#" in match["flags"]:
            return alternate(sizes, shown)
        result: str = spec % (*sizes, shown)
        return result

    return text


def _zero_argument(fields: Fields) -> int:
    """Return 0, the value of an argument that a conversion needs but the format lacks."""
    return 0


def field_text(fields: Fields) -> str:
    """Return the text of a sample whose print format is not supported: every field with its value."""
    shown = ((name, value) for name, value in fields.items() if not name.startswith("common_"))
    return "".join(f" {name}={value}" for name, value in shown)
