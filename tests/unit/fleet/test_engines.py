"""Engines that know nothing of perf2x agree on questions about the tables of a dataset, as its logs have them.

DuckDB and Spark read the files that deltalake names, for want of their extensions; Polars, Daft and DataFusion read the
tables themselves. Engines that are not installed are left out.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import perf2x
from tests.unit.fleet.test_fleet_statistics import made_fleet

pytestmark = pytest.mark.slow
deltalake = pytest.importorskip("deltalake")

TABLES = ("recordings", "samples", "stacks", "places", "mappings", "symbols")
QUESTIONS = {
    "services": """SELECT r.service, COUNT(DISTINCT r.recording) AS recordings, COUNT(DISTINCT r.host) AS hosts,
        SUM(s.value) AS value FROM samples s JOIN recordings r ON s.recording = r.recording GROUP BY r.service""",
    "a day of a service": """SELECT s.comm, SUM(s.value) AS value FROM samples s
        JOIN recordings r ON s.recording = r.recording
        WHERE s.service = 'web' AND s.date = '2026-11-22' GROUP BY s.comm""",
    "objects": """SELECT p.file, COUNT(*) AS places FROM places p JOIN recordings r
        ON p.recording = r.recording AND p.attempt = r.attempt GROUP BY p.file""",
    "hosts": """SELECT host, COUNT(*) AS recordings, SUM(samples) AS samples, SUM(lost) AS lost, MIN(start_ns) AS first
        FROM recordings WHERE error IS NULL AND unfinished = false GROUP BY host""",
    "builds": """SELECT m.build_id, COUNT(DISTINCT m.recording) AS recordings FROM mappings m
        JOIN recordings r ON m.recording = r.recording GROUP BY m.build_id""",
}
Rows = list[tuple[Any, ...]]


def files_of(data: Path, table: str) -> list[str]:
    return [str(name) for name in deltalake.DeltaTable(str(data / table)).file_uris()]


def in_duckdb(data: Path) -> dict[str, Rows]:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        for table in TABLES:
            connection.execute(
                f"CREATE VIEW {table} AS FROM read_parquet({files_of(data, table)!r}, hive_partitioning = true, "
                "hive_types = {'date': VARCHAR, 'service': VARCHAR})"
                if table != "symbols"
                else f"CREATE VIEW {table} AS FROM read_parquet({files_of(data, table)!r})"
            )
        return {name: connection.sql(sql).fetchall() for name, sql in QUESTIONS.items()}


def in_polars(data: Path) -> dict[str, Rows]:
    pl = pytest.importorskip("polars")
    frames = {table: pl.scan_delta(str(data / table)) for table in TABLES}
    context = pl.SQLContext(frames)
    return {name: context.execute(sql, eager=True).rows() for name, sql in QUESTIONS.items()}


def in_daft(data: Path) -> dict[str, Rows]:
    daft = pytest.importorskip("daft")
    frames = {table: daft.read_deltalake(str(data / table)) for table in TABLES}
    found = {}
    for name, sql in QUESTIONS.items():
        columns = daft.sql(sql, **frames).to_pydict()
        found[name] = list(zip(*columns.values(), strict=True))
    return found


def in_datafusion(data: Path) -> dict[str, Rows]:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    for table in TABLES:
        context.register_dataset(table, deltalake.DeltaTable(str(data / table)).to_pyarrow_dataset())
    found = {}
    for name, sql in QUESTIONS.items():
        columns = context.sql(sql).to_pydict()
        found[name] = list(zip(*columns.values(), strict=True))
    return found


def in_spark(data: Path) -> dict[str, Rows]:
    sql = pytest.importorskip("pyspark.sql")
    if not shutil.which("java"):
        pytest.skip("Spark needs Java")
    builder = sql.SparkSession.builder.master("local[1]")
    for key, value in {"ui.enabled": "false", "sql.shuffle.partitions": "1", "driver.host": "127.0.0.1",
                       "driver.bindAddress": "127.0.0.1",
                       "sql.sources.partitionColumnTypeInference.enabled": "false"}.items():  # fmt: skip
        builder = builder.config(f"spark.{key}", value)
    session = builder.getOrCreate()
    try:
        for table in TABLES:
            frame = session.read.option("basePath", str(data / table)).parquet(*files_of(data, table))
            frame.createOrReplaceTempView(table)
        return {name: [tuple(row) for row in session.sql(text).collect()] for name, text in QUESTIONS.items()}
    finally:
        session.stop()


def ordered(answers: dict[str, Rows]) -> dict[str, list[str]]:
    """Rows as texts, in one order."""
    return {name: sorted("|".join(map(str, row)) for row in rows) for name, rows in answers.items()}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with a removed recording and a compaction, whose old files are there still."""
    folder = made_fleet(tmp_path_factory.mktemp("engines"), partition=("service",))
    assert perf2x("fleet", "rm", str(folder), "web1-20261121.data").code == 0
    assert perf2x("fleet", "maintain", str(folder)).code == 0
    return folder


@pytest.mark.parametrize("engine", [in_duckdb, in_polars, in_daft, in_datafusion, in_spark])
def test_engines_agree(data: Path, engine: Callable[[Path], dict[str, Rows]]) -> None:
    found = ordered(engine(data))
    assert found == ordered(in_duckdb(data))
    assert len(found["services"]) == 2 and len(found["hosts"]) == 11 and len(found["objects"]) == 3
    assert len(found["a day of a service"]) == 1 and len(found["functions"]) == 2 * (5 + 4)
