"""Mangled names to what programmers wrote: C++ (Itanium), Rust (legacy and v0), Swift; spelled as perf spells them.

pydemumble knows the grammars and prints as LLVM does; perf, c++filt and pprof print as GNU does, so C++ names are
respelled (``> >``, ``{lambda(int)#1}``, ``[clone .part.0]``). ``simple`` drops what is not part of the name: the list
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
_LAMBDA = re.compile(r"'(lambda|unnamed|block-literal)(\d*)'")
_CLOSING = re.compile(r"(operator(?:>>=?|->\*?|>=?|<=>))|(?<! )>(?=>)")
_SPECIAL = re.compile(
    r"(?:(?:construction )?vtable|VTT|typeinfo(?: name| fn)?|guard variable|(?:non-virtual|virtual|covariant return) "
    r"thunk|reference temporary.*|TLS (?:init|wrapper) function|thread-local \w+ routine|transaction clone|"
    r"template parameter object|initializer) (?:for|to) "
)
_TOKEN = re.compile(r"operator\s*(?:\(\)|\[\]|<=>|<<=?|>>=?|<=|>=|->\*?|<|>)|[<({\[]|[>)}\]]| ")
_TRANSACTION = ("_ZGTt", "_ZGTn")
_PAIRS = {"<": ">", "(": ")", "{": "}", "[": "]"}
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
    readable, clones = _split_clones(readable)
    readable = _gnu_spelling(readable, plain)
    return (without_parameters(readable) if style is Demangle.SIMPLE else readable) + clones + at + version


def _raw(name: str) -> str:
    import pydemumble

    if not name.isascii():
        return ""
    if name.startswith(_TRANSACTION):  # a GNU extension that LLVM does not know
        inner = str(pydemumble.demangle("_Z" + name[len("_ZGTt") :]))
        return f"transaction clone for {inner}" if inner else ""
    return str(pydemumble.demangle(name))


def _split_clones(readable: str) -> tuple[str, str]:
    """``f() (.constprop.0.cold)`` to ``f()`` and `` [clone .constprop.0] [clone .cold]``."""
    match = _CLONES.search(readable)
    if match is None:
        return readable, ""
    parts = re.findall(r"\.[A-Za-z_][^.]*(?:\.\d+)*", match.group(1)) or [match.group(1)]
    return readable[: match.start()], "".join(f" [clone {part}]" for part in parts)


def _gnu_spelling(readable: str, mangled: str) -> str:
    text = readable.replace("operator<<<", "operator<< <")
    if "ltI" in mangled and "lsI" not in mangled:
        text = re.sub(r"operator<(?=<)(?!< <)", "operator< ", text)
    text = _CLOSING.sub(lambda match: match.group(1) or "> ", text)
    return _numbered_lambdas(text) if "'" in text else text


def _numbered_lambdas(text: str) -> str:
    """``'lambda0'(int)`` to ``{lambda(int)#2}``: LLVM counts from none and 0, GNU from 1."""
    while match := _LAMBDA.search(text):
        kind, count = match.group(1), match.group(2)
        number = int(count) + 2 if count else 1
        end = match.end()
        if kind == "lambda" and text.startswith("(", end):
            end = _closing(text, end) + 1
            text = f"{text[: match.start()]}{{lambda{text[match.end() : end]}#{number}}}{text[end:]}"
        else:
            word = {"unnamed": "unnamed type", "lambda": "lambda()"}.get(kind, kind)
            text = f"{text[: match.start()]}{{{word}#{number}}}{text[end:]}"
    return text


def _closing(text: str, opening: int) -> int:
    """Where the parenthesis that opens at ``opening`` closes; the last character when it never does."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return len(text) - 1


def _opening(text: str, closing: int) -> int:
    """Where the parenthesis that closes at ``closing`` opens; −1 when it never does."""
    depth = 0
    for at in range(closing, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return -1


def without_parameters(readable: str) -> str:
    """``void* ns::f<A>(void*) const`` to ``ns::f<A>``; thunks, tables and data keep every word."""
    if _SPECIAL.match(readable):
        return readable
    text = _QUALIFIERS.sub("", readable)
    opening = _opening(text, len(text) - 1) if text.endswith(")") else -1
    if opening <= 0:
        return readable
    head = text[:opening]
    if head.endswith(")") and (inner := _opening(head, len(head) - 1)) > 0 and head[inner + 1] in "*&":
        return without_parameters(head[inner + 1 : -1].lstrip("*&"))
    return head[_name_start(head) :]


def _name_start(head: str) -> int:
    """Where the name begins behind its return type: after the last space outside all brackets.

    A space behind ``operator`` belongs to the name (``operator new``, ``operator int``), and so does all that follows.
    """
    start, open_brackets = 0, ""
    for match in _TOKEN.finditer(head):
        token = match.group()
        if token == " " and not open_brackets:
            if head[: match.start()].endswith(("operator", "operator<<", "operator<")):
                break
            start = match.end()
        elif token in _PAIRS:
            open_brackets += token
        elif token in ")]}>":
            open_brackets = _closed(open_brackets, token)
    return start


def _closed(open_brackets: str, token: str) -> str:
    """The brackets still open after ``token``; a ``>`` inside parentheses is "greater", not a bracket."""
    if token == ">":
        return open_brackets[:-1] if open_brackets.endswith("<") else open_brackets
    at = max(open_brackets.rfind(opening) for opening, closing in _PAIRS.items() if closing == token)
    return open_brackets[:at] if at >= 0 else open_brackets
