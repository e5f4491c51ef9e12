"""Functions and inlined functions, at given addresses or of a whole unit, found in one walk over the unit's entries.

A unit's entries are a tree, stored depth first; most describe types and variables. Functions are DW_TAG_subprogram
entries. Below them, DW_TAG_inlined_subroutine entries are nested as the calls were. The walk skips subtrees without
code, where possible in one jump: DW_AT_sibling is the offset of the entry after an entry's children. GCC writes it,
LLVM does not. Source of truth: DWARF 5, sections 3.3 and 3.3.8.
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

# Maximum number of references to follow for a function's name, from instance to abstract origin to declaration.
MAX_REFERENCES = 16
# Maximum depth of nested entries, and of functions inlined into each other.
MAX_DEPTH = 4096
# Maximum number of functions at all addresses of one unit together; in practice each address has about ten.
MAX_FUNCTIONS = 1 << 22

# A unit, and the offset of one of its entries in ``.debug_info``.
Entry = tuple[Unit, int]
# A unit, and the number of a file in its line table.
FileOfUnit = tuple[Unit, int]


class FunctionInstance(Frozen):
    """A function that was compiled on its own, or one inlined instance of a function."""

    name: str
    """The linkage name; the plain name if there is none."""
    decl_line: int
    """The line of the declaration; 0 if unknown."""
    call_file: int = 0
    """The file in which an inlined instance is called, as a number in the unit's line table; else 0."""
    call_line: int = 0
    """The line on which an inlined instance is called; else 0."""
    call_discriminator: int = 0
    """The discriminator of the call of an inlined instance; else 0."""
    origin: Entry | None = None
    """The last abstract origin or declaration that `describe_function` read; None if it read only the first entry."""
    decl_file: FileOfUnit | None = None
    """The file of the declaration; None if unknown."""


def function_chains(unit: Unit, addresses: Sequence[int]) -> list[list[FunctionInstance]]:
    """Return the function at each of the sorted addresses and the functions inlined there, outermost first.

    The list of an address in no function is empty. Raises ObjectError when the unit's entries cannot be read.
    """
    collector = _FunctionChains(unit, addresses)
    _walk(unit, collector.add, enter_all=False)
    missing = [address for address, chain in zip(addresses, collector.chains, strict=True) if not chain]
    # These addresses may be in nested functions, as in GNU C and Ada. The first walk skips all entries inside a
    # function that contains none of the addresses.
    if missing:
        nested_collector = _FunctionChains(unit, missing)
        _walk(unit, nested_collector.add)
        nested_chains = iter(nested_collector.chains)
        return [chain or next(nested_chains) for chain in collector.chains]
    return collector.chains


class Subprogram(Frozen):
    """A function with code."""

    name: str
    """The linkage name; the plain name if there is none."""
    ranges: Ranges


def subprograms(unit: Unit) -> list[Subprogram]:
    """Return the unit's functions in file order, without inlined ones. Raises ObjectError if the unit cannot be
    read.
    """
    found = []

    def add(body: int, abbreviation: Abbreviation) -> bool:
        if abbreviation.tag == c.TAG_SUBPROGRAM:
            entry = unit.attributes(abbreviation, body)[1]
            ranges = [pair for pair in unit.ranges(entry) if pair[0] > 1]  # the linker moves discarded code to 0 or 1
            if ranges:
                found.append(Subprogram(describe_function(unit, entry)[0], ranges))
        return True

    _walk(unit, add)
    return found


def inlined_bounds(unit: Unit) -> list[int]:
    """Return, unsorted, where inlined functions begin, and the first address after each.

    Raises ObjectError if the unit cannot be read.
    """
    found: list[int] = []

    def add(body: int, abbreviation: Abbreviation) -> bool:
        if abbreviation.tag == c.TAG_INLINED_SUBROUTINE:
            for pair in unit.ranges(unit.attributes(abbreviation, body)[1]):
                found.extend(pair)
        return True

    _walk(unit, add)
    return found


def _walk(unit: Unit, enter: Callable[[int, Abbreviation], bool], *, enter_all: bool = True) -> None:
    """Call ``enter`` for the entry of each function with code, in file order.

    ``enter`` gets the offset after the entry's abbreviation code. If it returns False, entries inside the function are
    skipped, unless ``enter_all`` is set.
    """
    data, encoding, end = unit.file.sections.info, unit.encoding, unit.end
    # Without DW_AT_sibling, a subtree is skipped entry by entry. Meanwhile, this is the depth of its entries; else 0.
    skipped_depth = 0
    try:
        table, skip = unit.abbreviations, encoding.skip
        leaf_sizes, sibling_jumps = unit.abbreviation_table.leaf_sizes, unit.abbreviation_table.sibling_jumps
        start, unpack_word = unit.start, struct.Struct(encoding.byte_order + "I").unpack_from
        code, offset = uleb128(data, unit.root_offset)
        root = unit.abbreviation(code)
        offset, depth = skip(data, offset, root.steps), int(root.has_children)
        while depth and offset < end:
            code = data[offset]
            if size := leaf_sizes[code]:
                offset += size
                continue
            if not enter_all and sibling_jumps[code]:
                size, reference = sibling_jumps[code]
                sibling = start + unpack_word(data, offset + reference)[0]
                offset = sibling if sibling >= offset + size else _refuse_backward_sibling(unit)
                continue
            code, offset = (code, offset + 1) if code < 0x80 else uleb128(data, offset)
            if not code:  # the end of a list of children
                depth -= 1
                skipped_depth = skipped_depth if depth >= skipped_depth else 0
                continue
            abbreviation = table.get(code) or unit.abbreviation(code)
            body = offset
            offset = offset + abbreviation.size if abbreviation.size >= 0 else skip(data, offset, abbreviation.steps)
            if skipped_depth:
                is_entered = False
            elif abbreviation.tag in c.CODE_TAGS:
                is_entered = (abbreviation.may_have_code and enter(body, abbreviation)) or enter_all
            else:
                is_entered = abbreviation.tag not in c.TYPE_TAGS
            if abbreviation.has_children:
                distance, sibling_size = abbreviation.sibling
                if sibling_size and not is_entered:
                    sibling = start + encoding.integer(data, offset - distance, sibling_size)
                    offset = sibling if sibling >= offset else _refuse_backward_sibling(unit)
                else:
                    depth += 1
                    skipped_depth = skipped_depth or (0 if is_entered else depth)
                    if depth > MAX_DEPTH:
                        raise ObjectError(f"{unit.file.name}: debug info is nested too deeply")
    except (IndexError, ValueError, struct.error):
        raise ObjectError(f"{unit.file.name}: debug info is cut off") from None


