"""How GNU's demangler, which perf and c++filt use, writes what LLVM's found out about a C++ name.

Source of truth: libiberty/cp-demangle.c d_print_comp and what is below it. One difference stays:
``>>`` behind an empty pack, which GNU's does not part.
"""

import itertools
import re

LONGEST, PLACES = 4096, 64
"""Longer names, and what comes behind so many places, keep LLVM's spelling: respelling looks back and forth, and a
hostile name must not cost.
"""
_CLOSING = re.compile(r"(operator(?:>>=?|->\*?|>=?|<=>))|(?<! )>(?=>)")
_LAMBDA = re.compile(r"'(lambda|unnamed|block-literal)(\d*)'")
_AUTO = re.compile(r"\bauto\b(?!:)")
_ADDRESS = re.compile(r"(?:(?<=[<(])|(?<=, ))&(?=[A-Za-z_(])")
_ENDING = re.compile(r"operator\s*(?:\(\)|\[\]|<=>|<<=?|>>=?|<=|>=|->\*?|<|>|,)|->|[<({\[,]|[>)}\]]")
_SCOPE = re.compile(r"\)(?=(?: const| volatile| &&?)*::)")
_TOKEN = re.compile(r"operator\s*(?:\(\)|\[\]|<=>|<<=?|>>=?|<=|>=|->\*?|<|>)|[<({\[]|[>)}\]]| ")
SPECIAL = re.compile(
    r"(?:(?:construction )?vtable|VTT|typeinfo(?: name| fn)?|guard variable|(?:non-virtual|virtual|covariant return) "
    r"thunk|reference temporary.*|TLS (?:init|wrapper) function|thread-local \w+ routine|transaction clone|"
    r"template parameter object|initializer) (?:for|to) "
)
"""What stands before a name that is no function's own."""
_PAIRS = {"<": ">", "(": ")", "{": "}", "[": "]"}


def gnu_spelling(readable: str, mangled: str) -> str:
    """LLVM's text of ``mangled`` as GNU's demangler writes it."""
    text = readable.replace("operator<<<", "operator<< <").replace("std::nullptr_t", "decltype(nullptr)")
    if "ltI" in mangled and "lsI" not in mangled:
        text = re.sub(r"operator<(?=<)(?!< <)", "operator< ", text)
    if ">>" in text:
        text = _CLOSING.sub(lambda match: match.group(1) or "> ", text)
    text = _numbered_lambdas(text) if "'" in text else text
    if len(text) > LONGEST:
        return text
    special = SPECIAL.match(text)
    start = special.end() if special else 0
    return text[:start] + _with_plain_scopes(_with_plain_functions(text[start:]))


def _numbered_lambdas(text: str) -> str:
    """``'lambda0'(int)`` to ``{lambda(int)#2}``: LLVM counts from none and 0, GNU from 1."""
    while match := _LAMBDA.search(text):
        kind, count = match.group(1), match.group(2)
        number = int(count) + 2 if count else 1
        end = match.end()
        if kind == "lambda" and text.startswith("(", end):
            end = _closing(text, end) + 1
            parameters = _numbered_autos(text[match.end() : end])
            text = f"{text[: match.start()]}{{lambda{parameters}#{number}}}{text[end:]}"
        else:
            word = {"unnamed": "unnamed type", "lambda": "lambda()"}.get(kind, kind)
            text = f"{text[: match.start()]}{{{word}#{number}}}{text[end:]}"
    return text


def _numbered_autos(parameters: str) -> str:
    """``(auto, auto&)`` of a generic lambda to ``(auto:1, auto:2&)``."""
    count = itertools.count(1)
    return _AUTO.sub(lambda match: f"auto:{next(count)}", parameters)


def _with_plain_functions(text: str) -> str:
    """A function as a template's argument: ``&A::f(int)`` to ``&A::f``, and ``&f(int)`` to ``&(f(int))``."""
    for match in reversed(list(_ADDRESS.finditer(text))[:PLACES] if "&" in text else []):
        start = match.end()
        end = _argument_end(text, start)
        argument = text[start:end]
        at = opening(argument, len(argument) - 1) if argument.endswith(")") else -1
        if at <= 0:
            continue
        head = argument[:at]
        is_method = "::" in head and not head.endswith(">") and not name_start(head)
        text = f"{text[:start]}{head if is_method else f'({argument})'}{text[end:]}"
    return text


def _argument_end(text: str, start: int) -> int:
    """Where the template argument that begins at ``start`` ends: before the next comma or ``>`` outside brackets."""
    open_brackets = ""
    for match in _ENDING.finditer(text, start):
        token = match.group()
        if token in (",", ">") and not open_brackets:
            return match.start() - (token == ">" and text[match.start() - 1] == " ")
        if token in _PAIRS:
            open_brackets += token
        elif token in ")]}>":
            open_brackets = _closed(open_brackets, token)
    return len(text)


def _with_plain_scopes(text: str) -> str:
    """What lies within a function is named without the function's return type: ``f<int>(int)::{lambda()#1}``."""
    at = 0
    for _ in range(PLACES):
        match = _SCOPE.search(text, at)
        if match is None:
            break
        at = match.end()
        start = opening(text, match.start())
        if start <= 0 or text.startswith("(anonymous namespace)", start):
            continue
        begin = _part_start(text, start)
        part = text[begin:start]
        if "operator" not in part and (skip := name_start(part)):
            text, at = text[:begin] + part[skip:] + text[start:], at - skip
    return text


def _part_start(text: str, end: int) -> int:
    """Where the argument, or the whole name, begins that holds the character before ``end``."""
    depth = 0
    for at in range(end - 1, -1, -1):
        letter = text[at]
        if letter in ")]}" or (letter == ">" and text[at - 1] != "-"):
            depth += 1
        elif letter in "([{<":
            if depth == 0:
                return at + 1
            depth -= 1
        elif letter == "," and depth == 0:
            return at + 2
    return 0


def _closing(text: str, opening: int) -> int:
    """Where the parenthesis that opens at ``opening`` closes; the last character when it never does."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return len(text) - 1


def opening(text: str, closing: int) -> int:
    """Where the parenthesis that closes at ``closing`` opens; −1 when it never does."""
    depth, end = 0, closing + 1
    while (at := text.rfind("(", 0, end)) >= 0:
        depth += text.count(")", at, end) - 1
        if depth == 0:
            return at
        end = at
    return -1


def name_start(head: str) -> int:
    """Where the name begins behind its return type: after the last space outside all brackets.

    A space behind ``operator`` belongs to the name (``operator new``, ``operator int``), and so does all that follows.
    """
    if " " not in head:
        return 0
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
