"""Tokens of a tracepoint's ``print fmt``: literals, numbers, names and punctuation of C."""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<letter>'(?:[^'\\]|\\.)')|(?P<sign>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(){}\[\],.]))"
)
_TYPES = re.compile(r"(?:unsigned|signed|long|int|char|short|void|struct|union|const|bool|(?:__)?[us](?:8|16|32|64)"
                    r"|__[lb]e\d+|uintptr_t|uint|ulong|u?int(?:8|16|32|64)_t"
                    r"|(?:size|pid|loff|dev|ino|gfp|sector)_t)")  # fmt: skip
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}


class PrintFormatError(Exception):
    """A print format that is not supported."""


class Tokens:
    """Tokens of a format, in order."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    @property
    def kind(self) -> str:
        """Kind of the next token, "" after the last one."""
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    @property
    def text(self) -> str:
        """Text of the next token."""
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def next(self) -> str:
        """Return the next token, of any kind, and advance."""
        text = self.text
        self._at += 1
        return text

    def take(self, kind: str) -> str:
        """Return the next token, which must be of this kind, and advance."""
        if self.kind != kind:
            raise PrintFormatError(self.text)
        return self.next()

    def accept(self, sign: str) -> bool:
        """Skip the next token if it is this sign; return whether it was."""
        found = self.text == sign and self.kind in ("sign", "name")
        self._at += found
        return found

    def expect(self, sign: str) -> None:
        """Skip this sign. Raises PrintFormatError if the next token is another one."""
        if not self.accept(sign):
            raise PrintFormatError(f"{sign} expected, not {self.text}")

    def is_cast(self) -> bool:
        """Return whether an opening parenthesis begins a cast: to a known type, or to any name before an operand."""
        ahead = self._tokens[self._at + 1 : self._at + 4]
        if self.text != "(" or not ahead or ahead[0][0] != "name":
            return False
        operand = len(ahead) == 3 and ahead[1][1] == ")" and (ahead[2][0] in ("name", "number") or ahead[2][1] == "(")
        return operand or _TYPES.fullmatch(ahead[0][1]) is not None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise PrintFormatError(text[at : at + 20])
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def unescaped(literal: str) -> str:
    """Return the text of a literal."""
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), literal[1:-1])


def strings(tokens: Tokens) -> str:
    """Return adjacent literals as one text, and advance."""
    literal = unescaped(tokens.take("string"))
    while tokens.kind == "string":
        literal += unescaped(tokens.next())
    return literal
