"""Function templates with a generic lambda among their arguments: ``std::sort(…, [](auto a, auto b) …)``.

In the lambda's own list ``T_`` means ``auto``, behind it the template's argument, and GCC abbreviates both by one
substitution (``S9_``). GNU's demangler looks the argument up where it prints it, LLVM's says ``auto`` everywhere. Here
such substitutions are written out as ``T_`` again, before LLVM is asked.
"""

import re
from collections.abc import Callable

_LAMBDA = re.compile(r"Ul((?:T\d*_)+)")
_SUBSTITUTION = re.compile(r"S([0-9A-Z]*)_")
TRIED_AT_MOST, LONGEST = 8, 4096
"""Substitutions and steps back that are tried for one name, and its length; what is beyond stays as LLVM has it, and so
does the lambda's own ``operator()``.
"""


def written_out(name: str, readable: str, demangle: Callable[[str], str]) -> str:
    """``name`` with its parameters spelled as template parameters, or as it is where nothing is abbreviated so."""
    lambdas = list(_LAMBDA.finditer(name))
    if (
        not lambdas
        or len(name) > LONGEST
        or "auto" not in readable
        or lambdas[-1][1] != _parameters(lambdas[-1][1].count("_"))
    ):
        return name
    head, tail = name[: lambdas[-1].end()], name[lambdas[-1].end() :]
    numbers = sorted({_number(match[1]) for match in _SUBSTITUTION.finditer(tail)})
    meant = {}
    for number in numbers[:TRIED_AT_MOST]:
        if (index := _parameter(head, tail, number, demangle)) >= 0:
            meant[number] = _parameters(index + 1).rpartition("T")[2]
    found = [_number(match[1]) for match in _SUBSTITUTION.finditer(tail)]
    first = next((row for row, number in enumerate(found) if number in meant), len(found))
    if max(found[first:], default=0) > max(meant, default=-1):  # what is written out would count anew behind it
        return name
    return head + _SUBSTITUTION.sub(
        lambda match: f"T{meant[n]}" if (n := _number(match[1])) in meant else match[0], tail
    )


def _parameter(head: str, tail: str, number: int, demangle: Callable[[str], str]) -> int:
    """Which of the lambda's parameters a substitution of ``tail`` stands for, −1 for none of them.

    It is one of them when ``auto`` gets rarer as something else stands in its place; the first is the lowest such one.
    """
    autos = demangle(head + _put(tail, number, "c")).count("auto")
    for index in range(TRIED_AT_MOST):
        before = number - index
        text = demangle(head + _put(tail, number, _token(before))) if before >= 0 else ""
        if text.count("auto") <= autos:
            return index - 1
    return -1


def _put(tail: str, number: int, other: str) -> str:
    return _SUBSTITUTION.sub(lambda match: other if _number(match[1]) == number else match[0], tail)


def _parameters(count: int) -> str:
    return "".join(f"T{'' if index == 0 else index - 1}_" for index in range(count))


def _number(digits: str) -> int:
    return int(digits, 36) + 1 if digits else 0


def _token(number: int) -> str:
    digits, left = "", number - 1
    while left >= 0 and number:
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[left % 36] + digits
        left = left // 36 - (left < 36)
    return f"S{digits}_"
