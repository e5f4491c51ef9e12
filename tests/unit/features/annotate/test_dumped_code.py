"""Instructions of just-in-time compiled code: from the dump, at the addresses that it was loaded at."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.diagnostics import Diagnostics
from perf2x.features.annotate.object_code import JitdumpCode
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.profile.listings import CodeListing
from perf2x.symbolizer.make_object_finder import make_context, make_finder
from perf2x.symbolizer.sources.parse_jitdump import parse_jitdump
from perf2x.symbolizer.sources.symbol_source import Dso, DsoKind
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge.events import Event
from tests.forge.records import Mmap2, Stamp
from tests.forge.samples import Sample
from tests.forge.session import Session, write_file
from tests.support.examples import examples
from tests.support.jitdump_writer import code_load, debug, header, move
from tests.support.profile_builder import make_profile, make_session

pytest.importorskip("capstone")
LOADED, CALLED = 0x7F0000001000, 0x7F0000001040
CALLER = bytes.fromhex("55e83a000000ebf890c3")
"""push %rbp; call CALLED; jmp to the first instruction; nop; ret."""
MONOTONIC = Event(flags=frozenset({"sample_id_all", "use_clockid"}), clockid=1)


def listed(folder: Path, dump: bytes, name: str, *samples: tuple[int, int]) -> CodeListing:
    """The code of a function; ``samples`` are (time, address)."""
    (folder / "jit-5.dump").write_bytes(dump)
    marker = Mmap2(pid=5, tid=5, addr=0x10000, len=4096, filename="/tmp/jit-5.dump", stamp=Stamp(5, 5, 100))
    rows = [Sample(pid=5, tid=5, time=time, ip=address) for time, address in samples]
    path = folder / "perf.data"
    path.write_bytes(write_file(Session(events=(MONOTONIC,)), [marker, *rows]))
    options = load_options(
        symbols=SymbolOptions(perf_map_dir=folder, symfs=folder),
        listings=ListingOptions(function=name, source=True, assembly=True, value="samples"),
    )
    listings = load(str(path), options).profile.listings
    assert listings is not None
    (found,) = listings.functions[0].code
    return found


def test_code_where_it_was_loaded(tmp_path: Path) -> None:
    lines = debug(LOADED, (LOADED, 7, b"/a.js"), (LOADED + 6, 9, b"\xff"))
    dump = header() + lines + code_load(200, LOADED, "caller", 1, code=CALLER) + code_load(200, CALLED, "called", 2)
    code = listed(tmp_path, dump, "caller", (300, LOADED + 6), (301, LOADED + 7), (302, LOADED + 8))
    assert (code.symbol, code.start, code.reason) == ("caller", LOADED, "")
    told = [(row.address - LOADED, row.text.split()[0], row.line, row.self_costs[0]) for row in code.rows]
    assert told == [(0, "pushq", 7, 0), (1, "callq", 7, 0), (6, "jmp", 9, 2), (8, "nop", 9, 1), (9, "retq", 9, 0)]
    assert (code.rows[1].note, code.rows[2].target) == ("called", 0)


def test_code_that_replaces_other_code(tmp_path: Path) -> None:
    dump = header() + code_load(200, LOADED, "first", 1, code=CALLER) + code_load(400, LOADED, "second", 2)
    for name, when, first in (("first", 300, "pushq %rbp"), ("second", 500, "nop")):
        code = listed(tmp_path, dump, name, (when, LOADED))
        assert (code.start, code.rows[0].text, code.rows[0].self_costs) == (LOADED, first, (1,))


def test_code_that_was_moved(tmp_path: Path) -> None:
    dump = header() + code_load(200, LOADED, "f", 1, code=CALLER) + move(300, LOADED, LOADED + 0x100, 1, len(CALLER))
    code = listed(tmp_path, dump, "f", (250, LOADED + 8), (350, LOADED + 0x100))
    assert (code.start, [row.self_costs[0] for row in code.rows]) == (LOADED, [1, 0, 0, 1, 0])


def test_a_machine_that_is_not_known(tmp_path: Path) -> None:
    code = listed(tmp_path, header(machine=9999) + code_load(200, LOADED, "f", 1), "f", (300, LOADED))
    assert (code.rows, code.reason) == (
        (),
        "code of machine 9999 cannot be disassembled; supported: X86_64, 386, AARCH64, RISCV",
    )


PIECES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), max_size=6)


@settings(max_examples=examples(30))
@given(PIECES)
def test_offsets_of_loaded_addresses(tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[int, int]]) -> None:
    data = header() + b"".join(
        code_load(1, LOADED + at, "f", number, size=size) for number, (at, size) in enumerate(pieces)
    )
    folder = tmp_path_factory.mktemp("dump")
    (folder / "jit-5.dump").write_bytes(data)
    options, diagnostics = SymbolOptions(perf_map_dir=folder, symfs=folder), Diagnostics()
    context = make_context(
        make_profile([], []), make_session(), options, diagnostics, make_finder(options, diagnostics)
    )
    code = JitdumpCode(context, Dso("/tmp/jit-5.dump", b"", DsoKind.FILE, 5, None, 0, 0))
    asked = np.arange(LOADED - 1, LOADED + 54, dtype=np.uint64)
    expected = []
    for address in asked.tolist():
        held = [one for one in parse_jitdump(data, "").codes if one.address <= address < one.address + one.size]
        expected.append(address - held[0].address + held[0].offset if len(held) == 1 else 2**64 - 1)
    assert code.file_offsets(asked).tolist() == expected
