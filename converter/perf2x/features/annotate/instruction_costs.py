"""Costs of the instructions of listed functions.

A listed function's instructions may be in several linked functions (symbols of an object): in its own symbol, and in
every function into which the compiler inlined it. Each linked function with samples of a listed one is disassembled
once. A sample's cost then goes to the instruction that contains its address.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.binaries.disassembler import Instruction, disassemble
from perf2x.base.columnar import (
    I64,
    U64,
    Bools,
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


class _CodeLine(Frozen):
    """The source line of an instruction, and the functions that it belongs to through inlining."""

    functions: tuple[str, ...]
    """Names, innermost inlined function first; empty if unknown."""
    path: str
    """Source file of the innermost function."""
    line: int


class _LinkedFunction(Frozen):
    """A linked function of one object, disassembled."""

    code: ObjectCode
    start: int
    """Displayed address of its first instruction (`ObjectCode.displacement`)."""
    instructions: Sequence[Instruction]
    """Empty if its code cannot be read; then ``reason`` says why."""
    address: U64
    """(instructions,) addresses in the object, as ``code`` has them."""
    locations: I64
    """(samples' locations,) rows of Profile.locations that are in the function."""
    instruction_row: I64
    """(samples' locations,) the instruction that contains each of ``locations``."""
    reason: str = ""
    lines: Sequence[_CodeLine] = ()
    """One for each instruction."""
    references: Sequence[str] = ()
    """For each instruction, the name of the code that it jumps to or calls, or of the data that it refers to."""

    @property
    def symbol(self) -> str:
        """The name of the linked function; "" if unknown."""
        return next((line.functions[-1] for line in self.lines if line.functions), "")


def _functions_of_object(code: ObjectCode, wanted: I64, syntax: str) -> Iterator[_LinkedFunction]:
    """Yield the functions of an object that contain any of the ``wanted`` locations (ascending)."""
    start, end = code.extents(code.address)
    is_wanted = np.isin(code.mapped.locations, wanted)
    first_rows, _ = group_rows([start[is_wanted], end[is_wanted]])
    for row in first_rows.tolist():
        begin, limit = int(start[is_wanted][row]), int(end[is_wanted][row])
        is_inside = (start == begin) & (end == limit)
        # code without a known extent is not one function: only the wanted locations share the reason
        yield _disassembled(code, begin, limit, is_inside if limit else is_inside & is_wanted, syntax)


def _disassembled(code: ObjectCode, start: int, end: int, is_inside: Bools, syntax: str) -> _LinkedFunction:
    """Disassemble the code from ``start`` to ``end`` (0: unknown); ``is_inside``: the object's locations in it."""
    locations, address = code.mapped.locations[is_inside], code.address[is_inside]
    try:
        if not end:
            code.read(0, 0)  # raises a more specific reason if the object has no readable code at all
            raise ObjectError("where the function begins and ends is unknown")
        machine, data = code.read(start, end)
        displacement = code.displacement(start)
        shown_start = (start + displacement) % 2**64
        instructions = list(disassemble(machine, data, shown_start, syntax))
    except ObjectError as error:
        return _LinkedFunction(code, start, (), address[:0], locations, zeros(len(locations)), str(error))
    begin = as_uint64([instruction.address for instruction in instructions]) - np.uint64(displacement)
    instruction_row = searchsorted(begin, address, "right") - 1
    return _LinkedFunction(code, shown_start, instructions, begin, locations, instruction_row)


def _with_lines(function: _LinkedFunction) -> _LinkedFunction:
    """Add source lines and names of references."""
    if not function.instructions:
        return function
    lines = _code_lines(function.code, function.address)
    return replace(function, lines=lines, references=_references(function.code, function.instructions, function.start))


def _code_lines(code: ObjectCode, address: U64) -> list[_CodeLine]:
    frames, functions = code.functions_at(address)
    return [_code_line(row.tolist(), functions) for row in frames.rows()]


def _code_line(frames: Sequence[tuple[int, int]], functions: Sequence[FunctionRow]) -> _CodeLine:
    """Convert (row of ``functions``, line) pairs, innermost first."""
    if not frames:
        return _CodeLine((), "", 0)
    names = tuple(functions[function][0] for function, _ in frames)
    innermost, line = frames[0]
    return _CodeLine(names, functions[innermost][2], line)


def _references(code: ObjectCode, instructions: Sequence[Instruction], start: int) -> list[str]:
    """Return ``main+0x10`` for the jump target or data operand of each instruction.

    It is "" for unknown addresses, and for those in the function itself, which begins at ``start``.
    """
    size = instructions[-1].address + instructions[-1].size - start
    targets = [one.data_address if one.target is None else one.target for one in instructions]
    outside = [target if target is not None and not start <= target < start + size else None for target in targets]
    address = unique(as_uint64([target for target in outside if target is not None]))
    names = dict(zip(address.tolist(), _names_at(code, code.addresses_of_shown(address)), strict=True))
    return [names[target] if target is not None else "" for target in outside]


def _names_at(code: ObjectCode, address: U64) -> list[str]:
    """Return a name with offset for each address in the object; "" if it is in no function."""
    frames, functions = code.functions_at(address)
    starts, _ = code.extents(address)
    return [
        _with_offset(functions[int(row[-1, 0])][0], one - start) if len(row) else ""
        for row, one, start in zip(frames.rows(), address.tolist(), starts.tolist(), strict=True)
    ]


def _with_offset(name: str, offset: int) -> str:
    return f"{name}+{offset:#x}" if offset else name


MOST_COPIES = 8
"""Maximum number of copies of a function's code to show; a function may be inlined into hundreds of others."""


def with_instructions(
    listings: Sequence[FunctionListing],
    profile: Profile,
    context: Context,
    sources: Sequence[type[SymbolSource]],
    frames: FunctionFrames,
    stacks: StackWeights,
    texts: Sources,
    options: ListingOptions,
) -> list[FunctionListing]:
    """Add the code of each listed function, highest cost first.

    ``frames`` are the frames of listed functions; their ``function`` is a row of ``listings``.
    """
    functions = [
        _with_lines(function)
        for function in _linked_functions(profile, context, sources, frames.location, options.syntax)
    ]
    # the instructions of all functions, concatenated, are numbered throughout; first[i] is the first one of function i
    first = offsets_of(as_int64([len(function.instructions) for function in functions]))
    own, total = _costs(profile, functions, first, stacks)
    result = []
    for number, listing in enumerate(listings):
        locations = frames.location[frames.function == number]
        rows = [row for row, function in enumerate(functions) if np.isin(function.locations, locations).any()]
        codes = [_listing(functions[row], listing, own[first[row] :], total[first[row] :]) for row in rows]
        codes.sort(key=lambda code: (-sum(row.own[0] for row in code.rows if row.is_own), code.object, code.start))
        shown = tuple(codes[:MOST_COPIES])
        result.append(replace(listing, code=shown, copy_count=len(codes), text=_texts(shown, texts, locations)))
    return result


def _linked_functions(
    profile: Profile, context: Context, sources: Sequence[type[SymbolSource]], wanted: I64, syntax: str
) -> Iterator[_LinkedFunction]:
    """Yield all linked functions that contain any of the ``wanted`` locations (ascending), object by object."""
    resolver = ObjectResolver(profile, context, [source(context) for source in sources])
    objects = mapped_objects(profile, context.session, trues(len(profile.locations)))
    codes = (
        ObjectCode(profile, context, resolver, mapped) for mapped in objects if np.isin(mapped.locations, wanted).any()
    )
    return (function for code in codes for function in _functions_of_object(code, wanted, syntax))


def instruction_addresses(profile: Profile, context: Context, sources: Sequence[type[SymbolSource]]) -> U64:
    """Return (locations,) the address, in its object, of the instruction that contains each location; 0 if unknown."""
    address = np.zeros(len(profile.locations), np.uint64)
    for function in _linked_functions(profile, context, sources, arange(len(address)), "att"):
        if function.instructions:
            address[function.locations] = function.address[function.instruction_row]
    return address


def _costs(profile: Profile, functions: Sequence[_LinkedFunction], first: I64, stacks: StackWeights) -> tuple[I64, I64]:
    """Return self and total of the instructions of all functions, concatenated: (instructions, measures) each."""
    count = int(first[-1])
    instruction = minus_ones(len(profile.locations))  # −1: in no disassembled function
    for function, start in zip(functions, first.tolist(), strict=False):
        if function.instructions:
            instruction[function.locations] = start + function.instruction_row
    is_known = instruction >= 0
    own = sum_at(instruction[is_known], own_by_location(profile, stacks)[is_known], count)
    instructions_of_location = ListArray(offsets_of(is_known), instruction[is_known])
    return own, total_by_kind(profile, stacks, instructions_of_location, count)


def _listing(function: _LinkedFunction, listing: FunctionListing, own: I64, total: I64) -> CodeListing:
    """Return a listed function's instructions in a linked one: all of them if both are the same, else inlined ones.

    ``own`` and ``total`` begin with the costs of the linked function's instructions.
    """
    object_name = base_name(function.code.mapped.key.name)
    rows = [row for row, line in enumerate(function.lines) if listing.name in line.functions]
    if function.symbol == listing.name:
        rows = list(range(len(function.lines)))
    position = {function.instructions[row].address: number for number, row in enumerate(rows)}
    costs = tuple(_instruction_cost(function, row, listing.name, position, own, total) for row in rows)
    return CodeListing(object_name, function.symbol, function.start, costs, function.reason)


def _instruction_cost(
    function: _LinkedFunction, row: int, listed_name: str, position: dict[int, int], own: I64, total: I64
) -> InstructionCost:
    """Build one line of a listing; ``position`` has the lines of the listing's addresses, for targets of jumps."""
    instruction, line = function.instructions[row], function.lines[row]
    innermost = line.functions[0] if line.functions else ""
    target = position.get(instruction.target, -1) if instruction.target is not None else -1
    return InstructionCost(
        instruction.address, instruction.text, function.references[row], target, line.path, line.line, innermost,
        innermost == listed_name, tuple(own[row].tolist()), tuple(total[row].tolist()),
    )  # fmt: skip


def _texts(codes: Sequence[CodeListing], texts: Sources, locations: I64) -> dict[str, dict[int, str]]:
    """Return the text of the instructions' source lines, by path and line number."""
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
