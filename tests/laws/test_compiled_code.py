"""Laws of just-in-time compiled code: names by time, whatever was written over what; maps that are cut, long or odd."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.installed_packages import entry_points_by_name
from perf2x.errors import ObjectError
from perf2x.kernel.load import Loaded, load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.registry import EMITTERS, load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.reader import open_recording
from perf2x.symbolizer.sources.perf_map_source import read_perf_map
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests import forge
from tests.forge import kernel as k
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.jitdump_writer import code_load, header
from tests.support.profile_builder import make_profile, make_session, name_of

CODE, PID = 0x7F0000001000, 5
MONOTONIC = forge.Event(flags=frozenset({"sample_id_all", "use_clockid"}), clockid=1)
LONG = "Lcom/acme/" + "a" * 70_000 + ";::run"
ODD = "  two  blanks\tand\ttabs  "
MAP = f"""\
{CODE:x} 10 old
{CODE + 0x10:x} 10 JS:~work /tmp/w.js:2:14
{CODE + 0x20:x} 10 {LONG}
{CODE + 0x30:x} 10 {ODD}
{CODE:x} 10 new
{CODE + 0x40:x} 10 JS:*'work /tmp/w.js:2:14
"""


def written(folder: Path, *records: forge.Record) -> Path:
    path = folder / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(events=(MONOTONIC,)), records))
    return path


def sample(address: int, time: int = 500) -> forge.Sample:
    return forge.Sample(pid=PID, tid=PID, time=time, ip=address, chain=(k.CONTEXT_USER, address))


def loaded(path: Path) -> Loaded:
    symbols = SymbolOptions(perf_map_dir=path.parent, symfs=path.parent)
    return load(str(path), LoadOptions(timeline=True, symbols=symbols))


def names_by_time(profile: Profile) -> list[str | None]:
    return [name_of(profile, int(profile.stacks.location[row])) for row in profile.samples.stack.tolist()]


PIECES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=12)


@given(PIECES, st.lists(st.tuples(st.integers(0, 13), st.integers(0, 60)), min_size=1, max_size=12))
def test_a_sample_has_the_name_of_the_code_of_its_time(tmp_path_factory, pieces, samples) -> None:
    """Generations of code in a jitdump, one over the other: the latest that was loaded before the sample counts."""
    folder = tmp_path_factory.mktemp("generations")
    dump = b"".join(code_load(200 + 20 * i, CODE + at, f"f{i}", i, size=n) for i, (at, n) in enumerate(pieces))
    (folder / "jit-5.dump").write_bytes(header() + dump)
    marker = forge.Mmap2(
        pid=PID, tid=PID, addr=0x10000, len=4096, filename="/tmp/jit-5.dump", stamp=forge.Stamp(PID, PID, 100)
    )
    samples = sorted(samples)
    taken = [sample(CODE + at, 181 + 20 * when + i) for i, (when, at) in enumerate(samples)]
    expected = [
        next((f"f{i}" for i, (at, n) in reversed([*enumerate(pieces)][:when]) if at <= place < at + n), None)
        for when, place in samples
    ]
    assert names_by_time(loaded(written(folder, marker, *taken)).profile) == expected


def test_replaced_code_of_a_map_is_counted(tmp_path: Path) -> None:
    """A map has no times: the latest name is shown, and the summary says for how many addresses that is a guess."""
    (tmp_path / "perf-5.map").write_text(MAP)
    anon = forge.Mmap2(pid=PID, tid=PID, addr=CODE, len=0x1000, filename="//anon", stamp=forge.Stamp(PID, PID, 100))
    taken = [sample(CODE + at) for at in (4, 0x14, 0x44)]
    found = loaded(written(tmp_path, anon, *taken))
    assert sorted(names_by_time(found.profile)) == ["new", "work w.js:2", "work w.js:2"]
    assert found.diagnostics["perf_map_replaced"] == 1


@pytest.mark.parametrize("end", [*range(0, 150, 7), *range(len(MAP) - 40, len(MAP))])
def test_a_map_that_is_being_written_names_what_it_has(end: int, tmp_path: Path) -> None:
    """Whole lines have their names; of the line that is cut off nothing is taken for another function's."""
    path = tmp_path / "perf-5.map"
    path.write_bytes(MAP.encode()[:end])
    whole = MAP[:end].count("\n")
    names = [line.split(" ", 2)[2].strip() for line in MAP.splitlines()]
    found = read_perf_map(path)
    assert found.names[:whole] == names[:whole] and len(found.names) <= whole + 1
    assert all(names[whole].startswith(name) for name in found.names[whole:])


