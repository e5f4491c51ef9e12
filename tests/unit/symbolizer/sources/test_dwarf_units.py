"""Split DWARF, DWARF packages and dwz files: lines agree with those of binutils and LLVM."""

import shutil
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from posixpath import normpath

import numpy as np
import pytest

from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.binaries.find.dwo_and_dwz_files import find_supplementary_file
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.registry import load_symbol_sources
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests.support.addr2line import addr2line
from tests.support.profile_builder import lines_of, make_profile, make_session

DATA = Path(__file__).parents[1] / "data" / "debug_info"
AT = 0x7F0000000000
DWZ_ID = open_elf(DATA / "common.dwz").build_id.hex()


def chains(symfs, addresses, recorded, **options) -> tuple[list[list[tuple[str, str, int]]], Diagnostics]:
    """[[(linkage name, file, line)]] of each address, and the diagnostics."""
    profile = make_profile([(AT, AT + 0x10000, 0, recorded, "", 7)], [(0, AT + address) for address in addresses])
    diagnostics = Diagnostics()
    places = {"symfs": symfs, "cache_dir": symfs / "cache", "buildid_dir": symfs / "debug", "names": "mangled"}
    options = SymbolOptions(**{**places, **options})
    result, _ = symbolize(profile, make_session(), options, diagnostics, load_symbol_sources())
    result.check()
    functions, strings = result.functions, result.strings
    rows = [
        (strings[int(functions.system_name[f])], strings[int(functions.filename[f])], int(line))
        for f, line in zip(result.locations.line_function, result.locations.line_number, strict=True)
    ]
    return [rows[start:end] for start, end in pairwise(result.locations.line_offsets.tolist())], diagnostics


def wanted(name) -> dict[int, list[tuple[str, str, int]]]:
    """{address: answer} inside of functions; binutils names the padding between them, too."""
    answers = {address: rows for (_, address), rows in addr2line(DATA / f"{name}.addr2line.txt").items()}
    found = Finder(SearchPaths(symfs=DATA)).find(f"/{name}.so", b"")
    rows = ElfNames(found, Diagnostics()).find(np.array(list(answers), np.uint64))
    return {address: answers[address] for address, row in zip(answers, rows, strict=True) if row >= 0}


def bare(rows) -> list[tuple[str, str, int]]:
    """binutils names an outermost function by debug info, and an innermost one without linkage name by the symbol."""
    inner = range(1, len(rows) - 1)
    return [(name if i in inner else "", normpath(file), line) for i, (name, file, line) in enumerate(rows)]


def as_binutils(rows, answers) -> list[tuple[str, str, int]]:
    """binutils leaves the namespace out where there is no linkage name."""
    names = [
        answer[0] if row[0].endswith(f"::{answer[0]}") else row[0] for row, answer in zip(rows, answers, strict=True)
    ]
    return [(name, *row[1:]) for name, row in zip(names, rows, strict=True)]


def put(symfs, *pairs) -> Path:
    for source, place in pairs:
        path = symfs / place.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / source, path)
    return symfs


def agrees(name, symfs, recorded="/usr/lib/prog.so", **options) -> None:
    answers = wanted(name)
    assert len(answers) > 80 and max(map(len, answers.values())) >= 3
    found, diagnostics = chains(symfs, sorted(answers), recorded, **options)
    expected = [answers[address] for address in sorted(answers)]
    assert [bare(rows) for rows in map(as_binutils, found, expected)] == [bare(rows) for rows in expected]
    assert not diagnostics.counts


WHERE = {
    "compiled": "/src/{0}",
    "beside": "/usr/lib/{0}",
    "debug directory": "/usr/lib/debug/src/{0}",
}


@pytest.mark.parametrize("place", WHERE)
@pytest.mark.parametrize("name", ["gnu4", "gnu5"])
def test_split_files_agree_with_the_stored_lines(tmp_path, name, place) -> None:
    parts = [(f"{name}_{unit}.dwo", WHERE[place].format(f"{name}_{unit}.dwo")) for unit in ("one", "two")]
    agrees(name, put(tmp_path, (f"{name}.so", "/usr/lib/prog.so"), *parts))