def _refuse_backward_sibling(unit: Unit) -> NoReturn:
    raise ObjectError(f"{unit.file.name}: a sibling reference in debug info points backwards")


class _FunctionChains:
    def __init__(self, unit: Unit, addresses: Sequence[int]) -> None:
        """``addresses`` are sorted."""
        self._unit, self._addresses = unit, addresses
        self._data, self._address_size = unit.file.sections.info, unit.encoding.address_size
        self._byte_order = ENDIAN[unit.encoding.byte_order]
        self._functions_left = MAX_FUNCTIONS
        # The outermost function of each address comes first.
        self.chains: list[list[FunctionInstance]] = [[] for _ in addresses]

    def add(self, body: int, abbreviation: Abbreviation) -> bool:
        """Add a function to the chains of the addresses that it contains; return whether there are any."""
        # Most functions contain none of the addresses. A slice beyond the section's end only gives a wrong number, and
        # the walk notices the end itself.
        if abbreviation.pc_layout:
            low_offset, high_offset, size = abbreviation.pc_layout
            data, byte_order, addresses = self._data, self._byte_order, self._addresses
            low = int.from_bytes(data[body + low_offset : body + low_offset + self._address_size], byte_order)
            first = bisect_left(addresses, low)
            high = low + int.from_bytes(data[body + high_offset : body + high_offset + size], byte_order)
            if first == len(addresses) or addresses[first] >= high:
                return False
        unit = self._unit
        _, entry = unit.attributes(abbreviation, body)
        function: FunctionInstance | None = None
        for low, high in unit.ranges(entry):
            indexes = range(bisect_left(self._addresses, low), bisect_left(self._addresses, high))
            self._functions_left -= len(indexes)
            if self._functions_left < 0:
                raise ObjectError(f"{unit.file.name}: debug info has too many functions at the addresses of one unit")
            for index in indexes:
                function = function or self._instance(entry)
                chain = self.chains[index]
                if abbreviation.tag == c.TAG_SUBPROGRAM:  # a nested function replaces the one around it
                    chain[:] = [function]
                elif chain and len(chain) < MAX_DEPTH:
                    chain.append(function)
        return function is not None

    def _instance(self, entry: Attributes) -> FunctionInstance:
        name, line, origin, decl_file = describe_function(self._unit, entry)
        call_file, call_line, discriminator = (
            entry.get(attribute, (0, 0))[1] for attribute in (c.AT_CALL_FILE, c.AT_CALL_LINE, c.AT_GNU_DISCRIMINATOR)
        )
        return FunctionInstance(name, line, call_file, call_line, discriminator, origin, decl_file)


def describe_function(unit: Unit, entry: Attributes) -> tuple[str, int, Entry | None, FileOfUnit | None]:
    """Return (name, line of the declaration, last entry referred to, file of the declaration) of a function.

    The name is the linkage name, or the plain name if there is none. What the entry lacks is taken from its abstract
    origin and from its declaration.
    """
    linkage_name = plain_name = ""
    line = 0
    origin = file = None
    for _ in range(MAX_REFERENCES):
        linkage_name = (
            linkage_name or unit.string(entry, c.AT_LINKAGE_NAME) or unit.string(entry, c.AT_MIPS_LINKAGE_NAME)
        )
        plain_name = plain_name or unit.string(entry, c.AT_NAME)
        line = line or entry.get(c.AT_DECL_LINE, (0, 0))[1]
        file = file or ((unit, entry[c.AT_DECL_FILE][1]) if c.AT_DECL_FILE in entry else None)
        reference = entry.get(c.AT_ABSTRACT_ORIGIN) or entry.get(c.AT_SPECIFICATION)
        if reference is None or (linkage_name and line and file):
            break
        target = _resolve_reference(unit, *reference)
        if target is None:
            break
        unit, offset = origin = target
        entry = unit.entry(offset)[1]
    return linkage_name or plain_name, line, origin, file


def _resolve_reference(unit: Unit, form: int, value: int) -> Entry | None:
    """Return the entry that a reference points to; None if its file is missing, or the form is not supported."""
    if form in c.LOCAL_REFERENCES:
        offset = unit.start + value
        if not unit.root_offset <= offset < unit.end:
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
