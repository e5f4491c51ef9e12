"""Abbreviates lists of template arguments in readable names: ``f<int, A<B> >`` becomes ``f<…>``."""

import re

ABBREVIATED = "<…>"
_LEVELS = 12
_LONGEST = 1 << 12
"""Maximum length of names for one expression, which may start again at every bracket; longer ones are read by bracket.
"""
_TOKEN = re.compile(
    r"\boperator\s*(?:\(\)|\[\]|<=>|<<=?(?!=)|>>=?|<=|>=|->\*?|<|>)|->|(?<!operator\(\))(?<=\))(?:<[<=]?|>>|>=)(?=\()|[<({\[]|[>)}\]]"
)
"""Brackets, and operators that look like brackets."""
_COMPARED = re.compile(r"\)[<>]")
"""What may be a comparison, ``((a)>(b))``, in names with two adjacent opening parentheses."""
_PAIRS = {">": "<", ")": "(", "}": "{", "]": "["}


def _nested(levels: int) -> str:
    """Return a regular expression for a list and the lists in it; it never backtracks."""
    return rf"<(?:[^<>]++|{_nested(levels - 1)})*+>" if levels else "<[^<>]*+>"


_LIST = re.compile(_nested(_LEVELS))


def abbreviate(text: str) -> str:
    """Replace all outermost lists; operators such as ``<`` and ``->`` stay."""
    if "<" not in text:
        return text
    if len(text) <= _LONGEST and not _has_operators(text):
        result = _LIST.sub(ABBREVIATED, text)
        rest = result.replace(ABBREVIATED, "")
        if "<" not in rest and ">" not in rest:
            return result
    return abbreviate_by_token(text)


def _has_operators(text: str) -> bool:
    """Return whether brackets may be part of operators, which would leave others unmatched."""
    return "operator<" in text or "operator-" in text or ("((" in text and _COMPARED.search(text) is not None)


def abbreviate_by_token(text: str) -> str:
    """Do what ``abbreviate`` does, bracket by bracket."""
    pieces, open_brackets, end, start = [], "", 0, -1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "<({[":
            if token == "<" and "<" not in open_brackets:
                start = match.start()
            open_brackets += token
        elif token in _PAIRS:
            open_brackets = close_bracket(open_brackets, token)
            if start >= 0 and "<" not in open_brackets:
                if token == ">":
                    pieces += [text[end:start], ABBREVIATED]
                    end = match.end()
                start = -1
    return "".join([*pieces, text[end:]])


def close_bracket(open_brackets: str, token: str) -> str:
    """Return the brackets still open after ``token``; a ``>`` inside parentheses is "greater", not a bracket."""
    if token == ">":
        return open_brackets[:-1] if open_brackets.endswith("<") else open_brackets
    at = open_brackets.rfind(_PAIRS[token])
    return open_brackets[:at] if at >= 0 else open_brackets
