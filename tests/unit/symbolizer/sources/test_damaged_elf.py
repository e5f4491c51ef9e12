"""Damaged ELF files give a result or an ObjectError, never another exception or a hang."""

import contextlib
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.elf.debug_link import debug_link
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.elf.relocate_module import section_addresses
from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import ObjectError
from perf2x.symbolizer.sources.dwarf_units import locations_from_units
from perf2x.symbolizer.sources.elf_symbols import ElfNames
from perf2x.symbolizer.sources.symbol_source import Context
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.examples import examples
from tests.support.profile_builder import make_session

DATA = Path(__file__).parents[1] / "data"
ORIGINAL = (DATA / "inlines.so").read_bytes()
ADDRESSES = np.array([0, 0x1000, 0x1024, 0x1031, 0x1084, 0x10C4, 0x4000, 2**63, 2**64 - 1], np.uint64)
HEADERS = st.integers(0, 0x400) | st.integers(len(ORIGINAL) - 64 * 30, len(ORIGINAL) - 1)
FLIPS = st.lists(st.tuples(HEADERS | st.integers(0, len(ORIGINAL) - 1), st.integers(0, 255)), min_size=1, max_size=6)


def damaged(flips, length=None) -> bytes:
    data = bytearray(ORIGINAL)
    for position, value in flips:
        data[position] = value
    return bytes(data[:length])


def through(path) -> None:
    found = Finder(SearchPaths(system_debug_dir=None, proc=None)).find(str(path), b"")
    names = ElfNames(found, Diagnostics())
    for row in names.find(ADDRESSES):
        if row >= 0:
            assert isinstance(names.name(int(row)), str)
    if found.code is not None:
        found.code.offset_to_svma(ADDRESSES)
        section_addresses(found.code, 2**64 - 0x800)
        debug_link(found.code)


@settings(max_examples=examples(100), deadline=None)
@given(flips=FLIPS)
def test_flipped_bytes_give_names_or_an_object_error(tmp_path_factory, flips) -> None:
    path = tmp_path_factory.mktemp("elf") / "x.so"
    path.write_bytes(damaged(flips))
    with contextlib.suppress(ObjectError):
        through(path)


@settings(max_examples=examples(60), deadline=None)
@given(length=st.integers(0, len(ORIGINAL)))
def test_truncated_files_give_names_or_an_object_error(tmp_path_factory, length) -> None:
    path = tmp_path_factory.mktemp("elf") / "x.so"
    path.write_bytes(damaged([], length))
    through(path)


@settings(max_examples=examples(60), deadline=None)
@given(flips=FLIPS)
def test_flipped_debug_info_gives_lines_or_an_object_error(tmp_path_factory, flips) -> None:
    directory = tmp_path_factory.mktemp("elf")
    path = directory / "x.so"
    path.write_bytes(damaged(flips))
    with contextlib.suppress(ObjectError):
        found = ObjectFiles([open_elf(path)])
        if found.dwarf is not None:
            options, finder = SymbolOptions(cache_dir=directory), Finder(SearchPaths(proc=None))
            locations_from_units(Context(options, make_session(), finder, Diagnostics()), found, "", ADDRESSES)
