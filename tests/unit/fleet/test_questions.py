"""docs/fleet.md's questions have the answers that stand there, in DuckDB, Polars and Spark alike.

``python -m tests.unit.fleet.test_questions`` writes the answers anew; read the difference.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from perf2x.pipeline.datasets.ingest_recording import ingest
from perf2x.pipeline.load_options import LoadOptions
from tests import forge
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.datasets import name_places, rows
from tests.support.extremes import EVENT, SAMPLE, STAMP
from tests.support.recordings import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "fleet.md"
COSTS = re.compile(r"```sql\n(SELECT tags.*?)```", re.DOTALL)
QUESTION = re.compile(r"(### \d+\. [^\n]*\n\n```sql\n)(.*?)(```\n\n```text\n)(.*?)```", re.DOTALL)
YESTERDAY = 1_795_219_200 * 10**9
DAY = 24 * 3600 * 10**9
WEB, LIBC = (0x10000, "/usr/bin/shop"), (0x70000, "/lib/libc.so.6")
FUNCTIONS = {
    "main": (WEB, 0),
    "render": (WEB, 1),
    "checkout": (WEB, 2),
    "discount": (WEB, 3),
    "memcpy": (LIBC, 0),
    "malloc": (LIBC, 1),
}
WEIGHTS = {  # yesterday, today
    "web1": ({"render": 50, "memcpy": 20, "malloc": 9}, {"render": 52, "memcpy": 21, "malloc": 8, "discount": 6}),
    "web2": ({"render": 48, "memcpy": 22, "malloc": 10}, {"render": 67, "memcpy": 23, "malloc": 9, "discount": 5}),
    "web3": ({"render": 47, "memcpy": 21, "malloc": 41}, {"render": 65, "memcpy": 20, "malloc": 44}),
    "db1": ({"checkout": 30, "memcpy": 40, "malloc": 3}, {"checkout": 31, "memcpy": 37, "malloc": 4}),
}  # fmt: skip


def recording(host: str, weights: dict[str, int]) -> bytes:
    """Samples of functions that main called; the first host loses some."""
    records: list[forge.Record] = [
        forge.Mmap(pid=10, tid=10, addr=start, len=0x10000, filename=name, stamp=STAMP) for start, name in (WEB, LIBC)
    ]
    above = address("main") + 5
    for time, (name, weight) in enumerate(weights.items(), 1000):  # after the maps
        chain = (k.CONTEXT_USER, address(name), above)
        records.append(replace(SAMPLE, time=time, period=weight, ip=address(name), chain=chain))
    if host == "web1":
        records.append(forge.LostSamples(lost=3, stamp=STAMP))
    return forge.write_file(forge.Session((EVENT,), features=forge.Features(hostname=host)), records)


def address(name: str) -> int:
    (start, _), row = FUNCTIONS[name]
    return start + 0x100 * row


def name_functions(data: Path) -> None:
    """Name places as ``fleet symbolize`` does where there are debug files."""
    owner = {(file, address(name) - start): name for name, ((start, file), _) in FUNCTIONS.items()}
    for row in rows(data, "places"):
        name = owner.get((row["file"], row["file_offset"] // 0x100 * 0x100))
        if name is not None:
            name_places(data, [row], [(name, name, "", 0)])


def made_fleet(folder: Path) -> Path:
    """The fleet of the page; returns its costs."""
    for host, days in WEIGHTS.items():
        for day, weights in enumerate(days):
            file = folder / f"{host}-{day}.data"
            whole = recording(host, weights)
            file.write_bytes(whole[:-1] if (host, day) == ("db1", 1) else whole)  # its last header section is cut
            options = LoadOptions(tags=({"service": host.rstrip("123")},), start_time=YESTERDAY + day * DAY)
            ingest([str(file)], options, folder / "profiles")
    name_functions(folder / "profiles")
    (sql,) = COSTS.findall(PAGE.read_text(encoding="utf-8"))
    ran = perf2x("fleet", "query", folder / "profiles", sql, "-o", folder / "costs.parquet")
    assert ran.code == 0, ran.err
    return folder / "costs.parquet"


def text(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float | Decimal) else str(value)


def answer(names: list[str], found: list[tuple[Any, ...]]) -> str:
    """A table as the page has it."""
    texts = [names, *([text(value) for value in row] for row in found)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in texts)


def in_duckdb(costs: Path, question: str) -> str:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        for table, files in tables(costs).items():
            connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{files}')")
        found = connection.execute(question)
        names = [column[0] for column in found.description]
        return answer(names, found.fetchall())


def in_polars(costs: Path, question: str) -> str:
    pl = pytest.importorskip("polars")
    frames = {table: pl.scan_parquet(files) for table, files in tables(costs).items()}
    found = pl.SQLContext(frames).execute(question, eager=True)
    return answer(found.columns, found.rows())


def tables(costs: Path) -> dict[str, str]:
    return {"costs": str(costs), "recordings": str(costs.parent / "profiles" / "recordings" / "**" / "*.parquet")}


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("duckdb")
    return made_fleet(tmp_path_factory.mktemp("questions"))


def questions() -> list[tuple[str, str]]:
    return [(sql, said) for _, sql, _, said in QUESTION.findall(PAGE.read_text(encoding="utf-8"))]


def test_there_are_ten() -> None:
    assert len(questions()) == 10


@pytest.mark.parametrize("engine", [in_duckdb, in_polars])
def test_answers(costs: Path, engine: Any) -> None:
    for sql, said in questions():
        assert engine(costs, sql) == said, sql


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    if not shutil.which("java"):
        pytest.skip("Spark needs Java")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1"}  # fmt: skip
    builder = sql.SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_answers_of_spark(costs: Path, spark: Any) -> None:
    for table, files in tables(costs).items():
        spark.read.parquet(files).createOrReplaceTempView(table)
    for sql, said in questions():
        found = spark.sql(sql)
        assert answer(found.columns, found.collect()) == said, sql


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        made = made_fleet(Path(place))
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(QUESTION.sub(lambda q: f"{q[1]}{q[2]}{q[3]}{in_duckdb(made, q[2])}```", text), encoding="utf-8")


if __name__ == "__main__":
    main()
