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
    self_and_total_by_group,
    stack_weights,
)
from perf2x.features.annotate.source_lines import SourceLines
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
    profile: Profile, context: Context, symbol_sources: Sequence[type[SymbolSource]], options: ListingOptions
) -> Listings:
    """List lines and instructions of the functions that ``options`` select, with their costs.

    Raises OptionError if no function has the name, or if instructions are requested but capstone is not installed.
    """
    measures = (*measures_of(profile, options.value), *column_measures(profile, options.columns))
    functions = choose_functions(profile, options)
    all_frames, stacks = location_frames(profile), stack_weights(profile, measures)
    frames = frames_of_listed(profile, all_frames, function_of_frame(all_frames, functions))
    self_cost, total_cost = self_and_total_by_group(profile, frames, stacks, frames.function, len(functions))
    listings = [
        FunctionListing(name, object_name, _costs(self_cost[row]), _costs(total_cost[row]))
        for row, (name, object_name) in enumerate(functions)
    ]
    source_lines = SourceLines(profile, context, options)
    if options.source:
        sums = line_sums(profile, frames, stacks)
        listings = [
            replace(listing, sources=_sources(profile, sums, row, source_lines, frames))
            for row, listing in enumerate(listings)
        ]
    if options.assembly:
        from perf2x.features.annotate.instruction_costs import with_instructions  # capstone is an optional dependency

        listings = with_instructions(listings, profile, context, symbol_sources, frames, stacks, source_lines, options)
    addresses = None
    if options.instruction_addresses:
        from perf2x.features.annotate.instruction_costs import instruction_addresses

        addresses = instruction_addresses(profile, context, symbol_sources)
    return Listings(measures, tuple(listings), addresses)


def _sources(
    profile: Profile, sums: LineSums, function: int, source_lines: SourceLines, frames: "FunctionFrames"
) -> tuple[SourceListing, ...]:
    rows = flatnonzero(sums.function == function)
    files = [
        _source(profile, sums, rows[sums.file[rows] == file], source_lines, frames)
        for file in np.unique(sums.file[rows])
    ]
    return tuple(sorted(files, key=lambda file: (-sum(line.self_costs[0] for line in file.lines), file.path)))


def _source(
    profile: Profile, sums: LineSums, rows: I64, source_lines: SourceLines, frames: FunctionFrames
) -> SourceListing:
    """``rows`` are rows of ``sums`` of one function and file."""
    path = str(profile.strings[int(sums.file[rows[0]])])
    lines = tuple(
        LineCost(number, _costs(self_cost), _costs(total_cost))
        for number, self_cost, total_cost in zip(
            sums.line[rows].tolist(), sums.self_cost[rows], sums.total_cost[rows], strict=True
        )
    )
    locations = frames.location[(frames.function == sums.function[rows[0]]) & (frames.file == sums.file[rows[0]])]
    text, reason = source_lines.lines_around(path, [line.number for line in lines], locations)
    return SourceListing(path, lines, text, reason)


def _costs(by_measure: I64) -> Costs:
    return tuple(by_measure.tolist())


# most functions that a name or glob may list
MAX_FUNCTIONS = 100


def measures_of(profile: Profile, value: str) -> tuple[Measure, ...]:
    """Return ``value`` of the default event; "" means period and number of samples of every event with samples."""
    if not profile.events:
        return ()
    sampled = sorted(set(profile.samples.event.tolist())) if not value else [profile.default_event]
    values = (value,) if value else ("period", "samples")
    return tuple(
        Measure(event, each_value, "samples" if each_value == "samples" else profile.events[event].unit)
        for event in sampled
        for each_value in values
    )


def choose_functions(profile: Profile, options: ListingOptions) -> list[Key]:
    """Return the functions that ``options`` select by name or glob, or else the hottest; highest self cost first.

    Raises OptionError if no function matches, or more than MAX_FUNCTIONS; SeveralFunctionsError if the name is only a
    part of several functions' names.
    """
    rows = totals(profile, None, "function", options.value or "period").sorted_by("self")
    # names in brackets are placeholders for code without a name; only a name that matches them lists them
    candidates = [row for row in rows if not row.name.startswith("[") or options.function]
    if not options.function:
        return [row.key for row in candidates if row.self][: options.hottest]
    # an error about an unknown name suggests functions of the program before those of runtimes
    candidates.sort(key=lambda row: is_runtime(*row.key) or row.object.startswith("["))
    matching_rows = sorted(Names("function", [row.name for row in candidates]).matching([options.function]))
    if len(matching_rows) > MAX_FUNCTIONS:
        raise OptionError(f"{options.function}: it matches {len(matching_rows):,} functions, more than {MAX_FUNCTIONS}")
    if not any(fnmatchcase(candidates[row].name, options.function) for row in matching_rows):
        total, share_by_name = sum(row.self for row in rows), dict[str, str]()
        for row in sorted((candidates[row] for row in matching_rows), key=lambda row: -row.total):
            # several objects may have functions with the same name: the message shows the highest share
            share_by_name.setdefault(row.name, format_percent(row.total, total))
        if len(share_by_name) > 1:
            raise SeveralFunctionsError(options.function, share_by_name)
    chosen_keys = {candidates[row].key for row in matching_rows}
    return [row.key for row in rows if row.key in chosen_keys]


def function_of_frame(frames: LocationFrames, functions: list[Key]) -> I64:
    """Return (frames,) the index in ``functions`` of each frame's function, −1 for frames of other functions."""
    index_by_key = {key: index for index, key in enumerate(functions)}
    keys = zip(frames.name, frames.object, strict=True)
    return np.fromiter((index_by_key.get(key, -1) for key in keys), np.int64, len(frames))
