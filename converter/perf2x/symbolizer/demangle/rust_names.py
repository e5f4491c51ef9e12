"""Demangles Rust's legacy names, ``_ZN 4core 3fmt 17h0123456789abcdef E``, and shortens demangled Rust names.

A legacy name is a path of escaped identifiers and a hash, without the spaces shown above. Its grammar takes a dozen
lines; the library with all grammars takes 50 ms to load. Source of truth: rustc's
compiler/rustc_symbol_mangling/src/legacy.rs.

Shortening abbreviates generic arguments, but keeps the types that traits are implemented for.
"""

import re

_MAX_DEPTH = 12  # of nested lists that are abbreviated in one pass


def _nested_list(depth: int) -> str:
    """Return a regular expression for a list in ``<>`` that has at most ``depth`` levels of lists in it.

    The ``>`` of an arrow ``->`` does not end a list.
    """
    inner = f"|{_nested_list(depth - 1)}" if depth else ""
    return rf"<(?:[^<>-]++|->|-{inner})*+>"


_ARGUMENTS = re.compile(rf"(?<=[\w}}])(?:::)?(?=<(?!impl )){_nested_list(_MAX_DEPTH)}")
"""A list of generic arguments, which comes after a name.

A list at the start of a path is a type, ``<T as Trait>``, and ``::<impl A for B>`` is an impl block: neither matches.
"""
_MAX_PASSES = 8  # for lists with up to about a hundred levels


def short_rust(readable: str) -> str:
    """Reduce ``<alloc::vec::Vec<T> as Extend<T>>::extend::<I>`` to ``<alloc::vec::Vec<…> as Extend<…>>::extend<…>``.

    A list with more than ``_MAX_DEPTH`` levels takes several passes: each abbreviates the innermost levels.
    """
    for _ in range(_MAX_PASSES if "<" in readable else 0):
        before, readable = readable, _ARGUMENTS.sub("<…>", readable)
        # Another pass is needed only for a list that was too deep, of which this pass abbreviated the innermost
        # levels. That would have removed at least _MAX_DEPTH characters, and left at least three "<": those of the
        # levels outside and that of the abbreviation. (A single level outside is not abbreviated.)
        if len(before) - len(readable) < _MAX_DEPTH or readable.count("<") < 3:
            break
    return readable


# groups: the path, and suffixes such as .cold
_LEGACY_NAME = re.compile(r"_{1,2}ZN([0-9A-Za-z_$.]+)17h[0-9a-f]{16}E((?:\.[0-9A-Za-z_]+)*)", re.ASCII)
_LENGTH = re.compile(r"[1-9][0-9]{0,3}")
# $LT$, $u20$ (a code point), or two dots, which stand for ::
_ESCAPE = re.compile(r"\$([A-Z]+|u[0-9a-f]+)\$|\.\.")
_ESCAPED = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}


def rust_legacy(name: str) -> str:
    """Demangle a legacy name: return its path without the hash, then suffixes such as ``.cold``.

    Returns "" for other names, and for unusual escapes.
    """
    match = _LEGACY_NAME.fullmatch(name)
    identifiers = _identifiers(match.group(1)) if match else []
    # GNU's demangler leaves dots after the last escape unchanged; no compiler writes such names
    if match is None or any(".." in identifier.rpartition("$")[2] for identifier in identifiers):
        return ""
    # an identifier that would begin with an escape has an underscore before it
    readable = [_ESCAPE.sub(_unescaped, part[1:] if part.startswith("_$") else part) for part in identifiers]
    if not identifiers or any("$" in part for part in readable):
        return ""
    return "::".join(readable) + match.group(2)


def _identifiers(path: str) -> list[str]:
    """Split ``4core3fmt`` into ``core`` and ``fmt``; return [] if the lengths do not add up to that of the path."""
    identifiers, position = [], 0
    while length := _LENGTH.match(path, position):
        position = length.end() + int(length.group())
        identifiers.append(path[length.end() : position])
    return identifiers if position == len(path) else []


def _unescaped(escape: re.Match[str]) -> str:
    """Return what an escape stands for; the escape itself if it is unknown."""
    code = escape.group(1)
    if code is None:
        return "::"
    if code.startswith("u"):
        return chr(int(code[1:], 16)) if len(code) <= 5 and 0x20 <= int(code[1:], 16) < 0x7F else escape.group()
    return _ESCAPED.get(code, escape.group())
