"""Functions and inlined functions, at some addresses or of a whole unit, in one walk over the unit's entries.

Entries without functions are skipped. Source of truth: DWARF 5, sections 3.3 (subroutines) and 3.3.8 (inlined
subroutines).
"""

import struct
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NoReturn

from perf2x.base.abi import ENDIAN
from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.attribute_forms import Abbreviation, uleb128
from perf2x.base.binaries.dwarf.compilation_units import Attributes, Unit
from perf2x.base.binaries.dwarf.range_lists import Ranges
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError

MAX_REFERENCES = 16
MAX_DEPTH = 4096
MAX_SCOPES = 1 << 22
"""Maximum number of functions at all addresses of one unit together; in practice each address has about ten."""

Entry = tuple[Unit, int]
"""A unit and the offset of an entry in its file."""


class Scope(Frozen):
    """A function, or one inlined instance of a function."""

    name: str
    """The linkage name, if there is one."""
    decl_line: int
    """0 if unknown."""
    call_file: int = 0
    """The caller's file, as a file number of the unit's line table; 0 for a function that is not inlined."""
    call_line: int = 0
    call_discriminator: int = 0
    """The discriminator of the call."""
    origin: Entry | None = None
    """The entry that the references of this one lead to, if any: its declaration, or the function it is an instance of.
    """
    decl_file: Entry | None = None
    """A unit, and the number of the declaring file in its line table."""


def scopes(unit: Unit, addresses: Sequence[int]) -> list[list[Scope]]:
    """Return for each sorted address its function and the inlined ones, outermost first; [] where there is none.

    Raises ObjectError when the unit's entries cannot be read.
    """
    found = _ScopeChains(unit, addresses)
    _walk(unit, found.take, everything=False)
    missing = [address for address, chain in zip(addresses, found.chains, strict=True) if not chain]
    if missing:  # nested functions: the first walk skipped functions without addresses
        nested = _ScopeChains(unit, missing)
        _walk(unit, nested.take)
        others = iter(nested.chains)
        return [chain or next(others) for chain in found.chains]
    return found.chains


class Subprogram(Frozen):
    """A function with code."""

    name: str
    """The linkage name, if there is one."""
    ranges: Ranges


def subprograms(unit: Unit) -> list[Subprogram]:
    """Return the unit's functions in file order, without inlined ones.

    Raises ObjectError if the unit cannot be read.
    """
    found = []

    def add(body: int, abbreviation: Abbreviation) -> bool:
        if abbreviation.tag == c.TAG_SUBPROGRAM:
            entry = unit.attributes(abbreviation, body)[1]
            ranges = [pair for pair in unit.ranges(entry) if pair[0] > 1]
            if ranges:
                found.append(Subprogram(describe(unit, entry)[0], ranges))
        return True

    _walk(unit, add)
    return found


def inlined_bounds(unit: Unit) -> list[int]:
    """Return all addresses where an inlined function begins or ends, in no order.

    Raises ObjectError if the unit cannot be read.
    """
    found: list[int] = []

    def add(body: int, abbreviation: Abbreviation) -> bool:
        if abbreviation.tag == c.TAG_INLINED:
            for pair in unit.ranges(unit.attributes(abbreviation, body)[1]):
                found.extend(pair)
        return True

    _walk(unit, add)
    return found


def _walk(unit: Unit, enter: Callable[[int, Abbreviation], bool], *, everything: bool = True) -> None:
    """Call ``enter`` with (offset after its code, abbreviation) for the entry of each function with code, in order.

    Entries inside types are skipped where possible, and so are those inside functions, unless ``enter`` returns True or
    ``everything`` is set.
    """
    data, encoding, end = unit.file.sections.info, unit.encoding, unit.end
    passed = 0  # depth inside an entry that is skipped step by step, because LLVM does not state where it ends
    try:
        table, skip = unit.abbreviations, encoding.skip
        leaf, over = unit.abbreviation_table.leaves, unit.abbreviation_table.passed
        start, word = unit.start, struct.Struct(encoding.byte_order + "I").unpack_from
        code, at = uleb128(data, unit.first)
        root = unit.abbreviation(code)
        at, depth = skip(data, at, root.steps), int(root.has_children)
        while depth and at < end:
            code = data[at]
            if size := leaf[code]:  # most entries
                at += size
                continue
            if not everything and over[code]:
                size, place = over[code]
                sibling = start + word(data, at + place)[0]
                at = sibling if sibling >= at + size else _backwards(unit)
                continue
            code, at = (code, at + 1) if code < 0x80 else uleb128(data, at)
            if not code:
                depth -= 1
                passed = passed if depth >= passed else 0
                continue
            abbreviation = table.get(code) or unit.abbreviation(code)
            body = at
            at = at + abbreviation.size if abbreviation.size >= 0 else skip(data, at, abbreviation.steps)
            if passed:
                entered = False
            elif abbreviation.tag in c.TAGS_WITH_CODE:
                entered = (abbreviation.may_have_code and enter(body, abbreviation)) or everything
            else:
                entered = abbreviation.tag not in c.TAG_TYPES
            if abbreviation.has_children:
                back, size = abbreviation.sibling
                if size and not entered:
                    sibling = start + encoding.integer(data, at - back, size)
                    at = sibling if sibling >= at else _backwards(unit)
                else:
                    depth += 1
                    passed = passed or (0 if entered else depth)
                    if depth > MAX_DEPTH:
                        raise ObjectError(f"{unit.file.name}: debug info is nested too deeply")
    except (IndexError, ValueError, struct.error):
        raise ObjectError(f"{unit.file.name}: debug info is cut off") from None


