"""Line tables: the source file and line of each instruction.

Source of truth: DWARF 5, section 6.2; versions 2 to 4 differ in the header alone.
"""

import posixpath
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64, U64, Bools, flatnonzero, lexsort, searchsorted
from perf2x.base.errors import ObjectError
from perf2x.binaries.dwarf import dwarf_numbers as c
from perf2x.binaries.dwarf.attribute_forms import UnitEncoding, sleb128, uleb128
from perf2x.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.binaries.dwarf.read_budget import ReadBudget
from perf2x.binaries.elf.symtab import string_at

MAX_PROGRAM_SIZE = 1 << 25
"""Bytes of one line program, each of which may produce a row."""
_CONTENT_PATH, _CONTENT_DIRECTORY = 1, 2


class FileNames(Struct, frozen=True):
    """File names by number. Paths are joined on demand: n files may name one directory of n bytes."""

    folder: str
    """The directory that the compiler ran in."""
    directories: Sequence[str]
    """By number, as stated in the table; the first one is ``folder`` itself."""
    files: Mapping[int, tuple[str, int]]
    """(name, number of its directory)"""

    def path(self, number: int) -> str:
        """Return the full path of a file, "" when the table lacks it."""
        name, directory = self.files.get(number, ("", 0))
        if not name:
            return ""
        known = directory < len(self.directories)
        parts = (self.folder, self.directories[directory] if directory else "") if known else ("",)
        return posixpath.normpath(posixpath.join(*parts, name))


class LineTable(Struct, frozen=True):
    """Rows sorted by address; a row applies up to the next one."""

    files: FileNames
    address: U64
    file: I64
    line: I64
    is_end: Bools
    """The row ends a sequence: addresses behind it are unknown."""
    discriminator: I64
    """Tells pieces of code of one line apart; 0 for most."""

    def find(self, address: U64) -> tuple[I64, I64]:
        """Return (n,) file number and line of each address, 0 and 0 where unknown."""
        row = self._rows(address)
        return _taken(self.file, row), _taken(self.line, row)

    def places(self, address: U64) -> tuple[I64, I64]:
        """Return (n,) line and discriminator of each address, 0 and 0 where unknown."""
        row = self._rows(address)
        return _taken(self.line, row), _taken(self.discriminator, row)

    def _rows(self, address: U64) -> I64:
        """Return (n,) the row that applies to each address, −1 for none."""
        row = searchsorted(self.address, address, "right") - 1
        row[row >= 0] = np.where(self.is_end[row[row >= 0]], -1, row[row >= 0])
        return row


def _taken(column: I64, row: I64) -> I64:
    """Return (n,) values of rows, 0 for row −1."""
    found = np.zeros(len(row), np.int64)
    known = flatnonzero(row >= 0)  # units ask one table one after another: nothing here copies the column
    found[known] = column[row[known]]
    return found


NO_FILES = FileNames("", (), {})


class LineTables:
    """Line tables of one file's units. The last one is cached: units may share it, or at least its rows."""

    def __init__(self, file: DebugFile) -> None:
        self._file, self._data = file, file.sections.line
        self._budget = ReadBudget("line tables", len(self._data), times=16)
        self._place: object = None
        self._owner: object = None
        self._last = LineTable(NO_FILES, *_sorted_columns([]))

    def files(self, unit: Unit) -> FileNames:
        """Return the names of a unit's files, none of another file's unit. ObjectError when they cannot be read."""
        form, offset = unit.root.get(c.AT_STMT_LIST, (0, 0))
        if not form or unit.file is not self._file:
            return NO_FILES
        try:
            return _LineProgramHeader(unit, self._data, offset, self._budget).files
        except (IndexError, ValueError, struct.error):
            raise ObjectError(f"{unit.file.name}: a line table is cut off") from None

    def of(self, unit: Unit) -> LineTable:
        """Return the unit's line table, without rows when it has none. ObjectError when it cannot be read."""
        form, offset = unit.root.get(c.AT_STMT_LIST, (0, 0))
        data, place = self._data, (offset, unit.encoding)
        if not form or not data:
            return LineTable(NO_FILES, *_sorted_columns([]))
        self._budget.spend(1)
        try:
            owner = unit.comp_dir, unit.root.get(c.AT_STR_OFFSETS_BASE)
            if (place, owner) == (self._place, self._owner):
                return self._last
            header = _LineProgramHeader(unit, data, offset, self._budget)
            if place == self._place:
                self._last = replace(self._last, files=header.files)
            else:
                self._budget.spend(max(header.end - header.program, 0))
                self._last = LineTable(header.files, *_sorted_columns(_run_line_program(header, data)))
        except (IndexError, ValueError, struct.error):
            self._budget.spend(max(len(data) - offset, 0))  # an upper bound of what was read
            raise ObjectError(f"{unit.file.name}: a line table is cut off") from None
        self._place, self._owner = place, owner
        return self._last


