"""Abbreviates lists of template arguments in demangled names: ``f<int, A<B> >`` becomes ``f<…>``.

One regular expression handles most names. Names with operators, very deep lists and very long ones are read bracket by
bracket, which is slower.
"""

import re

ABBREVIATED = "<…>"
_MAX_DEPTH = 12  # of nested lists that the expression matches
_MAX_LENGTH = 1 << 12
"""A longer name is not matched, because the expression takes quadratic time if brackets are unbalanced."""
# Brackets, and operators that contain characters of brackets.
_TOKEN = re.compile(
    r"\boperator\s*(?:\(\)|\[\]|<=>|<<=?(?!=)|>>=?|<=|>=|->\*?|<|>)|->|(?<!operator\(\))(?<=\))(?:<[<=]?|>>|>=)(?=\()|[<({\[]|[>)}\]]"
)
# The operator in a comparison of two expressions, ``((a)>(b))``.
_COMPARISON = re.compile(r"\)[<>]")
_OPENING = {">": "<", ")": "(", "}": "{", "]": "["}


def _nested_list(depth: int) -> str:
    """Return an expression for a list with at most ``depth`` levels of lists in it; it never backtracks."""
    return rf"<(?:[^<>]++|{_nested_list(depth - 1)})*+>" if depth else "<[^<>]*+>"


_LIST = re.compile(_nested_list(_MAX_DEPTH))


def abbreviate(text: str) -> str:
    """Replace each list that is not inside another one by ``<…>``; operators such as ``<`` and ``->`` stay."""
    if "<" not in text:
        return text
    if len(text) <= _MAX_LENGTH and not _has_operators(text):
        result = _LIST.sub(ABBREVIATED, text)
        outside_lists = result.replace(ABBREVIATED, "")
        if "<" not in outside_lists and ">" not in outside_lists:
            return result
    return abbreviate_by_token(text)


def _has_operators(text: str) -> bool:
    return "operator<" in text or "operator-" in text or ("((" in text and _COMPARISON.search(text) is not None)


def abbreviate_by_token(text: str) -> str:
    """Do the same as ``abbreviate``, bracket by bracket."""
    # copied_end: end of the text in ``pieces``; list_start: start of the outermost open list, −1 for none
    pieces, open_brackets, copied_end, list_start = [], "", 0, -1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "<({[":
            if token == "<" and "<" not in open_brackets:
                list_start = match.start()
            open_brackets += token
        elif token in _OPENING:
            open_brackets = close_bracket(open_brackets, token)
            if list_start >= 0 and "<" not in open_brackets:
                if token == ">":
                    pieces += [text[copied_end:list_start], ABBREVIATED]
                    copied_end = match.end()
                list_start = -1
    return "".join([*pieces, text[copied_end:]])


def close_bracket(open_brackets: str, token: str) -> str:
    """Return the brackets that are still open after the closing bracket ``token``, outermost first.

    A ``>`` closes only a ``<`` that was opened last; otherwise it is an operator. The other tokens also close what was
    opened after their own opening bracket.
    """
    if token == ">":
        return open_brackets[:-1] if open_brackets.endswith("<") else open_brackets
    index = open_brackets.rfind(_OPENING[token])
    return open_brackets[:index] if index >= 0 else open_brackets
