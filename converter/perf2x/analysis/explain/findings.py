"""The explanation of one object as plain values; its field names are those of the JSON output."""

from msgspec import Struct, field

from perf2x.analysis.explain.code_coverage import FunctionTable
from perf2x.analysis.explain.debug_info import DebugInfo


class SearchResult(Struct, frozen=True):
    """A path that was searched, and the outcome (binaries/find/object_finder.py: TAKEN, ABSENT …)."""

    path: str
    result: str


class DebugLink(Struct, frozen=True):
    """``.gnu_debuglink``: the debug file's name and checksum."""

    name: str
    crc: str


class Supplementary(Struct, frozen=True):
    """``.gnu_debugaltlink``: the file with the debug info that dwz found in several objects."""

    name: str
    found: str
    """Its path, "" when it is missing."""


class SplitDebugInfo(Struct, frozen=True):
    """The files with the entries of split units."""

    units: int
    package: str
    """Path of the ``.dwp``, "" without one."""
    present: int
    """``.dwo`` files that were found, of ``looked_for`` ones."""
    looked_for: int
    missing: str
    """The first that was not found."""

    @property
    def whole(self) -> bool:
        """True when no file is missing."""
        return bool(self.package) or self.present == self.looked_for


class Verdict(Struct, frozen=True):
    """The answer to one question about an object: good or not, and a sentence."""

    good: bool
    text: str


class Advice(Struct, frozen=True):
    """A piece of advice, and the command or option to use."""

    what: str
    command: str


class Explanation(Struct, frozen=True):
    """One object with the files that belong to it."""

    path: str
    size: int
    type: str
    machine: str
    bits: int
    byte_order: str
    """``little`` or ``big``."""
    build_id: str
    """Hex, "" without one."""
    code: str
    """``.text``, or ``code`` where there is no section of that name."""
    code_size: int
    name_tables: tuple[FunctionTable, ...] = ()
    frame_tables: tuple[FunctionTable, ...] = ()
    debug_info: tuple[DebugInfo, ...] = ()
    debug_link: DebugLink | None = None
    supplementary: Supplementary | None = None
    split: SplitDebugInfo | None = None
    looked_at: tuple[SearchResult, ...] = ()
    troubles: tuple[str, ...] = ()
    """The reasons why files were refused."""
    answers: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts on ``names``, ``lines`` and ``stacks``."""
    advice: tuple[Advice, ...] = ()
