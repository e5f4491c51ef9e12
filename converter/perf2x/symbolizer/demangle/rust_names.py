"""Demangles Rust's legacy names, ``_ZN 4core 3fmt 17h0123456789abcdef E``, and shortens demangled Rust names.

A real name has no spaces. The package ``demangle`` reads these names, too, but takes 50 ms to import. Source of truth:
rustc's compiler/rustc_symbol_mangling/src/legacy.rs.
"""

import re

_MAX_DEPTH = 12  # of nested lists that are abbreviated in one pass


def _nested_list(depth: int) -> str:
    """Return an expression for a list with at most ``depth`` levels in it; the ``>`` of ``->`` does not end a list."""
    inner = f"|{_nested_list(depth - 1)}" if depth else ""
    return rf"<(?:[^<>-]++|->|-{inner})*+>"


_ARGUMENTS = re.compile(rf"(?<=[\w}}])(?:::)?(?=<(?!impl )){_nested_list(_MAX_DEPTH)}")
"""A list of generic arguments, which comes after a name.

Neither ``<T as Trait>`` at the start of a path nor the impl block ``::<impl A for B>`` matches.
"""
_MAX_PASSES = 8  # for lists with up to about a hundred levels


def short_rust(readable: str) -> str:
    """Reduce ``<alloc::vec::Vec<T> as Extend<T>>::extend::<I>`` to ``<alloc::vec::Vec<…> as Extend<…>>::extend<…>``.

    A list with more than ``_MAX_DEPTH`` levels takes several passes.
    """
    for _ in range(_MAX_PASSES if "<" in readable else 0):
        before, readable = readable, _ARGUMENTS.sub("<…>", readable)
        # Only a list that was too deep needs another pass. From such a list, this pass has removed at least _MAX_DEPTH
        # characters, and it has left at least three "<".
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
    """Demangle a legacy name, without the hash; "" for other names and unusual escapes."""
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
    """Split ``4core3fmt`` into ``core`` and ``fmt``; return [] if the lengths do not add up."""
    identifiers, position = [], 0
    while length := _LENGTH.match(path, position):
        position = length.end() + int(length.group())
        identifiers.append(path[length.end() : position])
    return identifiers if position == len(path) else []


def _unescaped(escape: re.Match[str]) -> str:
    code = escape.group(1)
    if code is None:
        return "::"
    if code.startswith("u"):
        return chr(int(code[1:], 16)) if len(code) <= 5 and 0x20 <= int(code[1:], 16) < 0x7F else escape.group()
    return _ESCAPED.get(code, escape.group())
