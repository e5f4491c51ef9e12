"""Formats a tracepoint's samples by its ``print fmt``, a printf format with C expressions, as perf prints them.

Source of truth: tools/lib/traceevent (event-parse.c: process_arg_token, print_str_arg, pretty_print), the kernel's
include/trace/stages/stage3_trace_output.h (__print_flags, __print_symbolic, __get_str …).
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from perf2x.reader.records.format_tokens import PrintFormatError, Tokens, strings, unescaped
from perf2x.reader.records.pointer_text import SPECIAL, Order, bit_list, bitmask, hex_text, pointed_text

Fields = Mapping[str, Any]
_Expression = Callable[[Fields], Any]

_CONVERSION = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?"
                         r"(?P<length>hh?|ll?|[Lzjt])?(?P<kind>[diouxXcsp%])"
                         r"(?P<special>(?<=p)[A-Za-z]\w*)?")  # fmt: skip
_LEVELS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))}, {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": operator.or_}, {"^": operator.xor}, {"&": operator.and_},
    {"==": lambda a, b: int(not (a ^ b) & _MASK), "!=": lambda a, b: int(bool((a ^ b) & _MASK))},
    {"<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b),
     ">=": lambda a, b: int(a >= b)},
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: (a & _MASK) // (b & _MASK) if b else 0,
     "%": lambda a, b: (a & _MASK) % (b & _MASK) if b else 0},
)  # fmt: skip
"""Binary operators, lowest precedence first."""
Function = Callable[[int, bool], str]
"""Formats a kernel address: the function's name, and optionally the offset in it."""
PARTS, ORDER = "", " "
"""Keys in a sample's fields: of the bytes of all fields by name, and of the byte order."""
_MOST_DEPTH = 200
_MASK = 2**64 - 1


def compile_format(text: str, function: Function, strings_at: Mapping[str, str]) -> Callable[[Fields], str]:
    """Return a function that formats the fields of a sample. Raises PrintFormatError for unsupported formats.

    ``strings_at``: the kernel's strings by address, ``0xffffffff8281a2a4``, for ``%s`` of a pointer.
    """
    tokens = Tokens(text.replace("(REC)->", "REC->"))
    form = strings(tokens)
    arguments = []
    while tokens.accept(","):
        arguments.append(_ternary(tokens, 0))
    if tokens.kind:
        raise PrintFormatError(text)
    parts: list[str | Callable[[Fields], str]] = []
    waiting, at = iter(arguments), 0
    for found in _CONVERSION.finditer(form):
        parts.append(form[at : found.start()])
        parts.append("%" if found["kind"] == "%" else _converted(found, waiting, function, strings_at))
        at = found.end() - len(found["special"] or "") + _used(found["special"])
    parts.append(form[at:])
    return lambda fields: "".join(part if isinstance(part, str) else part(fields) for part in parts)


class _PrintedField(Struct):
    """The value of a field, or its bytes."""

    _name: str

    def __call__(self, fields: Fields) -> Any:
        return fields.get(self._name, 0)

    def part(self, fields: Fields) -> bytes:
        """Return the bytes of the field, or of the array that it refers to."""
        part: bytes = fields.get(PARTS, {}).get(self._name, b"")
        return part


class _Name(Struct):
    """A name that the kernel left in the format, of an enumeration or a variable.

    Returns 0 in expressions, as in libtraceevent.
    """

    name: str

    def __call__(self, fields: Fields) -> int:
        return 0


def _ternary(tokens: Tokens, depth: int) -> _Expression:
    if depth > _MOST_DEPTH:
        raise PrintFormatError("too many brackets")
    condition = _binary(tokens, 0, depth)
    if not tokens.accept("?"):
        return condition
    yes = _ternary(tokens, depth + 1)
    tokens.expect(":")
    no = _ternary(tokens, depth + 1)
    return lambda fields: yes(fields) if condition(fields) else no(fields)


def _binary(tokens: Tokens, level: int, depth: int) -> _Expression:
    if level == len(_LEVELS):
        return _unary(tokens, depth)
    left = _binary(tokens, level + 1, depth)
    while tokens.kind == "sign" and tokens.text in _LEVELS[level]:
        operation, right = _LEVELS[level][tokens.next()], _binary(tokens, level + 1, depth)
        left = _applied(operation, left, right)
    return left


def _applied(operation: Callable[[Any, Any], Any], left: _Expression, right: _Expression) -> _Expression:
    return lambda fields: operation(_number(left(fields)), _number(right(fields)))


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _unary(tokens: Tokens, depth: int) -> _Expression:
    if tokens.accept("-"):
        most = _MASK if "U" in tokens.text.upper() and tokens.kind == "number" else -1
        negated = _unary(tokens, depth + 1)
        return lambda fields: -_number(negated(fields)) & most
    if tokens.accept("!"):
        denied = _unary(tokens, depth + 1)
        return lambda fields: int(not denied(fields))
    if tokens.accept("~"):
        inverted = _unary(tokens, depth + 1)
        return lambda fields: ~_number(inverted(fields)) & _MASK
    if tokens.is_cast():
        tokens.expect("(")
        return _cast(_words(tokens), _unary(tokens, depth + 1))
    return _primary(tokens, depth)


