"""Shorten demangled Rust names: generic arguments are abbreviated, the types that traits are implemented for stay."""

import re

_LEVELS = 12


def _nested(levels: int) -> str:
    """A regular expression for a list and the lists in it; the arrow of a function's type closes none."""
    inner = f"|{_nested(levels - 1)}" if levels else ""
    return rf"<(?:[^<>-]++|->|-{inner})*+>"


_ARGUMENTS = re.compile(rf"(?<=[\w}}])(?:::)?(?=<(?!impl )){_nested(_LEVELS)}")
"""A list behind a name. One at the start of a path is a type, ``<T as Trait>``, and ``::<impl A for B>`` is a block."""
_MAX_PASSES = 8


def short_rust(readable: str) -> str:
    """Reduce ``<alloc::vec::Vec<T> as Extend<T>>::extend::<I>`` to ``<alloc::vec::Vec<…> as Extend<…>>::extend<…>``.

    A pass abbreviates lists in up to a dozen levels; deeper ones take another.
    """
    for _ in range(_MAX_PASSES if "<" in readable else 0):
        before, readable = readable, _ARGUMENTS.sub("<…>", readable)
        if len(before) - len(readable) < _LEVELS or readable.count("<") < 3:
            break
    return readable
