"""perf-PID.map: later entries win, malformed lines are skipped, names may contain files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.binaries.find import untrusted_paths as recorded_files
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.sideband import Sideband
from perf2x.reader import open_recording
from perf2x.symbolizer.sources.jit_functions import jit_function
from perf2x.symbolizer.sources.perf_map_source import (
    INITIAL_PID_NAMESPACE,
    PerfMap,
    PerfMapSource,
    ProcessNamespaces,
    read_perf_map,
)
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbol_report import SymbolReport
from perf2x.symbolizer.symbolize import symbolize
from perf2x.testing import ProfileBuilder
from tests import forge
from tests.forge.session import write_file
from tests.support.profile_builder import lines_of, make_profile, make_session, name_of

TEXT = """\
7f0000001000 40 JS:*busy /srv/app.js:3:14
7f0000001040 20 Builtin:Call
not a line
7f0000001000 10 replaced
0x7f0000002000 0x30 py::main:/srv/tool.py
7f0000003000 8
"""


def run(frames, pid=77, sideband=None, finder=None, **options) -> tuple[Profile, SymbolReport, Diagnostics]:
    profile = make_profile([(0x7F0000000000, 0x7F0000100000, 0, "//anon", "", pid)], [(0, a) for a in frames])
    diagnostics = Diagnostics()
    sources, options = load_symbol_sources(), SymbolOptions(**options)
    result, report = symbolize(profile, make_session(), options, diagnostics, sources, finder, sideband)
    result.check()
    return result, report, diagnostics


def namespaces(tmp_path, *homes) -> Sideband:
    """The side-band of forged records: (process, inode of its pid namespace, of its mount namespace)."""
    records = [
        forge.Namespaces(pid=pid, tid=pid, links=((4, 1), (4, 2), (4, 3), (4, inner), (4, 5), (4, mount), (4, 7)))
        for pid, inner, mount in homes
    ]
    return sideband_of(tmp_path, records)


def sideband_of(tmp_path, records) -> Sideband:
    (tmp_path / "forged").write_bytes(write_file(forge.Session(), records))
    return open_recording(str(tmp_path / "forged")).sideband


def test_a_map_names_code_of_its_process_only(tmp_path) -> None:
    (tmp_path / "perf-77.map").write_text(TEXT)
    result, report, _ = run([0x7F0000001000, 0x7F0000001020, 0x7F0000002004, 0x7F0000009000], perf_map_dir=tmp_path)
    assert lines_of(result, 0) == [("replaced", "", 0)]
    assert lines_of(result, 1) == [("busy app.js:3", "/srv/app.js", 0)]
    assert lines_of(result, 2) == [("main", "/srv/tool.py", 0)]
    assert name_of(result, 3) is None and "perf-77.map" in report.objects[0].reason
    system = {result.strings[int(i)] for i in result.functions.system_name}
    assert "py::main:/srv/tool.py" in system


def test_an_address_that_was_stored_not_called_belongs_to_the_function_that_it_begins(tmp_path) -> None:
    """Erlang's continuations: no call ends at them, whatever function lies in front."""
    (tmp_path / "perf-77.map").write_text(TEXT)
    frames = [0x7F0000001040, 0x7F0000001041, 0x7F0000001060, 0x7F0000002000]
    builder = ProfileBuilder()
    builder.event()
    builder.thread("beam", 77)
    row = builder.mapping("//anon", 0x7F0000000000, 0x100000, pid=77)
    builder.sample([builder.location(address, row, is_caller=True) for address in frames])
    options, sources = SymbolOptions(perf_map_dir=tmp_path), load_symbol_sources()
    result, _ = symbolize(builder.build(), make_session(), options, Diagnostics(), sources)
    assert [name_of(result, row) for row in range(4)] == ["Builtin:Call", "Builtin:Call", "Builtin:Call", "main"]
    assert (result.locations.address - result.locations.lookup).tolist() == [0, 1, 1, 0]


