"""Demangles C++ (Itanium), Rust (legacy and v0), Swift and OCaml names to the spelling that perf prints.

perf, c++filt and pprof print C++ names as GNU's demangler does. The package ``demangle`` has that spelling and all
grammars but is written in Python: 80 µs per name. ``pycxxfilt``, LLVM's demangler, takes 2 µs. It is used only for
names that LLVM is known to print as GNU does (``_native``, ``_short_native``), so that names do not depend on whether
it is installed.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType

_MANGLED = re.compile(r"_{1,2}Z|_R[A-Z]|_?\$[sS]|@__swiftmacro_")
_OCAML = re.compile(r"caml(?=[A-Z][\w$.]*$)")
_OCAML_PART = re.compile(r"__(?=.)|\$([0-9a-f]{2})", re.ASCII)
_RUST_LEGACY = re.compile(r"^_{1,2}ZN.*17h[0-9a-f]{16}E(?:\.|$)")
_RUST_SUFFIX = re.compile(r"\.llvm\.[0-9A-Za-z]+(?=\.|$)")
_CLONES = re.compile(r"(?:\.[A-Za-z_]+(?:\.\d+)*)+")
_CLONE = re.compile(r"\.[A-Za-z_]+(?:\.\d+)*")

_GO_SHAPES = re.compile(r"\[(?:[^\[\]]++|\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\])*+\]")

_MANGLED_DIFFERENCES = re.compile(r"X|JE|U[abtl]|D[nv]|GT[tn]|S[bdios][CD]\d")
"""Parts of mangled C++ names that GNU and LLVM may print differently; identifiers may contain them by chance.

Expressions, empty packs, lambdas and unnamed types, nullptr, vectors, transaction clones, constructors of abbreviated
classes.
"""
_PRINTED_DIFFERENCES = re.compile(
    r"['\[{]|operator(?:[<>-]| (?!new|delete))|decltype|requires|nullptr|complex|imaginary|restrict|noexcept|::friend |"
    r"objc|\bauto\b|enable_if:|thread-local|reference temp|(?:const|volatile) (?:const|volatile)|[*&] \(|&[A-Za-z(]|"
    r"(?<!namespace)\)(?: const| volatile| &+)*::|(?<![\w:])T\d*(?![\w:<])"
)
"""Parts of names printed by LLVM that GNU may print differently.

T is a parameter of a constrained template, for which LLVM does not know the argument.
"""
_CLOSING = re.compile(r">(?=>)")
_REFERENCE = re.compile(r"[STB][0-9A-Za-z]*_")
_MEMBER = re.compile(r"Xsr((?:St|NS[0-9A-Z]*_)?\d+[A-Za-z_]\w*?I(?:[a-z]|[ST][0-9A-Z]*_)+EE?)(\d{1,3})([a-z_]+)E")
"""A member of a class template in an expression: the class, and the length and text of the member's name."""
_MAX_REFERENCES, _MAX_LENGTH = 30, 1 << 15
"""Maximum number of references in a mangled name for LLVM's demangler, and maximum length of the result.

That demangler has no limits of its own, and each reference may repeat everything before it. Beyond these limits,
``demangle`` is used, which eventually gives up.
"""


@lru_cache(maxsize=1 << 16)
def full_name(name: str) -> str:
    """Demangle a symbol's name; names that are not mangled, or cannot be read, are returned unchanged."""
    if not _MANGLED.match(name):
        return _without_ocaml(name)
    if _is_rust(name):
        return _readable(_RUST_SUFFIX.sub("", name)) or name
    plain, at, version = _split_version(name)
    readable = _readable(plain)
    return readable + at + version if readable else name


@lru_cache(maxsize=1 << 16)
def short_name(name: str) -> str:
    """Demangle a symbol's name, and remove everything that does not distinguish functions in the source."""
    if not _MANGLED.match(name):
        return _without_shapes(_without_ocaml(name))
    if _is_rust(name):
        from perf2x.symbolizer.demangle.rust_names import short_rust  # not needed for C programs

        return short_rust(full_name(name))
    if not name.lstrip("_").startswith("Z"):
        return full_name(name)
    plain, at, version = _split_version(name)
    return (_short_native(plain) or _short_portable(plain)) + at + version


