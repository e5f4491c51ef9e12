"""Lines and inlined frames agree with addr2line -i -f on C++ (templates, lambdas, LTO, split debug) and Rust."""

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from perf2x.base.binaries.dwarf.source_locations import DebugFunction, source_locations_of
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.symbolizer.sources.dwarf_units import locations_from_units
from perf2x.symbolizer.sources.elf_source import merge_debug_info
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from perf2x.symbolizer.sources.symbol_source import Context
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests.support.addr2line import addr2line
from tests.support.profile_builder import lines_of, make_profile, make_session
from tests.support.source_chains import chains

DATA = Path(__file__).parents[1] / "data"
LIBRARIES = ["inlines", "lto", "rust"]


def places(path, addresses, tmp_path) -> list[list[tuple[str, str, int]]]:
    context = Context(SymbolOptions(cache_dir=tmp_path), make_session(), Finder(SearchPaths(proc=None)), Diagnostics())
    found = locations_from_units(context, ObjectFiles([open_elf(path)]), "", np.array(addresses, np.uint64))
    return chains(found)


def inside_functions(path, addresses) -> list[int]:
    """The addresses that a symbol covers; binutils names the padding between functions too."""
    found = Finder(SearchPaths(symfs=path.parent)).find(f"/{path.name}", b"")
    rows = ElfNames(found, Diagnostics()).find(np.array(addresses, np.uint64))
    return [address for address, row in zip(addresses, rows, strict=True) if row >= 0]


@pytest.mark.parametrize("name", LIBRARIES)
def test_lines_agree_with_addr2line(name, tmp_path) -> None:
    wanted, path = addr2line(DATA / f"{name}.addr2line.txt"), DATA / f"{name}.so"
    wanted = {address: rows for (_, address), rows in wanted.items()}
    addresses = inside_functions(path, sorted(wanted))
    assert len(addresses) > 40
    for address, found in zip(addresses, places(path, addresses, tmp_path), strict=True):
        ours, theirs = [(site.symbol, site.path, line) for site, line in found], wanted[address]
        if name == "lto":  # binutils takes the unit's name for the file's
            ours, theirs = ([(row[0], row[2]) for row in rows] for rows in (ours, theirs))
        if theirs[0][0] == theirs[-1][0]:  # binutils names an innermost function without linkage name by the symbol
            ours[0] = (theirs[0][0], *ours[0][1:])
        pairs = zip(ours, theirs, strict=True)
        # binutils leaves the namespace out where there is no linkage name
        ours = [(theirs[0], *row[1:]) if row[0].endswith(f"::{theirs[0]}") else row for row, theirs in pairs]
        assert ours == theirs, hex(address)


def converted(symfs, tmp_path, library="/split.so", **options) -> tuple[Profile, Diagnostics]:
    """A profile with every address of work::run in one library."""
    mappings = [(0x7F0000000000, 0x7F0000010000, 0, library, "", 7)]
    profile = make_profile(mappings, [(0, 0x7F0000000000 + address) for address in range(0x1080, 0x10B1)])
    diagnostics = Diagnostics()
    options = SymbolOptions(symfs=symfs, cache_dir=tmp_path / "cache", **options)
    result, _ = symbolize(profile, make_session(), options, diagnostics, load_symbol_sources())
    result.check()
    return result, diagnostics


def test_split_debug_file_gives_inlined_frames_and_flags(tmp_path) -> None:
    result, _ = converted(DATA, tmp_path)
    lines = lines_of(result, 0x1093 - 0x1080)
    assert [name for name, _, _ in lines][-1] == "work::run"
    assert {line for _, _, line in lines} >= {22} and all(file == "/src/inlines.cpp" for _, file, _ in lines)
    assert max(len(lines_of(result, row)) for row in range(len(result.locations))) >= 3
    mappings = result.mappings
    for flag in (mappings.has_functions, mappings.has_filenames, mappings.has_line_numbers, mappings.has_inline_frames):
        assert flag.tolist() == [True]
    starts = {
        result.strings[int(n)]: int(s)
        for n, s in zip(*(result.functions.name, result.functions.start_line), strict=True)
    }
    assert starts["work::run"] == 20


def test_without_inlining_each_address_has_one_line(tmp_path) -> None:
    result, _ = converted(DATA, tmp_path, inline=False)
    assert np.diff(result.locations.line_offsets).max() == 1
    assert not result.mappings.has_inline_frames.any() and result.mappings.has_line_numbers.all()


def test_damaged_debug_info_leaves_names(tmp_path) -> None:
    data = bytearray((DATA / "split.so.debug").read_bytes())
    info = open_elf(DATA / "split.so.debug").section(".debug_info")
    data[info.offset : info.offset + info.size] = b"\xff" * info.size
    (tmp_path / "split.so.debug").write_bytes(data)
    shutil.copy(DATA / "split.so", tmp_path / "split.so")
    result, _ = converted(tmp_path, tmp_path)
    assert [name for name, _, _ in lines_of(result, 0)] == ["work::run"]


