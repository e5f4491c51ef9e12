"""Formats a tracepoint's samples by its ``print fmt``, as perf prints them.

A print format is a printf format with C expressions as arguments: ``"comm=%s pid=%d", REC->comm, REC->pid``.

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
# Takes a kernel address; returns the name of its function, and with True also the offset in it.
AddressFormatter = Callable[[int, bool], str]


def compile_format(
    text: str, format_address: AddressFormatter, kernel_strings: Mapping[str, str]
) -> Callable[[Fields], str]:
    """Return a function that formats the fields of a sample.

    ``format_address`` formats ``%pS`` and the like. ``kernel_strings`` are those that ``%s`` prints for pointers, by
    address, such as ``0xffffffff8281a2a4``. Raises PrintFormatError for unsupported formats.
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
    match = POINTER_FORMAT.match(pointer_format or "")
    return match.end() if match else 0


def _formatter_of(
    match: "re.Match[str]",
    arguments: Iterator[Expression],
    format_address: AddressFormatter,
    kernel_strings: Mapping[str, str],
) -> Callable[[Fields], str]:
    """Return a function that formats one conversion, such as ``%-5d``; take the ``arguments`` that it needs.

    Python's % operator does most of the work, but it ignores lengths and signedness, and lacks %p and C's # for octal
    numbers.
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
    # bits of the argument: by the length modifier, else those of an int
    bits = (
        64 if match["length"] in ("l", "ll", "L", "z", "j", "t") else {"h": 16, "hh": 8}.get(match["length"] or "", 32)
    )
    python_kind = {"i": "d", "u": "d", "p": "x"}.get(kind, kind)
    precision = "." + match["precision"] if match["precision"] else ""
    spec = f"%{match['flags']}{match['width'] or ''}{precision}{python_kind}"

    def alternate(star_values: tuple[int, ...], shown: int) -> str:
        """Format with ``#`` as C does: 0 has no prefix; octal numbers begin with one 0."""
        digits: str = (spec if shown and kind != "o" else spec.replace("#", "")) % (*star_values, shown)
        return "0" + digits if shown and kind == "o" else digits

    def text(fields: Fields) -> str:
        value = argument(fields)
        star_values = tuple(as_number(star(fields)) for star in stars)
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
            return alternate(star_values, shown)
        result: str = spec % (*star_values, shown)
        return result

    return text


def _zero_argument(fields: Fields) -> int:
    return 0


def field_text(fields: Fields) -> str:
    """List the fields of a sample whose print format is not supported."""
    shown = ((name, value) for name, value in fields.items() if not name.startswith("common_"))
    return "".join(f" {name}={value}" for name, value in shown)
