"""Costs of instructions of chosen functions: wherever they are linked, and inlined copies of them."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.analysis.annotate.code_places import Place, places_of
from perf2x.analysis.annotate.line_costs import Entries, StackWeights, own_by_location, total_by_kind
from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.analysis.annotate.object_code import ObjectCode
from perf2x.analysis.annotate.source_lines import Sources
from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.ragged import Ragged, offsets_of
from perf2x.model.printable_text import base_name
from perf2x.model.profile.listings import CodeListing, FunctionListing, InstructionCost
from perf2x.model.profile.profile import Profile
from perf2x.symbolizer.mapped_objects import mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.symbol_source import Context, SymbolSource

MOST_PLACES = 8
"""Places of one function that are shown: a function may be inlined into hundreds."""


def with_instructions(
    listings: Sequence[FunctionListing],
    profile: Profile,
    context: Context,
    sources: Sequence[type[SymbolSource]],
    entries: Entries,
    stacks: StackWeights,
    texts: Sources,
    options: ListingOptions,
) -> list[FunctionListing]:
    """Add the code of each function, highest cost first; ``entries`` number them in the order of ``listings``."""
    places = _places(profile, context, sources, entries, options.syntax)
    first = offsets_of(np.array([len(place.instructions) for place in places], np.int64))
    own, total = _costs(profile, places, first, stacks)
    result = []
    for number, listing in enumerate(listings):
        mine = entries.location[entries.function == number]
        holding = [row for row, place in enumerate(places) if np.isin(place.locations, mine).any()]
        codes = [_listing(places[row], listing, own[first[row] :], total[first[row] :]) for row in holding]
        codes.sort(key=lambda code: (-_cost(code), code.object, code.start))
        shown = tuple(codes[:MOST_PLACES])
        result.append(replace(listing, code=shown, places=len(codes), text=_texts(shown, texts, mine)))
    return result


def _places(
    profile: Profile, context: Context, sources: Sequence[type[SymbolSource]], entries: Entries, syntax: str
) -> list[Place]:
    resolver = ObjectResolver(profile, context, [source(context) for source in sources])
    objects = mapped_objects(profile, context.session, np.ones(len(profile.locations), np.bool_))
    codes = (
        ObjectCode(profile, context, resolver, mapped)
        for mapped in objects
        if np.isin(mapped.locations, entries.location).any()
    )
    return [place for code in codes for place in places_of(code, entries.location, syntax)]


def _costs(profile: Profile, places: Sequence[Place], first: I64, stacks: StackWeights) -> tuple[I64, I64]:
    """Self and total of the instructions of all places, end to end: (instructions, measures) each."""
    count = int(first[-1])
    instruction = np.full(len(profile.locations), -1, np.int64)
    for place, start in zip(places, first.tolist(), strict=False):
        if len(place.instructions):
            instruction[place.locations] = start + place.rows
    held = instruction >= 0
    own = np.zeros((count, stacks.weight.shape[1]), np.int64)
    np.add.at(own, instruction[held], own_by_location(profile, stacks)[held])
    kinds = Ragged(offsets_of(held), instruction[held])
    return own, total_by_kind(profile, stacks, kinds, count)


def _listing(place: Place, listing: FunctionListing, own: I64, total: I64) -> CodeListing:
    """Instructions of ``place`` that are the function's; all of them where it is linked itself."""
    name = base_name(place.code.mapped.key.name)
    shown = [row for row, spot in enumerate(place.spots) if listing.name in spot.names]
    if place.symbol == listing.name:
        shown = list(range(len(place.spots)))
    row_of = {place.instructions[row].address: at for at, row in enumerate(shown)}
    rows = tuple(_instruction(place, row, listing.name, row_of, own, total) for row in shown)
    return CodeListing(name, place.symbol, place.start, rows, place.reason)


def _instruction(place: Place, row: int, name: str, row_of: dict[int, int], own: I64, total: I64) -> InstructionCost:
    one, spot = place.instructions[row], place.spots[row]
    inner = spot.names[0] if spot.names else ""
    target = row_of.get(one.target, -1) if one.target is not None else -1
    return InstructionCost(
        one.address, one.text, place.notes[row], target, spot.path, spot.line, inner, inner == name,
        tuple(own[row].tolist()), tuple(total[row].tolist()),
    )  # fmt: skip


def _cost(code: CodeListing) -> int:
    return sum(row.own[0] for row in code.rows if row.is_own)


def _texts(codes: Sequence[CodeListing], texts: Sources, locations: I64) -> dict[str, dict[int, str]]:
    """Text of the lines that instructions have, by path and number."""
    numbers: dict[str, set[int]] = {}
    for code in codes:
        for row in code.rows:
            numbers.setdefault(row.path, set()).add(row.line)
    found = {path: (texts.around(path, wanted, locations)[0], wanted) for path, wanted in numbers.items() if path}
    return {
        path: {number: line for number, line in text.items() if number in wanted}
        for path, (text, wanted) in found.items()
        if text
    }