def _backwards(unit: Unit) -> NoReturn:
    raise ObjectError(f"{unit.file.name}: a sibling reference in debug info points backwards")


class _ScopeChains:
    """Collects, during a walk over a unit, the functions that contain each of some addresses."""

    def __init__(self, unit: Unit, addresses: Sequence[int]) -> None:
        self._unit, self._addresses = unit, addresses
        self._data, self._size = unit.file.sections.info, unit.encoding.address_size
        self._order = ENDIAN[unit.encoding.byte_order]
        self._budget = MAX_SCOPES
        self.chains: list[list[Scope]] = [[] for _ in addresses]

    def take(self, body: int, abbreviation: Abbreviation) -> bool:
        """Add a function to the chains of the addresses that it contains; return whether there are any."""
        if abbreviation.extent:  # most entries are skipped here, so reading past the section must do no harm
            low_at, high_at, size = abbreviation.extent
            data, order, addresses = self._data, self._order, self._addresses
            low = int.from_bytes(data[body + low_at : body + low_at + self._size], order)
            first = bisect_left(addresses, low)
            high = low + int.from_bytes(data[body + high_at : body + high_at + size], order)
            if first == len(addresses) or addresses[first] >= high:
                return False
        unit = self._unit
        _, entry = unit.attributes(abbreviation, body)
        scope: Scope | None = None
        for low, high in unit.ranges(entry):
            rows = range(bisect_left(self._addresses, low), bisect_left(self._addresses, high))
            self._budget -= len(rows)
            if self._budget < 0:
                raise ObjectError(f"{unit.file.name}: debug info has too many functions at one address")
            for row in rows:
                scope = scope or self._scope(entry)
                chain = self.chains[row]
                if abbreviation.tag == c.TAG_SUBPROGRAM:
                    chain[:] = [scope]
                elif chain and len(chain) < MAX_DEPTH:
                    chain.append(scope)
        return scope is not None

    def _scope(self, entry: Attributes) -> Scope:
        name, line, origin, decl_file = describe(self._unit, entry)
        file, at, discriminator = (
            entry.get(each, (0, 0))[1] for each in (c.AT_CALL_FILE, c.AT_CALL_LINE, c.AT_GNU_DISCRIMINATOR)
        )
        return Scope(name, line, file, at, discriminator, origin, decl_file)


def describe(unit: Unit, entry: Attributes) -> tuple[str, int, Entry | None, Entry | None]:
    """Return (name, declared line, last entry referred to, unit and file number of the declaration) of a function.

    Follows references to its abstract origin and its declaration.
    """
    linkage = plain = ""
    line = 0
    origin = file = None
    for _ in range(MAX_REFERENCES):
        linkage = linkage or unit.text(entry, c.AT_LINKAGE_NAME) or unit.text(entry, c.AT_MIPS_LINKAGE_NAME)
        plain = plain or unit.text(entry, c.AT_NAME)
        line = line or entry.get(c.AT_DECL_LINE, (0, 0))[1]
        file = file or ((unit, entry[c.AT_DECL_FILE][1]) if c.AT_DECL_FILE in entry else None)
        reference = entry.get(c.AT_ABSTRACT_ORIGIN) or entry.get(c.AT_SPECIFICATION)
        if reference is None or (linkage and line and file):
            break
        found = _resolve_reference(unit, *reference)
        if found is None:
            break
        unit, offset = origin = found
        entry = unit.entry(offset)[1]
    return linkage or plain, line, origin, file


def _resolve_reference(unit: Unit, form: int, value: int) -> tuple[Unit, int] | None:
    """Return the unit and offset that a reference points to; None if they are in a missing file."""
    if form in c.LOCAL_REFERENCES:
        offset = unit.start + value
        if not unit.first <= offset < unit.end:
            raise ObjectError(f"{unit.file.name}: debug info refers to an entry outside its unit")
        return unit, offset
    file = unit.file
    if form in c.SUPPLEMENTARY_REFERENCES:
        if file.supplementary is None:
            return None
        file = file.supplementary
    elif form != c.FORM_REF_ADDR:
        return None
    return file.unit_at(value), value
