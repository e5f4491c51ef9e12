"""Views of a dataset in DuckDB: rows that stand in several files once, and the costs that ``perf2x top`` has."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile.place_names import FunctionRow
from perf2x.model.totals.totals import totals
from perf2x.sources.dataset.dataset_address import parse_address
from perf2x.sources.dataset.read.dataset_part import DatasetPart
from perf2x.sources.dataset.sql.duckdb_engine import engine
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.datasets import add_recordings, name_places, rows
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
        add_recordings(folder / "it's [1]*", [folder / f"{number}.data"], {"service": f"s{number}"}, ["service"])
    add_recordings(folder / "it's [1]*", [CORPUS / "calls" / "perf.data"])
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
    with engine(DatasetPart(parse_address(str(dataset)))) as connection:
        yield lambda sql: connection.sql(sql).fetchall()


def test_costs_are_those_of_top(dataset: Path, asked: Asked, tmp_path: Path) -> None:
    loaded = load(str(dataset), LoadOptions(symbols=SymbolOptions(symfs=tmp_path, cache_dir=tmp_path)))
    answers = asked("SELECT event, function, object, sum(self), sum(total) FROM by_function GROUP BY ALL")
    assert {row[0] for row in answers} == {event.name for event in loaded.events}
    for event in loaded.events:
        expected = {(one.name, one.object, one.self, one.total) for one in totals(loaded.profile, event.name).rows}
        assert {row[1:] for row in answers if row[0] == event.name} == expected
    assert {"inner", "outer"} < {row[1] for row in answers}


def test_samples_of_functions_are_counted(asked: Asked) -> None:
    ((own, all_of),) = asked("SELECT sum(self_samples), max(total_samples) FROM by_function WHERE unit <> ''")
    ((samples, with_stack),) = asked("SELECT sum(count), sum(count) FILTER (stack IS NOT NULL) FROM samples")
    assert own == with_stack <= samples == asked("SELECT sum(samples) FROM recordings")[0][0]
    assert all_of <= with_stack


def test_costs_of_functions_that_call_themselves(asked: Asked) -> None:
    """The stacks of SQL say the same: each counts once for a function, however often that is in it."""
    of_stacks = asked(
        "SELECT recording, event, function, object, sum(value)::BIGINT FROM samples JOIN ("
        "SELECT DISTINCT recording, stack, function, object FROM frames) USING (recording, stack) GROUP BY ALL"
    )
    costs = asked("SELECT recording, event, function, object, total FROM by_function")
    assert sorted(of_stacks) == sorted(costs)


def test_columns_of_folders_are_columns(asked: Asked) -> None:
    for table in ("samples", "recordings", "stacks", "by_function", "by_stack"):
        assert asked(f"SELECT DISTINCT service, date FROM {table} ORDER BY ALL") == [
            ("s1", None), ("s2", None), (None, None),
        ]  # fmt: skip


def test_stacks_are_outermost_first_with_inlined_functions(dataset: Path, asked: Asked) -> None:
    frames = asked("SELECT recording, stack, position, depth, function, object, is_leaf FROM frames")
    lists = {(row["recording"], row["stack"]): row["places"] for row in rows(dataset, "stacks")}
    found = set()
    for recording, stack in lists:
        own = sorted((row[2:] for row in frames if row[:2] == (recording, stack)), key=lambda row: (row[0], -row[1]))
        assert [row[4] for row in own] == [False] * (len(own) - 1) + [True]
        assert own[-1][0] == len(lists[recording, stack]) - 1
        found.add((recording, tuple(row[2] for row in own), tuple(row[3] for row in own)))
    by_stack = asked("SELECT recording, functions, objects FROM by_stack")
    assert {(row[0], tuple(row[1]), tuple(row[2])) for row in by_stack if row[1]} == found
    assert asked("SELECT sum(count), sum(value) FROM by_stack") == asked("SELECT sum(count), sum(value) FROM samples")


def test_tags_are_columns(asked: Asked) -> None:
    of_views = asked("SELECT service, sum(self) FROM by_function GROUP BY ALL ORDER BY ALL")
    of_tables = asked(
        "SELECT tags['service'], sum(self) FROM by_function JOIN recordings USING (recording) GROUP BY ALL ORDER BY ALL"
    )
    assert of_views == of_tables and len(of_views) == 3
