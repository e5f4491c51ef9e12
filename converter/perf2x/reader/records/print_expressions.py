"""Parses the C expressions in a tracepoint's ``print fmt`` into Python functions.

A function takes the fields of a sample, and returns an int, a str, or a list of int for an array. Operators work on
unlimited integers; ``MASK`` reduces these to 64 bits where that makes a difference.

Source of truth: tools/lib/traceevent (event-parse.c: process_arg_token), the kernel's
include/trace/stages/stage3_trace_output.h (__print_flags, __print_symbolic, __get_str …).
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from perf2x.reader.records.format_tokens import PrintFormatError, Tokens, adjacent_strings, unescaped
from perf2x.reader.records.pointer_text import ByteOrderName, bit_list, bitmask, hex_text

# values of a sample's fields by name; the keys FIELD_BYTES and BYTE_ORDER are no fields
Fields = Mapping[str, Any]
Expression = Callable[[Fields], Any]

_OPERATORS_BY_PRECEDENCE: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))}, {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": operator.or_}, {"^": operator.xor}, {"&": operator.and_},
    {"==": lambda a, b: int(not (a ^ b) & MASK), "!=": lambda a, b: int(bool((a ^ b) & MASK))},
    {"<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b),
     ">=": lambda a, b: int(a >= b)},
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: (a & MASK) // (b & MASK) if b else 0,
     "%": lambda a, b: (a & MASK) % (b & MASK) if b else 0},
)  # fmt: skip
"""Binary operators, lowest precedence first.

``==`` and ``!=`` compare 64 bits, so that −1 equals 0xffffffffffffffff. Division is unsigned; by 0, it yields 0.
"""
# further keys of Fields: FIELD_BYTES has the bytes of each field by name, BYTE_ORDER is "little" or "big"
FIELD_BYTES, BYTE_ORDER = "", " "
_MAX_DEPTH = 200  # nested expressions; Python's limit of recursion is higher
MASK = 2**64 - 1


class Field(Struct):
    """The expression ``REC->name``: the value of a field, or its bytes."""

    _name: str

    def __call__(self, fields: Fields) -> Any:
        """Return the value of the field; 0 if the sample lacks it."""
        return fields.get(self._name, 0)

    def raw_bytes(self, fields: Fields) -> bytes:
        """Return the field's bytes; for __data_loc, those of the array to which it refers."""
        field_bytes: bytes = fields.get(FIELD_BYTES, {}).get(self._name, b"")
        return field_bytes


class _ConstantName(Struct):
    """The name of an enumerator or a variable; as in libtraceevent, its value in expressions is 0."""

    name: str

    def __call__(self, fields: Fields) -> int:
        return 0


def parse_argument(tokens: Tokens, depth: int) -> Expression:
    """Parse an expression; ``depth`` counts the expressions around it."""
    if depth > _MAX_DEPTH:
        raise PrintFormatError("too many brackets")
    condition = _binary(tokens, 0, depth)
    if not tokens.accept("?"):
        return condition
    if_true = parse_argument(tokens, depth + 1)
    tokens.expect(":")
    if_false = parse_argument(tokens, depth + 1)
    return lambda fields: if_true(fields) if condition(fields) else if_false(fields)


def _binary(tokens: Tokens, level: int, depth: int) -> Expression:
    if level == len(_OPERATORS_BY_PRECEDENCE):
        return _unary(tokens, depth)
    left = _binary(tokens, level + 1, depth)
    while tokens.kind == "punctuator" and tokens.text in _OPERATORS_BY_PRECEDENCE[level]:
        operation, right = _OPERATORS_BY_PRECEDENCE[level][tokens.next()], _binary(tokens, level + 1, depth)
        left = _operation(operation, left, right)
    return left


