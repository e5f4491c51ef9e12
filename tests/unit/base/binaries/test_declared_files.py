"""Files that declare functions: by the declaration that states one, from the line table of its own file."""

from types import SimpleNamespace
from typing import Any

from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.dwarf_functions import FunctionInstance, describe_function
from perf2x.base.binaries.dwarf.line_table import NO_FILES, FileNames, LineTables
from perf2x.base.binaries.dwarf.pgo_lines import PgoLines
from perf2x.errors import ObjectError

FORM_REF4 = 0x13


class FakeUnit:
    """A unit that begins at an offset of its file."""

    def __init__(self, start: int) -> None:
        self.start = start


def test_the_file_may_be_stated_by_the_declaration_alone() -> None:
    """As GCC leaves it out of a definition in the same file."""
    declaration = {c.AT_LINKAGE_NAME: (0, 0), c.AT_DECL_FILE: (0, 3), c.AT_DECL_LINE: (0, 9)}
    definition = {c.AT_LINKAGE_NAME: (0, 0), c.AT_DECL_LINE: (0, 40), c.AT_SPECIFICATION: (FORM_REF4, 5)}
    unit: Any = SimpleNamespace(
        start=0,
        root_offset=1,
        end=9,
        string=lambda entry, key: "f" if key in entry else "",
        entry=lambda at: (None, declaration),
    )
    assert describe_function(unit, definition) == ("f", 40, (unit, 5), (unit, 3))


def test_units_of_other_files_have_no_names_here() -> None:
    """Their tables lie in those files."""
    file, other = (SimpleNamespace(sections=SimpleNamespace(line=b"damaged")) for _ in range(2))
    unit: Any = SimpleNamespace(file=other, root={c.AT_STMT_LIST: (1, 0)})
    assert LineTables(file).files(unit) is NO_FILES  # type: ignore[arg-type]


def test_only_the_last_part_of_a_path_is_kept_and_names_are_read_once() -> None:
    asked = []

    def files(unit: object) -> FileNames:
        asked.append(unit)
        return FileNames(
            "/src", ("",), {1: (c.FORM_STRING, 40, 0)}, lambda form, at: "lib/deep/a.c" if at == 40 else ""
        )

    lines: Any = SimpleNamespace(line_tables=lambda: SimpleNamespace(files=files))
    unit: Any = FakeUnit(7)
    code = PgoLines(lines)
    chain = [
        FunctionInstance("f", 10, decl_file=(unit, 1)),
        FunctionInstance("g", 3, 0, 12, 4, decl_file=(unit, 2)),
        FunctionInstance("h", 1, 0, 5),
    ]
    frames = code._frames(chain, 2, 1)
    assert [(each.name, each.line, each.discriminator, each.file) for each in frames] == [
        ("f", 2, 4, "a.c"), ("g", 2, 0, ""), ("h", 1, 1, ""),
    ]  # fmt: skip
    assert len(asked) == 1


def test_units_of_several_files_may_begin_at_the_same_offset() -> None:
    """As do the first unit of a program and that of a .dwo file, whose file names are not known."""
    split, whole = FakeUnit(0), FakeUnit(0)
    names = FileNames("/src", ("",), {1: (c.FORM_STRING, 40, 0)}, lambda form, at: "a.c")
    tables = SimpleNamespace(files=lambda unit: names if unit is whole else NO_FILES)
    code = PgoLines(SimpleNamespace(line_tables=lambda: tables))  # type: ignore[arg-type]
    chain: Any = [FunctionInstance("f", 10, decl_file=(unit, 1)) for unit in (split, whole)]  # type: ignore[arg-type]
    assert [each.file for each in code._frames(chain, 2, 1)] == ["", "a.c"]


def test_a_table_of_names_that_cannot_be_read_is_told_once() -> None:
    def refused(form: int, at: int) -> str:
        raise ObjectError("no such string")

    errors: list[ObjectError] = []
    tables = SimpleNamespace(files=lambda unit: FileNames("/src", ("",), {1: (c.FORM_STRX, 9, 0)}, refused))
    lines: Any = SimpleNamespace(line_tables=lambda: tables, report_broken=errors.append)
    unit: Any = FakeUnit(7)
    chain = [FunctionInstance("f", 10, decl_file=(unit, 1)), FunctionInstance("g", 3, 0, 12, 4, decl_file=(unit, 1))]
    assert [each.file for each in PgoLines(lines)._frames(chain, 2, 1)] == ["", ""]
    assert [*map(str, errors)] == ["no such string"]
