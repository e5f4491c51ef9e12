"""Line tables: the source file and line of each instruction.

Source of truth: DWARF 5, section 6.2; versions 2 to 4 differ in the header alone.
"""

import posixpath
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.attribute_forms import UnitEncoding, initial_length, uleb128
from perf2x.base.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.base.binaries.dwarf.line_instructions import LineRows, Machine, run_line_program, run_line_programs
from perf2x.base.binaries.dwarf.line_sequences import sequences_at
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.binaries.elf.elf_headers import string_at
from perf2x.base.columnar import I64, U64, Frozen, flatnonzero, lexsort, no_rows, searchsorted, take_rows_of, zeros
from perf2x.errors import ObjectError

_MAX_PROGRAM_SIZE = 1 << 25
"""The largest line program to read; each of its bytes may produce a row."""
_SMALL = 1 << 14
"""The largest program to run together with others."""
_CONTENT_PATH, _CONTENT_DIRECTORY, _CONTENT_MD5 = 1, 2, 5
_SHORT = (_CONTENT_PATH, c.FORM_LINE_STRP), (_CONTENT_DIRECTORY, c.FORM_UDATA)
_SHORT_ROWS = {_SHORT: "IB", (*_SHORT, (_CONTENT_MD5, c.FORM_DATA16)): "IB16x"}


class FileNames(Frozen):
    """File names by number, read and joined on demand: n files may share a directory name of n bytes."""

    folder: str
    """The directory that the compiler ran in."""
    directories: Sequence[str]
    """By number, as stated in the table; directory 0 is ``folder`` itself."""
    files: Mapping[int, tuple[int, int, int]]
    """By number: (form of the name, value of the name, number of the directory)."""
    text: Callable[[int, int], str] = lambda form, value: ""
    """Reads a name, given its form and value."""

    def name(self, number: int) -> str:
        """Return the name of a file as the table states it; "" if the table lacks the file."""
        return self.text(*self.files.get(number, (0, 0))[:2])

    def path(self, number: int) -> str:
        """Return the full path of a file; "" if the table lacks it."""
        name, directory = self.name(number), self.files.get(number, (0, 0, 0))[2]
        if not name:
            return ""
        is_listed = directory < len(self.directories)
        parts = (self.folder, self.directories[directory] if directory else "") if is_listed else ("",)
        return posixpath.normpath(posixpath.join(*parts, name))


class LineTable(Frozen):
    """The rows of a line table, sorted by address; a row applies up to the address of the next row."""

    files: FileNames
    rows: LineRows

    def find(self, address: U64) -> tuple[I64, I64, I64]:
        """Return (n,) file number, line and discriminator of each address, 0 if unknown."""
        row, rows = self._rows(address), self.rows
        has_row = flatnonzero(row >= 0)  # copies no column: many units may look up addresses in one large table
        found = zeros((3, len(row)))
        for place, column in enumerate((rows.file, rows.line, rows.discriminator)):
            found[place, has_row] = column[row[has_row]]
        return found[0], found[1], found[2]

    def knows(self, address: U64) -> bool:
        """Return whether a row applies to every address."""
        return bool((self._rows(address) >= 0).all())

    def _rows(self, address: U64) -> I64:
        """Return (n,) the row that applies to each address; −1 for none, and after the end of a sequence."""
        row = searchsorted(self.rows.address, address, "right") - 1
        row[row >= 0] = np.where(self.rows.is_end[row[row >= 0]], -1, row[row >= 0])
        return row


NO_FILES = FileNames("", (), {})
_NO_LINES = LineTable(NO_FILES, no_rows(LineRows))


class LineTables:
    """Reads the line tables of one file's units.

    The last table is cached, because the next unit may share it, or at least its rows.
    """

    def __init__(self, file: DebugFile) -> None:
        self._file, self._data = file, file.sections.line
        self._budget = ReadBudget("line tables", len(self._data), times=16)
        self._place: object = None
        self._owner: object = None
        self._last = _NO_LINES
        self._part_of = -1
        """Offset of the table that `at` read last."""

    def files(self, unit: Unit) -> FileNames:
        """Return the file names of a unit's line table; none for a unit of another file.

        Raises ObjectError if they cannot be read.
        """
        form, offset = unit.root.get(c.AT_STMT_LIST, (0, 0))
        if not form or unit.file is not self._file:
            return NO_FILES
        try:
            return _LineProgramHeader(unit, self._data, offset, self._budget).files
        except (IndexError, ValueError, struct.error):
            raise ObjectError(f"{unit.file.name}: a line table is cut off") from None

    def at(self, lookups: Sequence[tuple[Unit, U64]]) -> Iterator[LineTable | None]:
        """Yield for each unit a table with the rows of its addresses; None if `of` has to be called instead."""
        parts = [self._part(unit, address) for unit, address in lookups]
        small: dict[Machine, dict[int, bytes]] = {}
        for number, part in enumerate(parts):
            if part is not None and len(part[1]) <= _SMALL:
                small.setdefault(part[0].machine, {})[number] = part[1]
        rows_of: dict[int, LineRows] = {}
        for machine, programs in small.items():
            rows_of.update(zip(programs, run_line_programs(machine, [*programs.values()]), strict=True))
        for number, (part, (_, address)) in enumerate(zip(parts, lookups, strict=True)):
            if part is None:
                yield None
            else:
                header, program = part
                rows = rows_of.pop(number) if number in rows_of else run_line_program(header.machine, program)
                table = LineTable(header.files, _sorted_rows(rows))
                yield table if table.knows(address) else None

    def _part(self, unit: Unit, address: U64) -> "tuple[_LineProgramHeader, bytes] | None":
        """Return the header of a unit's table, and the bytes of the sequences that may contain the addresses.

        Returns None if the unit before has the same table, or if the table is unreadable.
        """
        try:
            offset = unit.root[c.AT_STMT_LIST][1]
            if offset == self._part_of:
                return None
            self._part_of = offset
            header = _LineProgramHeader(unit, self._data, offset, self._budget)
            self._budget.spend(max(header.end - header.program, 0))
        except (ObjectError, LookupError, ValueError, struct.error):
            return None
        return header, sequences_at(header.machine, self._data[header.program : header.end], address)

    def of(self, unit: Unit) -> LineTable:
        """Return the unit's line table; it has no rows if the unit has none.

        Raises ObjectError when it cannot be read.
        """
        form, offset = unit.root.get(c.AT_STMT_LIST, (0, 0))
        data, place = self._data, (offset, unit.encoding)
        if not form or not data:
            return _NO_LINES
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
                rows = run_line_program(header.machine, data[header.program : header.end])
                self._last = LineTable(header.files, _sorted_rows(rows))
        except (IndexError, ValueError, struct.error):
            self._budget.spend(max(len(data) - offset, 0))  # an upper bound of the bytes read
            raise ObjectError(f"{unit.file.name}: a line table is cut off") from None
        self._place, self._owner = place, owner
        return self._last


