"""Code that costs were found in: each function that a chosen one has samples in, disassembled once."""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from perf2x.analysis.annotate.object_code import ObjectCode
from perf2x.base.columnar.arrays import I64, U64
from perf2x.base.columnar.ragged import Ragged, row_numbers
from perf2x.base.columnar.unique import group_rows, unique
from perf2x.base.errors import ObjectError
from perf2x.binaries.disassembler import Instruction, disassemble
from perf2x.symbolizer.object_resolver import FunctionRow


class Spot(Struct, frozen=True):
    """Function and line at an instruction, innermost first."""

    names: tuple[str, ...]
    path: str
    line: int


class Place(Struct, frozen=True):
    """A linked function of one object."""

    code: ObjectCode
    start: int
    instructions: Sequence[Instruction]
    spots: Sequence[Spot]
    """One for each instruction."""
    notes: Sequence[str]
    """Likewise: names of what an instruction leads or refers to."""
    locations: I64
    """Locations in it."""
    rows: I64
    """(locations,) the instruction that each lies in."""
    reason: str = ""

    @property
    def symbol(self) -> str:
        """Name that the code is linked as; "" if unknown."""
        return next((spot.names[-1] for spot in self.spots if spot.names), "")


def places_of(code: ObjectCode, wanted: I64, syntax: str) -> Iterator[Place]:
    """Yield the functions that hold any of the ``wanted`` locations (ascending) of an object."""
    start, end = code.extents(code.address)
    chosen = np.isin(code.mapped.locations, wanted)
    kinds, _ = group_rows([start[chosen], end[chosen]])
    for row in kinds.tolist():
        first, last = int(start[chosen][row]), int(end[chosen][row])
        inside = (start == first) & (end == last)
        yield _place(code, first, last, inside if last else inside & chosen, syntax)


def _place(
    code: ObjectCode, start: int, end: int, inside: "np.ndarray[tuple[int], np.dtype[np.bool_]]", syntax: str
) -> Place:
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
        return Place(code, start, (), (), (), locations, np.zeros(len(locations), np.int64), str(error))
    begin = np.array([one.address for one in found], np.uint64) - np.uint64(moved)
    rows = np.searchsorted(begin, address, "right") - 1
    return Place(code, shown, found, _spots(code, begin), _notes(code, found, shown), locations, rows)


def _spots(code: ObjectCode, address: U64) -> list[Spot]:
    frames, functions = code.functions_at(address)
    return [_spot(row.tolist(), functions) for row in frames.rows()]


def _spot(frames: Sequence[tuple[int, int]], functions: Sequence[FunctionRow]) -> Spot:
    """``frames`` are (function, line), innermost first."""
    if not frames:
        return Spot((), "", 0)
    return Spot(tuple(functions[function][0] for function, _ in frames), functions[frames[0][0]][2], frames[0][1])


def _notes(code: ObjectCode, found: Sequence[Instruction], start: int) -> list[str]:
    """``main+0x10`` of what each instruction leads or refers to, "" for jumps inside and where nothing is known."""
    size = found[-1].address + found[-1].size - start if found else 0
    meant = [one.refers if one.target is None else one.target for one in found]
    outside = [one if one is not None and not start <= one < start + size else None for one in meant]
    address = unique(np.array([one for one in outside if one is not None], np.uint64))
    names = dict(zip(address.tolist(), _names_at(code, code.addresses_of_shown(address)), strict=True))
    return [names[one] if one is not None else "" for one in outside]


def _names_at(code: ObjectCode, address: U64) -> list[str]:
    """``address`` is as stated."""
    frames, functions = code.functions_at(address)
    begin, _ = code.extents(address)
    outermost = _last_of_rows(frames)
    return [
        _with_offset(functions[row][0], one - first) if row >= 0 else ""
        for row, one, first in zip(outermost, address.tolist(), begin.tolist(), strict=True)
    ]


def _last_of_rows(frames: Ragged) -> list[int]:
    """Outermost function of each address, −1 for none."""
    last = np.full(len(frames), -1, np.int64)
    row = row_numbers(frames.lengths)
    last[row] = frames.values[:, 0]  # rows rise, and the last of each is written last
    return last.tolist()


def _with_offset(name: str, offset: int) -> str:
    return f"{name}+{offset:#x}" if offset else name
