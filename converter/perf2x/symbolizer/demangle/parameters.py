"""Strip parameters, return type and qualifiers from a C++ declaration, as ``c++filt -p`` does."""

import re

from perf2x.symbolizer.demangle.brackets import close_bracket

_QUALIFIERS = re.compile(r"(?:\s*(?:const|volatile|noexcept|&&|&))+$")
_TOKEN = re.compile(r"(?<=\))<<(?=\()|\boperator\s*(?:\(\)|\[\]|<=>|<<=?|>>=?|<=|>=|->\*?|<|>)|[<({\[]|[>)}\]]| ")
SPECIAL = re.compile(
    r"(?:(?:construction )?vtable|VTT|typeinfo(?: name| fn)?|guard variable|(?:non-virtual|virtual|covariant return) "
    r"thunk|reference temporary.*|TLS (?:init|wrapper) function|thread-local \w+ routine|transaction clone|"
    r"template parameter object|initializer) (?:for|to) "
)
"""Prefixes of names that are not those of functions."""


def without_parameters(readable: str) -> str:
    """Reduce ``void* ns::f<A>(void*) const`` to ``ns::f<A>``; names of thunks, tables and data stay as they are."""
    if SPECIAL.match(readable):
        return readable
    before, _, _ = readable.partition(" requires ")
    if before.count("{") == before.count("}"):
        readable = before
    text = readable if readable.endswith(")") else _QUALIFIERS.sub("", readable)
    at = find_opening(text, len(text) - 1) if text.endswith(")") else -1
    if at <= 0:
        return readable
    head = text[:at]
    if head.endswith(")") and (inner := find_opening(head, len(head) - 1)) > 0 and head[inner + 1] in "*&":
        return without_parameters(head[inner + 1 : -1].lstrip("*&"))
    return head[_name_start(head) :]


def find_opening(text: str, closing: int) -> int:
    """Index of the parenthesis that matches the one at ``closing``; −1 if there is none."""
    depth, end = 0, closing + 1
    while (at := text.rfind("(", 0, end)) >= 0:
        depth += text.count(")", at, end) - 1
        if depth == 0:
            return at
        end = at
    return -1


def _name_start(head: str) -> int:
    """Index of the name after its return type: behind the last space outside all brackets.

    A space after ``operator`` belongs to the name (``operator new``, ``operator int``), as does the rest.
    """
    if " " not in head:
        return 0
    start, open_brackets = 0, ""
    for match in _TOKEN.finditer(head):
        token = match.group()
        if token == " " and not open_brackets:
            if head[: match.start()].endswith(("operator", "operator<<", "operator<")):
                break
            start = match.end()
        elif token in "<({[":
            open_brackets += token
        elif token in ")]}>":
            open_brackets = close_bracket(open_brackets, token)
    return start
