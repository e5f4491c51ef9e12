"""The seam between the symbolizer and everything that knows names: a batch of addresses in, lines out.

A symbol source is a class behind the entry point group ``perf2x.symbol_sources``; it is made once per conversion and
asked once per object. Sources are asked by rising ``order`` for the addresses that earlier ones did not name.
"""

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar, Protocol

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I32, I64, U64
from perf2x.debugfiles.finder import Finder
from perf2x.debugfiles.object_files import ObjectFiles
from perf2x.symbolize.options import SymbolOptions
from perf2x.tables.diagnostics import Diagnostics
from perf2x.tables.events import Session
from perf2x.tables.sideband import Namespaces


class DsoKind(Enum):
    """What a mapping's name stands for, and with it what the addresses of a Dso are."""

    FILE = "file"
    """An ELF file: addresses are svmas (file offsets while no file is found)."""
    KERNEL = "kernel"
    """The kernel itself: addresses as recorded."""
    MODULE = "module"
    """A kernel module: addresses as recorded."""
    SYMBOL = "symbol"
    """Kernel code made at run time (BPF programs, trampolines): the mapping's name is the function's."""
    VDSO = "vdso"
    """Kernel pages for user code ([vdso], [vsyscall], [uprobes]): svmas, offsets into the mapping without a file."""
    ANONYMOUS = "anonymous"
    """Memory without a file, of one process: addresses as recorded."""


class Dso(Struct, frozen=True):
    """One object that addresses are asked of."""

    name: str
    """As recorded."""
    build_id: bytes
    kind: DsoKind
    pid: int
    """A process that has it mapped; for ANONYMOUS the only one; −1 for the kernel."""
    found: ObjectFiles
    """The files there are of it; empty for kinds that need none."""
    start: int = 0
    """Lowest address of its mappings as recorded."""
    limit: int = 0


class Function(Struct, frozen=True):
    """A function as a source knows it; ``name`` "" means: demangle ``system_name``."""

    system_name: str
    name: str = ""
    filename: str = ""
    start_line: int = 0


class Symbols(Struct, frozen=True):
    """Lines for ``n`` addresses; address i has rows ``offsets[i]`` to ``offsets[i + 1]``, innermost inlined first.

    No rows: the source does not know that address.
    """

    offsets: I64
    """(n + 1,)"""
    function: I32
    """(rows,) index into ``functions``."""
    line: I32
    """(rows,) source line, 0 where unknown."""
    functions: Sequence[Function]
    has_inlines: bool = False
    """The source would have told inlined frames."""
    missing: str = ""
    """Why it knows nothing of the rest, a few words for the summary; "" when it has nothing to say."""


class Context(Struct, frozen=True):
    """What every source may use."""

    options: SymbolOptions
    session: Session
    finder: Finder
    diagnostics: Diagnostics
    kernel_build_id: bytes = b""
    """Of the recorded kernel, b"" when the recording does not tell."""
    kernel_reference: tuple[str, int] = ("", 0)
    """The relocation reference in ``[kernel.kallsyms]_text``: its name and its address then; 0 when it was hidden."""
    namespaces: Namespaces | None = None
    """What the recording says of containers (``perf record --namespaces``)."""


class SymbolSource(Protocol):
    """Answers for a batch of addresses of one object; never one at a time."""

    order: ClassVar[int]
    """Who is asked first; the built-in ones have 10 to 50."""

    def __init__(self, context: Context) -> None: ...

    def covers(self, dso: Dso) -> bool:
        """Whether it is worth asking for this object."""
        ...

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Lines for ``address``, sorted and unique; ObjectError when the object's data are broken."""
        ...


def nothing(count: int, missing: str = "") -> Symbols:
    """An answer for ``count`` addresses that names none of them."""
    empty = np.zeros(0, np.int32)
    return Symbols(np.zeros(count + 1, np.int64), empty, empty, (), missing=missing)


def symbols_from_names(names: Sequence[str], row: I64, missing: str = "") -> Symbols:
    """An answer without lines or inlines: address i is in function ``names[row[i]]``, −1 for unknown."""
    return symbols_from_functions([Function(name) for name in names], row, missing)


def symbols_from_functions(functions: Sequence[Function], row: I64, missing: str = "") -> Symbols:
    """The same with whole functions."""
    known = row >= 0
    offsets = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
    function = row[known].astype(np.int32)
    return Symbols(offsets, function, np.zeros(len(function), np.int32), functions, missing=missing)