def _operation(operation: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    return lambda fields: operation(as_number(left(fields)), as_number(right(fields)))


def as_number(value: Any) -> int:
    """Return an operand as a number; strings and arrays count as 0."""
    return value if isinstance(value, int) else 0


def _unary(tokens: Tokens, depth: int) -> Expression:
    if tokens.accept("-"):
        # -16ULL is unsigned in C, so it wraps around
        mask = MASK if "U" in tokens.text.upper() and tokens.kind == "number" else -1
        operand = _unary(tokens, depth + 1)
        return lambda fields: -as_number(operand(fields)) & mask
    if tokens.accept("!"):
        negated = _unary(tokens, depth + 1)
        return lambda fields: int(not negated(fields))
    if tokens.accept("~"):
        inverted = _unary(tokens, depth + 1)
        return lambda fields: ~as_number(inverted(fields)) & MASK
    if tokens.is_at_cast():
        tokens.expect("(")
        return _cast(_type_words(tokens), _unary(tokens, depth + 1))
    return _primary(tokens, depth)


def _type_words(tokens: Tokens) -> list[str]:
    words = []
    while not tokens.accept(")"):
        words.append(tokens.next())
        if not words[-1]:
            raise PrintFormatError("an unclosed bracket")
    return words


def _size_and_sign(words: list[str]) -> tuple[int, bool]:
    """Size in bytes (0 for pointers and unknown types), and whether the type is signed."""
    # these words do not change the size; "unsigned" alone is an int
    names = [word.strip("_") for word in words if word not in ("unsigned", "signed", "int")] or ["int"]
    return _SIZES.get(names[-1], 0), not ("unsigned" in words or names[-1].startswith("u") or names == ["size_t"])


_SIZES = {f"{name}{size * 8}{end}": size for name, end in (("u", ""), ("s", ""), ("uint", "_t"), ("int", "_t"))
          for size in (1, 2, 4, 8)}  # fmt: skip
_SIZES |= {"char": 1, "short": 2, "int": 4, "uint": 4, "long": 8, "size_t": 8}


def _cast(words: list[str], value: Expression) -> Expression:
    size, signed = _size_and_sign(words)
    if not size or isinstance(value, _ConstantName):
        return value
    return lambda fields: wrapped(as_number(value(fields)), 8 * size, signed=signed)


def _primary(tokens: Tokens, depth: int) -> Expression:
    if tokens.accept("("):
        inner = parse_argument(tokens, depth + 1)
        tokens.expect(")")
        return _indexed(tokens, inner, depth)
    if tokens.kind == "string":
        literal = adjacent_strings(tokens)
        return lambda fields: literal
    if tokens.kind == "character":
        character = ord(unescaped(tokens.next()))
        return lambda fields: character
    if tokens.kind == "number":
        number = int(tokens.next().rstrip("uUlL"), 0)
        return lambda fields: number
    name = tokens.take("name")
    if name == "REC":
        tokens.expect("->")
        field = tokens.take("name")
        return _indexed(tokens, Field(field), depth)
    if tokens.accept("("):
        return _indexed(tokens, _call(name, tokens, depth), depth)
    return _ConstantName(name)


def _indexed(tokens: Tokens, array: Expression, depth: int) -> Expression:
    """Parse ``[index]`` if it follows.

    The elements of a field whose value is text are its bytes. The elements of other strings are character codes.
    Elements beyond the end are 0.
    """
    if not tokens.accept("["):
        return array
    index = parse_argument(tokens, depth + 1)
    tokens.expect("]")

    def element_of(fields: Fields) -> Any:
        values, position = array(fields), as_number(index(fields))
        if isinstance(values, str):
            octets = array.raw_bytes(fields) if isinstance(array, Field) else b""
            values = list(octets or map(ord, values))
        return values[position] if isinstance(values, list) and 0 <= position < len(values) else 0

    return element_of


def _call(name: str, tokens: Tokens, depth: int) -> Expression:
    getter = re.fullmatch(r"__get_(?:rel_)?(str|dynamic_array|dynamic_array_len|sockaddr|bitmask|cpumask)", name)
    if getter:
        field = Field(tokens.take("name"))
        tokens.expect(")")
        formatters = {"dynamic_array_len": lambda data, _: len(data), "bitmask": bitmask, "cpumask": bit_list}
        formatter = formatters.get(getter[1])
        return field if formatter is None else _formatted_field(formatter, field)
    if name == "sizeof":
        size, _ = _size_and_sign(_type_words(tokens))
        if not size:
            raise PrintFormatError(name)
        return lambda fields: size
    if name in _FUNCTIONS:
        arguments = [parse_argument(tokens, depth + 1)]
        while tokens.accept(","):
            arguments.append(parse_argument(tokens, depth + 1))
        tokens.expect(")")
        return _FUNCTIONS[name](*arguments)
    if name in ("__print_flags", "__print_symbolic"):
        value = parse_argument(tokens, depth + 1)
        delimiter = ""
        if name == "__print_flags":
            tokens.expect(",")
            delimiter = unescaped(tokens.take("string"))
        names = list(_pairs(tokens, depth))
        tokens.expect(")")
        if name == "__print_flags":
            return lambda fields: _print_flags(as_number(value(fields)) & MASK, delimiter, names)
        return lambda fields: _print_symbolic(as_number(value(fields)), names)
    raise PrintFormatError(name)


def _pairs(tokens: Tokens, depth: int) -> Iterator[tuple[int, str]]:
    """Parse ``, { 1, "S" }, { 2, "D" }`` into (1, "S"), (2, "D").

    An enumerator whose value is unknown counts as −1, as in libtraceevent's eval_flag.
    """
    while tokens.accept(","):
        tokens.expect("{")
        if tokens.accept("}"):
            continue
        number = parse_argument(tokens, depth + 1)
        tokens.expect(",")
        text = parse_argument(tokens, depth + 1)
        tokens.expect("}")
        yield -1 if isinstance(number, _ConstantName) else as_number(number({})), str(text({}))


def _print_flags(value: int, delimiter: str, names: list[tuple[int, str]]) -> str:
    shown: list[str] = []
    for number, name in names:
        if not value and number < 0:  # a name of unknown value is shown if no bits are left (pretty_print)
            return delimiter.join([*shown, name])
        if number > 0 and value & number == number:
            shown.append(name)
            value &= ~number
    return delimiter.join([*shown, f"{value:#x}"] if value else shown)


def _print_symbolic(value: int, names: list[tuple[int, str]]) -> str:
    return next((name for number, name in names if (number ^ value) & MASK == 0), f"{value & MASK:#x}")


def _formatted_field(formatter: Callable[[bytes, ByteOrderName], Any], field: Field) -> Expression:
    return lambda fields: formatter(field.raw_bytes(fields), fields.get(BYTE_ORDER, "little"))


def _field_bytes(value: Expression) -> Callable[[Fields], bytes]:
    if not isinstance(value, Field):
        raise PrintFormatError("the bytes of something that is not a field")
    return value.raw_bytes


def _print_hex(value: Expression, size: Expression, separator: str = " ") -> Expression:
    data_of = _field_bytes(value)
    return lambda fields: hex_text(data_of(fields)[: max(as_number(size(fields)), 0)], separator)


def _print_array(value: Expression, count: Expression, size: Expression) -> Expression:
    data_of = _field_bytes(value)

    def text(fields: Fields) -> str:
        data, width = data_of(fields), as_number(size(fields))
        if width not in (1, 2, 4, 8):
            return "{}"
        shown_count = min(max(as_number(count(fields)), 0), len(data) // width)
        byte_order = fields.get(BYTE_ORDER, "little")
        numbers = (
            int.from_bytes(data[start : start + width], byte_order) for start in range(0, shown_count * width, width)
        )
        return "{" + ",".join(f"{number:#x}" for number in numbers) + "}"

    return text


_FUNCTIONS: dict[str, Callable[..., Expression]] = {
    "__print_hex": _print_hex,
    "__print_hex_str": lambda value, size: _print_hex(value, size, ""),
    "__print_array": _print_array,
    "__print_ns_to_secs": lambda value: lambda fields: as_number(value(fields)) // 10**9,
    "__print_ns_without_secs": lambda value: lambda fields: as_number(value(fields)) % 10**9,
    "__builtin_expect": lambda value, expected: value,
}


def wrapped(value: int, bits: int, *, signed: bool) -> int:
    """Return the lowest ``bits`` bits of a number as an integer: 255 in 8 signed bits is −1."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value
