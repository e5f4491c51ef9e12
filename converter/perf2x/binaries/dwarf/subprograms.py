"""Functions of a unit and where their code lies, inlined ones left out.

Source of truth: DWARF 5, section 3.3.
"""

from collections.abc import Iterator

from msgspec import Struct

from perf2x.base.errors import ObjectError
from perf2x.binaries.dwarf import dwarf_numbers as c
from perf2x.binaries.dwarf.attribute_forms import Abbreviation, uleb128
from perf2x.binaries.dwarf.compilation_units import Attributes, Unit
from perf2x.binaries.dwarf.dwarf_functions import MAX_DEPTH, describe


class Subprogram(Struct, frozen=True):
    """A function with code."""

    name: str
    """Linkage name where there is one."""
    ranges: list[tuple[int, int]]
    """(first address, one past the last)"""


def subprograms(unit: Unit) -> list[Subprogram]:
    """Return the unit's functions in file order; ObjectError when its entries cannot be read."""
    found = (
        (entry, [pair for pair in unit.ranges(entry) if pair[0] > 1]) for entry in _entries(unit, c.TAG_SUBPROGRAM)
    )
    return [Subprogram(describe(unit, entry)[0], ranges) for entry, ranges in found if ranges]


def inlined_bounds(unit: Unit) -> list[int]:
    """Return all addresses at which an inlined function begins or ends, in no order; ObjectError as above."""
    return [bound for entry in _entries(unit, c.TAG_INLINED) for pair in unit.ranges(entry) for bound in pair]


def _entries(unit: Unit, tag: int) -> Iterator[Attributes]:
    """Yield the entries of a kind that have code."""
    try:
        for body, abbreviation in _walk(unit):
            if abbreviation.tag == tag and abbreviation.tells_code:
                yield unit.attributes(abbreviation, body)[1]
    except (IndexError, ValueError):
        raise ObjectError(f"{unit.file.name}: debug info is cut off") from None


def _walk(unit: Unit) -> Iterator[tuple[int, Abbreviation]]:
    """Yield (offset behind its code, abbreviation) of all entries, but those inside types, which have no code."""
    data, encoding, at, depth = unit.file.sections.info, unit.encoding, unit.first, 0
    while at < unit.end:
        code, body = uleb128(data, at)
        if not code:
            at, depth = body, depth - 1
            if depth <= 0:
                return
            continue
        abbreviation = unit.abbreviation(code)
        yield body, abbreviation
        at = body + abbreviation.size if abbreviation.size >= 0 else encoding.skip(data, body, abbreviation.steps)
        if not abbreviation.has_children:
            if depth == 0:
                return
            continue
        back, size = abbreviation.sibling
        if size and abbreviation.tag in c.TAG_TYPES:
            sibling = unit.start + encoding.integer(data, at - back, size)
            if sibling < at:
                raise ObjectError(f"{unit.file.name}: debug info leads backwards")
            at = sibling
        else:
            depth += 1
            if depth > MAX_DEPTH:
                raise ObjectError(f"{unit.file.name}: debug info is nested too deeply")
