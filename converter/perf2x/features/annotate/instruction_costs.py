"""Costs of instructions of selected functions, in their own code and in copies inlined elsewhere.

Each linked function with samples of a selected one is disassembled once.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.binaries.disassembler import Instruction, disassemble
from perf2x.base.columnar import (
    I64,
    U64,
    Frozen,
    ListArray,
    arange,
    as_int64,
    as_uint64,
    group_rows,
    minus_ones,
    offsets_of,
    searchsorted,
    sum_at,
    trues,
    unique,
    zeros,
)
from perf2x.errors import ObjectError
from perf2x.features.annotate.line_costs import FunctionFrames, StackWeights, own_by_location, total_by_kind
from perf2x.features.annotate.object_code import ObjectCode
from perf2x.features.annotate.source_lines import Sources
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.printable_text import base_name
from perf2x.model.profile import CodeListing, FunctionListing, FunctionRow, InstructionCost, Profile
from perf2x.symbolizer.mapped_objects import mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.symbol_source import Context, SymbolSource


class _Spot(Frozen):
    """The functions and lines at an instruction, innermost first."""

    names: tuple[str, ...]
    path: str
    line: int


class _Place(Frozen):
    """A linked function of one object."""

    code: ObjectCode
    start: int
    instructions: Sequence[Instruction]
    begin: U64
    """(instructions,) addresses, as in ``code``."""
    locations: I64
    """Locations in the function."""
    rows: I64
    """(locations,) the instruction of each location."""
    reason: str = ""
    spots: Sequence[_Spot] = ()
    """One per instruction: the functions and lines there."""
    notes: Sequence[str] = ()
    """One per instruction: the target of a jump or call, or the data that it refers to."""

    @property
    def symbol(self) -> str:
        """The name of the linked function; "" if unknown."""
        return next((spot.names[-1] for spot in self.spots if spot.names), "")


def _places_of(code: ObjectCode, rows: I64, syntax: str) -> Iterator[_Place]:
    """Yield the functions that contain any of the ``rows`` locations (ascending) of an object."""
    start, end = code.extents(code.address)
    chosen = np.isin(code.mapped.locations, rows)
    kinds, _ = group_rows([start[chosen], end[chosen]])
    for row in kinds.tolist():
        first, last = int(start[chosen][row]), int(end[chosen][row])
        inside = (start == first) & (end == last)
        yield _place(code, first, last, inside if last else inside & chosen, syntax)


def _place(
    code: ObjectCode, start: int, end: int, inside: "np.ndarray[tuple[int], np.dtype[np.bool_]]", syntax: str
) -> _Place:
    locations, address = code.mapped.locations[inside], code.address[inside]
    try:
        if not end:
            code.read(0, 0)
            raise ObjectError("where the function begins and ends is unknown")
        machine, data = code.read(start, end)
        moved = code.displacement(start)
        shown = (start + moved) % 2**64
        found = list(disassemble(machine, data, shown, syntax))
    except ObjectError as error:
        return _Place(code, start, (), address[:0], locations, zeros(len(locations)), str(error))
    begin = as_uint64([one.address for one in found]) - np.uint64(moved)
    rows = searchsorted(begin, address, "right") - 1
    return _Place(code, shown, found, begin, locations, rows)


def _with_notes(place: _Place) -> _Place:
    code, found = place.code, place.instructions
    return replace(place, spots=_spots(code, place.begin), notes=_notes(code, found, place.start)) if found else place


def _spots(code: ObjectCode, address: U64) -> list[_Spot]:
    frames, functions = code.functions_at(address)
    return [_spot(row.tolist(), functions) for row in frames.rows()]


def _spot(frames: Sequence[tuple[int, int]], functions: Sequence[FunctionRow]) -> _Spot:
    """Build a spot; ``frames`` are (function, line), innermost first."""
    if not frames:
        return _Spot((), "", 0)
    return _Spot(tuple(functions[function][0] for function, _ in frames), functions[frames[0][0]][2], frames[0][1])


def _notes(code: ObjectCode, found: Sequence[Instruction], start: int) -> list[str]:
    """Return ``main+0x10`` for the target or operand of each instruction, "" for inner jumps and unknown ones."""
    size = found[-1].address + found[-1].size - start if found else 0
    targets = [one.refers if one.target is None else one.target for one in found]
    outside = [one if one is not None and not start <= one < start + size else None for one in targets]
    address = unique(as_uint64([one for one in outside if one is not None]))
    names = dict(zip(address.tolist(), _names_at(code, code.addresses_of_shown(address)), strict=True))
    return [names[one] if one is not None else "" for one in outside]


def _names_at(code: ObjectCode, address: U64) -> list[str]:
    """Return names for addresses as in the object file."""
    frames, functions = code.functions_at(address)
    begin, _ = code.extents(address)
    return [
        _with_offset(functions[int(row[-1, 0])][0], one - first) if len(row) else ""
        for row, one, first in zip(frames.rows(), address.tolist(), begin.tolist(), strict=True)
    ]


def _with_offset(name: str, offset: int) -> str:
    return f"{name}+{offset:#x}" if offset else name


MOST_PLACES = 8
"""Maximum number of places to show per function, which may be inlined into hundreds."""


def with_instructions(
    listings: Sequence[FunctionListing],
    profile: Profile,
    context: Context,
    sources: Sequence[type[SymbolSource]],
    entries: FunctionFrames,
    stacks: StackWeights,
    texts: Sources,
    options: ListingOptions,
) -> list[FunctionListing]:
    """Add the code of each function, highest cost first; ``entries`` number them in the order of ``listings``."""
    places = [_with_notes(place) for place in _places(profile, context, sources, entries.location, options.syntax)]
    first = offsets_of(as_int64([len(place.instructions) for place in places]))
    own, total = _costs(profile, places, first, stacks)
    result = []
    for number, listing in enumerate(listings):
        mine = entries.location[entries.function == number]
        holding = [row for row, place in enumerate(places) if np.isin(place.locations, mine).any()]
        codes = [_listing(places[row], listing, own[first[row] :], total[first[row] :]) for row in holding]
        codes.sort(key=lambda code: (-sum(row.own[0] for row in code.rows if row.is_own), code.object, code.start))
        shown = tuple(codes[:MOST_PLACES])
        result.append(replace(listing, code=shown, places=len(codes), text=_texts(shown, texts, mine)))
    return result


def _places(
    profile: Profile, context: Context, sources: Sequence[type[SymbolSource]], rows: I64, syntax: str
) -> Iterator[_Place]:
    resolver = ObjectResolver(profile, context, [source(context) for source in sources])
    objects = mapped_objects(profile, context.session, trues(len(profile.locations)))
    codes = (
        ObjectCode(profile, context, resolver, mapped) for mapped in objects if np.isin(mapped.locations, rows).any()
    )
    return (place for code in codes for place in _places_of(code, rows, syntax))


def instruction_addresses(profile: Profile, context: Context, sources: Sequence[type[SymbolSource]]) -> U64:
    """Return (locations,) each location's instruction address in its object; 0 if unknown."""
    address = np.zeros(len(profile.locations), np.uint64)
    for place in _places(profile, context, sources, arange(len(address)), "att"):
        if place.instructions:
            address[place.locations] = place.begin[place.rows]
    return address


