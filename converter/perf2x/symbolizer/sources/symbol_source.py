"""The interface of symbol sources, which map batches of addresses to functions and lines.

A symbol source is a class with an entry point in the group ``perf2x.symbol_sources``. It is instantiated once per
recording and called once per object. Sources are called in ascending ``order`` for addresses that have no name yet. If
a command reads several recordings, each address of a build id is looked up once (``known_names.py``).
"""

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar, Protocol

import numpy as np
from msgspec import field

from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.untrusted_paths import RecordedFiles
from perf2x.base.columnar import I32, I64, U64, Frozen, as_int32, offsets_of, zeros
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import Namespaces, Session
from perf2x.symbolizer.symbol_options import SymbolOptions


class DsoKind(Enum):
    """The kind of object that a mapping's name denotes; it determines the meaning of a Dso's addresses."""

    FILE = "file"
    """An ELF file; addresses are svmas (file offsets if no file is found)."""
    KERNEL = "kernel"
    """The kernel itself; addresses as recorded."""
    MODULE = "module"
    """A kernel module; addresses as recorded."""
    SYMBOL = "symbol"
    """Kernel code generated at run time (BPF programs, trampolines); the mapping's name is the function's."""
    VDSO = "vdso"
    """Kernel pages for user code ([vdso], [vsyscall], [uprobes]); svmas, or offsets into the mapping without a file."""
    ANONYMOUS = "anonymous"
    """Memory of one process without a file; addresses as recorded."""


class Dso(Frozen):
    """An object whose addresses are looked up."""

    name: str
    """The recorded name."""
    build_id: bytes
    kind: DsoKind
    pid: int
    """A process that has the object mapped, for ANONYMOUS the only one; −1 for the kernel."""
    found: ObjectFiles
    """The object's files; empty for kinds that need none."""
    start: int = 0
    """Lowest recorded address of its mappings."""
    limit: int = 0
    """One past the highest recorded address of its mappings."""
    offset: int = 0
    """Lowest file offset of its mappings."""


class Function(Frozen):
    """A function as a source describes it; ``name`` is a short name, "" if ``system_name`` is to be demangled."""

    system_name: str
    name: str = ""
    filename: str = ""
    start_line: int = 0


class Symbols(Frozen):
    """Lines for ``n`` addresses; address i has rows ``offsets[i]`` to ``offsets[i + 1]``, innermost inlined first.

    An address that the source does not know has no rows.
    """

    offsets: I64
    """(n + 1,)"""
    function: I32
    """(rows,) index into ``functions``."""
    line: I32
    """(rows,) source line, 0 if unknown."""
    functions: Sequence[Function]
    has_inlines: bool = False
    """True if the source includes inlined frames."""
    missing: str = ""
    """Why other addresses have no rows, in a few words for the summary; "" if there is nothing to report."""


class Context(Frozen):
    """Data and services for all sources."""

    options: SymbolOptions
    session: Session
    finder: Finder
    diagnostics: Diagnostics
    kernel_build_id: bytes = b""
    """Build id of the recorded kernel, b"" if it was not recorded."""
    kernel_reference: tuple[str, int] = ("", 0)
    """The relocation reference in ``[kernel.kallsyms]_text``: its name, and its recorded address, 0 if hidden."""
    namespaces: Namespaces | None = None
    """The recording's namespace records (``perf record --namespaces``)."""
    recorded: RecordedFiles = field(default_factory=RecordedFiles)
    """Decides which files of this machine are the recorded ones."""

    def find(self, name: str, build_id: bytes, pid: int = -1) -> ObjectFiles:
        """Find every file of a recorded object, as `Finder.find` does."""
        return self.finder.find(name, build_id, pid, self.recorded)


class SymbolSource(Protocol):
    """Looks up batches of addresses, one batch per object."""

    order: ClassVar[int]
    """Position among the sources, lowest first; the built-in sources have 5 to 50."""

    def __init__(self, context: Context) -> None: ...

    def covers(self, dso: Dso) -> bool:
        """Return True if the source may know addresses of this object."""
        ...

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return lines for ``address`` (n,), sorted and unique. Raises ObjectError if the object is damaged."""
        ...


class BuiltInSource:
    """Base of most sources: keeps the context."""

    order: ClassVar[int]

    def __init__(self, context: Context) -> None:
        self._context = context


def no_symbols(count: int, missing: str = "") -> Symbols:
    """Return symbols for ``count`` addresses without any rows."""
    empty = np.zeros(0, np.int32)
    return Symbols(zeros(count + 1), empty, empty, (), missing=missing)


def symbols_from_names(names: Sequence[str], row: I64, missing: str = "") -> Symbols:
    """Return symbols without lines and inlined frames: address i is in ``names[row[i]]``; row −1: unknown."""
    return symbols_from_functions([Function(name) for name in names], row, missing)


def symbols_from_functions(functions: Sequence[Function], row: I64, missing: str, line: I64 | None = None) -> Symbols:
    """Return symbols without inlined frames: address i is in ``functions[row[i]]``, at ``line[i]``; row −1: unknown."""
    is_found = row >= 0
    lines = zeros(len(row)) if line is None else line
    columns: tuple[I32, I32] = as_int32(row[is_found]), as_int32(lines[is_found])
    return Symbols(offsets_of(is_found), *columns, functions, missing=missing)