class Table:
    """A symbol table in place of ElfNames."""

    def __init__(self, *names, has_symtab=True) -> None:
        self.names, self.has_symtab = names, has_symtab

    def name(self, row) -> str:
        return self.names[row]


def shown(table, rows, chains, inline=True) -> list[list[tuple[str, int, int]]]:
    """[(function, line, first line)] of each address."""
    symbols = merge_debug_info(table, np.array(rows, np.int64), source_locations_of(chains), inline, "")
    known = [symbols.functions[i] for i in symbols.function]
    flat = [(f.system_name, int(line), f.start_line) for f, line in zip(known, symbols.line, strict=True)]
    return [flat[start:end] for start, end in pairwise(symbols.offsets.tolist())]


F, INNER, NAMELESS = DebugFunction("f", "/a.c", 7), DebugFunction("inner", "/a.c", 2), DebugFunction("", "/a.c")


@pytest.mark.parametrize(
    ("row", "chain", "wanted"),
    [
        (0, [(INNER, 3), (F, 9)], [("inner", 3, 2), ("f.part.0", 9, 7)]),
        (0, [], [("f.part.0", 0, 0)]),
        (-1, [(F, 9)], [("f", 9, 7)]),
        (-1, [(INNER, 0), (F, 0)], []),  # a gap
        (-1, [(NAMELESS, 9)], []),
        (-1, [(INNER, 3), (NAMELESS, 9)], [("inner", 3, 2), ("??", 9, 0)]),
        (-1, [], []),
    ],
)
def test_the_symbol_tables_name_wins_for_the_outermost_function(row, chain, wanted) -> None:
    table = Table("f.part.0")
    assert shown(table, [row], [chain]) == [wanted]
    assert shown(table, [row], [chain], inline=False) == [wanted[-1:]]
    every = shown(table, [0, row, -1], [[(F, 1)], chain, [(F, 2)]])
    assert every == [[("f.part.0", 1, 7)], wanted, [("f", 2, 7)]]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("operator()<int>", "operator()<…> a.cpp"),
        ("operator()", "operator() a.cpp"),
        ("__invoke_r<long int, main()::<lambda(int)>&, int>", "__invoke_r<…>"),
        ("operator< <int>", "operator< <…>"),
        ("operator==", ""),
        ("f", ""),
        ("_ZN1AIiE1fEv", ""),
        ("_RNvC1a1f", ""),
        ("<impl T>::f", ""),
    ],
)
def test_functions_without_linkage_names_are_shortened_too(name, short) -> None:
    """GCC names lambdas and what is made of them, of functions that only one file can see, by their source names."""
    chain = [(DebugFunction(name, "/src/a.cpp", 3), 4), (F, 9)]
    symbols = merge_debug_info(Table("main"), np.array([0], np.int64), source_locations_of([chain]), True, "")
    functions = [symbols.functions[row] for row in symbols.function]
    assert [(each.system_name, each.name) for each in functions] == [(name, short), ("main", "")]


@pytest.mark.parametrize(
    ("name", "inside", "short"),
    [
        ("operator()", "main", "main::{lambda}"),
        ("operator()<int>", "_ZN3app4workIiEEvT_", "app::work<…>::{lambda}"),
        ("operator()", "_ZZ4mainENKUlvE_clEv", "main::{lambda#1}::{lambda}"),
        ("operator()", "main.cold", "main::{lambda}"),
        ("operator()", "apply<main()::<lambda(int)> >", "apply<…>::{lambda}"),
        ("Local::run", "_ZN3app4workIiEEvT_", "app::work<…>::Local::run"),
        ("Local<int>::run", "main", "main::Local<…>::run"),
    ],
)
def test_local_functions_are_called_after_the_function_that_they_stand_in(name, inside, short) -> None:
    chain = [(DebugFunction(name, "/src/a.cpp", 3, inside), 4), (F, 9)]
    symbols = merge_debug_info(Table("main"), np.array([0], np.int64), source_locations_of([chain]), True, "")
    assert (symbols.functions[int(symbols.function[0])].system_name, symbols.functions[0].name) == (name, short)


def test_without_a_symbol_table_debug_info_names_gaps() -> None:
    assert shown(Table(has_symtab=False), [-1], [[(F, 0)]]) == [[("f", 0, 7)]]


def test_padding_between_functions_has_no_name(tmp_path) -> None:
    """helper ends at 0x1071 and run begins at 0x1080."""
    profile = make_profile(
        [(0x10000, 0x20000, 0, "/split.so", "", 7)], [(0, 0x10000 + a) for a in (0x1070, 0x1078, 0x1080)]
    )
    options = SymbolOptions(symfs=DATA, cache_dir=tmp_path)
    result, _ = symbolize(profile, make_session(), options, Diagnostics(), load_symbol_sources())
    assert [bool(lines_of(result, row)) for row in range(3)] == [True, False, True]
