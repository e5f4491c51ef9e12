"""Symcaches read as columns give the library's results; damaged ones do no harm."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.elf_file import open_elf
from perf2x.model.diagnostics import Diagnostics
from perf2x.symbolizer.source_locations import DebugFunction, source_locations_of, with_replaced
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symcache.build_symcache import LibrarySymcache, open_line_lookup
from perf2x.symbolizer.symcache.read_symcache import MAX_INLINE_DEPTH, NOTHING, VERSION, Symcache, read_symcache
from tests.support.examples import examples

symbolic = pytest.importorskip("symbolic", reason="the dwarf extra is not installed")
DATA = Path(__file__).parents[1] / "data"
MANY = 1 << 40
A, B, C = DebugFunction("a", "/a.c", 1), DebugFunction("b", "/b.c", 2), DebugFunction("c", "/c.c", 3)


def made(name) -> bytes:
    return next(symbolic.Archive.open(str(DATA / name)).iter_objects()).make_symcache().open_stream().read()


def table(data) -> Symcache:
    return read_symcache(np.frombuffer(bytes(data), np.uint8))


@pytest.mark.parametrize("name", ["inlines.so", "lto.so", "rust.so", "split.so.debug"])
def test_lookups_agree_with_the_library(name) -> None:
    data = made(name)
    addresses = np.array([*range(0x5000), 2**32 - 2, 2**32 - 1, 2**32, 2**63, 2**64 - 1], np.uint64)
    ours, theirs = table(data).find(addresses), LibrarySymcache(symbolic.SymCache.from_bytes(data)).find(addresses)
    chains = [[(one.symbol, one.path, line) for one, line in ours.chain(row)] for row in range(len(ours))]
    assert chains == [[(f.symbol, f.path, line) for f, line in theirs.chain(row)] for row in range(len(theirs))]
    assert max(map(len, chains)) >= 3


@pytest.mark.parametrize("name", ["inlines.so", "lto.so", "rust.so", "split.so.debug"])
def test_functions_start_at_their_lowest_line_in_a_file(name) -> None:
    """Whichever addresses are asked for; functions that are always inlined have no start."""
    symcache = table(made(name))
    called = {symcache._string(row[0]) for row in symcache.functions.tolist() if row[2] != NOTHING}
    whole = symcache.find(np.arange(0x5000, dtype=np.uint64))
    lowest: dict[tuple[str, str], int] = {}
    for which, line in set(zip(whole.function.tolist(), whole.line.tolist(), strict=True)):
        place = whole.functions[which].symbol, whole.functions[which].path
        lowest[place] = min(line or MANY, lowest.get(place, MANY))
    assert len(lowest) > 5
    for address in range(0x1000, 0x1400, 37):
        for function, _ in symcache.find(np.array([address], np.uint64)).chain(0):
            known = function.symbol in called
            assert function.start_line == (lowest[function.symbol, function.path] % MANY if known else 0)


def test_no_addresses_and_no_ranges_give_no_rows() -> None:
    assert len(table(made("inlines.so")).find(np.zeros(0, np.uint64))) == 0
    data = bytearray(made("inlines.so"))
    data[56:60] = bytes(4)
    assert not len(table(data).find(np.arange(0x2000, dtype=np.uint64)).function)


def test_other_versions_are_left_to_the_library(tmp_path, monkeypatch) -> None:
    data = bytearray(made("inlines.so"))
    data[4] = VERSION + 1
    assert table(data) is None
    monkeypatch.setattr("perf2x.symbolizer.symcache.build_symcache.read_symcache", lambda _: None)
    lines = open_line_lookup(open_elf(DATA / "inlines.so"), SymbolOptions(cache_dir=tmp_path), Diagnostics())
    assert lines.find(np.array([0x1084], np.uint64)).chain(0)[-1][0].symbol


ORIGINAL = made("inlines.so")
FLIPS = st.lists(st.tuples(st.integers(0, len(ORIGINAL) - 1), st.integers(0, 255)), min_size=1, max_size=6)


@settings(max_examples=examples(150), deadline=None)
@given(flips=FLIPS, length=st.integers(0, len(ORIGINAL)) | st.none())
def test_a_damaged_symcache_gives_an_answer_or_an_object_error(flips, length) -> None:
    data = bytearray(ORIGINAL)
    for position, value in flips:
        data[position] = value
    with contextlib.suppress(ObjectError):
        found = table(data[:length])
        if found is not None:
            found.find(np.arange(0x1000, 0x1200, dtype=np.uint64))


def test_a_caller_that_is_its_own_caller_ends() -> None:
    data = np.frombuffer(bytearray(ORIGINAL), np.uint8)
    cache = read_symcache(data)
    cache.locations[:, 3] = np.arange(len(cache.locations))
    assert len(cache.find(np.array([0x1084], np.uint64)).function) == MAX_INLINE_DEPTH


def test_replaced_locations_keep_the_others() -> None:
    places = source_locations_of([[(A, 1)], [(B, 2), (A, 3)], [], [(C, 4)]])
    better = source_locations_of([[(C, 5), (B, 6)], [(A, 7)]])
    result = with_replaced(places, np.array([1, 2]), better)
    assert [result.chain(row) for row in range(4)] == [[(A, 1)], [(C, 5), (B, 6)], [(A, 7)], [(C, 4)]]
    assert result.take(np.array([3, 1])).chain(1) == [(C, 5), (B, 6)]
    assert source_locations_of([[], [(A, 0)], [(A, 0), (B, 2)]]).has_line.tolist() == [False, False, True]
