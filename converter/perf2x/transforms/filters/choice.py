"""The part of a recording that the user asked for: all kinds of filters must match, of one kind any value may.

Filters that no sample matches: an error at once for one recording; for several, once none of them has a match.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct, field

from perf2x.base.errors import OptionError, SettingError

_SHOWN = 8


class UnmatchedFilters:
    """Filters that recordings match or do not, recording by recording.

    What one recording of several has is what the user asked for: ``--comm web`` over a fleet means its web servers.
    """

    def __init__(self, recordings: int = 1) -> None:
        self._recordings = recordings
        self._matched: set[Hashable] = set()
        self._missed: dict[Hashable, Callable[[], OptionError]] = {}
        self._known: dict[Hashable, dict[str, None]] = {}

    def matched(self, kind: str, wanted: Hashable) -> None:
        """Note that a sample matched a filter."""
        self._matched.add((kind, wanted))

    def missed(self, kind: str, wanted: Hashable, known: Sequence[str]) -> None:
        """Note that a recording has none of a kind that is ``wanted``; ``known`` are those that it has."""
        names = self._known.setdefault((kind, wanted), {})
        names.update(dict.fromkeys(known))
        whose = "the file has" if self._recordings == 1 else f"the {self._recordings:,} recordings have"
        self.failed(kind, wanted, lambda: OptionError(no_such(kind, wanted, list(names), whose)))

    def failed(self, kind: str, wanted: Hashable, error: Callable[[], OptionError]) -> None:
        """Note that no sample of a recording matched, and what to say about it. OptionError for one recording."""
        if self._recordings == 1:
            raise error()
        self._missed.setdefault((kind, wanted), error)

    def nothing_left(self, words: str) -> None:
        """Note that no sample matched all filters together. OptionError for one recording; others may have more."""
        if self._recordings == 1:
            raise OptionError(words)

    def check(self) -> None:
        """OptionError for the first filter that no recording matched."""
        for one, error in self._missed.items():
            if one not in self._matched:
                raise error()


def no_such(kind: str, wanted: object, known: Sequence[str], whose: str = "the file has") -> str:
    """``no event 'cycle'; the file has: cycles:P, page-faults``: close names first when there are many."""
    names = list(dict.fromkeys(known))
    if len(names) > _SHOWN:
        from difflib import get_close_matches

        close = get_close_matches(str(wanted), names, _SHOWN // 2)
        names = [*close, *(name for name in names if name not in close)]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    shown = ", ".join(names[:_SHOWN]) or "none"
    quoted = repr(wanted) if isinstance(wanted, str) else str(wanted)
    return f"no {kind} {quoted}; {whose}: {shown}{more}"


_GLOB = re.compile(r"[*?[]")


class Choice(Struct, frozen=True):
    """Nothing said: everything."""

    pids: tuple[int, ...] = ()
    tids: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()
    times: tuple[str, ...] = ()
    """perf's grammar; see transforms/filters/time_ranges.py."""
    wall_times: tuple[str, ...] = ()
    no_idle: bool = False
    """Leave the idle task out."""
    comms: tuple[str, ...] = ()
    """Names or globs of threads."""
    dsos: tuple[str, ...] = ()
    """Names or globs of the object that a sample was taken in."""
    symbols: tuple[str, ...] = ()
    """Names, globs or addresses (``0x1000``, ``0x1000-0x1fff``) of the function that a sample was taken in."""
    parallelism: tuple[int, ...] = ()
    """Numbers of threads that ran when the sample was taken; see transforms/scheduling/running_threads.py."""
    no_kernel: bool = False
    no_user: bool = False
    max_stack: int | None = None
    """Keep this many innermost frames."""

    def __bool__(self) -> bool:
        said = (getattr(self, entry) for entry in self.__struct_fields__)
        return any(value is not None and value is not False and value != () for value in said)  # 0 frames is a choice


class Grouping(Struct, frozen=True):
    """Grouping of the chosen samples."""

    root: str = "none"
    """A frame below every stack that says whose it is; one of ROOTS."""
    merge_threads: bool = False
    fold_recursion: bool = False


ROOTS = ("comm", "process", "thread", "cpu", "cgroup", "none")


class Names(Struct, frozen=True):
    """Names that filters can be held against, most important first."""

    kind: str
    known: Sequence[str]
    aliases: Sequence[Sequence[str]] = field(default=())
    """Other ways to write each known name."""

    def matching(self, patterns: Iterable[str], unmatched: UnmatchedFilters | None = None) -> set[int]:
        """Rows of ``known`` that a pattern (a name or a glob) means; a pattern that means none is unmatched."""
        unmatched = unmatched or UnmatchedFilters()
        rows: set[int] = set()
        named: dict[str, set[int]] = {}
        for row in range(len(self.known)):
            for text in self._texts(row):
                named.setdefault(text, set()).add(row)
        for pattern in patterns:
            found = set(named.get(pattern, ()))
            if _GLOB.search(pattern):
                found.update(*(of_text for text, of_text in named.items() if fnmatchcase(text, pattern)))
            if found:
                unmatched.matched(self.kind, pattern)
            else:
                unmatched.missed(self.kind, pattern, self.known)
            rows |= found
        return rows

    def _texts(self, row: int) -> tuple[str, ...]:
        return (self.known[row], *(self.aliases[row] if self.aliases else ()))


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """``a,b`` and ``a`` then ``b`` mean the same; commas within <>, () and {} belong to a name."""
    names: list[str] = []
    for text in texts:
        depth, begin = 0, 0
        for at, char in enumerate(text):
            depth += (char in "<({") - (char in ">)}")
            if char == "," and depth <= 0:
                names.append(text[begin:at])
                begin = at + 1
        names.append(text[begin:])
    return tuple(name for name in names if name)


def split_numbers(setting: str, texts: Iterable[str]) -> tuple[int, ...]:
    """Numbers and ranges of them, ``0-3,7``, rising; SettingError for anything else."""
    numbers: set[int] = set()
    for part in (part.strip() for text in texts for part in text.split(",")):
        found = re.fullmatch(r"(-?\d{1,10})(?:-(\d{1,10}))?", part)
        if not found:
            raise SettingError("", setting, f" {part!r}: expected numbers such as 7, or 0-3,7")
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if not first <= last < first + 1_000_000:
            raise SettingError("", setting, f" {part!r}: not a range of numbers")
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))
