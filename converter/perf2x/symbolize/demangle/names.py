"""Mangled names to what programmers wrote: C++ (Itanium), Rust (legacy and v0), Swift; spelled as perf spells them.

perf, c++filt and pprof print C++ names as GNU's demangler does. ``demangle`` knows that spelling and all the grammars,
but is written in Python: 80 µs a name. ``pycxxfilt``, LLVM's demangler, takes 2 µs. Where both are known to print the
same, and only there, LLVM is asked (``_native``); so names do not depend on whether it is installed. ``simple`` drops
what is not part of the name: the list of parameters, the return type, the qualifiers; ``c++filt -p`` is the model.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType


class Demangle(StrEnum):
    """What ``--demangle`` chooses."""

    FULL = "full"
    SIMPLE = "simple"
    NONE = "none"


_MANGLED = re.compile(r"_{1,2}Z|_R[A-Z]|_?\$[sS]|@__swiftmacro_")
_RUST_LEGACY = re.compile(r"^_{1,2}ZN.*17h[0-9a-f]{16}E(?:\.|$)")
_RUST_SUFFIX = re.compile(r"\.llvm\.[0-9A-Za-z]+(?=\.|$)")
_CLONES = re.compile(r"(?:\.[A-Za-z_]+(?:\.\d+)*)+")
_CLONE = re.compile(r"\.[A-Za-z_]+(?:\.\d+)*")

_SPELLED_APART = re.compile(r"X|JE|U[abtl]|D[nv]|GT[tn]|S[bdios][CD]\d")
"""Parts of mangled C++ names that GNU and LLVM may print differently: expressions, empty packs, lambdas and unnamed
types, nullptr, vectors, transaction clones, constructors of abbreviated classes. Identifiers may hold them by chance.
"""
_PRINTED_APART = re.compile(
    r"['\[{]|operator(?:[<>-]| (?!new|delete))|decltype|requires|nullptr|complex|imaginary|restrict|noexcept|friend|"
    r"objc|\bauto\b|enable_if:|thread-local|reference temp|(?:const|volatile) (?:const|volatile)|[*&] \(|&[A-Za-z(]|"
    r"(?<!namespace)\)(?: const| volatile| &+)*::"
)
"""The same for what LLVM printed: where it holds any of this, GNU's text may be another."""
_CLOSING = re.compile(r">(?=>)")
_REFERENCE = re.compile(r"[STB][0-9A-Za-z]*_")
_REFERENCES, _LONGEST = 30, 1 << 15
"""LLVM's demangler has no bound, and each reference may repeat all that came before. Names with more references, or
with longer texts, are left to ``demangle``, which gives up in time.
"""


@lru_cache(maxsize=1 << 16)
def demangle(name: str, style: Demangle = Demangle.SIMPLE) -> str:
    """The readable form of a symbol's name; names that are not mangled, or not understood, come back as they are."""
    if style is Demangle.NONE or not _MANGLED.match(name):
        return name
    if name.startswith("_R") or _RUST_LEGACY.match(name):
        return _readable(_RUST_SUFFIX.sub("", name)) or name
    plain, at, version = name.partition("@") if not name.startswith("@") else (name, "", "")
    readable = _readable(plain)
    if not readable:
        return name
    if style is Demangle.SIMPLE and plain.lstrip("_").startswith("Z"):
        from perf2x.symbolize.demangle.parameters import without_parameters  # of no use to C

        readable, clone, clones = readable.partition(" [clone ")
        readable = without_parameters(readable) + clone + clones
    return readable + at + version


def _readable(name: str) -> str:
    """A mangled name in GNU's spelling, "" for one that cannot be read."""
    if not _RUST_LEGACY.match(name):
        return _native(name) or _portable()(name)
    from perf2x.symbolize.demangle.rust_legacy import rust_legacy  # of no use to C

    return rust_legacy(name) or _portable()(name)


def _native(name: str) -> str:
    """What LLVM prints, where it is what GNU prints; "" elsewhere."""
    library = _llvm()
    if library is None or not name.isascii() or _is_tangled(name):
        return ""
    mangled, dot, clones = name.partition(".")
    try:
        if name.startswith("_R"):
            readable = library.rust_demangle(mangled)
            return f"{readable}{dot}{clones}" if readable and len(readable) <= _LONGEST else ""
        if _SPELLED_APART.search(mangled) or (dot and not _CLONES.fullmatch(dot + clones)):
            return ""
        readable = str(library.itanium_demangle(mangled) or "")
    except ValueError:
        return ""
    if not readable or len(readable) > _LONGEST or _PRINTED_APART.search(readable):
        return ""
    if ">>" in readable:
        readable = _CLOSING.sub("> ", readable)
    return readable + "".join(f" [clone {clone}]" for clone in _CLONE.findall(dot + clones)) if dot else readable


def _is_tangled(name: str) -> bool:
    return name.count("_") > _REFERENCES and len(_REFERENCE.findall(name)) > _REFERENCES


@cache
def _llvm() -> ModuleType | None:
    try:
        return import_module("pycxxfilt")
    except ImportError:  # platforms that have no wheel of it
        return None


@cache
def _portable() -> Callable[[str], str]:
    """Name to text, "" for one that cannot be read, by the library that reads everything."""
    from demangle import demangle, style  # 50 ms

    gnu = style("gnu", itanium={"expand_std_abbreviations": False})

    def read(name: str) -> str:
        readable = demangle(name, language=("itanium", "rust", "swift"), style=gnu)
        if readable == name:
            return ""
        return readable.replace("char_traits<char>>", "char_traits<char> >").replace(
            "allocator<char>>", "allocator<char> >"
        )

    return read
