"""Demangles C++ (Itanium), Rust (legacy and v0), Swift and OCaml names to the spelling that perf prints.

perf, c++filt and pprof print C++ names as GNU's demangler does. Two libraries are used:

- The package ``demangle`` has that spelling and all grammars, but takes 80 µs per name.
- ``pycxxfilt`` is LLVM's demangler: 2 µs per name, but it spells some names differently.

LLVM's result is used only if GNU's is certainly the same, so names do not depend on whether ``pycxxfilt`` is installed.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType

_MANGLED = re.compile(r"_{1,2}Z|_R[A-Z]|_?\$[sS]|@__swiftmacro_")
_OCAML_PREFIX = re.compile(r"caml(?=[A-Z][\w$.]*$)")
_OCAML_ESCAPE = re.compile(r"__(?=.)|\$([0-9a-f]{2})", re.ASCII)
_RUST_LEGACY = re.compile(r"^_{1,2}ZN.*17h[0-9a-f]{16}E(?:\.|$)")
_RUST_SUFFIX = re.compile(r"\.llvm\.[0-9A-Za-z]+(?=\.|$)")
_CLONE_SUFFIXES = re.compile(r"(?:\.[A-Za-z_]+(?:\.\d+)*)+")
_CLONE_SUFFIX = re.compile(r"\.[A-Za-z_]+(?:\.\d+)*")
# type arguments in brackets, with up to two levels of brackets in them
_GO_TYPE_ARGUMENTS = re.compile(r"\[(?:[^\[\]]++|\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\])*+\]")

_MANGLED_DIFFERENCES = re.compile(r"X|JE|U[abtl]|D[nv]|GT[tn]|S[bdios][CD]\d")
"""Parts of mangled C++ names that GNU and LLVM may print differently.

They are expressions, empty packs, lambdas, unnamed types, attributes (enable_if) and blocks, nullptr and vectors,
transaction clones, and constructors and destructors of abbreviated classes. An identifier may match by chance; then
the slower library is used without need.
"""
_PRINTED_DIFFERENCES = re.compile(
    r"['\[{]|operator(?:[<>-]| (?!new|delete))|decltype|requires|nullptr|complex|imaginary|restrict|noexcept|::friend |"
    r"objc|\bauto\b|enable_if:|thread-local|reference temp|(?:const|volatile) (?:const|volatile)|[*&] \(|&[A-Za-z(]|"
    r"(?<!namespace)\)(?: const| volatile| &+)*::|(?<![\w:])T\d*(?![\w:<])"
)
"""Parts of names printed by LLVM that GNU may print differently.

The last alternative is a parameter of a constrained template (T, T2), whose argument LLVM does not know.
"""
# GNU puts a space between two closing brackets
_CLOSING_BRACKETS = re.compile(r">(?=>)")
# a back reference: a substitution, a template parameter, or one of Rust
_REFERENCE = re.compile(r"[STB][0-9A-Za-z]*_")
# A member of a class template in an expression: the class, and the length and text of the member's name.
_MEMBER = re.compile(r"Xsr((?:St|NS[0-9A-Z]*_)?\d+[A-Za-z_]\w*?I(?:[a-z]|[ST][0-9A-Z]*_)+EE?)(\d{1,3})([a-z_]+)E")
_MAX_REFERENCES, _MAX_LENGTH = 30, 1 << 15
"""Limits for LLVM's demangler, which has none: of references in a mangled name, and of the result's length.

Each reference may repeat everything before it, so the result may grow exponentially.
"""


@lru_cache(maxsize=1 << 16)
def full_name(name: str) -> str:
    """Demangle a symbol's name; names that are not mangled, or cannot be read, are returned unchanged."""
    if not _MANGLED.match(name):
        return _demangled_ocaml(name)
    if _is_rust(name):
        return _demangled(_RUST_SUFFIX.sub("", name)) or name
    mangled, at_sign, version = _split_version(name)
    readable = _demangled(mangled)
    return readable + at_sign + version if readable else name


@lru_cache(maxsize=1 << 16)
def short_name(name: str) -> str:
    """Demangle a name, and remove what does not distinguish functions in the source; Swift names stay full."""
    if not _MANGLED.match(name):
        return _with_abbreviated_shapes(_demangled_ocaml(name))
    if _is_rust(name):
        from perf2x.symbolizer.demangle.rust_names import short_rust

        return short_rust(full_name(name))
    if not name.lstrip("_").startswith("Z"):
        return full_name(name)
    mangled, at_sign, version = _split_version(name)
    return (_short_by_llvm(mangled) or _short_by_gnu(mangled)) + at_sign + version


