"""``perf2x fleet query``: answers in every format, SQL that only reads, and one sentence for what is wrong."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perf2x.errors import OptionError, Perf2xError
from perf2x.fleet.query import _batches, check_read_only, run_query
from perf2x.sources.dataset.dataset_address import parse_address
from perf2x.sources.dataset.read.dataset_part import DatasetPart
from perf2x.sources.dataset.sql.duckdb_engine import engine, query_errors
from perf2x.sources.dataset.sql.query_limits import QueryLimits
from tests.support.command import perf2x
from tests.support.datasets import add_recordings
from tests.support.fleets import recording_of

pytest.importorskip("duckdb")
parquet = pytest.importorskip("pyarrow.parquet")

KINDS = (
    "SELECT 1 AS n, 'a|b' AS t, NULL AS z, 1.5 AS f, true AS b, '=x' AS g, 'nan'::DOUBLE AS nan, 7::HUGEINT AS h,"
    " unhex('00ff') AS id, ['a', 'b'] AS l, MAP {'k': 1} AS m, {'s': 2} AS st, 2.50::DECIMAL(5, 2) AS d,"
    " to_timestamp(0) AS at, TIMESTAMP_NS '2026-11-22 01:02:03.123456789' AS ns, DATE '2026-11-22' AS day"
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query")
    (folder / "a.data").write_bytes(recording_of(1))
    add_recordings(folder / "profiles", [folder / "a.data"], {"service": "web"})
    return folder / "profiles"


def test_json_has_every_kind_of_value(dataset: Path) -> None:
    ran = perf2x("fleet", "query", dataset, KINDS, "--json")
    assert json.loads(ran.out) == [
        {
            "n": 1, "t": "a|b", "z": None, "f": 1.5, "b": True, "g": "=x", "nan": None, "h": 7, "id": "00ff",
            "l": ["a", "b"], "m": {"k": 1}, "st": {"s": 2}, "d": 2.5, "at": "1970-01-01T00:00:00.000000Z",
            "ns": "2026-11-22T01:02:03.123456789", "day": "2026-11-22",
        }
    ]  # fmt: skip
    assert perf2x("fleet", "query", dataset, "SELECT 1 WHERE false", "--json").out == "[]\n"


def test_csv_and_markdown(dataset: Path) -> None:
    ran = perf2x("fleet", "query", dataset, KINDS, "--format", "csv")
    assert ran.out == (
        "n,t,z,f,b,g,nan,h,id,l,m,st,d,at,ns,day\n"
        """1,a|b,,1.5,true,'=x,,7,00ff,"[""a"", ""b""]","{""k"": 1}","{""s"": 2}",2.5,"""
        "1970-01-01T00:00:00.000000Z,2026-11-22T01:02:03.123456789,2026-11-22\n"
    )
    ran = perf2x("fleet", "query", dataset, "SELECT 1 AS n, 'a|b' AS t, NULL AS z", "--format", "markdown")
    assert ran.out == "| n | t | z |\n| --: | :-- | :-- |\n| 1 | `a\\|b` | – |\n"


def test_tables_are_short_unless_asked(dataset: Path) -> None:
    ran = perf2x("fleet", "query", dataset, "SELECT i AS n, 'x' AS t FROM range(25000) r(i) ORDER BY i", "-n", "2")
    assert ran.out == "n  t\n0  x\n1  x\n"
    assert ran.err == "24,998 more rows; --limit 0 shows all\n"
    for words, lines in (((), 1001), (("--limit", "0"), 25001)):
        assert len(perf2x("fleet", "query", dataset, "FROM range(25000)", *words).out.splitlines()) == lines