def _costs(profile: Profile, places: Sequence[_Place], first: I64, stacks: StackWeights) -> tuple[I64, I64]:
    """Return self and total of the instructions of all places, concatenated: (instructions, measures) each."""
    count = int(first[-1])
    instruction = minus_ones(len(profile.locations))
    for place, start in zip(places, first.tolist(), strict=False):
        if len(place.instructions):
            instruction[place.locations] = start + place.rows
    kept = instruction >= 0
    own = sum_at(instruction[kept], own_by_location(profile, stacks)[kept], count)
    kinds = ListArray(offsets_of(kept), instruction[kept])
    return own, total_by_kind(profile, stacks, kinds, count)


def _listing(place: _Place, listing: FunctionListing, own: I64, total: I64) -> CodeListing:
    """Return a function's instructions in ``place``: all of them if it is linked there."""
    name = base_name(place.code.mapped.key.name)
    shown = [row for row, spot in enumerate(place.spots) if listing.name in spot.names]
    if place.symbol == listing.name:
        shown = list(range(len(place.spots)))
    row_of = {place.instructions[row].address: at for at, row in enumerate(shown)}
    rows = tuple(_instruction(place, row, listing.name, row_of, own, total) for row in shown)
    return CodeListing(name, place.symbol, place.start, rows, place.reason)


def _instruction(place: _Place, row: int, name: str, row_of: dict[int, int], own: I64, total: I64) -> InstructionCost:
    one, spot = place.instructions[row], place.spots[row]
    inner = spot.names[0] if spot.names else ""
    target = row_of.get(one.target, -1) if one.target is not None else -1
    return InstructionCost(
        one.address, one.text, place.notes[row], target, spot.path, spot.line, inner, inner == name,
        tuple(own[row].tolist()), tuple(total[row].tolist()),
    )  # fmt: skip


def _texts(codes: Sequence[CodeListing], texts: Sources, locations: I64) -> dict[str, dict[int, str]]:
    """Return the text of the instructions' source lines, by path and number."""
    numbers: dict[str, set[int]] = {}
    for code in codes:
        for row in code.rows:
            numbers.setdefault(row.path, set()).add(row.line)
    found = {path: (texts.around(path, lines, locations)[0], lines) for path, lines in numbers.items() if path}
    return {
        path: {number: line for number, line in text.items() if number in lines}
        for path, (text, lines) in found.items()
        if text
    }
