"""Reports filters that no sample matches, and finds functions by names without scopes, parameters and so on.

A filter that matches in no recording is an error, except for patterns of frames.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from perf2x.base.diagnostics import Diagnostics
from perf2x.base.did_you_mean import close_names
from perf2x.errors import OptionError
from perf2x.model.number_format import shortened_list

_MOST_LISTED = 8
# PLT entries (``@plt``), symbol versions (``@@GLIBC_2.34``), GCC's and LLVM's clones (``.isra.0``), and the qualifiers
# of C++ member functions.
_SUFFIX = re.compile(r"(@plt|@@?[A-Z]+_[\d.]+|\.(constprop|isra|part|cold|lto_priv|llvm)\b[.\d]*| const| ?&&?)$")
# Template arguments that contain no others; ``operator<`` and ``operator<<`` are names.
_TEMPLATE_ARGUMENTS = re.compile(r"(?<!operator)(?<!operator<)<[^<>]*>")
# Parameters at the end, which may contain parentheses one level deep; ``operator()`` is a name.
_PARAMETERS = re.compile(r"(?<!operator)\((?:[^()]|\([^()]*\))*\)$")

# Maximum of passes over a name. A pass removes one suffix and the innermost template arguments.
_MOST_PASSES = 20


class UnmatchedFilters:
    """Collects which filters matched in any of the recordings.

    A filter is identified by its kind, such as ``cpu``, and what the user typed.
    """

    def __init__(self, recordings: int = 1, diagnostics: Diagnostics | None = None) -> None:
        self._recordings = recordings
        self.diagnostics = diagnostics or Diagnostics()
        """Counts frame patterns without a match and, in frame_filters.py, samples that lose all frames."""
        self._pattern_misses = Counter[tuple[str, str]]()  # number of recordings in which no frame matched
        # keys: kind of filter, and what the user typed
        self._matched: set[Hashable] = set()
        self._errors: dict[Hashable, Callable[[], OptionError]] = {}
        self._recorded_values: dict[Hashable, dict[str, None]] = {}

    def record(self, kind: str, typed: Hashable, matches: object, recorded: Sequence[str]) -> None:
        """Note a match if ``matches`` is true or not empty; otherwise, do what `missed` does."""
        if matches:
            self.matched(kind, typed)
        else:
            self.missed(kind, typed, recorded)

    def matched(self, kind: str, typed: Hashable) -> None:
        """Note that a filter matched in a recording."""
        self._matched.add((kind, typed))

    def missed(self, kind: str, typed: Hashable, recorded: Sequence[str]) -> None:
        """Note that a filter matched none of the ``recorded`` values.

        Raises OptionError at once if there is only one recording; otherwise, `check` raises it if no recording matches.
        """
        values = self._recorded_values.setdefault((kind, typed), {})
        values.update(dict.fromkeys(recorded))
        intro = "the file has" if self._recordings == 1 else f"the {self._recordings:,} recordings have"
        self.missed_with_error(kind, typed, lambda: OptionError(no_such_message(kind, typed, list(values), intro)))

    def missed_with_error(self, kind: str, typed: Hashable, make_error: Callable[[], OptionError]) -> None:
        """Do what `missed` does, with an error that ``make_error`` makes."""
        if self._recordings == 1:
            raise make_error()
        self._errors.setdefault((kind, typed), make_error)

    def record_pattern(self, setting: str, pattern: str, has_match: bool) -> None:
        """Note whether a frame pattern matched; one that matches in no recording is counted in the diagnostics."""
        self._pattern_misses[setting, pattern] += not has_match
        if self._pattern_misses[setting, pattern] == self._recordings:
            name, counts = "patterns_without_frame", self.diagnostics.counts
            if name in counts:
                counts[name].first += f", {pattern!r}"
            self.diagnostics.add(name, "", 1, repr(pattern))

    def check(self) -> None:
        """Raise OptionError for the first filter that no recording matched."""
        for kind_and_typed, make_error in self._errors.items():
            if kind_and_typed not in self._matched:
                raise make_error()


def no_such_message(kind: str, typed: object, recorded: Sequence[str], intro: str = "the file has") -> str:
    """Write ``no event 'cycle'; did you mean cycles:P? The file has: cycles:P, page-faults``.

    ``intro``, here "the file has", introduces the list of ``recorded`` names.
    """
    names_by_part = {part: name for name in reversed(recorded) for part in (_last_part(name), name)}
    close = {names_by_part[part]: None for part in close_names(_last_part(str(typed)), names_by_part)}  # distinct
    suggestion = f"did you mean {' or '.join(close)}? {intro[0].upper()}{intro[1:]}" if close else intro
    quoted = repr(typed) if isinstance(typed, str) else str(typed)
    return f"no {kind} {quoted}; {suggestion}: {shortened_list(list(dict.fromkeys(recorded)), _MOST_LISTED) or 'none'}"


def means_function(typed: str, name: str) -> bool:
    """Return whether a typed name, such as ``insert`` or ``Map::insert(int)``, means ``tree::Map<…>::insert``."""
    bare = _bare(typed).removeprefix("::")
    return bool(bare) and re.search(rf"(?<![\w$~]){re.escape(bare)}$", _bare(name)) is not None


def _last_part(name: str) -> str:
    return re.split(r"::|/", _bare(name))[-1]


def _bare(name: str) -> str:
    """Remove template arguments, parameters, and suffixes of compilers and linkers."""
    for _ in range(_MOST_PASSES):
        before, name = name, _TEMPLATE_ARGUMENTS.sub("", _SUFFIX.sub("", name))
        if name == before:
            break
    return _PARAMETERS.sub("", name).rstrip()