def _words(tokens: Tokens) -> list[str]:
    """Return the words of a type, up to the closing parenthesis."""
    words = []
    while not tokens.accept(")"):
        words.append(tokens.next())
        if not words[-1]:
            raise PrintFormatError("an unclosed bracket")
    return words


def _type(words: list[str]) -> tuple[int, bool]:
    """Return the size of a C type, 0 for pointers and unknown types, and whether it is signed."""
    plain = [word.strip("_") for word in words if word not in ("unsigned", "signed", "int")] or ["int"]
    return _SIZES.get(plain[-1], 0), not (words[0] == "unsigned" or plain[-1].startswith("u") or plain == ["size_t"])


_SIZES = {f"{name}{size * 8}{end}": size for name, end in (("u", ""), ("s", ""), ("uint", "_t"), ("int", "_t"))
          for size in (1, 2, 4, 8)}  # fmt: skip
_SIZES |= {"char": 1, "short": 2, "int": 4, "uint": 4, "long": 8, "size_t": 8}


def _cast(words: list[str], value: _Expression) -> _Expression:
    size, signed = _type(words)
    if not size or isinstance(value, _Name):
        return value
    return lambda fields: _sized(_number(value(fields)), 8 * size, signed=signed)


def _primary(tokens: Tokens, depth: int) -> _Expression:
    if tokens.accept("("):
        inner = _ternary(tokens, depth + 1)
        tokens.expect(")")
        return _indexed(tokens, inner, depth)
    if tokens.kind == "string":
        literal = strings(tokens)
        return lambda fields: literal
    if tokens.kind == "letter":
        letter = ord(unescaped(tokens.next()))
        return lambda fields: letter
    if tokens.kind == "number":
        number = int(tokens.next().rstrip("uUlL"), 0)
        return lambda fields: number
    name = tokens.take("name")
    if name == "REC":
        tokens.expect("->")
        field = tokens.take("name")
        return _indexed(tokens, _PrintedField(field), depth)
    if tokens.accept("("):
        return _indexed(tokens, _call(name, tokens, depth), depth)
    return _Name(name)


def _indexed(tokens: Tokens, value: _Expression, depth: int) -> _Expression:
    if not tokens.accept("["):
        return value
    at = _ternary(tokens, depth + 1)
    tokens.expect("]")

    def element(fields: Fields) -> Any:
        values, row = value(fields), _number(at(fields))
        element = values[row] if isinstance(values, (list, str)) and 0 <= row < len(values) else 0
        return ord(element) if isinstance(element, str) else element

    return element


def _call(name: str, tokens: Tokens, depth: int) -> _Expression:
    getter = re.fullmatch(r"__get_(?:rel_)?(str|dynamic_array|dynamic_array_len|sockaddr|bitmask|cpumask)", name)
    if getter:
        field = _PrintedField(tokens.take("name"))
        tokens.expect(")")
        shown = {"dynamic_array_len": lambda part, _: len(part), "bitmask": bitmask, "cpumask": bit_list}.get(getter[1])
        return field if shown is None else _worded(shown, field)
    if name == "sizeof":
        size, _ = _type(_words(tokens))
        if not size:
            raise PrintFormatError(name)
        return lambda fields: size
    if name in _FUNCTIONS:
        arguments = [_ternary(tokens, depth + 1)]
        while tokens.accept(","):
            arguments.append(_ternary(tokens, depth + 1))
        tokens.expect(")")
        return _FUNCTIONS[name](*arguments)
    if name in ("__print_flags", "__print_symbolic"):
        value = _ternary(tokens, depth + 1)
        delimiter = ""
        if name == "__print_flags":
            tokens.expect(",")
            delimiter = unescaped(tokens.take("string"))
        names = list(_pairs(tokens, depth))
        tokens.expect(")")
        if name == "__print_flags":
            return lambda fields: _flags(_number(value(fields)) & _MASK, delimiter, names)
        return lambda fields: _symbolic(_number(value(fields)), names)
    raise PrintFormatError(name)


def _pairs(tokens: Tokens, depth: int) -> Iterator[tuple[int, str]]:
    """Parse ``, { 1, "S" }, { 2, "D" }``: numbers are constant; names are −1, as in eval_flag."""
    while tokens.accept(","):
        tokens.expect("{")
        if tokens.accept("}"):
            continue
        number = _ternary(tokens, depth + 1)
        tokens.expect(",")
        text = _ternary(tokens, depth + 1)
        tokens.expect("}")
        yield -1 if isinstance(number, _Name) else _number(number({})), str(text({}))