def test_files_have_the_format_of_their_name(dataset: Path, tmp_path: Path) -> None:
    for name, first in (
        ("a.csv", b"n\n1\n"),
        ("a.json", b'[\n{"n": 1}\n]\n'),
        ("a.md", b"| n |"),
        ("a.txt", b"n\n1\n"),
    ):
        assert perf2x("fleet", "query", dataset, "SELECT 1 AS n", "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes().startswith(first)
    perf2x(
        "fleet", "query", dataset, "SELECT count, sum(value) AS s FROM samples GROUP BY 1", "-o", tmp_path / "a.parquet"
    )
    found = parquet.read_table(tmp_path / "a.parquet")
    assert found.schema.names == ["count", "s"]
    assert str(found.schema.field("s").type) == "decimal128(38, 0)"


def test_no_progress_is_among_the_rows(dataset: Path) -> None:
    """DuckDB writes it to standard output after two seconds."""
    asked = "SELECT current_setting('enable_progress_bar') AS shown"
    assert perf2x("fleet", "query", dataset, asked, "--format", "csv").out == "shown\nfalse\n"


def test_a_statement_comes_from_standard_input(dataset: Path) -> None:
    from typer.testing import CliRunner

    from perf2x.cli.app import app

    sql = "-- one\nWITH t AS (SELECT 3 AS n)\nSELECT n FROM t;\n"
    assert CliRunner().invoke(app, ["fleet", "query", str(dataset), "-"], input=sql).stdout == "n\n3\n"


READS = (
    "PIVOT (SELECT 1 AS k, 2 AS v) ON k USING sum(v)", "EXPLAIN SELECT 1", "SHOW TABLES", "SUMMARIZE recordings",
    "DESCRIBE samples", "EXPLAIN ANALYZE SELECT 1", "(SELECT 1)", "/* -- */ -- COPY\nFROM recordings;",
    "WITH a AS (SELECT 1) SELECT * FROM a",
)  # fmt: skip
WRITES = (
    "COPY (SELECT 1) TO '{}/x.csv'", "ATTACH '{}/x.db'",
    "EXPORT DATABASE '{}/x'",
    "INSTALL httpfs", "LOAD httpfs", "SET threads = 1", "DROP VIEW samples",
    "CREATE SECRET s (TYPE s3)", "CREATE TABLE t AS FROM '/etc/hostname'", "CREATE MACRO one() AS 1",
)  # fmt: skip
"""Refused before they run."""
BEYOND = (
    "SELECT * FROM read_text('/etc/hostname')", "SELECT * FROM glob('/*')",
    "FROM query($$COPY (SELECT 1) TO '{}/x'$$)", "EXPLAIN ANALYZE COPY (SELECT 1) TO '{}/x.csv'",
    "COPY (PIVOT (SELECT 1 AS k, 2 AS v) ON k USING sum(v)) TO '{}/x.csv'",
)  # fmt: skip
"""Refused by DuckDB."""


def test_sql_that_reads_is_run_and_other_is_not(dataset: Path) -> None:
    before = sorted(dataset.rglob("*"))
    with engine(DatasetPart(parse_address(str(dataset)))) as connection:
        for sql in READS:
            check_read_only(connection, sql)
            connection.sql(sql)
        check_read_only(connection, "SELECT ';' -- ;\n;; /* ; */")
        for sql in WRITES:
            with pytest.raises(OptionError, match=r"only queries are allowed, not [A-Z]+"):
                check_read_only(connection, sql.format(dataset))
        for sql in BEYOND:
            check_read_only(connection, sql)
            with pytest.raises(OptionError, match="SQL: "), query_errors(str(dataset)):
                connection.sql(sql.format(dataset)).fetchall()
    assert sorted(dataset.rglob("*")) == before
    ran = perf2x("fleet", "query", dataset, "SET threads = 1")
    assert (ran.code, ran.err) == (2, "perf2x: only queries are allowed, not SET\n")


@pytest.mark.parametrize(
    "before", ["CREATE SECRET s (TYPE s3)", "CREATE TABLE t AS SELECT 1", "SELECT 1", "SET threads = 1"]
)
def test_one_statement_is_run(dataset: Path, before: str) -> None:
    for sql in (f"{before}; SELECT 1", f"SELECT 1; {before};", f"EXPLAIN SELECT 1; {before}"):
        ran = perf2x("fleet", "query", dataset, sql)
        assert (ran.code, ran.out, ran.err) == (2, "", "perf2x: only one SQL statement can be run at a time\n")


@pytest.mark.parametrize(("sql", "sentence"), [
    ("", "give an SQL statement, such as 'SELECT * FROM by_function'"),
    ("SELEC 1", 'SQL: syntax error at or near "SELEC"'),
    ("SELECT nosuch FROM samples", 'SQL: Referenced column "nosuch" not found in FROM clause! Candidate bindings:'),
    ("SELECT error('one' || chr(10) || 'two')", "SQL: one two"),
    ("SELECT range // (range - 20000) FROM range(30000) WHERE error('late') IS NULL", "SQL: late"),
])  # fmt: skip
def test_errors_of_sql_are_one_sentence(dataset: Path, sql: str, sentence: str) -> None:
    ran = perf2x("fleet", "query", dataset, sql)
    assert ran.code == 2
    assert ran.err.startswith(f"perf2x: {sentence}")
    assert ran.err.count("\n") == 1


def test_without_duckdb(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    ran = perf2x("fleet", "query", dataset, "SELECT 1")
    assert (ran.code, ran.err) == (2, "perf2x: SQL needs DuckDB: pip install 'perf2x[fleet]'\n")


def test_an_existing_file_stays_when_the_query_fails(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    assert perf2x("fleet", "query", dataset, "SELECT error('x')", "-o", tmp_path / "a.csv").code == 2
    assert (tmp_path / "a.csv").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


ENDLESS = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without telling them")
@pytest.mark.parametrize(("number", "code", "said"), [
    (signal.SIGINT, 130, "perf2x: interrupted\n"),
    (signal.SIGTERM, 143, "perf2x: terminated\n"),
])  # fmt: skip
def test_a_signal_ends_a_query_at_once(dataset: Path, number: signal.Signals, code: int, said: str) -> None:
    """While one thread works: DuckDB itself would look for signals after minutes."""
    program = (
        "import os, signal, threading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from perf2x.fleet import query\n"
        "from perf2x.cli import main\n"
        "checked = query.check_read_only\n"
        "def check_read_only(*words):\n"
        "    checked(*words)\n"
        f"    threading.Timer(0.5, os.kill, (os.getpid(), {int(number)})).start()\n"
        "query.check_read_only = check_read_only\n"
        "main()\n"
    )
    words = [sys.executable, "-c", program, "fleet", "query", str(dataset), ENDLESS]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", said)


@pytest.mark.skipif(sys.platform != "linux", reason="limits address space")
@pytest.mark.parametrize("megabytes", [300, 600, 800])
def test_a_limit_of_memory_is_one_sentence(dataset: Path, megabytes: int) -> None:
    """Libraries would end the process where an allocation fails: 127 and 139 were seen."""
    program = (
        "import resource; from perf2x.cli import main\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20, -1))\nmain()"
    )
    words = [sys.executable, "-c", program, "fleet", "query", str(dataset), "FROM by_function"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    said = f"perf2x: {dataset}: not enough memory for a query (ulimit -v)\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", said)


def test_an_error_after_the_first_rows_is_reported_as_any_other(dataset: Path, tmp_path: Path) -> None:
    sql = "SELECT CASE WHEN range > 900000 THEN error('{}') ELSE range::varchar END FROM range(1000000)"
    ran = perf2x("fleet", "query", dataset, sql.format("late"), "-n", "0", "-o", tmp_path / "rows.csv")
    assert (ran.code, ran.err) == (2, "perf2x: SQL: late\n")
    with (
        pytest.raises(OptionError, match=r"^SQL: Out of Memory$"),
        run_query(dataset, sql.format("Out of Memory")) as result,
    ):
        list(result.rows())


def late_shortage() -> Iterator[str]:
    """A batch, then what Arrow raises if DuckDB 2.0 has no memory for the next one."""
    yield "batch"
    raise OSError("Out of Memory Error: failed to allocate data of size 16.0 MiB (16.1 MiB/19.0 MiB used)")


def test_a_lack_of_memory_after_the_first_rows_is_reported_as_any_other() -> None:
    batches = _batches("profiles", late_shortage())
    next(batches)
    with pytest.raises(Perf2xError, match=r"^profiles: not enough memory for this query"):
        next(batches)


def test_memory_and_temporary_files_have_limits(dataset: Path, tmp_path: Path) -> None:
    sql = "SELECT a.range, b.range FROM range(3000) a, range(1000) b ORDER BY hash(a.range, b.range)"
    words = ("fleet", "query", dataset, sql, "--memory-limit", "20M", "--temp-directory", tmp_path, "-n", "1")
    ran = perf2x(*words)
    assert ran.code == 0 or "not enough memory" in ran.err
    assert list(tmp_path.iterdir()) == []
    with engine(DatasetPart(parse_address(str(dataset))), "", QueryLimits(20_000_000, tmp_path)) as connection:
        asked = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
        ((memory, folder),) = connection.execute(asked).fetchall()
        assert (memory, Path(folder).parent) == ("19.0 MiB", tmp_path)
    wrong = perf2x("fleet", "query", dataset, "SELECT 1", "--memory-limit", "much")
    assert (wrong.code, wrong.err) == (2, "perf2x: --memory-limit much: expected a size like 500M, 20G or 1.5T\n")
    assert perf2x("fleet", "query", dataset, "SELECT 1", "--temp-directory", tmp_path / "no").code == 2
