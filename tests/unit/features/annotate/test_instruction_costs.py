"""Costs of instructions: their sums, inlined code, what jumps lead to, code that cannot be read."""

from pathlib import Path

import pytest

from perf2x.features.annotate import instruction_costs
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.profile.profile import Profile
from perf2x.model.totals.totals import totals
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.command import perf2x
from tests.support.profile_builder import make_profile, make_session
from tests.support.recordings import CORPUS
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.unit.features.annotate.listed import DATA, RECORDING, SCRAMBLE, function, listed, listings_of

pytest.importorskip("capstone")
SYMFS = CORPUS / "common" / "symfs"


@pytest.fixture(scope="module")
def profile() -> Profile:
    return listed(function="*", assembly=True, source=True, value="period", source_dirs=(DATA,))


def test_sums_are_the_function_s(profile: Profile) -> None:
    costs = {(row.name, row.object): row for row in totals(profile).rows}
    tried = 0
    for one in profile.listings.functions:
        row = costs[one.name, one.object]
        assert (one.self_costs, one.total_costs) == ((row.self,), (row.total,))
        assert sum(line.self_costs[0] for source in one.sources for line in source.lines) == row.self
        if all(code.rows for code in one.code):
            assert sum(each.self_costs[0] for code in one.code for each in code.rows if each.is_own) == row.self
            tried += row.self > 0
    assert tried == 2  # walk, scramble


@pytest.mark.parametrize("case", ["calls", "unwind", "forker", "shapes"])
def test_sums_without_debug_info(case: str) -> None:
    found = listed(CORPUS / case / "perf.data", symfs=SYMFS, function="*", assembly=True, source=False, value="samples")
    costs = {(row.name, row.object): row.self for row in totals(found, value="samples").rows}
    shown = [one for one in found.listings.functions if all(code.rows for code in one.code) and one.self_costs[0]]
    assert shown
    for one in shown:
        assert sum(row.self_costs[0] for code in one.code for row in code.rows) == costs[one.name, one.object]


def test_without_inlined_functions_the_symbol_has_it_all() -> None:
    found = listed(function="walk", inline=False, assembly=True, value="samples")
    (code,) = function(found, "walk").code
    whole = sum(
        row.self_costs[0]
        for row in function(listed(function="walk", assembly=True, value="samples"), "walk").code[0].rows
    )
    assert sum(row.self_costs[0] for row in code.rows) == whole == function(found, "walk").self_costs[0]
    assert all(row.is_own for row in code.rows)


def test_copies_of_an_inlined_function(profile: Profile) -> None:
    one = function(profile, SCRAMBLE)
    assert [code.symbol for code in one.code] == ["walk"]
    (code,) = one.code
    assert {row.function for row in code.rows} == {SCRAMBLE}
    assert {row.line for row in code.rows} == {6, 7, 8}
    assert [row.address for row in code.rows] == sorted(row.address for row in code.rows)
    assert one.text["/demo/inlines.cpp"][7].strip() == "value ^= value >> 17;"


def test_all_of_a_function_that_is_linked(profile: Profile) -> None:
    (code,) = function(profile, "walk").code
    assert code.start == code.rows[0].address
    assert {row.function for row in code.rows} >= {"walk", SCRAMBLE}
    assert all(row.is_own == (row.function == "walk") for row in code.rows)


def test_what_jumps_lead_to(profile: Profile) -> None:
    (walk,), (tree,) = function(profile, "walk").code, function(profile, "tree").code
    jumps = [row for row in walk.rows if row.text.startswith("j")]
    assert len(jumps) > 4
    assert all(walk.rows[row.target].address == int(row.text.split("0x")[1], 16) and not row.note for row in jumps)
    calls = {row.note: row for row in tree.rows if row.text.startswith("call")}
    assert calls.keys() == {"walk", ""}
    assert tree.rows[calls[""].target].address == tree.start  # the function calls itself
    main = function(profile, "main").code[0]
    assert {row.note for row in main.rows if "rip" in row.text} == {"(anonymous namespace)::sink"}


def test_calls_have_totals(profile: Profile) -> None:
    tree = function(profile, "tree")
    (code,) = tree.code
    assert tree.self_costs == (0,)
    most = max(code.rows, key=lambda row: row.total_costs)
    assert most.text.startswith("call")
    assert most.total_costs <= tree.total_costs


def test_both_syntaxes() -> None:
    found = function(listed(function="walk", assembly=True, syntax="intel"), "walk")
    assert found.code[0].rows[0].text == "test edi, edi"


def test_few_places_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruction_costs, "MAX_COPIES", 0)
    one = function(listed(function="walk", assembly=True), "walk")
    assert (one.copy_count, one.code) == (1, ())


def test_objects_that_are_not_there(tmp_path: Path) -> None:
    found = listed(symfs=tmp_path, function="[[]inlines]", assembly=True)
    (code,) = found.listings.functions[0].code
    assert (code.reason, code.rows) == ("/demo/inlines: file not found", ())


def test_objects_without_their_code(tmp_path: Path) -> None:
    """A debug file has the addresses of instructions, and none of them."""
    text = TinySection(".text", bytes(0x200), 0x401000, "NOBITS", 6)
    (tmp_path / "demo").mkdir()
    symbols = symbol_sections([TinySymbol("walk", 0x401150, 0x89)], 2)
    debug = tiny_elf([text, *symbols])
    (tmp_path / "demo" / "inlines").write_bytes(debug)

    symbols_of_it = SymbolOptions(symfs=tmp_path, allow_mismatch=True)
    wanted = ListingOptions(function="walk", source=True, assembly=True)
    found = load(str(DATA / "inlines.data"), load_options(symbols=symbols_of_it, listings=wanted)).profile
    (code,) = function(found, "walk").code
    assert code.reason == "/demo/inlines: only its debug file was found, which has no instructions"


def test_bundles_of_symbols_alone_have_no_code(tmp_path: Path) -> None:
    assert perf2x("bundle", RECORDING, "--symfs", DATA, "--symbols-only", "-o", tmp_path / "b.tar.gz", "-q").code == 0
    one = function(listed(tmp_path / "b.tar.gz", symfs=None, function="walk", assembly=True), "walk")
    (code,) = one.code
    assert code.reason.endswith("like the objects in a bundle of symbols alone")


def test_another_machine(tmp_path: Path) -> None:
    """AArch64: a loop that calls a function, from an object that names both; ``tiny_elf`` puts code at 0x80."""
    words = (0xD10043FF, 0x94000003, 0x17FFFFFF, 0xD65F03C0, 0xD65F03C0)
    text = TinySection(".text", b"".join(word.to_bytes(4, "little") for word in words), 0x80, flags=6)
    symbols = symbol_sections([TinySymbol("loop", 0x80, 16), TinySymbol("leaf", 0x90, 4)], 2)
    (tmp_path / "prog").write_bytes(tiny_elf([text, *symbols], machine=183))
    start = 0x40_0000
    profile = make_profile([(start, start + 0x1000, 0, "/prog", "", 1)], [(0, start + 0x84), (0, start + 0x88)])
    wanted = {"function": "loop", "assembly": True, "value": "samples"}
    (one,) = listings_of(profile, make_session(), SymbolOptions(symfs=tmp_path), **wanted).functions
    shown = [(row.text, row.note, row.target, row.self_costs[0]) for row in one.code[0].rows]
    assert shown == [
        ("sub sp, sp, #0x10", "", -1, 0), ("bl #0x90", "leaf", -1, 1), ("b #0x84", "", 1, 1), ("ret", "", -1, 0)
    ]  # fmt: skip
