"""Lazy abbreviation tables for pyelftools: only the declaration that a unit's first entry needs is read.

pyelftools reads whole tables, which takes nine tenths of the time when every unit has its own table.
"""

import io
import re
from functools import cache
from typing import TYPE_CHECKING

from perf2x.binaries.dwarf.attribute_forms import uleb128
from perf2x.binaries.dwarf.dwarf_numbers import FORM_IMPLICIT_CONST

if TYPE_CHECKING:
    from elftools.dwarf.abbrevtable import AbbrevDecl
    from elftools.dwarf.dwarfinfo import DWARFInfo

BLOCK = 1 << 11
LARGEST_TABLE = 1 << 16
"""Bytes of a table that are searched for an abbreviation."""
_NUMBER = rb"[\x80-\xff]{0,9}+[\x00-\x7f]"
_CONSTANT = b"\\x%02x" % FORM_IMPLICIT_CONST
_DECLARATION = re.compile(
    b"(%b)%b[\\x00-\\xff](?>(?:(?!\0\0)%b(?:%b%b|(?!%b)%b))*+)\0\0"
    % (_NUMBER, _NUMBER, _NUMBER, _CONSTANT, _NUMBER, _CONSTANT, _NUMBER),
    re.DOTALL,
)
"""Code, tag, has-children flag, attributes with their forms; DW_FORM_implicit_const is followed by a constant."""


@cache
def reader_class() -> "type[DWARFInfo]":
    """Return pyelftools' DWARFInfo with lazy abbreviation tables."""
    from elftools.dwarf.abbrevtable import AbbrevTable
    from elftools.dwarf.dwarfinfo import DWARFInfo

    class Table(AbbrevTable):
        def __init__(self, info: DWARFInfo, offset: int) -> None:
            self._info, self._offset = info, offset

        def get_abbrev(self, code: int) -> "AbbrevDecl":
            section = self._info.debug_abbrev_sec
            assert section is not None
            section.stream.seek(self._offset)
            data = section.stream.read(BLOCK)
            while (found := declaration(data, code)) is None and len(data) < LARGEST_TABLE:
                more = section.stream.read(len(data))
                if not more:
                    break
                data += more
            only = AbbrevTable(self._info.structs, io.BytesIO((found or b"") + bytes(16)), 0)
            return only.get_abbrev(code)

    class FirstEntries(DWARFInfo):
        def get_abbrev_table(self, offset: int) -> AbbrevTable:
            return Table(self, offset)

    return FirstEntries


def declaration(table: bytes, code: int) -> bytes | None:
    """Return the bytes of one abbreviation; None when the table, as far as it was read, lacks it."""
    at = 0
    while table[at : at + 1] != b"\0" and (found := _DECLARATION.match(table, at)) is not None:
        if uleb128(found[1], 0)[0] == code:
            return found[0]
        at = found.end()
    return None
