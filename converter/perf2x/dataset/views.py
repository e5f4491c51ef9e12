"""SQL of the tables and views that a query sees (docs/fleet.md describes them).

A row that stands in several files is one row here, and rows of a recording that was not added whole are none: a kill
between two of its files leaves such.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from perf2x.dataset.schema import COLUMNS, SUFFIX, TABLES
from perf2x.stitch.root_frames import ROOT_FRAME_NAMES

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
CREATE VIEW added AS SELECT * FROM {files} QUALIFY row_number() OVER (PARTITION BY recording ORDER BY filename) = 1
"""

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
CREATE VIEW functions AS
SELECT place_id, coalesce(depth, 0) AS depth,
    coalesce(nullif(function, ''), bracketed(base_name(places.file))) AS function,
    CASE WHEN places.file IN ({made_up}) THEN '' ELSE base_name(places.file) END AS object,
    coalesce(system_name, '') AS system_name, coalesce(lines.file, '') AS file, coalesce(line, 0) AS line,
    coalesce(start_line, 0) AS start_line, build_id, places.file AS path, file_offset, mode,
    coalesce(function, '') <> '' AS is_named
FROM places LEFT JOIN lines USING (place_id);
"""

_FRAMES = """
CREATE VIEW frames AS
WITH RECURSIVE node AS MATERIALIZED (SELECT node_id, parent_id, place_id FROM nodes),
down AS (
    SELECT *, 0 AS position FROM node WHERE parent_id IS NULL
    UNION ALL SELECT node.*, position + 1 FROM down JOIN node ON node.parent_id = down.node_id
),
tree AS MATERIALIZED (SELECT * FROM down),
up AS (
    SELECT node_id AS stack_id, parent_id, place_id, position, true AS is_last FROM tree
    WHERE node_id IN (SELECT stack_id FROM samples)
    UNION ALL SELECT stack_id, tree.parent_id, tree.place_id, tree.position, false
    FROM up JOIN tree ON tree.node_id = up.parent_id
)
SELECT stack_id, position, place_id, depth, is_last AND depth = 0 AS is_leaf, function, object, file, line
FROM up JOIN functions USING (place_id);
"""
"""Down first: nodes of a damaged dataset that call themselves have no position, so both ways end."""

_STACKS = """
CREATE VIEW stacks AS
SELECT stack_id, list(function ORDER BY position, depth DESC) AS functions,
    list(object ORDER BY position, depth DESC) AS objects
FROM frames GROUP BY stack_id;
"""

_BY_FUNCTION = """
CREATE VIEW by_function AS
WITH costs AS (
    SELECT recording, event, unit, stack_id, sum(value) AS value, sum(count) AS count
    FROM samples GROUP BY recording, event, unit, stack_id
),
passed AS (
    SELECT stack_id, function, object, bool_or(is_leaf) AS is_leaf FROM frames GROUP BY stack_id, function, object
)
SELECT recording, event, unit, function, object,
    coalesce(sum(value) FILTER (is_leaf), 0)::BIGINT AS self, sum(value)::BIGINT AS total,
    coalesce(sum(count) FILTER (is_leaf), 0)::BIGINT AS self_samples, sum(count)::BIGINT AS total_samples
FROM costs JOIN passed USING (stack_id)
GROUP BY recording, event, unit, function, object;
"""


def view_statements(folder: Path) -> Iterator[str]:
    """Yield the statements of DuckDB that define all tables and views of the dataset in ``folder``."""
    yield _MACROS
    yield _ADDED.format(files=_files(folder, "recordings"))
    yield _SAMPLE_ROWS.format(columns=_columns("samples"), files=_files(folder, "samples"))
    for table in reversed(TABLES):
        body = _ONE_EACH[table].format(columns=_columns(table), files=_files(folder, table))
        yield f"CREATE VIEW {table} AS SELECT {body}"
    yield _FUNCTIONS.format(made_up=", ".join(map(quoted, ROOT_FRAME_NAMES.values())))
    yield from (_FRAMES, _STACKS, _BY_FUNCTION)


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def as_pattern(path: Path) -> str:
    """A path as a pattern that matches it alone."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))


def name(column: str) -> str:
    """A name of SQL, which may be one of its words."""
    return f'"{column}"'


def _columns(table: str) -> str:
    return ", ".join(map(name, COLUMNS[table]))


def _files(folder: Path, table: str) -> str:
    """All rows of a table's files, with the file and its path ``below`` the table's folder."""
    below = folder / table
    if next(below.rglob(f"*{SUFFIX}"), None) is None:
        columns = (f"NULL::{_TYPES[kind.rstrip('?')]} AS {name(column)}" for column, kind in COLUMNS[table].items())
        return f"(SELECT {', '.join(columns)}, 0 AS file_row_number, '' AS filename, '' AS below WHERE false)"
    pattern = quoted(f"{as_pattern(below)}/**/*{SUFFIX}")
    read = f"read_parquet({pattern}, filename = true, hive_partitioning = false, file_row_number = true)"
    return f"(SELECT *, filename[{len(str(below)) + 1}:] AS below FROM {read})"
