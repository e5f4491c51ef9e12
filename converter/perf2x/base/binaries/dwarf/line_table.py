"""Line tables: the source file and line of each instruction.

A line table in ``.debug_line`` is a header, with the names of directories and files, and a *line program*, whose
instructions produce rows. A program consists of *sequences*, one for each contiguous piece of code. The last row of a
sequence only states where its code ends. Source of truth: DWARF 5, section 6.2; versions 2 to 4 differ only in the
header.
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

# Bytes of the largest line table to read; each byte of its line program may produce a row.
_MAX_TABLE_SIZE = 1 << 25
# Programs of up to this many bytes are run together, which saves numpy's fixed cost of a call.
_MAX_JOINED_SIZE = 1 << 14
# DW_LNCT_path, DW_LNCT_directory_index, DW_LNCT_MD5
_CONTENT_PATH, _CONTENT_DIRECTORY, _CONTENT_MD5 = 1, 2, 5
# The columns that compilers write, path and directory and perhaps an MD5, with the struct codes of a row.
_USUAL_COLUMNS = (_CONTENT_PATH, c.FORM_LINE_STRP), (_CONTENT_DIRECTORY, c.FORM_UDATA)
_USUAL_ROWS = {_USUAL_COLUMNS: "IB", (*_USUAL_COLUMNS, (_CONTENT_MD5, c.FORM_DATA16)): "IB16x"}


class FileNames(Frozen):
    """File names of a line table, by file number.

    Paths are joined only on demand: in a hostile file, thousands of files may share a directory name of many kilobytes.
    """

    comp_dir: str
    """The directory that the compiler ran in."""
    directories: Sequence[str]
    """By number; directory 0 is ``comp_dir``, whatever the table states."""
    files: Mapping[int, tuple[int, int, int]]
    """By number: (form of the name, value of the form, number of the directory)."""
    string: Callable[[int, int], str] = lambda form, value: ""
    """Reads a name, given its form and the value of the form."""

    def name(self, number: int) -> str:
        """Return the name of a file as the table states it; "" if the table lacks the file."""
        return self.string(*self.files.get(number, (0, 0))[:2])

    def path(self, number: int) -> str:
        """Return the full path of a file; "" if the table lacks it."""
        name, directory = self.name(number), self.files.get(number, (0, 0, 0))[2]
        if not name:
            return ""
        is_listed = directory < len(self.directories)
        parts = (self.comp_dir, self.directories[directory] if directory else "") if is_listed else ("",)
        return posixpath.normpath(posixpath.join(*parts, name))


class LineTable(Frozen):
    """The rows of a line table, sorted by address; a row applies up to the address of the next row."""

    files: FileNames
    rows: LineRows

    def find(self, address: U64) -> tuple[I64, I64, I64]:
        """Return file number, line and discriminator of each address; 0 where unknown.

        Shapes: ``address`` (n,); each result (n,).
        """
        row, rows = self._rows_at(address), self.rows
        # only elements that are needed are copied: many units may look up addresses in one large table
        covered = flatnonzero(row >= 0)
        result = zeros((3, len(row)))
        for index, column in enumerate((rows.file, rows.line, rows.discriminator)):
            result[index, covered] = column[row[covered]]
        return result[0], result[1], result[2]

    def covers(self, address: U64) -> bool:
        """Return whether a row applies to every address."""
        return bool((self._rows_at(address) >= 0).all())

    def _rows_at(self, address: U64) -> I64:
        """Return (n,) the row that applies to each address; −1 if there is none."""
        row = searchsorted(self.rows.address, address, "right") - 1
        row[row >= 0] = np.where(self.rows.is_end[row[row >= 0]], -1, row[row >= 0])
        return row


NO_FILES = FileNames("", (), {})
_NO_LINES = LineTable(NO_FILES, no_rows(LineRows))


class LineTables:
    """Reads the line tables of one file's units.

    The last whole table is cached, because the next unit may refer to the same one.
    """

    def __init__(self, file: DebugFile) -> None:
        self._file, self._data = file, file.sections.line
        self._budget = ReadBudget("line tables", len(self._data), times=16)
        self._last_table = _NO_LINES
        self._rows_key: object = None
        self._names_key: object = None
        self._last_partial_offset = -1

    def files(self, unit: Unit) -> FileNames:
        """Return the file names of a unit's line table; none for a unit of another file, such as a split unit.

        Raises ObjectError if they cannot be read.
        """
        form, offset = unit.root.get(c.AT_STMT_LIST, (0, 0))
        if not form or unit.file is not self._file:
            return NO_FILES
        try:
            return _LineTableHeader(unit, self._data, offset, self._budget).files
        except (IndexError, ValueError, struct.error):
            raise ObjectError(f"{unit.file.name}: a line table is cut off") from None

    def partial_tables(self, lookups: Sequence[tuple[Unit, U64]]) -> Iterator[LineTable | None]:
        """For each unit and some addresses in it, yield a table with rows for at least these addresses.

        Yields None if `whole_table` must be called instead.
        """
        parts = [self._header_and_sequences(unit, address) for unit, address in lookups]
        # Small programs for the same machine run together; both dictionaries have indexes in ``lookups``.
        programs_of_machine: dict[Machine, dict[int, bytes]] = {}
        for index, part in enumerate(parts):
            if part is not None and len(part[1]) <= _MAX_JOINED_SIZE:
                programs_of_machine.setdefault(part[0].machine, {})[index] = part[1]
        rows_by_index: dict[int, LineRows] = {}
        for machine, programs in programs_of_machine.items():
            rows_by_index.update(zip(programs, run_line_programs(machine, [*programs.values()]), strict=True))
        for index, (part, (_, address)) in enumerate(zip(parts, lookups, strict=True)):
            if part is None:
                yield None
            else:
                header, program = part
                rows = rows_by_index.pop(index) if index in rows_by_index else run_line_program(header.machine, program)
                table = LineTable(header.files, _sorted_rows(rows))
                yield table if table.covers(address) else None

    def _header_and_sequences(self, unit: Unit, address: U64) -> "tuple[_LineTableHeader, bytes] | None":
        """Return the header of a unit's table, and the bytes of the sequences that may contain the addresses.

        Returns None if the table cannot be read, or if the previous unit has it, too: then `whole_table` is faster.
        """
        try:
            offset = unit.root[c.AT_STMT_LIST][1]
            if offset == self._last_partial_offset:
                return None
            self._last_partial_offset = offset
            header = _LineTableHeader(unit, self._data, offset, self._budget)
            self._budget.spend(max(header.program_end - header.program_start, 0))
        except (ObjectError, LookupError, ValueError, struct.error):
            return None
        return header, sequences_at(header.machine, self._data[header.program_start : header.program_end], address)

    def whole_table(self, unit: Unit) -> LineTable:
        """Return the unit's whole line table; a table without rows if the unit has none.

        Raises ObjectError if the table cannot be read.
        """
        form, offset = unit.root.get(c.AT_STMT_LIST, (0, 0))
        data, rows_key = self._data, (offset, unit.encoding)
        if not form or not data:
            return _NO_LINES
        self._budget.spend(1)  # also for a cached table: any number of units may refer to it
        try:
            names_key = unit.comp_dir, unit.root.get(c.AT_STR_OFFSETS_BASE)
            if (rows_key, names_key) == (self._rows_key, self._names_key):
                return self._last_table
            header = _LineTableHeader(unit, data, offset, self._budget)
            if rows_key == self._rows_key:
                self._last_table = replace(self._last_table, files=header.files)
            else:
                self._budget.spend(max(header.program_end - header.program_start, 0))
                rows = run_line_program(header.machine, data[header.program_start : header.program_end])
                self._last_table = LineTable(header.files, _sorted_rows(rows))
        except (IndexError, ValueError, struct.error):
            self._budget.spend(max(len(data) - offset, 0))  # an upper bound on the bytes read
            raise ObjectError(f"{unit.file.name}: a line table is cut off") from None
        self._rows_key, self._names_key = rows_key, names_key
        return self._last_table


class _LineTableHeader:
    def __init__(self, unit: Unit, data: bytes, offset: int, budget: ReadBudget) -> None:
        byte_order = unit.encoding.byte_order
        length, offset, offset_size = initial_length(byte_order, data, offset)
        self.program_end = min(offset + length, len(data))
        if self.program_end - offset > _MAX_TABLE_SIZE:
            raise ObjectError(f"{unit.file.name}: a line table has {length} bytes, which is too large")
        (version,) = struct.unpack_from(byte_order + "H", data, offset)
        if not 2 <= version <= 5:
            raise ObjectError(f"{unit.file.name}: a line table has the unsupported version {version}")
        offset += 2
        address_size = unit.encoding.address_size
        if version == 5:  # address_size, segment_selector_size
            address_size, offset = data[offset], offset + 2
        self.encoding = UnitEncoding(byte_order, address_size, offset_size, version)
        # header_length counts from the byte after itself to the program
        self.program_start = offset + offset_size + self.encoding.integer(data, offset, offset_size)
        offset += offset_size
        # minimum_instruction_length and, from version 4 on, maximum_operations_per_instruction
        min_length, offset = data[offset], offset + (2 if version >= 4 else 1)
        line_base, line_range, opcode_base = struct.unpack_from("bBB", data, offset + 1)  # after default_is_stmt
        offset += 4
        operand_counts = data[offset : offset + opcode_base - 1]
        self.machine = Machine(byte_order, address_size, min_length, line_base, line_range, opcode_base, operand_counts)
        offset += opcode_base - 1
        self._unit, self._data, self._budget = unit, data, budget
        self.files = self._file_names_v5(offset) if version == 5 else self._file_names_before_v5(offset)

    def _file_names_before_v5(self, offset: int) -> FileNames:
        """Read a list of directories and a list of files (name, directory, time, size), both numbered from 1.

        A zero byte ends each list.
        """
        directories = [""]
        while self._data[offset]:
            start, offset = offset, self._data.index(b"\0", offset) + 1
            self._budget.spend(offset - start)
            directories.append(string_at(self._data, start))
        offset += 1
        files: dict[int, tuple[int, int, int]] = {}
        while self._data[offset]:
            start, end = offset, self._data.index(b"\0", offset) + 1
            self._budget.spend(end - start)
            directory, offset = uleb128(self._data, end)
            _, offset = uleb128(self._data, offset)
            _, offset = uleb128(self._data, offset)
            files[len(files) + 1] = c.FORM_STRING, start, directory
        return FileNames(self._unit.comp_dir, directories, files, self._string)

    def _string(self, form: int, value: int) -> str:
        """Return a string: a DW_FORM_string is in the header; others are read as if an entry of the unit had them."""
        is_inline = form == c.FORM_STRING
        return string_at(self._data, value) if is_inline else self._unit.string({0: (form, value)}, 0)

    def _file_names_v5(self, offset: int) -> FileNames:
        rows, offset = self._read_name_table(offset)
        directories = [self._string(form, value) for form, value, _ in rows]
        comp_dir = self._unit.comp_dir
        # directory 0 is the one that the compiler ran in; -ffile-prefix-map can make it relative
        if directories and directories[0] != comp_dir:
            comp_dir = posixpath.join(comp_dir, directories[0])
        rows, offset = self._read_name_table(offset)
        return FileNames(comp_dir, directories or ("",), dict(enumerate(rows)), self._string)

    def _read_name_table(self, offset: int) -> tuple[list[tuple[int, int, int]], int]:
        """Return (rows, offset after the table); rows are (form of the path, value of the form, number of the
        directory).

        A table is: number of columns; content type (DW_LNCT_*) and form of each column; number of rows; rows.
        """
        column_count, offset = self._data[offset], offset + 1
        columns = []
        for _ in range(column_count):
            content_type, offset = uleb128(self._data, offset)
            form, offset = uleb128(self._data, offset)
            columns.append((content_type, form))
        row_count, offset = uleb128(self._data, offset)
        if row_count > len(self._data):
            raise ObjectError(
                f"{self._unit.file.name}: a line table states {row_count} files, more than its section has bytes"
            )
        rows, end = self._usual_rows(columns, offset, row_count)
        if rows or not row_count:
            self._budget.spend(end - offset)
            return rows, end
        begin, read = offset, self.encoding.value
        for _ in range(row_count):
            path = path_form = directory = 0
            for content_type, form in columns:
                value, offset = read(self._data, offset, form, 0)
                if content_type == _CONTENT_PATH:
                    path_form, path = form, value
                elif content_type == _CONTENT_DIRECTORY:
                    directory = value
            rows.append((path_form, path, directory))
        self._budget.spend(max(offset - begin, row_count))  # rows may have no bytes
        return rows, offset

    def _usual_rows(
        self, columns: list[tuple[int, int]], offset: int, row_count: int
    ) -> tuple[list[tuple[int, int, int]], int]:
        """Read rows of a path in ``.debug_line_str``, a directory number below 128, and perhaps an MD5.

        Returns (rows, offset after them). There are no rows if the layout is another, or if rows are cut off.
        """
        layout = _USUAL_ROWS.get(tuple(columns), "") if self.encoding.offset_size == 4 else ""
        row = struct.Struct(self.encoding.byte_order + layout)
        end = offset + row.size * row_count
        data = self._data[offset:end]
        if not layout or len(data) < end - offset or max(data[4 :: row.size], default=0) >= 0x80:
            return [], offset
        return [(c.FORM_LINE_STRP, path, directory) for path, directory in row.iter_unpack(data)], end


def _sorted_rows(rows: LineRows) -> LineRows:
    """Sort rows by address; of rows at the same address, the last applies.

    The row that ends a sequence comes first, because other rows at its address belong to the code after it.
    """
    return take_rows_of(rows, lexsort((~rows.is_end, rows.address)))