def _short_by_llvm(name: str) -> str:
    if not name.isascii() or not (parts := _split_clones(name)):
        return ""
    from perf2x.symbolizer.demangle.short_cxx_names import short_by_llvm

    mangled, clones = parts
    short = short_by_llvm(_printed_by_llvm(mangled) or _printed_without_members(mangled))
    return short + clones if short else ""


def _short_by_gnu(name: str) -> str:
    full = full_name(name)
    if full == name:
        return name
    from perf2x.symbolizer.demangle.short_cxx_names import short_cxx

    return short_cxx(full)


def _is_rust(name: str) -> bool:
    return name.startswith("_R") or ("17h" in name and _RUST_LEGACY.match(name) is not None)


def _split_version(name: str) -> tuple[str, str, str]:
    """Split ``memcpy@plt`` into name, "@" and rest; the ``@`` at the start of a Swift macro's name does not count."""
    return name.partition("@") if not name.startswith("@") else (name, "", "")


def _demangled_ocaml(name: str) -> str:
    """Demangle names such as camlStdlib__List__map_123 (asmcomp and backend in OCaml's sources)."""
    prefix = _OCAML_PREFIX.match(name)
    if prefix is None:
        return name
    return _OCAML_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else ".", name[prefix.end() :])


def _with_abbreviated_shapes(name: str) -> str:
    """Change ``f[go.shape.int]`` to ``f[...]``, as in Go's own tables."""
    return _GO_TYPE_ARGUMENTS.sub("[...]", name) if "go.shape." in name else name


def _demangled(name: str) -> str:
    if not _RUST_LEGACY.match(name):
        return _full_by_llvm(name) or _import_portable()(name)
    from perf2x.symbolizer.demangle.rust_names import rust_legacy

    return rust_legacy(name) or _import_portable()(name)


def _full_by_llvm(name: str) -> str:
    if not name.isascii():
        return ""
    if name.startswith("_R"):
        mangled, dot, suffix = name.partition(".")
        readable = _printed_by_llvm(mangled)
        return f"{readable}{dot}{suffix}" if readable else ""
    parts = _split_clones(name)
    if not parts or _MANGLED_DIFFERENCES.search(parts[0]):
        return ""
    mangled, clones = parts
    readable = _printed_by_llvm(mangled)
    if not readable or _PRINTED_DIFFERENCES.search(readable):
        return ""
    return (_CLOSING_BRACKETS.sub("> ", readable) if ">>" in readable else readable) + clones


def _split_clones(name: str) -> tuple[str, str] | None:
    """Split _Z1fv.part.0 into _Z1fv and what GNU prints, `` [clone .part.0]``; return None for other suffixes."""
    mangled, dot, suffixes = name.partition(".")
    if not dot:
        return mangled, ""
    if not _CLONE_SUFFIXES.fullmatch(dot + suffixes):
        return None
    return mangled, "".join(f" [clone {suffix}]" for suffix in _CLONE_SUFFIX.findall(dot + suffixes))


def _printed_by_llvm(mangled: str) -> str:
    """Return the name as LLVM prints it; "" without the library, for unreadable names, and beyond the limits."""
    library = _import_llvm()
    # counting underscores is fast, and excludes most names
    is_over_limit = mangled.count("_") > _MAX_REFERENCES and len(_REFERENCE.findall(mangled)) > _MAX_REFERENCES
    if library is None or is_over_limit:
        return ""
    read = library.rust_demangle if mangled.startswith("_R") else library.itanium_demangle
    try:
        readable = str(read(mangled) or "")
    except ValueError:
        return ""
    return readable if len(readable) <= _MAX_LENGTH else ""


def _printed_without_members(mangled: str) -> str:
    """Return what LLVM prints if members of class templates are replaced by the classes; "" if that does not help.

    LLVM cannot read GCC's mangling of such members in template arguments (``XsrSt7is_sameIT_vE5valueE`` for
    ``is_same<T, void>::value``). Short names omit these arguments anyway.
    """
    without_members = _MEMBER.sub(lambda member: member[1] if int(member[2]) == len(member[3]) else member[0], mangled)
    return _printed_by_llvm(without_members) if without_members != mangled else ""


@cache
def _import_llvm() -> ModuleType | None:
    try:
        return import_module("pycxxfilt")
    except ImportError:  # platforms without a wheel
        return None


@cache
def _import_portable() -> Callable[[str], str]:
    from demangle import demangle, style  # 50 ms

    gnu = style("gnu", itanium={"expand_std_abbreviations": False})

    def read(name: str) -> str:
        readable = demangle(name, language=("itanium", "rust", "swift"), style=gnu)
        if readable == name:
            return ""
        # where the package expands std::string and the like, it omits GNU's space between closing brackets
        return readable.replace("char_traits<char>>", "char_traits<char> >").replace(
            "allocator<char>>", "allocator<char> >"
        )

    return read
