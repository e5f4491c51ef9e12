"""What is known about one object, as plain values."""

from msgspec import Struct, field

from perf2x.explain.call_frames import FrameTable
from perf2x.explain.debug_info import DebugInfo
from perf2x.explain.symbol_tables import NameTable


class SearchResult(Struct, frozen=True):
    """A place where a file was looked for, and what came of it (``objects.find``: TAKEN, ABSENT …)."""

    path: str
    result: str


class DebugLink(Struct, frozen=True):
    """``.gnu_debuglink``: the debug file's name and checksum."""

    name: str
    crc: str


class Supplementary(Struct, frozen=True):
    """``.gnu_debugaltlink``: the file to which dwz moved what several objects share."""

    name: str
    found: str
    """Its path, "" when it is nowhere."""


class SplitDebugInfo(Struct, frozen=True):
    """Where the entries of split units are."""

    units: int
    package: str
    """Path of the ``.dwp``, "" without one."""
    present: int
    """``.dwo`` files that were found, of those that were looked for."""
    looked_for: int
    missing: str
    """The first that was not found."""

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return bool(self.package) or self.present == self.looked_for


class Verdict(Struct, frozen=True):
    """Whether something can be told, and a sentence about it."""

    good: bool
    text: str


class Advice(Struct, frozen=True):
    """What would help, and the words to type for it."""

    what: str
    command: str


class Explanation(Struct, frozen=True):
    """One object, with the files that belong to it."""

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
    name_tables: tuple[NameTable, ...] = ()
    frame_tables: tuple[FrameTable, ...] = ()
    debug_info: tuple[DebugInfo, ...] = ()
    debug_link: DebugLink | None = None
    supplementary: Supplementary | None = None
    split: SplitDebugInfo | None = None
    looked_at: tuple[SearchResult, ...] = ()
    troubles: tuple[str, ...] = ()
    """Files that were not taken, and why."""
    answers: dict[str, Verdict] = field(default_factory=dict)
    """To ``names``, ``lines`` and ``stacks``."""
    advice: tuple[Advice, ...] = ()