class _LineProgramHeader:
    def __init__(self, unit: Unit, data: bytes, at: int, budget: ReadBudget) -> None:
        order = unit.encoding.byte_order
        length, at, size = initial_length(order, data, at)
        self.end = min(at + length, len(data))
        if self.end - at > _MAX_PROGRAM_SIZE:
            raise ObjectError(f"{unit.file.name}: a line table has {length} bytes, which is too large")
        (version,) = struct.unpack_from(order + "H", data, at)
        if not 2 <= version <= 5:
            raise ObjectError(f"{unit.file.name}: a line table has the unsupported version {version}")
        at += 2
        address_size = unit.encoding.address_size
        if version == 5:
            address_size, at = data[at], at + 2
        self.encoding = UnitEncoding(order, address_size, size, version)
        self.program = at + size + self.encoding.integer(data, at, size)
        at += size
        step, at = data[at], at + (2 if version >= 4 else 1)
        line_base, line_range, opcode_base = struct.unpack_from("bBB", data, at + 1)
        at += 4
        operands = data[at : at + opcode_base - 1]
        self.machine = Machine(order, address_size, step, line_base, line_range, opcode_base, operands)
        at += opcode_base - 1
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
        files: dict[int, tuple[int, int, int]] = {}
        while self._data[at]:
            start, end = at, self._data.index(b"\0", at) + 1
            self._budget.spend(end - start)
            directory, at = uleb128(self._data, end)
            _, at = uleb128(self._data, at)
            _, at = uleb128(self._data, at)
            files[len(files) + 1] = c.FORM_STRING, start, directory
        return FileNames(self._unit.comp_dir, directories, files, self._text)

    def _text(self, form: int, value: int) -> str:
        inline = form == c.FORM_STRING
        return string_at(self._data, value) if inline else self._unit.text({0: (form, value)}, 0)

    def _files_5(self, at: int) -> FileNames:
        """Read version 5: directories and files as tables that describe their columns, numbered from 0."""
        rows, at = self._described(at)
        directories = [self._text(form, value) for form, value, _ in rows]
        comp_dir = self._unit.comp_dir
        # the first directory is the compiler's own, which may be relative after -ffile-prefix-map
        if directories and directories[0] != comp_dir:
            comp_dir = posixpath.join(comp_dir, directories[0])
        rows, at = self._described(at)
        return FileNames(comp_dir, directories or ("",), dict(enumerate(rows)), self._text)

    def _described(self, at: int) -> tuple[list[tuple[int, int, int]], int]:
        """Read a table that describes its columns: ([(form and value of the path, directory)], offset after it)."""
        count, at = self._data[at], at + 1
        columns = []
        for _ in range(count):
            kind, at = uleb128(self._data, at)
            form, at = uleb128(self._data, at)
            columns.append((kind, form))
        total, at = uleb128(self._data, at)
        if total > len(self._data):
            raise ObjectError(
                f"{self._unit.file.name}: a line table states {total} files, more than its section has bytes"
            )
        rows, end = self._short_rows(columns, at, total)
        if rows or not total:
            self._budget.spend(end - at)
            return rows, end
        begin, read = at, self.encoding.value
        for _ in range(total):
            path = path_form = directory = 0
            for kind, form in columns:
                value, at = read(self._data, at, form, 0)
                if kind == _CONTENT_PATH:
                    path_form, path = form, value
                elif kind == _CONTENT_DIRECTORY:
                    directory = value
            rows.append((path_form, path, directory))
        self._budget.spend(max(at - begin, total))
        return rows, at

    def _short_rows(
        self, columns: list[tuple[int, int]], at: int, total: int
    ) -> tuple[list[tuple[int, int, int]], int]:
        """Read rows in the layout that compilers usually write; return no rows for any other layout.

        The layout is the offset of a path, a directory below 128, and perhaps a digest.
        """
        layout = _SHORT_ROWS.get(tuple(columns), "") if self.encoding.offset_size == 4 else ""
        row = struct.Struct(self.encoding.byte_order + layout)
        end = at + row.size * total
        data = self._data[at:end]
        if not layout or len(data) < end - at or max(data[4 :: row.size], default=0) >= 0x80:
            return [], at
        return [(c.FORM_LINE_STRP, path, directory) for path, directory in row.iter_unpack(data)], end


def _sorted_rows(rows: LineRows) -> LineRows:
    """Sort rows by address.

    Of rows at one address, the end of a sequence comes first, and the last other row counts.
    """
    return take_rows_of(rows, lexsort((~rows.is_end, rows.address)))
