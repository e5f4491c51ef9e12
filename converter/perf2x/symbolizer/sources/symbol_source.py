"""The interface of symbol sources, which map batches of addresses to functions and lines.

A symbol source is a class with an entry point in the group ``perf2x.symbol_sources``, instantiated once per recording.
Sources that cover an object are called in ascending ``order`` for the addresses that earlier ones did not name.
"""

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar, Protocol

import numpy as np
from msgspec import field

from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.untrusted_paths import RecordedFileCheck
from perf2x.base.columnar import I32, I64, U64, Frozen, as_int32, offsets_of, zeros
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import Namespaces, Session
from perf2x.symbolizer.symbol_options import SymbolOptions


class DsoKind(Enum):
    """The kind of an object, derived from the name of its mappings. It says what a Dso's addresses count from."""

    FILE = "file"
    """An object file. Addresses are svmas if a file is found, otherwise file offsets."""
    KERNEL = "kernel"
    """The kernel itself. Addresses are as recorded."""
    MODULE = "module"
    """A kernel module. Addresses are as recorded."""
    SYMBOL = "symbol"
    """Kernel code generated at run time (BPF programs, trampolines); the mapping's name is the function's."""
    VDSO = "vdso"
    """Pages that the kernel maps into programs ([vdso], [vsyscall], [uprobes]).

    Addresses are svmas if a file is found (the vDSO is an ELF file), otherwise offsets into the mapping.
    """
    ANONYMOUS = "anonymous"
    """Memory of one process without a file, as JIT compilers use it. Addresses are as recorded."""


class Dso(Frozen):
    """An object whose addresses are looked up."""

    name: str
    """The name of its mappings as recorded."""
    build_id: bytes
    kind: DsoKind
    pid: int
    """A process that has mapped the object, for ANONYMOUS the only one; −1 for the kernel."""
    found: ObjectFiles
    """The object's files; empty for kinds that need none."""
    start: int = 0
    """Lowest recorded address of its mappings."""
    limit: int = 0
    """One past the highest recorded address of its mappings."""
    offset: int = 0
    """Lowest file offset of its mappings."""


class Function(Frozen):
    """A function as a source describes it."""

    system_name: str
    """The name as the linker or the runtime knows it, possibly mangled."""
    name: str = ""
    """The short name to display; "" to derive it from ``system_name`` by demangling."""
    filename: str = ""
    start_line: int = 0


class Symbols(Frozen):
    """Functions and source lines of ``n`` addresses, as columns.

    Address i has the rows from ``offsets[i]`` to ``offsets[i + 1]``, innermost inlined function first. An unknown
    address has none.
    """

    offsets: I64
    """(n + 1,)"""
    function: I32
    """(rows,) index into ``functions``."""
    line: I32
    """(rows,) source line, 0 if unknown."""
    functions: Sequence[Function]
    has_inlines: bool = False
    """True if the source includes inlined functions."""
    missing: str = ""
    """Why some addresses have no rows, in a few words for the summary; "" if there is nothing to report."""


class Context(Frozen):
    """Data and services for all sources."""

    options: SymbolOptions
    session: Session
    finder: Finder
    diagnostics: Diagnostics
    kernel_build_id: bytes = b""
    kernel_reference: tuple[str, int] = ("", 0)
    """Name of the relocation reference symbol, and its address when recorded (0 if kptr_restrict hid it).

    Its distance from the same symbol in another table is that table's KASLR slide. perf appends the name to that of the
    kernel's mapping: ``_text`` in ``[kernel.kallsyms]_text``.
    """
    namespaces: Namespaces | None = None
    recorded: RecordedFileCheck = field(default_factory=RecordedFileCheck)
    """Decides whether files of this machine are the recorded ones."""

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
        """Return functions and lines of ``address`` (n,), which is sorted and without duplicates.

        Raises ObjectError if the object is damaged.
        """
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


def symbols_from_names(names: Sequence[str], index: I64, missing: str = "") -> Symbols:
    """Return symbols without lines: address i is in the function ``names[index[i]]``; −1 for none."""
    return symbols_from_functions([Function(name) for name in names], index, missing)


def symbols_from_functions(functions: Sequence[Function], index: I64, missing: str, line: I64 | None = None) -> Symbols:
    """Return symbols without inlined functions: address i is in ``functions[index[i]]`` at ``line[i]``; −1 for none."""
    is_found = index >= 0
    lines = zeros(len(index)) if line is None else line
    columns: tuple[I32, I32] = as_int32(index[is_found]), as_int32(lines[is_found])
    return Symbols(offsets_of(is_found), *columns, functions, missing=missing)