@pytest.mark.parametrize("place", ["/usr/lib/prog.so.dwp", "/usr/lib/debug/usr/lib/prog.so.dwp"])
@pytest.mark.parametrize("name", ["gnu4", "clang4", "clang5"])
def test_packages_agree_with_the_stored_lines(tmp_path, name, place) -> None:
    agrees(name, put(tmp_path, (f"{name}.so", "/usr/lib/prog.so"), (f"{name}.so.dwp", place)))


@pytest.mark.parametrize(
    "place",
    [
        "/usr/lib/common.dwz",
        "/usr/lib/debug/.dwz/common.dwz",
        f"/usr/lib/debug/.build-id/{DWZ_ID[:2]}/{DWZ_ID[2:]}.debug",
        f"/debug/.build-id/{DWZ_ID[:2]}/{DWZ_ID[2:]}/debug",
    ],
)
def test_dwz_files_agree_with_the_stored_lines(tmp_path, place) -> None:
    agrees("dwz_one", put(tmp_path, ("dwz_one.so", "/usr/lib/prog.so"), ("common.dwz", place)))


def test_a_dwz_file_is_fetched_from_a_server() -> None:
    asked = []

    def fetch(kind, build_id) -> Iterator[ElfObject]:
        asked.append((kind, build_id.hex()))
        yield open_elf(DATA / "dwz_one.so")  # not what was asked for
        yield open_elf(DATA / "common.dwz")

    finder = Finder(SearchPaths(system_debug_dir=None, proc=None), (fetch,))
    elsewhere = open_elf((DATA / "dwz_one.so").read_bytes(), "dwz_one.so")
    assert find_supplementary_file(finder, elsewhere).build_id.hex() == DWZ_ID
    assert asked == [("debuginfo", DWZ_ID)]


@pytest.mark.parametrize(
    ("name", "count"),
    [("gnu4", "debug_info_in_dwo"), ("clang5", "debug_info_in_dwo"), ("dwz_one", "debug_info_in_dwz")],
)
def test_lines_remain_without_the_other_file(tmp_path, name, count) -> None:
    answers = {address: rows for address, rows in wanted(name).items() if rows[0][2]}
    symfs = put(tmp_path, (f"{name}.so", "/usr/lib/prog.so"))
    found, diagnostics = chains(symfs, sorted(answers), "/usr/lib/prog.so")
    assert [bare(rows[:1]) for rows in found] == [bare(answers[address][:1]) for address in sorted(answers)]
    assert diagnostics[count] > 0 and "/" not in diagnostics.counts[count].advice.partition("--")[0]


def test_split_file_of_another_compilation_is_not_used(tmp_path) -> None:
    pairs = [("gnu4_two.dwo", "/src/gnu4_one.dwo"), ("gnu4_one.dwo", "/src/gnu4_two.dwo")]
    symfs = put(tmp_path, ("gnu4.so", "/usr/lib/prog.so"), *pairs)
    found, diagnostics = chains(symfs, sorted(wanted("gnu4")), "/usr/lib/prog.so")
    assert max(map(len, found)) == 1 and diagnostics["debug_info_in_dwo"] == 2


def test_a_relative_compile_directory_is_joined_once(tmp_path) -> None:
    """DWARF 5, 6.2.4: directory 0 is the compile directory; addr2line of binutils 2.40 and LLVM 14 join the two."""
    symfs = put(tmp_path, ("relative.so", "/prog.so"))
    (rows,), _ = chains(symfs, [open_elf(DATA / "relative.so").section(".text").address], "/prog.so")
    assert [file for _, file, _ in rows] == ["part/two.cpp"]


def test_start_lines_are_the_declared_ones(tmp_path) -> None:
    """Shape::sum is declared in line 5, its first instruction comes from line 8; each is inlined and declared in 11."""
    symfs = put(tmp_path, ("gnu5.so", "/prog.so"), ("gnu5_one.dwo", "/gnu5_one.dwo"), ("gnu5_two.dwo", "/gnu5_two.dwo"))
    address = min(a for a, rows in wanted("gnu5").items() if rows[-1][0].endswith("3sumEPKmS2_") and len(rows) > 1)
    profile = make_profile([(AT, AT + 0x10000, 0, "/prog.so", "", 7)], [(0, AT + address)])
    options = SymbolOptions(symfs=symfs, cache_dir=tmp_path / "cache", buildid_dir=tmp_path)
    result, _ = symbolize(profile, make_session(), options, Diagnostics(), load_symbol_sources())
    assert result.functions.start_line[result.locations.line_function].tolist() == [11, 5]


