"""Words a tracepoint's sample by its ``print fmt``, a printf format with expressions of C, as perf prints it.

Source of truth: tools/lib/traceevent (event-parse.c: process_arg_token, print_str_arg, pretty_print), the kernel's
include/trace/stages/stage3_trace_output.h (__print_flags, __print_symbolic, __get_str …).
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Value = int | str
Fields = Mapping[str, Any]
Expression = Callable[[Fields], Any]

_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>0[xX][0-9a-fA-F]+|\d+)[uUlL]*|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<sign>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(){}\[\],.]))"
)
_CONVERSION = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?"
                         r"(?P<length>hh?|ll?|[Lzjt])?(?P<kind>[diouxXcsp%])"
                         r"(?P<special>(?<=p)[A-Za-z]\w*)?")  # fmt: skip
_TYPES = re.compile(r"(?:unsigned|signed|long|int|char|short|void|struct|union|const|bool|(?:__)?[us](?:8|16|32|64)"
                    r"|__[lb]e\d+|uintptr_t|uint|ulong|u?int(?:8|16|32|64)_t"
                    r"|(?:size|pid|loff|dev|ino|gfp|sector)_t)")  # fmt: skip
_LEVELS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))}, {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": operator.or_}, {"^": operator.xor}, {"&": operator.and_},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {"<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b),
     ">=": lambda a, b: int(a >= b)},
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: a // b if b else 0, "%": lambda a, b: a % b if b else 0},
)  # fmt: skip
"""Binary operators, the loosest first."""
_MOST_DEPTH = 200
_MASK = 2**64 - 1
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}


class PrintFormatError(Exception):
    """A print format that is not understood."""


def compile_format(text: str) -> Callable[[Fields], str]:
    """Return what words the fields of a sample; PrintFormatError where the format says what is not known here."""
    tokens = _Tokens(text)
    form = _unescaped(tokens.take("string"))
    arguments = []
    while tokens.accept(","):
        arguments.append(_ternary(tokens, 0))
    if tokens.kind:
        raise PrintFormatError(text)
    return _Printer(form, arguments).text


class _Tokens:
    """Tokens of a format, one after the other."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    @property
    def kind(self) -> str:
        """Kind of the next token, "" behind the last one."""
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    @property
    def text(self) -> str:
        """Text of the next token."""
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def next(self) -> str:
        """Take any token."""
        text = self.text
        self._at += 1
        return text

    def take(self, kind: str) -> str:
        """Take a token of this kind."""
        if self.kind != kind:
            raise PrintFormatError(self.text)
        return self.next()

    def accept(self, sign: str) -> bool:
        """Take the next token if it is this one."""
        found = self.text == sign and self.kind in ("sign", "name")
        self._at += found
        return found

    def expect(self, sign: str) -> None:
        """Take this token."""
        if not self.accept(sign):
            raise PrintFormatError(f"{sign} expected, not {self.text}")

    def is_cast(self) -> bool:
        """Whether an opening bracket begins a cast."""
        ahead = self._tokens[self._at + 1 : self._at + 2]
        return self.text == "(" and bool(ahead) and _TYPES.fullmatch(ahead[0][1]) is not None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise PrintFormatError(text[at : at + 20])
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def _unescaped(literal: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), literal[1:-1])


def _ternary(tokens: _Tokens, depth: int) -> Expression:
    if depth > _MOST_DEPTH:
        raise PrintFormatError("too many brackets")
    condition = _binary(tokens, 0, depth)
    if not tokens.accept("?"):
        return condition
    yes = _ternary(tokens, depth + 1)
    tokens.expect(":")
    no = _ternary(tokens, depth + 1)
    return lambda fields: yes(fields) if condition(fields) else no(fields)


def _binary(tokens: _Tokens, level: int, depth: int) -> Expression:
    if level == len(_LEVELS):
        return _unary(tokens, depth)
    left = _binary(tokens, level + 1, depth)
    while tokens.kind == "sign" and tokens.text in _LEVELS[level]:
        operation, right = _LEVELS[level][tokens.next()], _binary(tokens, level + 1, depth)
        left = _applied(operation, left, right)
    return left