def test_a_map_that_was_written_anew_does_not_name_what_it_left_out(tmp_path: Path) -> None:
    profile = make_profile([(CODE, CODE + 0x1000, 0, "//anon", "", PID)], [(0, CODE + 4), (0, CODE + 0x14)])
    path, options = tmp_path / "perf-5.map", SymbolOptions(perf_map_dir=tmp_path)
    for text, names in ((MAP, ["new", "work w.js:2"]), (f"{CODE:x} 10 later\n", ["later", None]), ("", [None, None])):
        path.write_text(text)
        named, _ = symbolize(profile, make_session(), options, Diagnostics(), load_symbol_sources())
        assert [name_of(named, row) for row in (0, 1)] == names
    path.unlink()
    with pytest.raises(ObjectError):
        read_perf_map(path)


def test_processes_of_one_inner_id_have_the_maps_of_their_own_containers(tmp_path: Path) -> None:
    """Two containers, in each of which the process is number 1: one lives, of the other only a neighbour."""
    proc, records = tmp_path / "proc", []
    for pid, lives, inner in ((77, 77, 1), (78, 345, 9)):
        folder = proc / str(lives)
        (folder / "root/tmp").mkdir(parents=True)
        (folder / "ns").mkdir()
        (folder / "ns/mnt").write_text("")
        (folder / "status").write_text(f"Name:\tnode\nNSpid:\t{lives}\t{inner}\n")
        (folder / "root/tmp/perf-1.map").write_text(f"{CODE:x} 10 of{pid}\n")
        spaces = [0xF0000000 + pid] * 7
        spaces[5] = (folder / "ns/mnt").stat().st_ino
        records.append(forge.Namespaces(pid=pid, tid=pid, links=tuple((4, space) for space in spaces)))
    sideband = open_recording(str(written(tmp_path, *records))).sideband
    homes = [(CODE, CODE + 0x1000, 0, "//anon", "", pid) for pid in (77, 78)]
    finder = Finder(SearchPaths(system_debug_dir=None, proc=proc))
    profile = make_profile(homes, [(0, CODE + 4), (1, CODE + 4)])
    sources = load_symbol_sources()
    named, _ = symbolize(profile, make_session(), SymbolOptions(), Diagnostics(), sources, finder, sideband)
    assert [name_of(named, row) for row in (0, 1)] == ["of77", "of78"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Path:
    """A recording of code with a name of 70,000 characters, one with blanks and tabs, and one function in two tiers."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "perf-5.map").write_text(MAP)
    anon = forge.Mmap2(pid=PID, tid=PID, addr=CODE, len=0x1000, filename="//anon", stamp=forge.Stamp(PID, PID, 100))
    return written(folder, anon, *[sample(CODE + at, 500 + at) for at in (0x14, 0x24, 0x34, 0x44)])


@pytest.mark.parametrize("name", sorted(entry_points_by_name(EMITTERS)))
def test_all_formats_hold_long_and_odd_names(name: str, odd: Path) -> None:
    profile = outputs.profile_of(
        odd, timeline=outputs.is_timeline(name), symbols=SymbolOptions(perf_map_dir=odd.parent, symfs=odd.parent)
    )
    assert outputs.emitted(profile, name) or outputs.is_on_demand(name)
    if name == "collapsed":
        stacks = outputs.read_collapsed(outputs.emitted(profile, name, value="samples"))
        leaves = {stack[-1]: number for stack, number in stacks.items()}
        assert leaves == {"work w.js:2": 2, LONG[1:-6].replace("/", ".") + ".run": 1, "two  blanks and tabs": 1}
    if name == "pprof":
        found = outputs.read_pprof(outputs.emitted(profile, name))
        texts = {(found.string_table[each.name], found.string_table[each.system_name]) for each in found.function}
        assert texts >= {("work w.js:2", f"JS:{mark}work /tmp/w.js:2:14") for mark in ("~", "*'")}


def test_tiers_are_one_row_unless_names_are_full(odd: Path) -> None:
    for style, rows in (("short", {"work w.js:2"}), ("full", {"JS:~work /tmp/w.js:2:14", "JS:*'work /tmp/w.js:2:14"})):
        ran = perf2x("top", odd, "--perf-map-dir", odd.parent, "--symfs", odd.parent, "--names", style, "--json", "-q")
        assert ran.code == 0 and {row for row in rows if f'"{row}"' in ran.out} == rows
        assert ("JS:" in ran.out) == (style == "full")
