"""perf-PID.map: later entries win, broken lines are passed over, names tell files where they can."""

import platform

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.model.diagnostics import Diagnostics
from perf2x.plugins import load_symbol_sources
from perf2x.symbolize.jit_names import jit_function
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.perfmap import PerfMap, PerfMapSource, read_perf_map
from perf2x.symbolize.resolve import symbolize

from .profiles import lines_of, make_profile, make_session, name_of

TEXT = """\
7f0000001000 40 JS:*busy /srv/app.js:3:14
7f0000001040 20 Builtin:Call
not a line
7f0000001000 10 replaced
0x7f0000002000 0x30 py::main:/srv/tool.py
7f0000003000 8
"""


def run(frames, pid=77, **options):
    profile = make_profile([(0x7F0000000000, 0x7F0000100000, 0, "//anon", "", pid)], [(0, a) for a in frames])
    diagnostics = Diagnostics()
    result, report = symbolize(profile, make_session(), SymbolOptions(**options), diagnostics, load_symbol_sources())
    result.check()
    return result, report, diagnostics


def test_names_of_one_process(tmp_path):
    (tmp_path / "perf-77.map").write_text(TEXT)
    result, report, _ = run([0x7F0000001000, 0x7F0000001020, 0x7F0000002004, 0x7F0000009000], perf_map_dir=tmp_path)
    assert lines_of(result, 0) == [("replaced", "", 0)]
    assert lines_of(result, 1) == [("JS:*busy /srv/app.js:3:14", "/srv/app.js", 0)]
    assert lines_of(result, 2) == [("main", "/srv/tool.py", 0)]
    assert name_of(result, 3) is None and "perf-77.map" in report.objects[0].reason
    system = {result.strings[int(i)] for i in result.functions.system_name}
    assert "py::main:/srv/tool.py" in system


def test_under_symfs(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/perf-77.map").write_text(TEXT)
    assert name_of(run([0x7F0000001050], symfs=tmp_path)[0], 0) == "Builtin:Call"


def test_a_containers_only_map_is_taken_and_said(tmp_path):
    (tmp_path / "perf-1.map").write_text(TEXT)
    result, _, diagnostics = run([0x7F0000001050], perf_map_dir=tmp_path)
    assert name_of(result, 0) == "Builtin:Call" and diagnostics["perf_map_of_other_pid"] == 1
    (tmp_path / "perf-2.map").write_text(TEXT)
    result, report, _ = run([0x7F0000001050], perf_map_dir=tmp_path)
    assert name_of(result, 0) is None and "no perf-77.map" in report.objects[0].reason


@pytest.mark.parametrize(
    ("written", "name", "file", "line"),
    [
        ("py::<module>:/a/b.py", "<module>", "/a/b.py", 0),
        ("py::Class.run.<locals>.inner:/a b/c.py", "Class.run.<locals>.inner", "/a b/c.py", 0),
        (
            "py::importlib._bootstrap:<frozen importlib._bootstrap>",
            "importlib._bootstrap",
            "<frozen importlib._bootstrap>",
            0,
        ),
        ("LazyCompile:~f file:///x/y.mjs:12:3", "LazyCompile:~f file:///x/y.mjs:12:3", "/x/y.mjs", 12),
        ("JS:^ /x/y.js:1:1", "JS:^ /x/y.js:1:1", "/x/y.js", 1),
        ("Lcom/example/Main;::run", "", "", 0),
        ("Interpreter", "", "", 0),
    ],
)
def test_what_names_tell(written, name, file, line):
    function = jit_function(written)
    assert (function.system_name, function.name, function.filename, function.start_line) == (written, name, file, line)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=20), st.lists(st.integers(0, 90), max_size=20)
)
def test_the_last_entry_wins(entries, addresses):
    start, size = ([row[i] for row in entries] for i in (0, 1))
    table = PerfMap(np.array(start, np.uint64), np.array(size, np.uint64), [""] * len(entries))
    addresses = sorted(set(addresses))
    wanted = [max((i for i, (s, n) in enumerate(entries) if s <= a < s + max(n, 1)), default=-1) for a in addresses]
    assert table.find(np.array(addresses, np.uint64)).tolist() == wanted


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path_factory, noise):
    path = tmp_path_factory.mktemp("map") / "perf-1.map"
    path.write_bytes(noise + TEXT.encode()[: len(noise)])
    read_perf_map(path).find(np.array([0, 2**64 - 1], np.uint64))


def test_a_line_of_blanks_takes_no_time(tmp_path):
    path = tmp_path / "perf-1.map"
    path.write_bytes(b"1000 10 x" + b" " * 3_000_000 + b"y\n" + b"1 1 " + b" " * 3_000_000 + b"\n")
    assert len(read_perf_map(path).names) == 1


def test_maps_of_this_machine_are_for_recordings_of_this_machine(tmp_path, monkeypatch):
    (tmp_path / "perf-77.map").write_text(TEXT)
    monkeypatch.setattr(PerfMapSource, "_on_this_machine", lambda self, pid: [tmp_path / f"perf-{pid}.map"])
    profile = make_profile([(0x7F0000000000, 0x7F0000100000, 0, "//anon", "", 77)], [(0, 0x7F0000001050)])
    for hostname, name in (("", "Builtin:Call"), (platform.node(), "Builtin:Call"), ("elsewhere", None)):
        session = make_session(hostname=hostname)
        result, _ = symbolize(profile, session, SymbolOptions(), Diagnostics(), load_symbol_sources())
        assert name_of(result, 0) == name
