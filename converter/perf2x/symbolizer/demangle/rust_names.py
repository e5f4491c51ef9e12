"""Demangles Rust's legacy names, ``_ZN 4core 3fmt 17h0123456789abcdef E``, and shortens demangled Rust names.

A legacy name is a path of escaped identifiers and a hash. Its grammar takes a dozen lines; the library with all
grammars takes 50 ms to load. Source of truth: rustc's compiler/rustc_symbol_mangling/src/legacy.rs.

Shortening abbreviates generic arguments, but keeps the types that traits are implemented for.
"""

import re

_LEVELS = 12


def _nested(levels: int) -> str:
    """Return a regular expression for a list in ``<>`` and the lists in it; the ``>`` of ``->`` closes no list."""
    inner = f"|{_nested(levels - 1)}" if levels else ""
    return rf"<(?:[^<>-]++|->|-{inner})*+>"


_ARGUMENTS = re.compile(rf"(?<=[\w}}])(?:::)?(?=<(?!impl )){_nested(_LEVELS)}")
"""A list of arguments, which follows a name.

Not a list at the start of a path, which is a type, ``<T as Trait>``; and not ``::<impl A for B>``, which is a block.
"""
_MAX_PASSES = 8


def short_rust(readable: str) -> str:
    """Reduce ``<alloc::vec::Vec<T> as Extend<T>>::extend::<I>`` to ``<alloc::vec::Vec<…> as Extend<…>>::extend<…>``.

    One pass abbreviates up to a dozen levels; deeper ones take another pass.
    """
    for _ in range(_MAX_PASSES if "<" in readable else 0):
        before, readable = readable, _ARGUMENTS.sub("<…>", readable)
        if len(before) - len(readable) < _LEVELS or readable.count("<") < 3:
            break
    return readable


_NAME = re.compile(r"_{1,2}ZN([0-9A-Za-z_$.]+)17h[0-9a-f]{16}E((?:\.[0-9A-Za-z_]+)*)", re.ASCII)
_LENGTH = re.compile(r"[1-9][0-9]{0,3}")
_ESCAPE = re.compile(r"\$([A-Z]+|u[0-9a-f]+)\$|\.\.")
_TEXTS = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}


def rust_legacy(name: str) -> str:
    """Return the path without its hash; "" if the name is not a plain legacy name."""
    whole = _NAME.fullmatch(name)
    parts = _identifiers(whole.group(1)) if whole else []
    # GNU leaves dots after the last escape unchanged; no compiler writes such names
    if whole is None or any(".." in part.rpartition("$")[2] for part in parts):
        return ""
    readable = [_ESCAPE.sub(_unescaped, part[1:] if part.startswith("_$") else part) for part in parts]
    if not parts or any("$" in part for part in readable):
        return ""
    return "::".join(readable) + whole.group(2)


def _identifiers(text: str) -> list[str]:
    """Split a path into identifiers, each preceded by its length; [] if a length is wrong."""
    parts, at = [], 0
    while number := _LENGTH.match(text, at):
        at = number.end() + int(number.group())
        parts.append(text[number.end() : at])
    return parts if at == len(text) else []


def _unescaped(escape: re.Match[str]) -> str:
    """Return the text of an escape; the escape itself if it is unknown."""
    code = escape.group(1)
    if code is None:
        return "::"
    if code.startswith("u"):
        return chr(int(code[1:], 16)) if len(code) <= 5 and 0x20 <= int(code[1:], 16) < 0x7F else escape.group()
    return _TEXTS.get(code, escape.group())