def _applied(operation: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    return lambda fields: operation(_number(left(fields)), _number(right(fields)))


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _unary(tokens: _Tokens, depth: int) -> Expression:
    if tokens.accept("-"):
        negated = _unary(tokens, depth + 1)
        return lambda fields: -_number(negated(fields))
    if tokens.accept("!"):
        denied = _unary(tokens, depth + 1)
        return lambda fields: int(not denied(fields))
    if tokens.accept("~"):
        inverted = _unary(tokens, depth + 1)
        return lambda fields: ~_number(inverted(fields)) & _MASK
    if tokens.is_cast():
        while not tokens.accept(")"):
            if not tokens.next():
                raise PrintFormatError(tokens.text)
        return _unary(tokens, depth + 1)
    return _primary(tokens, depth)


def _primary(tokens: _Tokens, depth: int) -> Expression:
    if tokens.accept("("):
        inner = _ternary(tokens, depth + 1)
        tokens.expect(")")
        return _indexed(tokens, inner, depth)
    if tokens.kind == "string":
        literal = ""
        while tokens.kind == "string":
            literal += _unescaped(tokens.next())
        return lambda fields: literal
    if tokens.kind == "number":
        number = int(tokens.next(), 0)
        return lambda fields: number
    name = tokens.take("name")
    if name == "REC":
        tokens.expect("->")
        field = tokens.take("name")
        return _indexed(tokens, lambda fields: fields.get(field, 0), depth)
    if tokens.accept("("):
        return _call(name, tokens, depth)
    raise PrintFormatError(name)


def _indexed(tokens: _Tokens, value: Expression, depth: int) -> Expression:
    if not tokens.accept("["):
        return value
    at = _ternary(tokens, depth + 1)
    tokens.expect("]")

    def element(fields: Fields) -> Any:
        values, row = value(fields), _number(at(fields))
        return values[row] if isinstance(values, list) and 0 <= row < len(values) else 0

    return element


def _call(name: str, tokens: _Tokens, depth: int) -> Expression:
    if name in ("__get_str", "__get_dynamic_array", "__get_rel_str", "__get_sockaddr", "__get_bitmask"):
        field = tokens.take("name")
        tokens.expect(")")
        return lambda fields: fields.get(field, "")
    if name in ("__print_flags", "__print_symbolic"):
        value = _ternary(tokens, depth + 1)
        delimiter = ""
        if name == "__print_flags":
            tokens.expect(",")
            delimiter = _unescaped(tokens.take("string"))
        names = list(_pairs(tokens, depth))
        tokens.expect(")")
        if name == "__print_flags":
            return lambda fields: _flags(_number(value(fields)) & _MASK, delimiter, names)
        return lambda fields: _symbolic(_number(value(fields)), names)
    raise PrintFormatError(name)


def _pairs(tokens: _Tokens, depth: int) -> Iterator[tuple[int, str]]:
    """``, { 1, "S" }, { 2, "D" }``: numbers are constant."""
    while tokens.accept(","):
        tokens.expect("{")
        number = _ternary(tokens, depth + 1)
        tokens.expect(",")
        text = _ternary(tokens, depth + 1)
        tokens.expect("}")
        yield _number(number({})), str(text({}))


def _flags(value: int, delimiter: str, names: list[tuple[int, str]]) -> str:
    found: list[str] = []
    for number, name in names:
        if not value and not number:
            return delimiter.join([*found, name])
        if number and value & number == number:
            found.append(name)
            value &= ~number
    return delimiter.join([*found, f"{value:#x}"] if value else found)


def _symbolic(value: int, names: list[tuple[int, str]]) -> str:
    return next((name for number, name in names if number == value), f"{value & _MASK:#x}")


class _Printer:
    """printf with the values of expressions."""

    def __init__(self, form: str, arguments: list[Expression]) -> None:
        self._parts: list[Callable[[Fields], str]] = []
        waiting, at = iter(arguments), 0
        for found in _CONVERSION.finditer(form):
            self._parts.append(_constant(form[at : found.start()]))
            self._parts.append(_constant("%") if found["kind"] == "%" else _converted(found, waiting))
            at = found.end()
        self._parts.append(_constant(form[at:]))

    def text(self, fields: Fields) -> str:
        """The sample's text."""
        return "".join(part(fields) for part in self._parts)


def _constant(text: str) -> Callable[[Fields], str]:
    return lambda fields: text


def _converted(found: "re.Match[str]", arguments: Iterator[Expression]) -> Callable[[Fields], str]:
    stars = [next(arguments, _nothing) for part in (found["width"], found["precision"]) if part == "*"]
    argument, kind = next(arguments, _nothing), found["kind"]
    if found["special"]:
        raise PrintFormatError(found[0])
    bits = (
        64 if found["length"] in ("l", "ll", "L", "z", "j", "t") else {"h": 16, "hh": 8}.get(found["length"] or "", 32)
    )
    number = {"i": "d", "u": "d", "p": "x"}.get(kind, kind)
    spec = f"%{found['flags']}{found['width'] or ''}{'.' + found['precision'] if found['precision'] else ''}{number}"

    def text(fields: Fields) -> str:
        value = argument(fields)
        sizes = tuple(_number(star(fields)) for star in stars)
        if kind == "s":
            shown: Any = value if isinstance(value, str) else f"{_number(value):#x}"
        elif kind == "c":
            shown = chr(_number(value) & 0xFF)
        else:
            shown = _sized(_number(value), 64 if kind == "p" else bits, signed=kind in "di")
        if kind == "p":
            return f"{shown:#x}"
        result: str = spec % (*sizes, shown)
        return result

    return text


def _nothing(fields: Fields) -> int:
    return 0


def _sized(value: int, bits: int, *, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def field_text(fields: Fields) -> str:
    """Text of a sample whose print format is not understood: every field and its value."""
    shown = ((name, value) for name, value in fields.items() if not name.startswith("common_"))
    return "".join(f" {name}={value}" for name, value in shown)
