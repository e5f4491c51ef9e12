"""``to_arrow``: what pyarrow, polars and pandas make of it, and that it needs only one of the first two."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import perf2x
from perf2x.base.columnar import DictionaryColumn, arrow
from perf2x.base.columnar.arrow import ArrowTable
from tests.support.command import recording

TIMELINE = ["time", "event", "pid", "tid", "comm", "function", "object", "stack", "value", "count"]


def need(*modules: str) -> None:
    for module in modules:
        pytest.importorskip(
            module, reason=f"{module} is not installed (pip install 'perf2x[dev]')", exc_type=ImportError
        )


@pytest.fixture(scope="module")
def profile() -> perf2x.Profile:
    return perf2x.read(recording("calls"), symbols=None, timeline=True).profile


def small() -> ArrowTable:
    return ArrowTable({
        "n": np.array([3, 1, 2], np.int64),
        "address": np.array([2**64 - 1, 0, 1], np.uint64),
        "name": DictionaryColumn(np.array([1, 0, 1], np.int32), ("a", "ß")),
    })  # fmt: skip


def only(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    monkeypatch.setattr(arrow, "is_installed", modules.__contains__)


ROWS = [
    {"n": 3, "address": 2**64 - 1, "name": "ß"},
    {"n": 1, "address": 0, "name": "a"},
    {"n": 2, "address": 1, "name": "ß"},
]


def test_pyarrow_reads_it() -> None:
    need("pyarrow")
    import pyarrow

    table = pyarrow.table(small())
    table.validate(full=True)
    assert table.to_pylist() == ROWS
    assert [str(kind) for kind in table.schema.types] == [
        "int64", "uint64", "dictionary<values=string, indices=int32, ordered=0>",
    ]  # fmt: skip


def test_polars_reads_it_with_pyarrow_and_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    need("polars")
    import polars

    for there in ("pyarrow", "polars"):
        need(there)
        only(monkeypatch, there)
        frame = polars.DataFrame(small())
        assert frame.to_dicts() == ROWS
        assert dict(frame.schema) == {"n": polars.Int64, "address": polars.UInt64, "name": polars.Categorical}


def test_pandas_reads_it() -> None:
    need("pyarrow", "pandas")
    import pandas

    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("this pandas has no DataFrame.from_arrow (3.0)")
    frame = pandas.DataFrame.from_arrow(small())
    assert frame.to_dict("records") == ROWS
    assert str(frame.dtypes["name"]) == "category"


@pytest.mark.parametrize("there", ["pyarrow", "polars"])
def test_it_says_what_sample_table_says(there: str, profile: perf2x.Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    need("polars", there)
    import polars

    only(monkeypatch, there)
    table = perf2x.sample_table(profile)
    frame = polars.DataFrame(perf2x.to_arrow(profile))
    assert frame.columns[: len(TIMELINE)] == TIMELINE
    assert frame.columns == list(table)
    assert len(frame) == len(perf2x.to_arrow(profile)) == 335
    for name, column in table.items():
        assert frame[name].to_list() == list(column), name


def test_it_can_be_read_twice() -> None:
    need("pyarrow")
    import pyarrow

    table = small()
    assert pyarrow.table(table) == pyarrow.table(table)


def test_an_exception_on_its_way_survives_the_release_of_a_table() -> None:
    """Callbacks of our own made a SystemError of it, or had the process aborted."""
    need("pyarrow")
    import pyarrow

    with pytest.raises(KeyError, match="nothing"):
        pyarrow.table(small()).column("nothing")


def test_the_texts_of_a_column_may_take_more_than_32_bit_offsets_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    need("pyarrow")
    import pyarrow

    monkeypatch.setattr(arrow, "_MAX_CHARACTERS", 1)
    table = pyarrow.table(small())
    assert str(table.schema.field("name").type) == "dictionary<values=large_string, indices=int32, ordered=0>"
    assert table.to_pylist() == ROWS


def test_a_profile_without_samples_has_every_column_and_no_row(profile: perf2x.Profile) -> None:
    need("pyarrow")
    import pyarrow

    from perf2x.model.profile.stack_tree import keep_samples

    table = pyarrow.table(perf2x.to_arrow(keep_samples(profile, np.zeros(0, np.int64))))
    assert (table.num_rows, table.column_names[: len(TIMELINE)]) == (0, TIMELINE)


def test_without_either_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch)
    with pytest.raises(ImportError, match=r"pip install 'perf2x\[arrow\]'"):
        small().__arrow_c_stream__()


def test_importing_the_library_imports_none_of_them() -> None:
    there = [name for name in ("pyarrow", "polars", "pandas") if importlib.util.find_spec(name)]
    code = f"import sys, perf2x; perf2x.to_arrow; print([name for name in {there} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
