"""Splits a tracepoint's ``print fmt`` into C tokens."""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<character>'(?:[^'\\]|\\.)')|(?P<punctuator>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(){}\[\],.]))"
)
# the first word of a type in a cast
_TYPES = re.compile(r"(?:unsigned|signed|long|int|char|short|void|struct|union|const|bool|(?:__)?[us](?:8|16|32|64)"
                    r"|__[lb]e\d+|uintptr_t|uint|ulong|u?int(?:8|16|32|64)_t"
                    r"|(?:size|pid|loff|dev|ino|gfp|sector)_t)")  # fmt: skip
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}


class PrintFormatError(Exception):
    """A print format is not supported; the message is the text that caused it, or what was expected."""


class Tokens:
    """Hands out the tokens of a format in order."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._next = 0

    @property
    def kind(self) -> str:
        """Kind of the next token: a group of ``_TOKEN``, such as "name"; "" after the last token."""
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    @property
    def text(self) -> str:
        """The next token itself; "" after the last one."""
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def next(self) -> str:
        """Return the next token, of any kind, and advance."""
        text = self.text
        self._next += 1
        return text

    def take(self, kind: str) -> str:
        """Return the next token and advance. Raises PrintFormatError for another kind."""
        if self.kind != kind:
            raise PrintFormatError(self.text)
        return self.next()

    def accept(self, punctuator: str) -> bool:
        """Advance if this punctuator or name comes next; return whether it does."""
        is_next = self.text == punctuator and self.kind in ("punctuator", "name")
        self._next += is_next
        return is_next

    def expect(self, punctuator: str) -> None:
        """Advance past this punctuator or name. Raises PrintFormatError for another token."""
        if not self.accept(punctuator):
            raise PrintFormatError(f"{punctuator} expected, not {self.text}")

    def is_at_cast(self) -> bool:
        """Return whether the next token opens a cast.

        A cast begins with a word of C's or the kernel's types, as in ``(unsigned long)x``, or it is one name in
        brackets before an operand, as in ``(my_type)x``.
        """
        ahead = self._tokens[self._next + 1 : self._next + 4]
        if self.text != "(" or not ahead or ahead[0][0] != "name":
            return False
        has_operand = (
            len(ahead) == 3 and ahead[1][1] == ")" and (ahead[2][0] in ("name", "number") or ahead[2][1] == "(")
        )
        return has_operand or _TYPES.fullmatch(ahead[0][1]) is not None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    offset = 0
    text = text.rstrip()
    while offset < len(text):
        token = _TOKEN.match(text, offset)
        if token is None or token.lastgroup is None:
            raise PrintFormatError(text[offset : offset + 20])
        yield token.lastgroup, token[token.lastgroup]
        offset = token.end()


def unescaped(literal: str) -> str:
    """Remove a literal's quotes, and replace its escape sequences."""
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), literal[1:-1])


def adjacent_strings(tokens: Tokens) -> str:
    """Read the next string literals, and join them as C does."""
    literal = unescaped(tokens.take("string"))
    while tokens.kind == "string":
        literal += unescaped(tokens.next())
    return literal
