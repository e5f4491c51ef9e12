"""Costs of the instructions of listed functions.

A *linked function* is the code of one symbol of an object. The compiler may inline a listed function into several of
them. A *copy* is the part of a linked function that belongs to one listed function.
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
from perf2x.features.annotate.line_costs import FunctionFrames, StackWeights, self_by_location, total_by_group
from perf2x.features.annotate.object_code import ObjectCode
from perf2x.features.annotate.source_lines import SourceLines
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.printable_text import base_name
from perf2x.model.profile import CodeListing, FunctionListing, FunctionRow, InstructionCost, Profile
from perf2x.symbolizer.mapped_objects import mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.symbol_source import Context, SymbolSource


class _CodeLine(Frozen):
    """Source line of an instruction, and the functions that it belongs to, because of inlining."""

    functions: tuple[str, ...]
    """Names, innermost inlined function first; empty if unknown."""
    path: str
    """Source file of the innermost function."""
    line: int


class _LinkedFunction(Frozen):
    code: ObjectCode
    start: int
    """Displayed address of the first instruction (see `ObjectCode`), like the addresses in ``instructions``.

    If the code cannot be read, it is the address in the object; 0 if that is unknown.
    """
    instructions: Sequence[Instruction]
    """Empty if the code cannot be read; then ``reason`` says why."""
    address: U64
    """(instructions,) the address of each instruction in the object, as ``code`` uses them."""
    locations: I64
    """(n,) rows of Profile.locations that are in the function, ascending."""
    instruction_row: I64
    """(n,) index, in ``instructions``, of the instruction that contains each of ``locations``."""
    reason: str = ""
    lines: Sequence[_CodeLine] = ()
    """One for each instruction."""
    references: Sequence[str] = ()
    """For each instruction, the name of the code or data that it refers to (`_references`)."""

    @property
    def symbol(self) -> str:
        """The name of the linked function; "" if unknown."""
        return next((line.functions[-1] for line in self.lines if line.functions), "")


def _functions_of_object(code: ObjectCode, selected: I64, syntax: str) -> Iterator[_LinkedFunction]:
    start, end = code.extents(code.address)
    is_selected = np.isin(code.mapped.locations, selected)
    first_rows, _ = group_rows([start[is_selected], end[is_selected]])
    for first in first_rows.tolist():
        function_start, function_end = int(start[is_selected][first]), int(end[is_selected][first])
        is_in_function = (start == function_start) & (end == function_end)
        # Locations of unknown functions have start and end 0, but do not share a function. Of these, only the
        # selected ones are kept, so that ``reason`` is not reported for functions that are not listed.
        is_in_function &= is_selected if not function_end else True
        yield _disassemble(code, function_start, function_end, is_in_function, syntax)


def _disassemble(code: ObjectCode, start: int, end: int, is_in_function: Bools, syntax: str) -> _LinkedFunction:
    """``start`` and ``end`` are addresses in the object, both 0 if unknown.

    ``is_in_function`` has the shape (locations of the object,).
    """
    locations, address = code.mapped.locations[is_in_function], code.address[is_in_function]
    try:
        if not end:
            code.read(0, 0)  # raises a more specific reason if no code can be read
            raise ObjectError("where the function begins and ends is unknown")
        machine, data = code.read(start, end)
        displacement = code.displacement(start)
        displayed_start = (start + displacement) % 2**64
        instructions = list(disassemble(machine, data, displayed_start, syntax))
    except ObjectError as error:
        return _LinkedFunction(code, start, (), address[:0], locations, zeros(len(locations)), str(error))
    instruction_address = as_uint64([instruction.address for instruction in instructions]) - np.uint64(displacement)
    instruction_row = searchsorted(instruction_address, address, "right") - 1
    return _LinkedFunction(code, displayed_start, instructions, instruction_address, locations, instruction_row)


def _with_lines(function: _LinkedFunction) -> _LinkedFunction:
    if not function.instructions:
        return function
    lines = _code_lines(function.code, function.address)
    return replace(function, lines=lines, references=_references(function.code, function.instructions, function.start))


def _code_lines(code: ObjectCode, address: U64) -> list[_CodeLine]:
    frames, functions = code.functions_at(address)
    return [_code_line(row.tolist(), functions) for row in frames.rows()]


def _code_line(frames: Sequence[tuple[int, int]], functions: Sequence[FunctionRow]) -> _CodeLine:
    if not frames:
        return _CodeLine((), "", 0)
    names = tuple(functions[function][0] for function, _ in frames)
    innermost, line = frames[0]
    return _CodeLine(names, functions[innermost][2], line)


def _references(code: ObjectCode, instructions: Sequence[Instruction], start: int) -> list[str]:
    """Name the jump target or data operand of each instruction, as in ``main+0x10``.

    The name is "" without target and operand, for unknown addresses, and for addresses in the linked function itself.
    """
    size = instructions[-1].address + instructions[-1].size - start
    targets = [
        instruction.data_address if instruction.target is None else instruction.target for instruction in instructions
    ]
    outside_targets = [
        target if target is not None and not start <= target < start + size else None for target in targets
    ]
    address = unique(as_uint64([target for target in outside_targets if target is not None]))
    names = dict(zip(address.tolist(), _names_at(code, code.addresses_of_displayed(address)), strict=True))
    return [names[target] if target is not None else "" for target in outside_targets]


def _names_at(code: ObjectCode, address: U64) -> list[str]:
    frames, functions = code.functions_at(address)
    starts, _ = code.extents(address)
    return [
        _with_offset(functions[int(row[-1, 0])][0], queried - start) if len(row) else ""
        for row, queried, start in zip(frames.rows(), address.tolist(), starts.tolist(), strict=True)
    ]


def _with_offset(name: str, offset: int) -> str:
    return f"{name}+{offset:#x}" if offset else name


# A function may be inlined into hundreds of others.
MAX_COPIES = 8


def with_instructions(
    listings: Sequence[FunctionListing],
    profile: Profile,
    context: Context,
    symbol_sources: Sequence[type[SymbolSource]],
    frames: FunctionFrames,
    stacks: StackWeights,
    source_lines: SourceLines,
    options: ListingOptions,
) -> list[FunctionListing]:
    """Add the copies of each listed function's code, highest cost first.

    The ``function`` of ``frames`` is an index of ``listings``.
    """
    functions = [
        _with_lines(function)
        for function in _linked_functions(profile, context, symbol_sources, frames.location, options.syntax)
    ]
    # function i has the rows from first_row[i] on
    first_row = offsets_of(as_int64([len(function.instructions) for function in functions]))
    self_cost, total_cost = _costs(profile, functions, first_row, stacks)
    result = []
    for listing_index, listing in enumerate(listings):
        locations = frames.location[frames.function == listing_index]
        rows = [row for row, function in enumerate(functions) if np.isin(function.locations, locations).any()]
        copies = [
            _copy(functions[row], listing, self_cost[first_row[row] :], total_cost[first_row[row] :]) for row in rows
        ]
        copies.sort(
            key=lambda copy: (-sum(row.self_costs[0] for row in copy.rows if row.is_own), copy.object, copy.start)
        )
        shown = tuple(copies[:MAX_COPIES])
        result.append(
            replace(listing, code=shown, copy_count=len(copies), text=_source_text(shown, source_lines, locations))
        )
    return result


def _linked_functions(
    profile: Profile, context: Context, symbol_sources: Sequence[type[SymbolSource]], selected: I64, syntax: str
) -> Iterator[_LinkedFunction]:
    resolver = ObjectResolver(profile, context, [source(context) for source in symbol_sources])
    objects = mapped_objects(profile, context.session, trues(len(profile.locations)))
    codes = (
        ObjectCode(profile, context, resolver, mapped)
        for mapped in objects
        if np.isin(mapped.locations, selected).any()
    )
    return (function for code in codes for function in _functions_of_object(code, selected, syntax))


def instruction_addresses(profile: Profile, context: Context, symbol_sources: Sequence[type[SymbolSource]]) -> U64:
    """Return (locations,) the address in the object of each location's instruction; 0 if unknown."""
    address = np.zeros(len(profile.locations), np.uint64)
    for function in _linked_functions(profile, context, symbol_sources, arange(len(address)), "att"):
        if function.instructions:
            address[function.locations] = function.address[function.instruction_row]
    return address


