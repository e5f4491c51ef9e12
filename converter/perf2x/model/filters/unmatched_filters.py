"""Matches functions as people type them, and reports filters that no sample matches.

People type names without scopes, parameters, template arguments and compilers' suffixes. A filter that matches no
sample is an error. With one recording, it is raised at once; with several, after the last one, if none matched.
"""

import re
from collections.abc import Callable, Hashable, Sequence

from perf2x.base.diagnostics import Diagnostics
from perf2x.base.did_you_mean import close_names
from perf2x.errors import OptionError
from perf2x.model.number_format import first_of

_MOST_LISTED = 8
_SUFFIXES = re.compile(r"(@plt|@@?[A-Z]+_[\d.]+|\.(constprop|isra|part|cold|lto_priv|llvm)\b[.\d]*| const| ?&&?)$")
_ARGUMENTS = re.compile(r"(?<!operator)(?<!operator<)<[^<>]*>")
_PARAMETERS = re.compile(r"(?<!operator)\((?:[^()]|\([^()]*\))*\)$")

# Passes that remove a suffix and the innermost template arguments of a name; more deeply nested ones stay.
_MOST_PASSES = 20


class UnmatchedFilters:
    """Collects which filters matched any of the recordings.

    One that matches is enough: ``--comm web`` selects the web servers among the recordings of a fleet. A filter is
    identified by a kind, such as ``cpu`` or ``object``, and what the user typed.
    """

    def __init__(self, recordings: int = 1, diagnostics: Diagnostics | None = None) -> None:
        self._recordings = recordings
        self.diagnostics = diagnostics or Diagnostics()
        """Counts what filters remove, and frame patterns without a match, which are not an error."""
        self._recordings_without: dict[str, int] = {}  # by frame pattern
        self._matched: set[Hashable] = set()
        self._errors: dict[Hashable, Callable[[], OptionError]] = {}
        self._recorded_values: dict[Hashable, dict[str, None]] = {}

    def record(self, kind: str, typed: Hashable, found: object, recorded: Sequence[str]) -> None:
        """Record whether a recording matched a filter (``found``); ``recorded``: all its values of this kind."""
        if found:
            self.matched(kind, typed)
        else:
            self.missed(kind, typed, recorded)

    def matched(self, kind: str, typed: Hashable) -> None:
        """Record that a sample matched a filter."""
        self._matched.add((kind, typed))

    def missed(self, kind: str, typed: Hashable, recorded: Sequence[str]) -> None:
        """Record that a recording did not match a filter; ``recorded``: all values of this kind that it has.

        The error lists the values of all recordings without a match.
        """
        values = self._recorded_values.setdefault((kind, typed), {})
        values.update(dict.fromkeys(recorded))
        whose = "the file has" if self._recordings == 1 else f"the {self._recordings:,} recordings have"
        self.failed(kind, typed, lambda: OptionError(no_such(kind, typed, list(values), whose)))

    def failed(self, kind: str, typed: Hashable, make_error: Callable[[], OptionError]) -> None:
        """Record that a recording did not match a filter, and the error to raise if no recording does.

        If this is the only recording, the error is raised at once.
        """
        if self._recordings == 1:
            raise make_error()
        self._errors.setdefault((kind, typed), make_error)

    def looked_for(self, pattern: str, has_match: bool) -> None:
        """Record whether a frame pattern matches any frame of a recording; count it if it matches in no recording."""
        self._recordings_without[pattern] = self._recordings_without.get(pattern, 0) + (not has_match)
        if self._recordings_without[pattern] == self._recordings:
            self.diagnostics.add("patterns_without_frame", "", 1, repr(pattern))

    def check(self) -> None:
        """Raise OptionError for the first filter that no recording matched."""
        for kind_and_typed, make_error in self._errors.items():
            if kind_and_typed not in self._matched:
                raise make_error()


def no_such(kind: str, typed: object, recorded: Sequence[str], whose: str = "the file has") -> str:
    """Return ``no event 'cycle'; did you mean cycles:P? The file has: cycles:P, page-faults``.

    ``recorded`` are the names to suggest and to list; ``whose`` says where they are, before the colon.
    """
    names_by_part = {part: name for name in reversed(recorded) for part in (_last_part(name), name)}
    close = {names_by_part[part]: None for part in close_names(_last_part(str(typed)), names_by_part)}
    suggestion = f"did you mean {' or '.join(close)}? {whose[0].upper()}{whose[1:]}" if close else whose
    quoted = repr(typed) if isinstance(typed, str) else str(typed)
    return f"no {kind} {quoted}; {suggestion}: {first_of(list(dict.fromkeys(recorded)), _MOST_LISTED) or 'none'}"


def means_function(typed: str, name: str) -> bool:
    """Return whether a typed name fits a function: ``insert`` or ``Map::insert(int)`` for ``tree::Map<…>::insert``."""
    bare = _bare(typed).removeprefix("::")
    return bool(bare) and re.search(rf"(?<![\w$~]){re.escape(bare)}$", _bare(name)) is not None


def _last_part(name: str) -> str:
    """Return a name without scopes, folders and everything that ``means_function`` ignores."""
    return re.split(r"::|/", _bare(name))[-1]


def _bare(name: str) -> str:
    """Return a function's name without template arguments, parameters, and suffixes of compilers and linkers."""
    for _ in range(_MOST_PASSES):
        before, name = name, _ARGUMENTS.sub("", _SUFFIXES.sub("", name))
        if name == before:
            break
    return _PARAMETERS.sub("", name).rstrip()