class _LineProgramHeader:
    def __init__(self, unit: Unit, data: bytes, at: int, budget: ReadBudget) -> None:
        order = unit.encoding.byte_order
        (length,) = struct.unpack_from(order + "I", data, at)
        at, size = at + 4, 4
        if length == 0xFFFFFFFF:
            (length,) = struct.unpack_from(order + "Q", data, at)
            at, size = at + 8, 8
        self.end = min(at + length, len(data))
        if self.end - at > MAX_PROGRAM_SIZE:
            raise ObjectError(f"{unit.file.name}: a line table of {length} bytes")
        (version,) = struct.unpack_from(order + "H", data, at)
        if not 2 <= version <= 5:
            raise ObjectError(f"{unit.file.name}: a line table of version {version}")
        at += 2
        self.address_size = unit.encoding.address_size
        if version == 5:
            self.address_size, at = data[at], at + 2
        self.encoding = UnitEncoding(order, self.address_size, size, version)
        self.program = at + size + self.encoding.integer(data, at, size)
        at += size
        self.unit_length, at = data[at], at + (2 if version >= 4 else 1)
        self.line_base, self.line_range, self.opcode_base = struct.unpack_from("bBB", data, at + 1)
        at += 4
        self.lengths = data[at : at + self.opcode_base - 1]
        at += self.opcode_base - 1
        self._unit, self._data, self._budget = unit, data, budget
        self.files = self._files_5(at) if version == 5 else self._files_2(at)

    def _files_2(self, at: int) -> FileNames:
        """Read versions 2 to 4: directories as strings, files as (name, directory, time, size), numbered from 1."""
        directories = [""]
        while self._data[at]:
            start, at = at, self._data.index(b"\0", at) + 1
            self._budget.spend(at - start)
            directories.append(string_at(self._data, start))
        at += 1
        files: dict[int, tuple[str, int]] = {}
        while self._data[at]:
            start, end = at, self._data.index(b"\0", at) + 1
            self._budget.spend(end - start)
            name = string_at(self._data, start)
            directory, at = uleb128(self._data, end)
            _, at = uleb128(self._data, at)
            _, at = uleb128(self._data, at)
            files[len(files) + 1] = name, directory
        return FileNames(self._unit.comp_dir, directories, files)

    def _files_5(self, at: int) -> FileNames:
        """Read version 5: directories and files as tables with described columns, numbered from 0."""
        rows, at = self._described(at)
        directories = [name for name, _ in rows]
        comp_dir = self._unit.comp_dir
        # the first directory is the compiler's own, which may be relative after -ffile-prefix-map
        if directories and directories[0] != comp_dir:
            comp_dir = posixpath.join(comp_dir, directories[0])
        rows, at = self._described(at)
        return FileNames(comp_dir, directories or ("",), dict(enumerate(rows)))

    def _described(self, at: int) -> tuple[list[tuple[str, int]], int]:
        """Read one table with described columns: ([(path, directory)], offset behind it)."""
        count, at = self._data[at], at + 1
        columns = []
        for _ in range(count):
            kind, at = uleb128(self._data, at)
            form, at = uleb128(self._data, at)
            columns.append((kind, form))
        total, at = uleb128(self._data, at)
        if total > len(self._data):
            raise ObjectError(f"{self._unit.file.name}: a line table with {total} files")
        rows = []
        for _ in range(total):
            begin, name, directory = at, "", 0
            for kind, form in columns:
                start = at
                value, at = self.encoding.value(self._data, at, form, 0)
                if kind == _CONTENT_PATH:
                    inline = form == c.FORM_STRING
                    name = string_at(self._data, start) if inline else self._unit.text({0: (form, value)}, 0)
                elif kind == _CONTENT_DIRECTORY:
                    directory = value
            self._budget.spend(at - begin + len(name))  # one long name may stand in many rows
            rows.append((name, directory))
        return rows, at