def _short_native(name: str) -> str:
    """Return a short C++ name from LLVM's output, "" if GNU's may differ.

    Most differences between the two are in parts that short names omit.
    """
    if not name.isascii() or not (parts := _split_clones(name)):
        return ""
    from perf2x.symbolizer.demangle.short_cxx_names import short_by_llvm  # not needed for C programs

    mangled, clones = parts
    short = short_by_llvm(_printed_by_llvm(mangled) or _printed_without_members(mangled))
    return short + clones if short else ""


def _short_portable(name: str) -> str:
    full = full_name(name)
    if full == name:
        return name
    from perf2x.symbolizer.demangle.short_cxx_names import short_cxx  # not needed for C programs

    return short_cxx(full)


def _is_rust(name: str) -> bool:
    return name.startswith("_R") or ("17h" in name and _RUST_LEGACY.match(name) is not None)


def _split_version(name: str) -> tuple[str, str, str]:
    """Split a name into name, "@" and the rest: a version or ``plt``."""
    return name.partition("@") if not name.startswith("@") else (name, "", "")


def _without_ocaml(name: str) -> str:
    """Spell an OCaml name as in the source.

    A symbol has ``__`` in place of the dot after a module, and ``$`` and two digits in place of other characters
    (asmcomp and backend in OCaml's sources).
    """
    prefix = _OCAML.match(name)
    if prefix is None:
        return name
    return _OCAML_PART.sub(lambda part: chr(int(part[1], 16)) if part[1] else ".", name[prefix.end() :])


def _without_shapes(name: str) -> str:
    """Return a Go function without its type arguments, ``f[...]``, as in Go's own tables."""
    return _GO_SHAPES.sub("[...]", name) if "go.shape." in name else name


def _readable(name: str) -> str:
    """Return a mangled name in GNU's spelling, "" if it cannot be read."""
    if not _RUST_LEGACY.match(name):
        return _native(name) or _import_portable()(name)
    from perf2x.symbolizer.demangle.rust_names import rust_legacy  # not needed for C programs

    return rust_legacy(name) or _import_portable()(name)


def _native(name: str) -> str:
    """Return the name as LLVM prints it if GNU prints the same, otherwise ""."""
    if not name.isascii():
        return ""
    if name.startswith("_R"):
        mangled, dot, clones = name.partition(".")
        readable = _printed_by_llvm(mangled)
        return f"{readable}{dot}{clones}" if readable else ""
    parts = _split_clones(name)
    if not parts or _MANGLED_DIFFERENCES.search(parts[0]):
        return ""
    mangled, clones = parts
    readable = _printed_by_llvm(mangled)
    if not readable or _PRINTED_DIFFERENCES.search(readable):
        return ""
    return (_CLOSING.sub("> ", readable) if ">>" in readable else readable) + clones


def _split_clones(name: str) -> tuple[str, str] | None:
    """Split a C++ name from its clones, `` [clone .part.0]``; None if the suffix is not a clone's."""
    mangled, dot, clones = name.partition(".")
    if not dot:
        return mangled, ""
    if not _CLONES.fullmatch(dot + clones):
        return None
    return mangled, "".join(f" [clone {clone}]" for clone in _CLONE.findall(dot + clones))


def _printed_by_llvm(mangled: str) -> str:
    """Return the name as LLVM prints it; "" without the library, and for names it cannot read or that are too large."""
    library = _import_llvm()
    many = mangled.count("_") > _MAX_REFERENCES and len(_REFERENCE.findall(mangled)) > _MAX_REFERENCES
    if library is None or many:
        return ""
    read = library.rust_demangle if mangled.startswith("_R") else library.itanium_demangle
    try:
        readable = str(read(mangled) or "")
    except ValueError:
        return ""
    return readable if len(readable) <= _MAX_LENGTH else ""


def _printed_without_members(mangled: str) -> str:
    """Return LLVM's output for the name with classes in place of their members; "" if LLVM cannot read that either.

    GCC writes members as arguments, ``XsrSt7is_sameIT_vE5valueE``, in a way that LLVM cannot read. Short names omit
    them.
    """
    plain = _MEMBER.sub(lambda found: found[1] if int(found[2]) == len(found[3]) else found[0], mangled)
    return _printed_by_llvm(plain) if plain != mangled else ""


@cache
def _import_llvm() -> ModuleType | None:
    try:
        return import_module("pycxxfilt")
    except ImportError:  # platforms without a wheel
        return None


@cache
def _import_portable() -> Callable[[str], str]:
    """Return the demangler for all grammars; it returns "" for names that it cannot read."""
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
