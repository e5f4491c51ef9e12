"""Matches functions as people type them, and reports filters that no sample matches.

People type names without scopes, parameters, template arguments and compilers' suffixes. If there is one recording, a
filter without a match is an error at once; if there are several, it is an error at the end, if none matched.
"""

import re
from collections.abc import Callable, Hashable, Sequence

from perf2x.base.diagnostics import Diagnostics
from perf2x.base.did_you_mean import close_names
from perf2x.errors import OptionError
from perf2x.model.number_format import first_of

_SHOWN = 8
_SUFFIXES = re.compile(r"(@plt|@@?[A-Z]+_[\d.]+|\.(constprop|isra|part|cold|lto_priv|llvm)\b[.\d]*| const| ?&&?)$")
_ARGUMENTS = re.compile(r"(?<!operator)(?<!operator<)<[^<>]*>")
_PARAMETERS = re.compile(r"(?<!operator)\((?:[^()]|\([^()]*\))*\)$")

_DEEPEST = 20
"""Limits on nested arguments, and on suffixes that follow each other."""


class UnmatchedFilters:
    """Collects which filters each recording matched.

    With several recordings, one that matches is enough: ``--comm web`` selects the web servers among the recordings of
    a fleet.
    """

    def __init__(self, recordings: int = 1, diagnostics: Diagnostics | None = None) -> None:
        self._recordings = recordings
        self.diagnostics = diagnostics or Diagnostics()
        """Counts what filters remove, and frame patterns without a match, which are not an error."""
        self._idle: dict[str, int] = {}
        self._matched: set[Hashable] = set()
        self._missed: dict[Hashable, Callable[[], OptionError]] = {}
        self._known: dict[Hashable, dict[str, None]] = {}

    def record(self, kind: str, typed: Hashable, found: object, known: Sequence[str]) -> None:
        """Record whether ``typed`` was found in a recording that has the ``known`` values."""
        if found:
            self.matched(kind, typed)
        else:
            self.missed(kind, typed, known)

    def matched(self, kind: str, typed: Hashable) -> None:
        """Record that a sample matched a filter."""
        self._matched.add((kind, typed))

    def missed(self, kind: str, typed: Hashable, known: Sequence[str]) -> None:
        """Record that a recording lacks ``typed``; ``known`` are the values that it has."""
        names = self._known.setdefault((kind, typed), {})
        names.update(dict.fromkeys(known))
        whose = "the file has" if self._recordings == 1 else f"the {self._recordings:,} recordings have"
        self.failed(kind, typed, lambda: OptionError(no_such(kind, typed, list(names), whose)))

    def failed(self, kind: str, typed: Hashable, error: Callable[[], OptionError]) -> None:
        """Record that no sample of a recording matched, and the error to raise.

        The error is raised if this is the only recording.
        """
        if self._recordings == 1:
            raise error()
        self._missed.setdefault((kind, typed), error)

    def looked_for(self, pattern: str, has_match: bool) -> None:
        """Record whether a pattern matches any frame of a recording; patterns that match in none are counted."""
        self._idle[pattern] = self._idle.get(pattern, 0) + (not has_match)
        if self._idle[pattern] == self._recordings:
            self.diagnostics.add("patterns_without_frame", "", 1, repr(pattern))

    def check(self) -> None:
        """Raise OptionError for the first filter that no recording matched."""
        for one, error in self._missed.items():
            if one not in self._matched:
                raise error()


def no_such(kind: str, typed: object, known: Sequence[str], whose: str = "the file has") -> str:
    """Return ``no event 'cycle'; did you mean cycles:P? The file has: cycles:P, page-faults``."""
    parts = {part: name for name in reversed(known) for part in (_last_part(name), name)}
    close = {parts[part]: None for part in close_names(_last_part(str(typed)), parts)}
    suggestion = f"did you mean {' or '.join(close)}? {whose[0].upper()}{whose[1:]}" if close else whose
    quoted = repr(typed) if isinstance(typed, str) else str(typed)
    return f"no {kind} {quoted}; {suggestion}: {first_of(list(dict.fromkeys(known)), _SHOWN) or 'none'}"


def means_function(typed: str, name: str) -> bool:
    """Return whether a typed name fits a function: ``insert`` or ``Map::insert(int)`` for ``tree::Map<…>::insert``."""
    bare = _bare(typed).removeprefix("::")
    return bool(bare) and re.search(rf"(?<![\w$~]){re.escape(bare)}$", _bare(name)) is not None


def _last_part(name: str) -> str:
    """Return a name without scopes, folders and everything that ``means_function`` ignores."""
    return re.split(r"::|/", _bare(name))[-1]


def _bare(name: str) -> str:
    for _ in range(_DEEPEST):
        before, name = name, _ARGUMENTS.sub("", _SUFFIXES.sub("", name))
        if name == before:
            break
    return _PARAMETERS.sub("", name).rstrip()
