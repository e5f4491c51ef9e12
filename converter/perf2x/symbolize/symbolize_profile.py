"""Names every location of a profile: one batch of unique addresses per object, sources asked in order."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.columnar.arrays import I64
from perf2x.debugfiles.finder import Finder
from perf2x.symbolize.make_finder import make_finder
from perf2x.symbolize.mapped_objects import MappedObject, mapped_objects, recorded_build_id
from perf2x.symbolize.object_resolver import ObjectResolver, ResolveResult
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.profile_lines import ProfileLineBuilder
from perf2x.symbolize.sources.contract import Context, DsoKind, SymbolSource
from perf2x.symbolize.symbol_report import ObjectReport, SymbolReport, location_weights, object_report, sorted_report
from perf2x.tables.diagnostics import Diagnostics
from perf2x.tables.events import Namespaces, Session
from perf2x.tables.profile import Profile

Answers = list[ResolveResult]
Spread = Callable[[Callable[[int], Answers], Sequence[int]], Iterable[Answers]]
"""Asks a question for every number below that of the costs (microseconds), wherever it likes; answers in order."""


def one_by_one(work: Callable[[int], Answers], costs: Sequence[int]) -> Iterable[Answers]:
    """All in this process."""
    return map(work, range(len(costs)))


def symbolize(
    profile: Profile,
    session: Session,
    options: SymbolOptions,
    diagnostics: Diagnostics,
    sources: Sequence[type[SymbolSource]],
    finder: Finder | None = None,
    namespaces: Namespaces | None = None,
    spread: Spread = one_by_one,
) -> tuple[Profile, SymbolReport]:
    """The same profile with functions, lines and truthful ``has_*`` flags, and what became of each object.

    Locations that already have lines keep them; what no source knows stays without lines. ``sources`` are the classes
    behind the entry points (``perf2x.plugins.registry``); ``finder`` is shared with the unwinder when there was one;
    ``namespaces`` are the recording's. An object that cannot be read is counted in ``diagnostics`` and left unnamed.
    ``spread`` may ask for objects in other processes, unless archives or servers have to be asked for files.
    """
    finder = finder or make_finder(options, diagnostics)
    context = context_of(profile, session, options, diagnostics, finder, namespaces)
    asker = ObjectResolver(profile, context, [source(context) for source in sources])
    lines = ProfileLineBuilder(profile)
    weights = location_weights(profile)
    rows = []
    objects = mapped_objects(profile, session.build_ids)
    for mapped, answer in zip(
        objects, _answers(objects, asker, spread if finder.is_local else one_by_one), strict=True
    ):
        diagnostics.absorb(answer.counts)
        lines.add(mapped, answer)
        rows.append(_report(mapped, answer, weights))
    return lines.finish(profile), sorted_report([*rows, *_stray(profile, lines, weights)])


def _answers(objects: Sequence[MappedObject], asker: ObjectResolver, spread: Spread) -> Iterator[ResolveResult]:
    """The answers for all objects, in order.

    Objects of one build are asked for together, as they are one symcache, and so are all that are no files: sources
    remember what they found out of the kernel.
    """
    units: dict[bytes | str, list[int]] = {}
    for number, mapped in enumerate(objects):
        is_file = mapped.key.kind is DsoKind.FILE
        units.setdefault((mapped.key.build_id or mapped.key.name) if is_file else "", []).append(number)
    numbers = list(units.values())
    costs = [sum(_cost(objects[number]) for number in some) for some in numbers]
    answers = spread(lambda unit: [asker.ask(objects[number]) for number in numbers[unit]], costs)
    known = {
        number: answer
        for some, found in zip(numbers, answers, strict=True)
        for number, answer in zip(some, found, strict=True)
    }
    return (known.pop(number) for number in range(len(objects)))


def _cost(mapped: MappedObject) -> int:
    """About how many microseconds an object takes: to find and open it, and for its addresses."""
    return 2000 + 3 * len(mapped.locations)


def _report(mapped: MappedObject, answer: ResolveResult, weights: I64) -> ObjectReport:
    name = mapped.key.name or f"//anon of process {mapped.pid}"
    return object_report(name, answer.build_id, weights[mapped.locations], answer.count > 0, answer.reason)


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


def _stray(profile: Profile, lines: ProfileLineBuilder, weights: I64) -> list[ObjectReport]:
    """Frames outside all mappings, as one row of the report."""
    locations = profile.locations
    stray = (lines.count == 0) & (locations.mapping < 0) & ~locations.synthetic & (locations.mode != CpuMode.KERNEL)
    unnamed = np.zeros(int(stray.sum()), np.bool_)
    return [object_report("[unknown]", b"", weights[stray], unnamed, "no mapping held these addresses")]
