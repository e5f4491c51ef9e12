"""SQL of the tables and views that a query sees (docs/fleet.md describes them).

A row that stands in several files is one row here, and rows of a recording that was not added whole are none: a kill
between two of its files leaves such.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from perf2x.model.profile.made_up_frames import ROOT_FRAME_NAMES
from perf2x.storage.dataset.dataset_schema import COLUMNS, TABLES
from perf2x.storage.dataset.listed_files import Listing

_TYPES = {
    "id": "BLOB", "text": "VARCHAR", "bool": "BOOLEAN", "i32": "INTEGER", "i64": "BIGINT", "u64": "UBIGINT",
    "texts": "VARCHAR[]", "tags": "MAP(VARCHAR, VARCHAR)",
    "events": "STRUCT(name VARCHAR, unit VARCHAR, period BIGINT, frequency BIGINT, is_wait BOOLEAN, leader INTEGER)[]",
}  # fmt: skip
_ONE_EACH = {
    "nodes": "DISTINCT ON (node_id) {columns} FROM {files}",
    "places": "DISTINCT ON (place_id) {columns} FROM {files}",
    "lines": """{columns} FROM (
        SELECT *, sum(1 + (line > 0)::INTEGER) OVER (PARTITION BY place_id, filename) AS said FROM {files}
    ) QUALIFY rank() OVER (PARTITION BY place_id ORDER BY said DESC, filename) = 1""",
    "recordings": "{columns} FROM added",
    "samples": "{columns} FROM sample_rows",
    "mappings": "{columns} FROM {files} SEMI JOIN added USING (recording, below)",
}
"""Bodies of tables, behind SELECT: of names several files have, those that say most, else the first file's."""

_ADDED = """
CREATE VIEW added AS SELECT * FROM (
    SELECT * REPLACE (coalesce(unfinished, false) AS unfinished) FROM {files}
    QUALIFY row_number() OVER (PARTITION BY recording ORDER BY filename) = 1
) QUALIFY NOT unfinished OR 1 = row_number() OVER (
    PARTITION BY coalesce(session, recording) ORDER BY unfinished, samples DESC, recording DESC
)
"""
"""Each recording once, and in its last state (``superseded.py``)."""

_SAMPLE_ROWS = (
    "CREATE VIEW sample_rows AS SELECT {columns}, file_row_number FROM {files} SEMI JOIN added USING (recording, below)"
)
"""Samples with their place in their file."""

_MACROS = """
CREATE MACRO base_name(file) AS CASE WHEN file LIKE '[%]%' THEN file[:strpos(file, ']')]
    ELSE regexp_extract(rtrim(file, '/'), '[^/]*$') END;
CREATE MACRO bracketed(name) AS CASE WHEN name LIKE '[%' THEN name WHEN name = '' THEN '[unknown]'
    ELSE '[' || name || ']' END;
"""

_FUNCTIONS = """
CREATE VIEW {name} AS
SELECT place_id, coalesce(depth, 0) AS depth,
    coalesce(nullif(function, ''), bracketed(base_name({places}.file))) AS function,
    CASE WHEN {places}.file IN ({made_up}) THEN '' ELSE base_name({places}.file) END AS object,
    coalesce(system_name, '') AS system_name, coalesce(lines.file, '') AS file, coalesce(line, 0) AS line,
    coalesce(start_line, 0) AS start_line, build_id, {places}.file AS path, file_offset, mode,
    coalesce(function, '') <> '' AS is_named
FROM {places} LEFT JOIN lines USING (place_id);
"""


def view_statements(files: Listing) -> Iterator[str]:
    """Yield the statements of DuckDB that define the tables of a dataset, and ``functions``."""
    yield _MACROS
    yield _ADDED.format(files=files_sql(files, "recordings"))
    yield _SAMPLE_ROWS.format(columns=_columns("samples"), files=files_sql(files, "samples"))
    for table in reversed(TABLES):
        yield table_view(table, table, files_sql(files, table))
    yield functions_view("functions", "places")


def table_view(name: str, table: str, files: str) -> str:
    """Statement that defines a table under some name, from rows of some of its files."""
    return f"CREATE VIEW {name} AS SELECT {_ONE_EACH[table].format(columns=_columns(table), files=files)}"


def functions_view(name: str, places: str) -> str:
    """Statement that defines the names of all places of a table."""
    made_up = ", ".join(map(quoted, ROOT_FRAME_NAMES.values()))
    return _FUNCTIONS.format(name=name, places=places, made_up=made_up)


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def as_pattern(path: Path | str) -> str:
    """A path as a pattern that matches it alone."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))


def _name(column: str) -> str:
    """A name of SQL, which may be one of its words."""
    return f'"{column}"'


def _columns(table: str) -> str:
    return ", ".join(map(_name, COLUMNS[table]))


def files_sql(files: Listing, table: str, names: Sequence[str] | None = None) -> str:
    """All rows of a table's files, or of those of some ``names``, with the file and its path ``below`` the folder."""
    below, names = files.folder / table, files.names(table) if names is None else names
    columns = (f"NULL::{_TYPES[kind.rstrip('?')]} AS {_name(column)}" for column, kind in COLUMNS[table].items())
    none = f"SELECT {', '.join(columns)}, 0 AS file_row_number, '' AS filename"
    if not names:
        return f"({none}, '' AS below WHERE false)"
    paths = ", ".join(quoted(f"{as_pattern(below)}/{as_pattern(one)}") for one in names)
    later = table == "recordings"  # files of version 1 lack columns of it
    read = (
        f"read_parquet([{paths}], filename = true, hive_partitioning = false, file_row_number = true"
        f", union_by_name = {str(later).lower()})"
    )
    read = f"({none} WHERE false UNION ALL BY NAME FROM {read})" if later else read
    return f"(SELECT *, filename[{len(str(below)) + 1}:] AS below FROM {read})"