Row = tuple[int, int, int, bool, int]
"""Address, file, line, whether it ends a sequence, discriminator."""


def _run_line_program(header: _LineProgramHeader, data: bytes) -> list[Row]:
    """Run the line program and return its rows.

    op_index, which only VLIW machines use, is ignored; Linux runs on none of them.
    """
    rows: list[Row] = []
    step, line_base, line_range = header.unit_length, header.line_base, header.line_range or 1
    base, at, end = header.opcode_base, header.program, header.end
    address, file, line, discriminator, start = 0, 1, 1, 0, 0
    while at < end:
        code = data[at]
        at += 1
        if code >= base:
            code -= base
            address += code // line_range * step
            line += line_base + code % line_range
            rows.append((address, file, line, False, discriminator))
            discriminator = 0
        elif code == 5:  # DW_LNS_set_column, before nearly every row
            while data[at] >= 0x80:
                at += 1
            at += 1
        elif code == 1:
            rows.append((address, file, line, False, discriminator))
            discriminator = 0
        elif code == 0:
            kind, value, at = _extended_opcode(header, data, at)
            if kind == 1:
                rows.append((address, file, line, True, 0))
                if not _is_linked(rows[start][0], header.address_size):
                    del rows[start:]
                address, file, line, discriminator, start = 0, 1, 1, 0, len(rows)
            else:
                address, discriminator = _registers(kind, value, address, discriminator)
        elif code == 3:
            value, at = sleb128(data, at)
            line += value
        elif code == 4:
            file, at = uleb128(data, at)
        else:
            value, at = _standard_opcode(header, data, at, code)
            address += value
    return rows[:start]


def _registers(kind: int, value: int, address: int, discriminator: int) -> tuple[int, int]:
    """Return (address, discriminator) behind an extended opcode."""
    return (value if kind == 2 else address), (value if kind == 4 else discriminator)


def _extended_opcode(header: _LineProgramHeader, data: bytes, at: int) -> tuple[int, int, int]:
    """Read an extended opcode: (opcode, value, offset of the next).

    1 ends a sequence, 2 sets the address, 4 the discriminator.
    """
    size, at = uleb128(data, at)
    kind = data[at] if size else 0
    if kind == 2 and size > 9:
        raise ObjectError(f"debug info: an address of {size - 1} bytes in a line table")
    if kind == 2:
        return kind, header.encoding.integer(data, at + 1, size - 1), at + size
    return kind, uleb128(data, at + 1)[0] if kind == 4 else 0, at + size


def _standard_opcode(header: _LineProgramHeader, data: bytes, at: int, code: int) -> tuple[int, int]:
    """Read a standard opcode that may advance the address: (advance in bytes, offset of the next opcode)."""
    if code == 8:
        return (255 - header.opcode_base) // (header.line_range or 1) * header.unit_length, at
    if code == 9:
        return header.encoding.integer(data, at, 2), at + 2
    value = 0
    for _ in range(header.lengths[code - 1]):
        value, at = uleb128(data, at)
    return (value * header.unit_length if code == 2 else 0), at


def _is_linked(address: int, size: int) -> bool:
    """Return whether a sequence's code was linked; discarded code has the address 0, 1 or the highest ones."""
    return 1 < address < (1 << 8 * size) - 2


def _sorted_columns(rows: list[Row]) -> tuple[U64, I64, I64, Bools, I64]:
    """Sort rows by address; at one address the end of a sequence comes first, and the last of the others counts."""
    addresses, numbers, lines, ends, marks = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    address = np.array([value & 0xFFFFFFFFFFFFFFFF for value in addresses], np.uint64)
    file = np.array([value if value < 2**31 else 0 for value in numbers], np.int64)
    line = np.array([value if 0 <= value < 2**31 else 0 for value in lines], np.int64)
    is_end = np.array(ends, np.bool_)
    mark = np.array([value if value < 2**32 else 0 for value in marks], np.int64)
    order = lexsort((~is_end, address))
    return address[order], file[order], line[order], is_end[order], mark[order]
