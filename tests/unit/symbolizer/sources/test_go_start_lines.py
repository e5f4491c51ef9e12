"""Go programs with debug info: functions start where Go's table says, which ``go build -pgo`` compares with sources."""

from pathlib import Path

import numpy as np
import pytest

from perf2x.base.binaries.dwarf.source_locations import DebugFunction, source_locations_of
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.symbolizer.sources.elf_source import symbols_of, with_go_start_lines
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from perf2x.symbolizer.sources.symbol_source import Context
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.profile_builder import make_session
from tests.support.source_chains import chains
from tests.support.tiny_elf import TinySection, tiny_elf
from tests.support.tiny_go import TinyFunction, tiny_go_table

DATA = Path(__file__).parents[1] / "data"
RUN, TEXT = 0x1080, 0x1000
"""work::run in inlines.so, and where its code begins."""


def program(name: str, broken: bool = False) -> bytes:
    function = TinyFunction(name, RUN, ((10, 0x40),), ((1, 0x40),), 7)
    table = tiny_go_table((function,), RUN + 0x40, ["", "x.go"], text=TEXT)
    sections = [TinySection(".text", bytes(0x400), TEXT, flags=6)]
    return tiny_elf([*sections, TinySection(".gopclntab", table[: 20 if broken else None], 0x500000, flags=2)])


def test_generic_functions_go_by_their_name_without_types() -> None:
    elf = open_elf(program("main.Map[...]"))
    functions = [DebugFunction("main.Map[int,[]string]", "x.go", 3), DebugFunction("main.other", "x.go", 4)]
    locations = source_locations_of([[(functions[0], 9), (functions[1], 9)]])
    found = with_go_start_lines(locations, elf, None, np.array([RUN], np.uint64))
    assert [(one.symbol, one.start_line) for one, _ in chains(found)[0]] == [
        ("main.Map[int,[]string]", 7),
        ("main.other", 4),
    ]


@pytest.mark.parametrize(("broken", "start"), [(False, 7), (True, 20)])
def test_the_table_tells_where_debug_info_lies_beside_it(broken: bool, start: int, tmp_path: Path) -> None:
    debug = open_elf(DATA / "inlines.so")
    diagnostics = Diagnostics()
    options = SymbolOptions(cache_dir=tmp_path)
    context = Context(options, make_session(), Finder(SearchPaths(proc=None)), diagnostics)
    names = ElfNames(ObjectFiles([debug]), diagnostics)
    svma = np.array([RUN], np.uint64)
    name = names.name(int(names.find(svma)[0]))
    found = ObjectFiles([open_elf(program(name, broken), "prog"), debug])
    symbols = symbols_of(context, found, names, svma)
    assert [one.start_line for one in symbols.functions][-1] == start
    assert diagnostics["objects_unreadable"] == broken
