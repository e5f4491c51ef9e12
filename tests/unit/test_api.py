"""The library's doctests, and what ``import perf2x`` costs."""

import doctest
import importlib.util
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import ClassVar, get_origin, get_type_hints

import numpy as np
import pytest
from msgspec.structs import replace

import perf2x
from perf2x.kernel.feature import feature_settings
from perf2x.testing import ProfileBuilder
from tests.support.command import recording
from tests.support.library_types import FILE, library_types
from tests.support.recordings import ROOT


def test_doctests(monkeypatch: pytest.MonkeyPatch) -> None:
    from perf2x import api

    monkeypatch.chdir(ROOT)
    result = doctest.testmod(api)
    assert result.attempted > 10
    assert result.failed == 0


def test_importing_perf2x_imports_nothing_else() -> None:
    code = "import perf2x, sys; print(*(name for name in sys.modules if name.startswith(('perf2x.', 'numpy'))))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) <= {"perf2x._version"}  # which installing writes


@pytest.mark.parametrize(
    "before",
    [
        "import perf2x.reader.recording; ",
        *(pytest.param(code, marks=pytest.mark.slow) for code in ("", "import perf2x.kernel.load, perf2x.reader; ")),
    ],
)
def test_read_can_be_called_whatever_was_imported_before(before: str) -> None:
    code = f"{before}from perf2x import read; print(read({recording('calls')!r}, symbols=None).samples)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "335\n"


def test_every_public_name_is_there() -> None:
    assert all(getattr(perf2x, name) for name in perf2x.__all__)
    assert set(perf2x.__all__) <= set(dir(perf2x))
    with pytest.raises(AttributeError):
        _ = perf2x.nothing


def test_a_timeline_has_a_row_for_every_sample() -> None:
    loaded = perf2x.read(recording("calls"), symbols=None, timeline=True)
    table = perf2x.sample_table(loaded.profile)
    assert {len(column) for column in table.values()} == {335}
    assert np.all(np.diff(table["time"].astype(np.int64)) >= 0)
    assert set(table["stack"][0].split(";")) >= {table["function"][0]}


def test_errors_are_one_kind(tmp_path: Path) -> None:
    with pytest.raises(perf2x.Perf2xError, match="No such file"):
        perf2x.read(tmp_path / "none.data")


def test_samples_are_those_of_the_profile() -> None:
    loaded = perf2x.read(recording("calls"), symbols=None, filters=perf2x.Filters(max_stack=1, times=("0%-50%",)))
    assert loaded.samples == int(loaded.profile.samples.count.sum())
    assert 0 < loaded.samples < loaded.recorded_samples == 335


def test_a_misspelt_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="timelime"):
        perf2x.read(recording("calls"), timelime=True)
    with pytest.raises(perf2x.Perf2xError, match="deferred_missing=keep: choose from mark, kernel-only, drop"):
        perf2x.read(recording("calls"), deferred_missing="keep")
    with pytest.raises(perf2x.Perf2xError, match="keep=cgruop: it may have cgroup, cpu, data_src, fields"):
        perf2x.read(recording("calls"), keep=frozenset({"cpu", "cgruop"}))


@pytest.mark.parametrize("public", [name for name in perf2x.__all__ if isinstance(getattr(perf2x, name), type)])
def test_help_shows_the_fields_of_every_public_class(public: str) -> None:
    assert public in pydoc.render_doc(getattr(perf2x, public))


def test_the_typed_options_and_formats_are_those_that_are_declared() -> None:
    assert FILE.read_text(encoding="utf-8") == library_types()


def test_the_typed_options_are_those_of_loading() -> None:
    """All but names, which have a keyword of their own, what a format decides, and what only commands look at."""
    declared = {
        name: hint for kind in (perf2x.LoadOptions, *feature_settings()) for name, hint in hints_of(kind).items()
    }
    others = {"symbols", "times_optional", "every_event", "features"}
    assert hints_of(perf2x.ReadOptions) == {name: hint for name, hint in declared.items() if name not in others}


def hints_of(kind: type) -> dict[str, object]:
    """Types of the fields, without what is said of them beside."""
    return {name: hint for name, hint in get_type_hints(kind).items() if get_origin(hint) is not ClassVar}