def _flags(value: int, delimiter: str, names: list[tuple[int, str]]) -> str:
    found: list[str] = []
    for number, name in names:
        if not value and number < 0:
            return delimiter.join([*found, name])
        if number > 0 and value & number == number:
            found.append(name)
            value &= ~number
    return delimiter.join([*found, f"{value:#x}"] if value else found)


def _symbolic(value: int, names: list[tuple[int, str]]) -> str:
    return next((name for number, name in names if (number ^ value) & _MASK == 0), f"{value & _MASK:#x}")


def _worded(shown: Callable[[bytes, Order], Any], field: _PrintedField) -> _Expression:
    return lambda fields: shown(field.part(fields), fields.get(ORDER, "little"))


def _part(value: _Expression) -> Callable[[Fields], bytes]:
    if not isinstance(value, _PrintedField):
        raise PrintFormatError("the bytes of something that is not a field")
    return value.part


def _hex(value: _Expression, size: _Expression, between: str = " ") -> _Expression:
    part = _part(value)
    return lambda fields: hex_text(part(fields)[: max(_number(size(fields)), 0)], between)


def _array(value: _Expression, count: _Expression, size: _Expression) -> _Expression:
    part = _part(value)

    def text(fields: Fields) -> str:
        raw, width = part(fields), _number(size(fields))
        if width not in (1, 2, 4, 8):
            return "{}"
        most = min(max(_number(count(fields)), 0), len(raw) // width)
        order = fields.get(ORDER, "little")
        numbers = (int.from_bytes(raw[at : at + width], order) for at in range(0, most * width, width))
        return "{" + ",".join(f"{number:#x}" for number in numbers) + "}"

    return text


_FUNCTIONS: dict[str, Callable[..., _Expression]] = {
    "__print_hex": _hex,
    "__print_hex_str": lambda value, size: _hex(value, size, ""),
    "__print_array": _array,
    "__print_ns_to_secs": lambda value: lambda fields: _number(value(fields)) // 10**9,
    "__print_ns_without_secs": lambda value: lambda fields: _number(value(fields)) % 10**9,
    "__builtin_expect": lambda value, expected: value,
}


def _used(special: str | None) -> int:
    """Return how many letters after ``%p`` belong to it; others are text."""
    match = SPECIAL.match(special or "")
    return match.end() if match else 0


def _converted(
    found: "re.Match[str]", arguments: Iterator[_Expression], function: Function, strings_at: Mapping[str, str]
) -> Callable[[Fields], str]:
    stars = [next(arguments, _nothing) for part in (found["width"], found["precision"]) if part == "*"]
    argument, kind = next(arguments, _nothing), found["kind"]
    special = (found["special"] or "")[: _used(found["special"])]
    if special[:1] in ("S", "s", "F", "f"):
        return lambda fields: function(_number(argument(fields)) & _MASK, special[0] in "SF")
    if special:
        if not isinstance(argument, _PrintedField):
            raise PrintFormatError(found[0])
        most = stars[0] if stars else lambda fields: int(found["width"] or -1)
        return lambda fields: pointed_text(
            special, argument.part(fields), _number(most(fields)), fields.get(ORDER, "little")
        )
    bits = (
        64 if found["length"] in ("l", "ll", "L", "z", "j", "t") else {"h": 16, "hh": 8}.get(found["length"] or "", 32)
    )
    number = {"i": "d", "u": "d", "p": "x"}.get(kind, kind)
    spec = f"%{found['flags']}{found['width'] or ''}{'.' + found['precision'] if found['precision'] else ''}{number}"

    def alternate(sizes: tuple[int, ...], shown: int) -> str:
        """Return numbers in C's alternate form (``#``): 0 has no prefix, octal numbers begin with one 0."""
        plain: str = (spec if shown and kind != "o" else spec.replace("#", "")) % (*sizes, shown)
        return "0" + plain if shown and kind == "o" else plain

    def text(fields: Fields) -> str:
        value = argument(fields)
        sizes = tuple(_number(star(fields)) for star in stars)
        if kind == "s":
            address = _number(value)
            shown: Any = value if isinstance(value, str) else strings_at.get(f"{address:#x}", f"{address:x}")
        elif kind == "c":
            shown = chr(_number(value) & 0xFF)
        else:
            shown = _sized(_number(value), 64 if kind == "p" else bits, signed=kind in "di")
        if kind == "p":
            return f"{shown:#x}" if shown else "(nil)"
        if kind in "xXo" and "#" in found["flags"]:
            return alternate(sizes, shown)
        result: str = spec % (*sizes, shown)
        return result

    return text


def _nothing(fields: Fields) -> int:
    return 0


def _sized(value: int, bits: int, *, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def field_text(fields: Fields) -> str:
    """Return the text of a sample with an unsupported print format: every field with its value."""
    shown = ((name, value) for name, value in fields.items() if not name.startswith("common_"))
    return "".join(f" {name}={value}" for name, value in shown)
