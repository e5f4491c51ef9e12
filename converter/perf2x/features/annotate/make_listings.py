"""Makes the listings of selected functions from a finished profile."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I64, flatnonzero
from perf2x.errors import OptionError, SeveralFunctionsError
from perf2x.features.annotate.line_costs import (
    FunctionFrames,
    LineSums,
    entries_of,
    line_sums,
    stack_weights,
    sums_by_kind,
)
from perf2x.features.annotate.source_lines import Sources
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.filters.frame_presets import is_runtime
from perf2x.model.filters.profile_filters import Names
from perf2x.model.number_format import format_percent
from perf2x.model.profile import (
    Costs,
    FunctionListing,
    LineCost,
    Listings,
    LocationFrames,
    Measure,
    Profile,
    SourceListing,
    location_frames,
)
from perf2x.model.totals.event_columns import measures_beside
from perf2x.model.totals.totals import Key, totals
from perf2x.symbolizer.sources.symbol_source import Context, SymbolSource


def make_listings(
    profile: Profile, context: Context, sources: Sequence[type[SymbolSource]], options: ListingOptions
) -> Listings:
    """List lines and instructions of the functions that ``options`` select, with their costs.

    Raises OptionError for an unknown function, and for instructions without capstone.
    """
    measures = (*measures_of(profile, options.value), *measures_beside(profile, options.columns))
    chosen = choose_functions(profile, options)
    frames, stacks = location_frames(profile), stack_weights(profile, measures)
    entries = entries_of(profile, frames, function_of_frame(frames, chosen))
    own, total = sums_by_kind(profile, entries, stacks, entries.function, len(chosen))
    found = [
        FunctionListing(name, thing, _costs(own[row]), _costs(total[row])) for row, (name, thing) in enumerate(chosen)
    ]
    texts = Sources(profile, context, options)
    if options.source:
        sums = line_sums(profile, entries, stacks)
        found = [replace(one, sources=_sources(profile, sums, row, texts, entries)) for row, one in enumerate(found)]
    if options.assembly:
        from perf2x.features.annotate.instruction_costs import with_instructions  # capstone is an optional dependency

        found = with_instructions(found, profile, context, sources, entries, stacks, texts, options)
    instructions = None
    if options.instructions:
        from perf2x.features.annotate.instruction_costs import instruction_addresses

        instructions = instruction_addresses(profile, context, sources)
    return Listings(measures, tuple(found), instructions)


def _sources(
    profile: Profile, sums: LineSums, function: int, texts: Sources, entries: "FunctionFrames"
) -> tuple[SourceListing, ...]:
    """Return the files in which a function has lines, highest cost first."""
    rows = flatnonzero(sums.function == function)
    files = [
        _source(profile, sums, rows[sums.file[rows] == file], texts, entries) for file in np.unique(sums.file[rows])
    ]
    return tuple(sorted(files, key=lambda one: (-sum(line.own[0] for line in one.lines), one.path)))


def _source(profile: Profile, sums: LineSums, rows: I64, texts: Sources, entries: FunctionFrames) -> SourceListing:
    path = str(profile.strings[int(sums.file[rows[0]])])
    lines = tuple(
        LineCost(number, _costs(own), _costs(total))
        for number, own, total in zip(sums.line[rows].tolist(), sums.own[rows], sums.total[rows], strict=True)
    )
    here = entries.location[(entries.function == sums.function[rows[0]]) & (entries.file == sums.file[rows[0]])]
    text, reason = texts.around(path, [line.number for line in lines], here)
    return SourceListing(path, lines, text, reason)


def _costs(row: I64) -> Costs:
    return tuple(row.tolist())


MOST = 100
"""Maximum number of functions that a name or glob may list."""


def measures_of(profile: Profile, value: str) -> tuple[Measure, ...]:
    """Return the measures: ``value`` of the default event, or for "" both of all events with samples."""
    if not profile.events:
        return ()
    used = sorted(set(profile.samples.event.tolist())) if not value else [profile.default_event]
    values = (value,) if value else ("period", "samples")
    return tuple(
        Measure(event, one, "samples" if one == "samples" else profile.events[event].unit)
        for event in used
        for one in values
    )


def choose_functions(profile: Profile, options: ListingOptions) -> list[Key]:
    """Return functions by name or glob, or the hottest ones; highest cost first.

    Raises OptionError for an unknown name.
    """
    rows = totals(profile, None, "function", options.value or "period").sorted_by("self")
    named = [row for row in rows if not row.name.startswith("[") or options.function]
    if not options.function:
        return [row.key for row in named if row.self][: options.hottest]
    named.sort(
        key=lambda row: is_runtime(*row.key) or row.object.startswith("[")
    )  # errors list the program's functions first
    found = sorted(Names("function", [row.name for row in named]).matching([options.function]))
    if len(found) > MOST:
        raise OptionError(f"{options.function}: it matches {len(found):,} functions, more than {MOST}")
    several = {named[row].name: named[row] for row in sorted(found, key=lambda row: -named[row].total)}
    if len(several) > 1 and not any(fnmatchcase(name, options.function) for name in several):
        whole = sum(row.self for row in rows)
        costs = {name: format_percent(row.total, whole) for name, row in several.items()}
        raise SeveralFunctionsError(options.function, costs)
    chosen = {named[row].key for row in found}
    return [row.key for row in rows if row.key in chosen]


def function_of_frame(frames: LocationFrames, functions: list[Key]) -> I64:
    """Return (frames,) the index of each frame's function, −1 for others."""
    number = {key: row for row, key in enumerate(functions)}
    keys = zip(frames.name, frames.object, strict=True)
    return np.fromiter((number.get(key, -1) for key in keys), np.int64, len(frames))
