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
    frames_of_listed,
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
from perf2x.model.totals.event_columns import column_measures
from perf2x.model.totals.totals import Key, totals
from perf2x.symbolizer.sources.symbol_source import Context, SymbolSource


def make_listings(
    profile: Profile, context: Context, sources: Sequence[type[SymbolSource]], options: ListingOptions
) -> Listings:
    """List lines and instructions of the functions that ``options`` select, with their costs.

    Raises OptionError for an unknown function, and for instructions without capstone.
    """
    measures = (*measures_of(profile, options.value), *column_measures(profile, options.columns))
    chosen = choose_functions(profile, options)
    all_frames, stacks = location_frames(profile), stack_weights(profile, measures)
    frames = frames_of_listed(profile, all_frames, function_of_frame(all_frames, chosen))
    own, total = sums_by_kind(profile, frames, stacks, frames.function, len(chosen))
    found = [
        FunctionListing(name, file, _costs(own[row]), _costs(total[row])) for row, (name, file) in enumerate(chosen)
    ]
    texts = Sources(profile, context, options)
    if options.source:
        sums = line_sums(profile, frames, stacks)
        found = [replace(one, sources=_sources(profile, sums, row, texts, frames)) for row, one in enumerate(found)]
    if options.assembly:
        from perf2x.features.annotate.instruction_costs import with_instructions  # capstone is an optional dependency

        found = with_instructions(found, profile, context, sources, frames, stacks, texts, options)
    instructions = None
    if options.instructions:
        from perf2x.features.annotate.instruction_costs import instruction_addresses

        instructions = instruction_addresses(profile, context, sources)
    return Listings(measures, tuple(found), instructions)


def _sources(
    profile: Profile, sums: LineSums, function: int, texts: Sources, frames: "FunctionFrames"
) -> tuple[SourceListing, ...]:
    """Return the files in which a listed function (by index) has lines, highest cost first."""
    rows = flatnonzero(sums.function == function)
    files = [
        _source(profile, sums, rows[sums.file[rows] == file], texts, frames) for file in np.unique(sums.file[rows])
    ]
    return tuple(sorted(files, key=lambda one: (-sum(line.own[0] for line in one.lines), one.path)))


def _source(profile: Profile, sums: LineSums, rows: I64, texts: Sources, frames: FunctionFrames) -> SourceListing:
    """Return the lines of one function in one file: ``rows`` of ``sums``, with the lines around them."""
    path = str(profile.strings[int(sums.file[rows[0]])])
    lines = tuple(
        LineCost(number, _costs(own), _costs(total))
        for number, own, total in zip(sums.line[rows].tolist(), sums.own[rows], sums.total[rows], strict=True)
    )
    locations = frames.location[(frames.function == sums.function[rows[0]]) & (frames.file == sums.file[rows[0]])]
    text, reason = texts.around(path, [line.number for line in lines], locations)
    return SourceListing(path, lines, text, reason)


def _costs(row: I64) -> Costs:
    return tuple(row.tolist())


MOST = 100
"""Maximum number of functions that a name or glob may list."""


def measures_of(profile: Profile, value: str) -> tuple[Measure, ...]:
    """Return the costs to list: ``value`` of the default event, or for "" period and samples of all sampled events."""
    if not profile.events:
        return ()
    sampled = sorted(set(profile.samples.event.tolist())) if not value else [profile.default_event]
    values = (value,) if value else ("period", "samples")
    return tuple(
        Measure(event, one, "samples" if one == "samples" else profile.events[event].unit)
        for event in sampled
        for one in values
    )


def choose_functions(profile: Profile, options: ListingOptions) -> list[Key]:
    """Return the functions that ``options`` name (or match by glob), else the hottest ones; highest cost first.

    Raises OptionError for an unknown name, and SeveralFunctionsError for the last part of several names.
    """
    rows = totals(profile, None, "function", options.value or "period").sorted_by("self")
    named = [row for row in rows if not row.name.startswith("[") or options.function]
    if not options.function:
        return [row.key for row in named if row.self][: options.hottest]
    # errors list the program's own functions first
    named.sort(key=lambda row: is_runtime(*row.key) or row.object.startswith("["))
    found = sorted(Names("function", [row.name for row in named]).matching([options.function]))
    if len(found) > MOST:
        raise OptionError(f"{options.function}: it matches {len(found):,} functions, more than {MOST}")
    matches = {named[row].name: named[row] for row in sorted(found, key=lambda row: -named[row].total)}
    if len(matches) > 1 and not any(fnmatchcase(name, options.function) for name in matches):
        total = sum(row.self for row in rows)
        costs = {name: format_percent(row.total, total) for name, row in matches.items()}
        raise SeveralFunctionsError(options.function, costs)
    chosen = {named[row].key for row in found}
    return [row.key for row in rows if row.key in chosen]


def function_of_frame(frames: LocationFrames, functions: list[Key]) -> I64:
    """Return (frames,) the index of each frame's function, −1 for others."""
    index = {key: row for row, key in enumerate(functions)}
    keys = zip(frames.name, frames.object, strict=True)
    return np.fromiter((index.get(key, -1) for key in keys), np.int64, len(frames))
