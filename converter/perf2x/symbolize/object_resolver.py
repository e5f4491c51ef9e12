"""One object's addresses through the sources: an answer that can travel between processes."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I32, I64
from perf2x.columnar.unique import unique_inverse
from perf2x.debugfiles.object_files import ObjectFiles
from perf2x.symbolize.demangle.names import Demangle, demangle
from perf2x.symbolize.mapped_objects import MappedObject, addresses_of, dso_of
from perf2x.symbolize.sources.contract import Context, DsoKind, Function, Symbols, SymbolSource
from perf2x.symbolize.sources.elf_symbols import count_broken
from perf2x.symbolize.sources.vdso import find_running_vdso
from perf2x.tables.diagnostics import Count, Severity
from perf2x.tables.errors import ObjectError
from perf2x.tables.profile import Profile


class ResolveResult(Struct, frozen=True):
    """What the sources say of one object's locations.

    Location i has ``count[i]`` rows from ``start[i]`` on, innermost inlined function first; none: unnamed.
    """

    start: I64
    """(locations,)"""
    count: I64
    """(locations,)"""
    function: I32
    """(rows,) index into ``functions``."""
    line: I32
    """(rows,) source line, 0 where unknown."""
    functions: list[tuple[str, str, str, int]]
    """(name as shown, system name, file, start line), in the order in which they were met; some may be equal."""
    has_inlines: bool
    build_id: bytes
    reason: str
    """Why locations have no name."""
    counts: list[Count]
    """What was counted on the way."""


class ObjectResolver:
    """Asks all sources of one conversion."""

    def __init__(self, profile: Profile, context: Context, sources: Sequence[SymbolSource]) -> None:
        self._profile, self._context = profile, context
        self._sources = sorted(sources, key=lambda source: source.order)

    def ask(self, mapped: MappedObject) -> ResolveResult:
        """One object; what is counted comes with the answer, so that it does not matter which process asks."""
        diagnostics = self._context.diagnostics
        others, diagnostics.counts = diagnostics.counts, {}
        try:
            batch = _AddressBatch(self._profile, mapped, self._context)
            for source in self._sources:
                batch.ask(source)
            return batch.answer(list(diagnostics.counts.values()))
        finally:
            diagnostics.counts = others


class _AddressBatch:
    """One object's unique addresses on their way through the sources."""

    def __init__(self, profile: Profile, mapped: MappedObject, context: Context) -> None:
        self._mapped, self._context = mapped, context
        found = self._find()
        self._dso = dso_of(profile, mapped, found)
        self._address, place = unique_inverse(addresses_of(profile, mapped, found))
        self._lookup, self._second = np.split(place, 2)
        self._reason = found.reason if mapped.key.kind is DsoKind.FILE else ""
        self._start = np.zeros(len(self._address), np.int64)
        self._count = np.zeros(len(self._address), np.int64)
        self._functions: list[tuple[str, str, str, int]] = []
        self._function, self._line = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        self._rows = 0
        self._has_inlines = False

    def ask(self, source: SymbolSource) -> None:
        """Ask a source for what is still unknown."""
        todo = np.flatnonzero(self._count == 0)
        if not len(todo) or not source.covers(self._dso):
            return
        try:
            symbols = source.lookup(self._dso, self._address[todo])
        except ObjectError as error:
            count_broken(self._context.diagnostics, error)
            self._reason = self._reason or str(error)
            return
        self._reason = symbols.missing or self._reason
        self._has_inlines |= symbols.has_inlines
        self._start[todo], self._count[todo] = symbols.offsets[:-1] + self._rows, np.diff(symbols.offsets)
        self._add(symbols)

    def answer(self, counts: list[Count]) -> ResolveResult:
        """All that the sources said."""
        # the byte before a signal trampoline belongs to no function: then the return address itself says which it is
        row = np.where(self._count[self._lookup] > 0, self._lookup, self._second)
        return ResolveResult(
            self._start[row], self._count[row], np.concatenate(self._function), np.concatenate(self._line),
            self._functions, self._has_inlines, self._dso.build_id, self._reason or "no symbol at these addresses",
            counts,
        )  # fmt: skip

    def _add(self, symbols: Symbols) -> None:
        """Keep an answer's rows, and of its functions those that rows refer to."""
        is_used = np.zeros(len(symbols.functions), np.bool_)
        is_used[symbols.function] = True
        place = np.cumsum(is_used) - 1 + len(self._functions)
        style = self._context.options.demangle
        self._functions += [
            _displayed_function(symbols.functions[row], style) for row in np.flatnonzero(is_used).tolist()
        ]
        self._function.append(place[symbols.function].astype(np.int32))
        self._line.append(symbols.line)
        self._rows += len(symbols.line)

    def _find(self) -> ObjectFiles:
        key = self._mapped.key
        if key.kind in (DsoKind.KERNEL, DsoKind.SYMBOL, DsoKind.ANONYMOUS):
            return ObjectFiles()
        found = self._context.finder.find(key.name, key.build_id, self._mapped.pid)
        if key.kind is DsoKind.VDSO and not found.files:
            return find_running_vdso(self._context, key.name, key.build_id)
        if found.mismatched:
            advice = "files of another build were used, as asked; names may be wrong."
            self._context.diagnostics.add("build_id_mismatch", Severity.GUESS, advice, where=key.name)
        return found


def _displayed_function(function: Function, style: Demangle) -> tuple[str, str, str, int]:
    name = function.name or demangle(function.system_name, style)
    return name, function.system_name or name, function.filename, function.start_line
