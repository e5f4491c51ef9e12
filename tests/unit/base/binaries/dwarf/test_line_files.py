"""File names of line tables: rows of one size are read as all others are."""

import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perf2x.base.binaries.dwarf import line_table
from perf2x.base.binaries.dwarf.line_table import LineTables
from perf2x.errors import ObjectError
from tests.support.tiny_elf import TinySection
from tests.unit.symbolizer.sources.test_damaged_debug_info import by_hand

STRINGS = b"\0".join(f"name{number:03}".encode() for number in range(200))
PATH, DIRECTORY, MD5 = b"\x01\x1f", b"\x02\x0b", b"\x05\x1e"  # line_strp, data1, data16
UDATA = b"\x02\x0f"


def table(rows: list[tuple[int, int]], columns: list[bytes], cut: int = 0) -> Any:
    """Files of a table whose rows are (number of a name, directory)."""
    end = bytes(16) if MD5 in columns else b""
    size = lambda number: bytes([number]) if number < 128 or UDATA not in columns else bytes([number & 127 | 128, 1])  # noqa: E731
    files = b"".join(struct.pack("<I", 8 * name) + size(directory) + end for name, directory in rows)
    body = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 1) + bytes([1]) + PATH + b"\x01" + struct.pack("<I", 8)
    body += bytes([len(columns)]) + b"".join(columns) + bytes([len(rows)]) + files
    line = struct.pack("<HBBI", 5, 8, 0, len(body)) + body
    line = struct.pack("<I", len(line)) + line
    sections = [TinySection(".debug_line", line[: len(line) - cut]), TinySection(".debug_line_str", STRINGS)]
    unit = by_hand(b"\0", sections=sections)
    unit.__dict__["root"] = {0x10: (0x17, 0)}
    try:
        names = LineTables(unit.file).files(unit)
    except ObjectError as error:
        return str(error)
    return names.comp_dir, names.directories, [(names.name(row), names.files.get(row)) for row in range(len(rows) + 1)]


@pytest.mark.parametrize("columns", [[PATH, UDATA], [PATH, UDATA, MD5], [PATH, DIRECTORY], [UDATA, PATH]])
@given(
    rows=st.lists(st.tuples(st.integers(0, 199), st.integers(0, 200)), max_size=20), cut=st.sampled_from([0, 0, 1, 9])
)
@example(rows=[(3, 127), (4, 0)], cut=0)
@example(rows=[(3, 127), (4, 128)], cut=0)
def test_short_rows_are_read_as_all_others(columns: list[bytes], rows: list[tuple[int, int]], cut: int) -> None:
    found = table(rows, columns, cut)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_table, "_USUAL_ROWS", {})
        assert table(rows, columns, cut) == found
    if not cut and columns[0] == PATH and rows:
        assert [name for name, _ in found[2]] == [f"name{name:03}" for name, _ in rows] + [""]