def test_maps_are_found_below_symfs(tmp_path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/perf-77.map").write_text(TEXT)
    assert name_of(run([0x7F0000001050], symfs=tmp_path)[0], 0) == "Builtin:Call"


def test_the_only_map_of_a_container_is_used_and_reported(tmp_path) -> None:
    (tmp_path / "perf-1.map").write_text(TEXT)
    result, _, diagnostics = run([0x7F0000001050], perf_map_dir=tmp_path)
    assert name_of(result, 0) == "Builtin:Call" and diagnostics["perf_map_of_other_pid"] == 1
    (tmp_path / "perf-2.map").write_text(TEXT)
    result, report, _ = run([0x7F0000001050], perf_map_dir=tmp_path)
    assert name_of(result, 0) is None and "no perf-77.map" in report.objects[0].reason


def test_the_map_that_names_most_addresses_is_used(tmp_path) -> None:
    (tmp_path / "perf-1.map").write_text("7f0000001000 10 other\n")
    (tmp_path / "perf-2.map").write_text(TEXT)
    frames = [0x7F0000001008, 0x7F0000001050, 0x7F0000002004]
    result, _, diagnostics = run(frames, perf_map_dir=tmp_path)
    assert [name_of(result, row) for row in range(3)] == ["replaced", "Builtin:Call", "main"]
    assert diagnostics["perf_map_of_other_pid"] == 1


@pytest.mark.parametrize(("inner", "name"), [(0xF0000152, "Builtin:Call"), (INITIAL_PID_NAMESPACE, None)])
def test_namespace_records_identify_containers(tmp_path, inner, name) -> None:
    """Only a process that counts its ids apart may have a map under another id."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/perf-1.map").write_text(TEXT)
    sideband = namespaces(tmp_path, (77, INITIAL_PID_NAMESPACE, 9), (77, inner, 9), (78, 0xF0000152, 9))
    result, _, diagnostics = run([0x7F0000001050], sideband=sideband, symfs=tmp_path)
    assert name_of(result, 0) == name and diagnostics["perf_map_of_other_pid"] == (name is not None)


def test_the_map_of_a_dead_process_is_found_in_its_live_container(tmp_path, monkeypatch) -> None:
    proc = tmp_path / "proc"
    for pid in ("12", "self", "345"):
        (proc / pid / "ns").mkdir(parents=True)
        (proc / pid / "ns/mnt").write_text("")
        (proc / pid / "root/tmp").mkdir(parents=True)
    (proc / "345/root/tmp/perf-3.map").write_text(TEXT)
    sideband = namespaces(tmp_path, (77, 0xF0000152, (proc / "345/ns/mnt").stat().st_ino))
    finder = Finder(SearchPaths(system_debug_dir=None, proc=proc))
    result, _, _ = run([0x7F0000001050], sideband=sideband, finder=finder)
    assert name_of(result, 0) == "Builtin:Call"
    sideband = namespaces(tmp_path, (77, 0xF0000152, (proc / "12/ns/mnt").stat().st_ino))
    assert name_of(run([0x7F0000001050], sideband=sideband, finder=finder)[0], 0) is None


def test_records_with_too_few_namespaces_are_ignored(tmp_path) -> None:
    homes = ProcessNamespaces(
        sideband_of(tmp_path, [forge.Namespaces(pid=5, tid=5, links=((4, 1), (4, 2)))]).namespaces
    )
    assert not homes.is_container(5) and homes.mount(5) == 0


@pytest.mark.parametrize(
    ("written", "name", "file", "line"),
    [
        ("py::<module>:/a/b.py", "<module> b.py", "/a/b.py", 0),
        ("py::Class.run.<locals>.inner:/a b/c.py", "Class.run.<locals>.inner", "/a b/c.py", 0),
        (
            "py::importlib._bootstrap:<frozen importlib._bootstrap>",
            "importlib._bootstrap",
            "<frozen importlib._bootstrap>",
            0,
        ),
        ("LazyCompile:~f file:///x/y.mjs:12:3", "f y.mjs:12", "/x/y.mjs", 12),
        ("LazyCompile:*f /x/y.js:12", "f y.js:12", "/x/y.js", 12),
        ("JS:^ /x/y.js:1:1", "(anonymous) y.js:1", "/x/y.js", 1),
        ("Script:~ /x/y.js:1:1", "(script) y.js:1", "/x/y.js", 1),
        ("Eval:~ /x/y.js:7:1", "(eval) y.js:7", "/x/y.js", 7),
        (
            "JS:~Module._load node:internal/modules/cjs/loader:1003:24",
            "Module._load loader:1003",
            "node:internal/modules/cjs/loader",
            1003,
        ),
        ("JS:*get node:fs:9:1", "get node:fs:9", "node:fs", 9),
        ("Builtin:ArrayForEach", "", "", 0),
        ("RegExp:a:b /c:1", "", "", 0),
        ("Lcom/example/Main;::run", "com.example.Main.run", "", 0),
        ("Ljava/lang/String;equals(Ljava/lang/Object;)Z", "java.lang.String.equals", "", 0),
        ("Lcom/example/Main$1;.<init>()V", "com.example.Main$1.<init>", "", 0),
        ("LMain$$Lambda/0x00007f1c04003200;run()V", "Main$$Lambda.run", "", 0),
        ("void java.util.ArrayList.sort(java.util.Comparator)", "java.util.ArrayList.sort", "", 0),
        ("byte[] a.B$C.<clinit>()", "a.B$C.<clinit>", "", 0),
        ("boolean Main$$Lambda/0x00007f1c04003200.test(java.lang.Object, int[])", "Main$$Lambda.test", "", 0),
        ("int java.sorted()", "java.sorted", "", 0),
        ("unsigned long f(int)", "", "", 0),
        ("void ns::f(int)", "", "", 0),
        ("StubRoutines (1)", "", "", 0),
        ("flush_icache_stub", "", "", 0),
        ("Interpreter", "", "", 0),
    ],
)
def test_names_give_functions_and_files(written, name, file, line) -> None:
    function = jit_function(written)
    assert (function.system_name, function.name, function.filename, function.start_line) == (written, name, file, line)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=20), st.lists(st.integers(0, 90), max_size=20)
)
def test_the_last_entry_wins(entries, addresses) -> None:
    start, size = ([row[i] for row in entries] for i in (0, 1))
    table = PerfMap(np.array(start, np.uint64), np.array(size, np.uint64), [""] * len(entries))
    addresses = sorted(set(addresses))
    wanted = [max((i for i, (s, n) in enumerate(entries) if s <= a < s + max(n, 1)), default=-1) for a in addresses]
    assert table.find(np.array(addresses, np.uint64)).tolist() == wanted


@given(st.binary(max_size=300))
def test_any_bytes_can_be_parsed(tmp_path_factory, noise) -> None:
    path = tmp_path_factory.mktemp("map") / "perf-1.map"
    path.write_bytes(noise + TEXT.encode()[: len(noise)])
    read_perf_map(path).find(np.array([0, 2**64 - 1], np.uint64))


def test_a_long_line_of_blanks_is_parsed_in_time(tmp_path) -> None:
    path = tmp_path / "perf-1.map"
    path.write_bytes(b"1000 10 x" + b" " * 3_000_000 + b"y\n" + b"1 1 " + b" " * 3_000_000 + b"\n")
    assert len(read_perf_map(path).names) == 1


def test_maps_of_this_machine_serve_only_recordings_of_this_machine(tmp_path, monkeypatch) -> None:
    (tmp_path / "perf-77.map").write_text(TEXT)
    monkeypatch.setattr(PerfMapSource, "_on_this_machine", lambda self, pid: [tmp_path / f"perf-{pid}.map"])
    profile = make_profile([(0x7F0000000000, 0x7F0000100000, 0, "//anon", "", 77)], [(0, 0x7F0000001050)])
    monkeypatch.setattr(recorded_files, "running_host_name", lambda: "here")
    for hostname, name in (("", "Builtin:Call"), ("here", "Builtin:Call"), ("elsewhere", None)):
        session = make_session(hostname=hostname)
        result, _ = symbolize(profile, session, SymbolOptions(), Diagnostics(), load_symbol_sources())
        assert name_of(result, 0) == name