def _costs(
    profile: Profile, functions: Sequence[_LinkedFunction], first_row: I64, stacks: StackWeights
) -> tuple[I64, I64]:
    """Return self and total costs of all instructions, concatenated: (instructions, measures) both.

    ``first_row`` (functions + 1,): where each function's instructions begin.
    """
    count = int(first_row[-1])
    # (locations,) −1: in no disassembled function
    instruction = minus_ones(len(profile.locations))
    for function, start in zip(functions, first_row.tolist(), strict=False):
        if function.instructions:
            instruction[function.locations] = start + function.instruction_row
    is_known = instruction >= 0
    self_cost = sum_at(instruction[is_known], self_by_location(profile, stacks)[is_known], count)
    instructions_of_location = ListArray(offsets_of(is_known), instruction[is_known])
    return self_cost, total_by_group(profile, stacks, instructions_of_location, count)


def _copy(function: _LinkedFunction, listing: FunctionListing, self_cost: I64, total_cost: I64) -> CodeListing:
    """Take all instructions if the linked function is the listed one, otherwise those that inlining put there.

    Costs are (instructions, measures); row 0 is the linked function's first instruction.
    """
    object_name = base_name(function.code.mapped.key.name)
    rows = [row for row, line in enumerate(function.lines) if listing.name in line.functions]
    if function.symbol == listing.name:
        rows = list(range(len(function.lines)))
    row_by_address = {function.instructions[row].address: listing_row for listing_row, row in enumerate(rows)}
    costs = tuple(_instruction_cost(function, row, listing.name, row_by_address, self_cost, total_cost) for row in rows)
    return CodeListing(object_name, function.symbol, function.start, costs, function.reason)


def _instruction_cost(
    function: _LinkedFunction,
    row: int,
    listed_name: str,
    row_by_address: dict[int, int],
    self_cost: I64,
    total_cost: I64,
) -> InstructionCost:
    instruction, line = function.instructions[row], function.lines[row]
    innermost = line.functions[0] if line.functions else ""
    target = row_by_address.get(instruction.target, -1) if instruction.target is not None else -1
    return InstructionCost(
        instruction.address, instruction.text, function.references[row], target, line.path, line.line, innermost,
        innermost == listed_name, tuple(self_cost[row].tolist()), tuple(total_cost[row].tolist()),
    )  # fmt: skip


def _source_text(copies: Sequence[CodeListing], source_lines: SourceLines, locations: I64) -> dict[str, dict[int, str]]:
    numbers_by_path: dict[str, set[int]] = {}
    for copy in copies:
        for row in copy.rows:
            numbers_by_path.setdefault(row.path, set()).add(row.line)
    text_and_numbers = {
        path: (source_lines.lines_around(path, numbers, locations)[0], numbers)
        for path, numbers in numbers_by_path.items()
        if path
    }
    return {
        path: {number: line for number, line in text.items() if number in numbers}
        for path, (text, numbers) in text_and_numbers.items()
        if text
    }
