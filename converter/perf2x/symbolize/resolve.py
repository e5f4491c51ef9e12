"""Names every location of a profile: one batch of unique addresses per object, sources asked in order."""

from collections.abc import Sequence

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.model.arrays import I64, U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.errors import ObjectError
from perf2x.model.events import Namespaces, Session
from perf2x.model.profile import Profile
from perf2x.objects.find import Finder, Found
from perf2x.symbolize.elf_names import count_broken
from perf2x.symbolize.finders import make_finder
from perf2x.symbolize.lines import Lines
from perf2x.symbolize.objects import MappedObject, addresses_of, dso_of, mapped_objects, recorded_build_id
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.report import ObjectReport, SymbolReport, in_order, location_weights, object_report
from perf2x.symbolize.source import Context, DsoKind, SymbolSource
from perf2x.symbolize.vdso import own_vdso


def symbolize(
    profile: Profile,
    session: Session,
    options: SymbolOptions,
    diagnostics: Diagnostics,
    sources: Sequence[type[SymbolSource]],
    finder: Finder | None = None,
    namespaces: Namespaces | None = None,
) -> tuple[Profile, SymbolReport]:
    """The same profile with functions, lines and truthful ``has_*`` flags, and what became of each object.

    Locations that already have lines keep them; what no source knows stays without lines. ``sources`` are the classes
    behind the entry points (``perf2x.plugins``); ``finder`` is shared with the unwinder when there was one;
    ``namespaces`` are the recording's. An object that cannot be read is counted in ``diagnostics`` and left unnamed.
    """
    finder = finder or make_finder(options, diagnostics)
    context = context_of(profile, session, options, diagnostics, finder, namespaces)
    asked = sorted((source(context) for source in sources), key=lambda source: source.order)
    lines = Lines(profile, options.demangle)
    weights = location_weights(profile)
    rows = [
        _Batch(profile, mapped, context, asked).run(lines, weights)
        for mapped in mapped_objects(profile, session.build_ids)
    ]
    return lines.finish(profile), in_order([*rows, *_stray(profile, lines, weights)])


def context_of(
    profile: Profile,
    session: Session,
    options: SymbolOptions,
    diagnostics: Diagnostics,
    finder: Finder,
    namespaces: Namespaces | None = None,
) -> Context:
    """The recording's facts that sources need; the first kernel mapping tells those of the kernel."""
    reference, build_id = ("", 0), recorded_build_id("[kernel.kallsyms]", session.build_ids)
    for row in np.flatnonzero(profile.mappings.is_kernel):
        name = profile.strings[int(profile.mappings.filename[row])]
        if name.startswith("[kernel.kallsyms]"):
            reference = (name.removeprefix("[kernel.kallsyms]"), int(profile.mappings.offset[row]))
            build_id = bytes.fromhex(profile.strings[int(profile.mappings.build_id[row])]) or build_id
            break
    return Context(options, session, finder, diagnostics, build_id, reference, namespaces)


class _Batch:
    """One object's unique addresses on their way through the sources."""

    def __init__(
        self, profile: Profile, mapped: MappedObject, context: Context, sources: Sequence[SymbolSource]
    ) -> None:
        self._mapped, self._context, self._sources = mapped, context, sources
        found = self._find()
        self._dso = dso_of(profile, mapped, found)
        lookup = addresses_of(profile, mapped, found, profile.locations.lookup)
        address = addresses_of(profile, mapped, found, profile.locations.address)
        self._address, back = np.unique(np.concatenate([lookup, address]), return_inverse=True)
        self._lookup, self._second = np.split(back.reshape(-1), 2)
        self._reason = found.reason if mapped.key.kind is DsoKind.FILE else ""

    def run(self, lines: Lines, weights: I64) -> ObjectReport:
        """Ask every source for what is still unknown, and write the answers to ``lines``."""
        start, count = np.zeros(len(self._address), np.int64), np.zeros(len(self._address), np.int64)
        for source in self._sources:
            todo = np.flatnonzero(count == 0)
            if not len(todo) or not source.covers(self._dso):
                continue
            start[todo], count[todo] = self._ask(source, self._address[todo], lines)
        # the byte before a signal trampoline belongs to no function: then the return address itself says which it is
        row = np.where(count[self._lookup] > 0, self._lookup, self._second)
        lines.place(self._mapped.locations, start[row], count[row])
        named = count[row] > 0
        name = self._mapped.key.name or f"//anon of process {self._mapped.pid}"
        weight = weights[self._mapped.locations]
        return object_report(name, self._dso.build_id, weight, named, self._reason or "no symbol at these addresses")

    def _find(self) -> Found:
        key = self._mapped.key
        if key.kind in (DsoKind.KERNEL, DsoKind.SYMBOL, DsoKind.ANONYMOUS):
            return Found()
        found = self._context.finder.find(key.name, key.build_id, self._mapped.pid)
        if key.kind is DsoKind.VDSO and not found.files:
            return own_vdso(self._context, key.name, key.build_id)
        if found.mismatched:
            advice = "files of another build were used, as asked; names may be wrong."
            self._context.diagnostics.add("build_id_mismatch", Severity.GUESS, advice, where=key.name)
        return found

    def _ask(self, source: SymbolSource, address: U64, lines: Lines) -> tuple[I64, I64]:
        """(start, count) of rows for each address."""
        try:
            symbols = source.lookup(self._dso, address)
        except ObjectError as error:
            count_broken(self._context.diagnostics, error)
            self._reason = self._reason or str(error)
            return np.zeros(len(address), np.int64), np.zeros(len(address), np.int64)
        self._reason = symbols.missing or self._reason
        if symbols.has_inlines:
            lines.has_inlines[self._mapped.mappings] = True
        first = lines.add(symbols.functions, symbols.function, symbols.line)
        return symbols.offsets[:-1] + first, np.diff(symbols.offsets)


def _stray(profile: Profile, lines: Lines, weights: I64) -> list[ObjectReport]:
    """Frames outside all mappings, as one row of the report."""
    locations = profile.locations
    stray = (lines.count == 0) & (locations.mapping < 0) & ~locations.synthetic & (locations.mode != CpuMode.KERNEL)
    unnamed = np.zeros(int(stray.sum()), np.bool_)
    return [object_report("[unknown]", b"", weights[stray], unnamed, "no mapping held these addresses")]
