"""Mangled names to what programmers wrote: C++ (Itanium), Rust (legacy and v0), Swift; spelled as perf spells them.

pydemumble knows the grammars and prints as LLVM does; perf, c++filt and pprof print as GNU does, so C++ names are
respelled (``gnu_spelling``, and ``[clone .part.0]`` here). ``simple`` drops what is not part of the name: the list
of parameters, the return type, the qualifiers; ``c++filt -p`` is the model.
"""

import re
from enum import StrEnum
from functools import lru_cache


class Demangle(StrEnum):
    """What ``--demangle`` chooses."""

    FULL = "full"
    SIMPLE = "simple"
    NONE = "none"


_MANGLED = re.compile(r"_{1,2}Z|_R[A-Z]|_?\$[sS]|@__swiftmacro_")
_RUST_LEGACY = re.compile(r"^_{1,2}ZN.*17h[0-9a-f]{16}E(?:\.|$)")
_RUST_SUFFIX = re.compile(r"\.llvm\.[0-9A-Za-z]+$")
_CLONES = re.compile(r" \(((?:\.[^() ]+)+)\)$")
_LIKE_A_HASH = re.compile(r"(?<!\d)(\d+)(h[0-9a-f]*)(?=E)")
_MARK = "perf2x_"
"""pydemumble takes a last word of h and hexadecimal digits for Rust's hash and drops it, in C++ names too:
``Queue::head()``, ``Codec::h264()``. With the mark in front it does not look like one.
"""
_TRANSACTION = ("_ZGTt", "_ZGTn")
_QUALIFIERS = re.compile(r"(?:\s*(?:const|volatile|noexcept|&&|&))+$")


@lru_cache(maxsize=1 << 16)
def demangle(name: str, style: Demangle = Demangle.SIMPLE) -> str:
    """The readable form of a symbol's name; names that are not mangled, or not understood, come back as they are."""
    if style is Demangle.NONE or not _MANGLED.match(name):
        return name
    if name.startswith("_R") or _RUST_LEGACY.match(name):
        return _raw(_RUST_SUFFIX.sub("", name)) or name
    plain, at, version = name.partition("@")
    readable = _raw(plain)
    if not readable:
        return name
    if not plain.lstrip("_").startswith("Z"):
        return readable + at + version
    from perf2x.symbolize.gnu_spelling import gnu_spelling  # of no use to C

    readable, clones = _split_clones(readable)
    readable = gnu_spelling(readable, plain)
    return (without_parameters(readable) if style is Demangle.SIMPLE else readable) + clones + at + version


def _raw(name: str) -> str:
    import pydemumble

    if not name.isascii():
        return ""
    if name.startswith(_TRANSACTION):  # a GNU extension that LLVM does not know
        inner = str(pydemumble.demangle("_Z" + name[len("_ZGTt") :]))
        return f"transaction clone for {inner}" if inner else ""
    readable = str(pydemumble.demangle(name))
    if "UlT_" in name:
        from perf2x.symbolize.generic_lambdas import written_out

        if (other := written_out(name, readable, pydemumble.demangle)) != name:
            readable = str(pydemumble.demangle(other)) or readable
    for match in () if _RUST_LEGACY.match(name) else _LIKE_A_HASH.finditer(name):
        word = match[2]
        if len(word) == int(match[1]) and not re.search(rf"::{word}\b", readable):
            component = f"{len(_MARK + word)}{_MARK}{word}"
            marked = str(pydemumble.demangle(name[: match.start()] + component + name[match.end() :]))
            if f"::{_MARK}{word}" in marked:
                return marked.replace(_MARK, "")
    return readable


def _split_clones(readable: str) -> tuple[str, str]:
    """``f() (.constprop.0.cold)`` to ``f()`` and `` [clone .constprop.0] [clone .cold]``."""
    match = _CLONES.search(readable) if " (." in readable else None
    if match is None:
        return readable, ""
    parts = re.findall(r"\.[A-Za-z_][^.]*(?:\.\d+)*", match.group(1)) or [match.group(1)]
    return readable[: match.start()], "".join(f" [clone {part}]" for part in parts)


def without_parameters(readable: str) -> str:
    """``void* ns::f<A>(void*) const`` to ``ns::f<A>``; thunks, tables and data keep every word."""
    from perf2x.symbolize.gnu_spelling import SPECIAL, name_start, opening

    if SPECIAL.match(readable):
        return readable
    text = readable if readable.endswith(")") else _QUALIFIERS.sub("", readable)
    at = opening(text, len(text) - 1) if text.endswith(")") else -1
    if at <= 0:
        return readable
    head = text[:at]
    if head.endswith(")") and (inner := opening(head, len(head) - 1)) > 0 and head[inner + 1] in "*&":
        return without_parameters(head[inner + 1 : -1].lstrip("*&"))
    return head[name_start(head) :]
