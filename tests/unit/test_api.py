"""The library's doctests, and what ``import perf2x`` costs."""

import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import perf2x
from tests.support.command import recording
from tests.support.recordings import ROOT


def test_doctests(monkeypatch: pytest.MonkeyPatch) -> None:
    from perf2x import api

    monkeypatch.chdir(ROOT)
    result = doctest.testmod(api)
    assert result.attempted > 10
    assert result.failed == 0


def test_importing_perf2x_imports_nothing_else() -> None:
    code = "import perf2x, sys; print(*(name for name in sys.modules if name.startswith(('perf2x.', 'numpy'))))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.parametrize("before", ["", "import perf2x.reader.recording; ", "import perf2x.pipeline, perf2x.reader; "])
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
