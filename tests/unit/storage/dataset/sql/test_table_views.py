"""Views of a dataset in DuckDB: rows that stand in several files once, and the costs that ``perf2x top`` has."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perf2x.analysis.totals import totals
from perf2x.base.errors import FormatError
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.content_ids import as_rows
from perf2x.storage.dataset.sql.duckdb_engine import engine
from perf2x.storage.dataset.sql.table_views import needed_files
from perf2x.storage.dataset.write.recording_to_store import FunctionRow, PlaceNames
from perf2x.storage.dataset.write.table_rows import lines_table
from perf2x.storage.dataset.write.write_recording import write_table
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.datasets import add_recording, rows
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
    name_places(folder / "it's [1]*", "some", [("outer", "_Zouter", "a.c", 1), ("inner", "inner", "b.c", 7)])
    return folder / "it's [1]*"


def name_places(folder: Path, file: str, functions: list[FunctionRow], line: int = 9) -> None:
    """Name every other place: ``functions[0]`` is what the code belongs to, those behind it are inlined."""
    ids = sorted({row["place_id"] for row in rows(folder, "places")})[::2]
    count = len(functions)
    names = PlaceNames(
        place=as_rows(ids),
        count=np.full(len(ids), count),
        is_exact=np.zeros(len(ids), np.bool_),
        has_inlines=np.ones(len(ids), np.bool_),
        function=np.tile(np.arange(count, dtype=np.int32)[::-1], len(ids)),
        line=np.full(len(ids) * count, line, np.int32),
        functions=functions,
    )
    write_table(folder / "lines" / f"{file}.parquet", "lines", lines_table(names))


Row = tuple[Any, ...]
Asked = Callable[[str], list[Row]]


@pytest.fixture(scope="module")
def asked(dataset: Path) -> Iterator[Asked]:
    with engine(dataset) as connection:
        yield lambda sql: connection.sql(sql).fetchall()


def ask(folder: Path, *questions: str, asked: str = "") -> list[list[Row]]:
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
    ((samples, with_stack),) = asked("SELECT sum(count), sum(count) FILTER (stack_id IS NOT NULL) FROM samples")
    assert own == with_stack <= samples == asked("SELECT sum(samples) FROM recordings")[0][0]
    assert all_of <= with_stack


def test_stacks_are_outermost_first_with_inlined_functions(dataset: Path, asked: Asked) -> None:
    stacks = asked("SELECT stack_id, functions, objects FROM stacks")
    frames = asked("SELECT stack_id, position, depth, function, object, is_leaf FROM frames")
    parents = {row["node_id"]: row["parent_id"] for row in rows(dataset, "nodes")}
    for stack, functions, objects in stacks:
        own = sorted((row for row in frames if row[0] == stack), key=lambda row: (row[1], -row[2]))
        assert (functions, objects) == ([row[3] for row in own], [row[4] for row in own])
        assert [row[5] for row in own] == [False] * (len(own) - 1) + [True]
        deep, node = 0, stack
        while node := parents[node]:
            deep += 1
        assert own[-1][1] == deep
    assert {stack for stack, *_ in stacks} == {row["stack_id"] for row in rows(dataset, "samples")} - {None}


def test_a_row_in_several_files_is_one(dataset: Path, asked: Asked) -> None:
    for table, key in (("nodes", "node_id"), ("places", "place_id")):
        stored = [row[key] for row in rows(dataset, table)]
        assert len(set(stored)) < len(stored)
        assert sorted(row[0] for row in asked(f"SELECT {key} FROM {table}")) == sorted(set(stored))


def test_names_that_say_most_are_taken(dataset: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    name_places(copy, "another", [("less", "less", "c.c", 1)])
    name_places(copy, "more", [("other", "other", "a.c", 1), ("other inner", "", "b.c", 7)])
    named = "SELECT DISTINCT function FROM lines ORDER BY 1"
    assert ask(copy, named) == [[("other",), ("other inner",)]]  # its file comes in front of "some", and says as much
    (copy / "lines" / "more.parquet").unlink()
    assert ask(copy, named) == [[("inner",), ("outer",)]]


def test_what_was_not_added_whole_is_left_out(dataset: Path, asked: Asked, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    count = "SELECT count(DISTINCT recording), sum(count)::BIGINT FROM samples"
    ((recordings, samples),) = asked(count)
    assert recordings == 3
    next((copy / "recordings" / "service=s1").iterdir()).unlink()  # its samples lie there without it
    counted, mapped, known = ask(copy, count, "SELECT recording FROM mappings", "SELECT recording FROM recordings")
    assert counted == [(2, samples - 40)]
    assert set(mapped) <= set(known)
    for table in ("samples", "recordings"):  # the other one is there a second time, in another folder
        shutil.copytree(copy / table / "service=s2", copy / table / "service=zz")
    assert ask(copy, count, "SELECT count(*) FROM recordings") == [[(2, samples - 40)], [(2,)]]


def test_stacks_that_call_themselves_end(dataset: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    for file in (copy / "nodes").iterdir():
        found = parquet.read_table(file)
        write_table(file, "nodes", found.set_column(1, found.schema.field(1), found["node_id"].combine_chunks()))
    assert ask(copy, "SELECT count(*) FROM stacks") == [[(0,)]]


def test_a_dataset_without_any_file_of_a_table(dataset: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    shutil.rmtree(copy / "lines")
    named, lines = ask(copy, "SELECT DISTINCT is_named FROM functions", "SELECT count(*) FROM lines")
    assert (named, lines) == ([(False,)], [(0,)])
    for table in ("recordings", "samples", "nodes", "places", "mappings"):
        shutil.rmtree(copy / table)
    (copy / "recordings").mkdir()
    empty = ask(copy, "SELECT count(*) FROM by_function", "SELECT tags['x'], events[1].name FROM recordings")
    assert empty == [[(0,)], []]


VIEWS = tuple(f"SELECT * FROM {view} ORDER BY ALL" for view in ("by_function", "frames", "stacks"))
ALL_VIEWS = ";".join(VIEWS)


def test_files_that_repeat_others_are_not_read(dataset: Path, tmp_path: Path) -> None:
    """Stacks of the shorter recording are all in the longer one, whose nodes and places are enough."""
    copy = tmp_path / "copy"
    for count in (40, 20):
        (tmp_path / "a.data").write_bytes(recording_of(1, count))
        add_recording(copy, tmp_path / "a.data")
    answers = ask(copy, *VIEWS)
    short, _ = ask(copy, "SELECT hex(recording) FROM recordings ORDER BY samples", "FROM stacks")[0]
    for table in ("nodes", "places"):
        file = copy / table / f"{short[0].lower()}.parquet"
        raw = file.read_bytes()
        file.write_bytes(raw[:4] + bytes(200) + raw[204:])  # its first column
        with pytest.raises(FormatError, match=rf"^{re.escape(str(copy))}: damaged: \w"):
            ask(copy, "FROM frames")
    assert ask(copy, *VIEWS, asked=ALL_VIEWS) == answers
    assert answers[0] and ask(dataset, *VIEWS, asked=ALL_VIEWS) == ask(dataset, *VIEWS)


def test_files_of_recordings_and_those_of_none() -> None:
    own = [f"{number:032x}.parquet" for number in range(4)]
    ids = [number.to_bytes(16) for number in range(4)]
    assert needed_files(own, ids[1:3]) == own[1:3]
    assert needed_files([*own[1:], "merged-a.parquet", "b/x.parquet"], ids[:2]) == [
        own[1], "merged-a.parquet", "b/x.parquet",
    ]  # fmt: skip
    assert needed_files(own[1:], ids[:2]) is None  # rows of the first may be anywhere
    assert needed_files(own, []) is needed_files([], ids) is None
