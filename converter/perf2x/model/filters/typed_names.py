"""Matches functions as people type them: without scopes, parameters, template arguments and compilers' suffixes."""

import re

_SUFFIXES = re.compile(r"(@plt|@@?[A-Z]+_[\d.]+|\.(constprop|isra|part|cold|lto_priv|llvm)\b[.\d]*| const| ?&&?)$")
_ARGUMENTS = re.compile(r"(?<!operator)(?<!operator<)<[^<>]*>")
_PARAMETERS = re.compile(r"(?<!operator)\((?:[^()]|\([^()]*\))*\)$")

_DEEPEST = 20
"""Limits on nested arguments, and on suffixes that follow each other."""


def means_function(typed: str, name: str) -> bool:
    """Return whether a typed name fits a function: ``insert`` or ``Map::insert(int)`` for ``tree::Map<…>::insert``."""
    bare = _bare(typed).removeprefix("::")
    return bool(bare) and re.search(rf"(?<![\w$~]){re.escape(bare)}$", _bare(name)) is not None


def last_part(name: str) -> str:
    """Return a name without scopes, folders and everything that ``means_function`` ignores."""
    return re.split(r"::|/", _bare(name))[-1]


def _bare(name: str) -> str:
    for _ in range(_DEEPEST):
        before, name = name, _ARGUMENTS.sub("", _SUFFIXES.sub("", name))
        if name == before:
            break
    return _PARAMETERS.sub("", name).rstrip()
