"""Views of a dataset in DuckDB: rows that stand in several files once, and the costs that ``perf2x top`` has."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from perf2x.analysis.totals import totals
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.sql.duckdb_engine import engine
from perf2x.storage.dataset.table_log import commit, read_log
from perf2x.storage.dataset.write.recording_to_store import FunctionRow
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.datasets import add_recording, name_places, rows
from tests.support.fleets import recording_of
from tests.support.recordings import CORPUS

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two forged recordings with most stacks in common and one with a kernel, some of whose places have names."""
    folder = tmp_path_factory.mktemp("views")
    for number in (1, 2):
        (folder / f"{number}.data").write_bytes(recording_of(number))
        add_recording(folder / "it's [1]*", folder / f"{number}.data", {"service": f"s{number}"}, ["service"])
    add_recording(folder / "it's [1]*", CORPUS / "calls" / "perf.data")
    name_some(folder / "it's [1]*", [("outer", "_Zouter", "a.c", 1), ("inner", "inner", "b.c", 7)])
    return folder / "it's [1]*"


def name_some(folder: Path, functions: list[FunctionRow]) -> None:
    """Name every other place: ``functions[0]`` is what the code belongs to, those behind it are inlined."""
    places = [row for row in rows(folder, "places") if not row["is_local"]]
    name_places(folder, [row for row in places if row["file_offset"] % 2], functions)


Row = tuple[Any, ...]
Asked = Callable[[str], list[Row]]


@pytest.fixture(scope="module")
def asked(dataset: Path) -> Iterator[Asked]:
    with engine(dataset, "by_function") as connection:
        yield lambda sql: connection.sql(sql).fetchall()


def ask(folder: Path, *questions: str, asked: str = "by_function") -> list[list[Row]]:
    with engine(folder, asked) as connection:
        return [connection.sql(sql).fetchall() for sql in questions]


def test_costs_are_those_of_top(dataset: Path, asked: Asked, tmp_path: Path) -> None:
    loaded = load(str(dataset), LoadOptions(symbols=SymbolOptions(symfs=tmp_path, cache_dir=tmp_path)))
    answers = asked("SELECT event, function, object, sum(self), sum(total) FROM by_function GROUP BY ALL")
    assert {row[0] for row in answers} == {event.name for event in loaded.events}
    for event in loaded.events:
        expected = {(one.name, one.object, one.own, one.total) for one in totals(loaded.profile, event.name).rows}
        assert {row[1:] for row in answers if row[0] == event.name} == expected
    assert {"inner", "outer"} < {row[1] for row in answers}


def test_samples_of_functions_are_counted(asked: Asked) -> None:
    ((own, all_of),) = asked("SELECT sum(self_samples), max(total_samples) FROM by_function WHERE unit <> ''")
    ((samples, with_stack),) = asked("SELECT sum(count), sum(count) FILTER (stack IS NOT NULL) FROM samples")
    assert own == with_stack <= samples == asked("SELECT sum(samples) FROM recordings")[0][0]
    assert all_of <= with_stack


def test_stacks_are_outermost_first_with_inlined_functions(dataset: Path, asked: Asked) -> None:
    stacks = asked("SELECT recording, stack, functions, objects FROM stacks")
    frames = asked("SELECT recording, stack, position, depth, function, object, is_leaf FROM frames")
    parents = {(row["recording"], row["node"]): row["parent"] for row in rows(dataset, "nodes")}
    for recording, stack, functions, objects in stacks:
        own = sorted((row[2:] for row in frames if row[:2] == (recording, stack)), key=lambda row: (row[0], -row[1]))
        assert (functions, objects) == ([row[2] for row in own], [row[3] for row in own])
        assert [row[4] for row in own] == [False] * (len(own) - 1) + [True]
        deep, node = 0, stack
        while (node := parents[recording, node]) is not None:
            deep += 1
        assert own[-1][0] == deep
    known = {(row["recording"], row["stack"]) for row in rows(dataset, "samples") if row["stack"] is not None}
    assert {row[:2] for row in stacks} == known


def test_costs_of_functions_that_call_themselves(asked: Asked) -> None:
    """The stacks of SQL say the same: each counts once for a function, however often that is in it."""
    of_stacks = asked(
        "SELECT recording, event, function, object, sum(value)::BIGINT FROM samples JOIN ("
        "SELECT DISTINCT recording, stack, function, object FROM frames) USING (recording, stack) GROUP BY ALL"
    )
    costs = asked("SELECT recording, event, function, object, total FROM by_function")
    assert sorted(of_stacks) == sorted(costs)


def test_what_was_not_added_whole_is_left_out(dataset: Path, asked: Asked, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    count = "SELECT count(DISTINCT recording), sum(count)::BIGINT FROM samples"
    ((recordings, samples),) = asked(count)
    assert recordings == 3
    log = read_log(copy / "recordings")
    (gone,) = (file for file in log.files.values() if file.parts["service"] == "s1")
    commit(str(copy), "recordings", log.partition, (), [gone])  # its samples lie there without it
    counted, mapped, known = ask(copy, count, "SELECT recording FROM mappings", "SELECT recording FROM recordings")
    assert counted == [(2, samples - 40)]
    assert set(mapped) <= set(known)
    for table in ("samples", "recordings"):  # the other one is there a second time, in another folder
        log = read_log(copy / table)
        (twice,) = (file for file in log.files.values() if file.parts["service"] == "s2")
        other = structs.replace(twice, name=twice.name.replace("=s2", "=zz"), parts={**twice.parts, "service": "zz"})
        (copy / table / other.name).parent.mkdir(parents=True)
        shutil.copy(copy / table / twice.name, copy / table / other.name)
        commit(str(copy), table, log.partition, [other])
    assert ask(copy, count, "SELECT count(*) FROM recordings") == [[(2, samples - 40)], [(2,)]]


def test_a_dataset_without_any_file_of_a_table(dataset: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    shutil.rmtree(copy / "symbols")
    named, symbols = ask(copy, "SELECT DISTINCT is_named FROM functions", "SELECT count(*) FROM symbols")
    assert (named, symbols) == ([(False,)], [(0,)])
    for table in ("samples", "nodes", "places", "mappings"):
        shutil.rmtree(copy / table)
    empty = ask(copy, "SELECT count(*) FROM by_function", "SELECT count(*) FROM samples")
    assert empty == [[(0,)], [(0,)]]


def test_columns_of_folders_are_columns(asked: Asked) -> None:
    for table in ("samples", "recordings", "nodes"):
        assert asked(f"SELECT DISTINCT service, date FROM {table} ORDER BY ALL") == [
            ("s1", None), ("s2", None), (None, None),
        ]  # fmt: skip