def test_paths_in_debug_info_do_not_leave_symfs(tmp_path) -> None:
    """The compile directory of the unit is /src; a link there that leads out of symfs is followed inside of it."""
    outside = tmp_path / "outside"
    put(outside, ("gnu5_one.dwo", "gnu5_one.dwo"), ("gnu5_two.dwo", "gnu5_two.dwo"))
    symfs = put(tmp_path / "symfs", ("gnu5.so", "/usr/lib/prog.so"))
    (symfs / "src").symlink_to(outside)
    found, diagnostics = chains(symfs, sorted(wanted("gnu5")), "/usr/lib/prog.so")
    assert max(map(len, found)) == 1 and diagnostics["debug_info_in_dwo"] == 2


@pytest.mark.parametrize(
    "name", [b"gnu5_one.dw/", b"../../../../", b"............", b"/../../..///", b"gnu5_\xff\xfe\n.dwo"]
)
def test_invalid_names_of_split_files_are_ignored(tmp_path, name) -> None:
    symfs = put(tmp_path, ("gnu5.so", "/usr/lib/prog.so"), ("gnu5_two.dwo", "/src/gnu5_two.dwo"))
    program = symfs / "usr/lib/prog.so"
    program.write_bytes(program.read_bytes().replace(b"gnu5_one.dwo", name))
    found, diagnostics = chains(symfs, sorted(wanted("gnu5")), "/usr/lib/prog.so")
    assert max(map(len, found)) > 1 and diagnostics["debug_info_in_dwo"] == 1


def test_a_dwz_file_next_to_a_debug_file_outside_symfs_is_found(tmp_path) -> None:
    """The link is relative, as rpm and dwz write it: it is followed without a symfs, and not across its border."""
    outside = put(tmp_path / "outside", ("dwz_one.so", "prog.so"), ("common.dwz", "common.dwz"))
    file = open_elf(outside / "prog.so")
    for symfs, there in ((None, True), (tmp_path / "symfs", False), (tmp_path, True)):
        finder = Finder(SearchPaths(symfs=symfs, system_debug_dir=None, proc=None))
        assert (find_supplementary_file(finder, file) is not None) is there


SCOPES = {
    "app::(anonymous namespace)::A::run", "app::(anonymous namespace)::B::run", "app::(anonymous namespace)::helper",
    "app::inner::helper", "app::each<…>", "app::go::Local::run", "app::go::{lambda}", "app::go", "helper", "work",
}  # fmt: skip


@pytest.mark.parametrize("language", [0x04, 0x19, 0x1A, 0x21, 0x2A, 0x2B, 0x3A])
def test_functions_without_linkage_names_have_their_scopes(language: int, tmp_path) -> None:
    """GCC gives none to static functions, those of anonymous namespaces and local classes, and what lambdas make.

    ``language``: DW_AT_language of the unit, C++98 to C++23; it is the second attribute, after an offset of four bytes.
    """
    symfs = put(tmp_path, ("scopes.so", "/usr/lib/prog.so"))
    library, debug_info = symfs / "usr/lib/prog.so", open_elf(DATA / "scopes.so").section(".debug_info")
    contents = bytearray(library.read_bytes())
    assert contents[debug_info.offset + 17] == 0x21
    contents[debug_info.offset + 17] = language
    library.write_bytes(contents)
    text = open_elf(DATA / "scopes.so").section(".text")
    addresses = range(text.address, text.address + text.size)
    profile = make_profile([(AT, AT + 0x10000, 0, "/usr/lib/prog.so", "", 7)], [(0, AT + at) for at in addresses])
    options = SymbolOptions(symfs=symfs, cache_dir=tmp_path, buildid_dir=tmp_path)
    result, _ = symbolize(profile, make_session(), options, Diagnostics(), load_symbol_sources())
    assert {result.strings[row] for row in result.functions.name.tolist()} == SCOPES
    by_line = {(line, name) for rows in map(partial(lines_of, result), range(len(addresses))) for name, _, line in rows}
    source = (DATA / "scopes.cpp").read_text().splitlines()
    bodies = {"x * 3 + i": "A::run", "x / 3 - i": "B::run", "x * x - i": "inner::helper", "y * i": "go::Local::run"}
    for body, name in bodies.items():
        (line,) = (number for number, text in enumerate(source, 1) if body in text)
        assert [each.endswith(name) for at, each in by_line if at == line] == [True], name