@pytest.mark.parametrize(
    "to", ["pprof", "collapsed", "html", "chrome", "speedscope", "firefox", "svg", "perfetto", "otlp"]
)
def test_a_profile_is_written_as_convert_writes_it(to: str, tmp_path: Path) -> None:
    profile = perf2x.read(recording("calls"), symbols=None, timeline=True, keep=frozenset({"cpu"})).profile
    perf2x.write(profile, tmp_path / "written", to=to)
    perf2x.convert(recording("calls"), tmp_path / "converted", to=to, symbols=None)
    assert (tmp_path / "written").read_bytes() == (tmp_path / "converted").read_bytes()


@pytest.mark.parametrize("to", ["chrome", "firefox", "perfetto"])
def test_a_profile_without_times_is_no_timeline(to: str, tmp_path: Path) -> None:
    profile = perf2x.read(recording("calls"), symbols=None).profile
    with pytest.raises(perf2x.Perf2xError, match="timeline=True"):
        perf2x.write(profile, tmp_path / "out", to=to)
    assert not list(tmp_path.iterdir())


def test_a_changed_profile_is_written_changed(tmp_path: Path) -> None:
    profile = perf2x.read(recording("calls"), symbols=None).profile
    doubled = replace(profile, samples=replace(profile.samples, count=profile.samples.count * 2))
    perf2x.write(doubled, tmp_path / "calls.folded", settings={"value": "samples"})
    lines = (tmp_path / "calls.folded").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 2 * 335


def test_a_broken_profile_is_not_written(tmp_path: Path) -> None:
    profile = perf2x.read(recording("calls"), symbols=None).profile
    broken = replace(profile, strings=("",))
    with pytest.raises(ValueError, match="out of range"):
        perf2x.write(broken, tmp_path / "calls.folded")
    with pytest.raises(perf2x.Perf2xError, match="does not determine the format"):
        perf2x.write(profile, tmp_path / "calls.txt")
    assert not list(tmp_path.iterdir())


def test_undecodable_names_are_spelt_out() -> None:
    builder = ProfileBuilder()
    builder.event(), builder.thread(comm="caf\udce9")
    builder.sample([builder.function("main")])
    assert list(perf2x.sample_table(builder.build())["comm"]) == ["caf\\xe9"]


def test_the_example_runs(tmp_path: Path) -> None:
    script, page = ROOT / "examples" / "library" / "hottest.py", tmp_path / "flame.html"
    words = [sys.executable, str(script), str(ROOT / "examples" / "deferred" / "perf.data"), str(page)]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert out[0] == "1,799 samples of cpu-clock"
    tenths = next([int(number) for number in line.split(": ")[1].split()] for line in out if "per tenth" in line)
    with_pandas = importlib.util.find_spec("pandas") is not None
    assert ("(pandas is not installed)" in out) != with_pandas
    assert any("[kernel.kallsyms]" in line for line in out) == with_pandas
    assert (len(tenths), sum(tenths)) == (10, 1799)
    assert page.read_bytes().startswith(b"<!")


def test_no_input_is_an_error_of_ours(tmp_path: Path) -> None:
    nothing: list[str] = []
    for call in (perf2x.read, perf2x.top, lambda inputs: perf2x.convert(inputs, tmp_path / "x.folded")):
        with pytest.raises(perf2x.Perf2xError, match="no recording was given"):
            call(nothing)


def test_a_negative_number_of_rows_is_refused() -> None:
    loaded = perf2x.read(recording("calls"), symbols=None)
    for table in (lambda: perf2x.top(loaded, limit=-1), lambda: perf2x.diff(loaded, loaded, limit=-1)):
        with pytest.raises(perf2x.Perf2xError, match="limit=-1"):
            table()


def test_a_table_of_totals_is_a_line_and_tells_shares() -> None:
    whole = perf2x.top(str(ROOT / "examples/deferred/perf.data"), symbols=None, by="thread", limit=2).whole
    assert repr(whole) == "Totals(cpu-clock: 1,799 samples, 1.80 s, 6 rows)"
    assert [whole.share(row.self) for row in whole.rows] == [row.self / whole.cost for row in whole.rows]
    assert sum(whole.share(row.self) for row in whole.rows) == pytest.approx(1)
    assert replace(whole, cost=0).share(0) == 0
