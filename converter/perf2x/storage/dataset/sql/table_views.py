"""SQL of the tables and views that a query sees (docs/fleet.md describes them).

Rows of a recording that was not added whole are left out: a kill between two commits leaves such. Costs of functions
are counted outside of SQL (``function_costs.py``), a tree at a time.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from perf2x.model.profile.made_up_frames import ROOT_FRAME_NAMES
from perf2x.storage.dataset.dataset_schema import COLUMNS, DATE, PARTITIONED
from perf2x.storage.dataset.listed_files import Listing

_TYPES = {
    "text": "VARCHAR", "bool": "BOOLEAN", "i32": "INTEGER", "i64": "BIGINT", "texts": "VARCHAR[]",
    "tags": "MAP(VARCHAR, VARCHAR)",
    "events": "STRUCT(name VARCHAR, unit VARCHAR, period BIGINT, frequency BIGINT, is_wait BOOLEAN, leader INTEGER)[]",
}  # fmt: skip

_ADDED = """
CREATE TEMP TABLE added AS SELECT * FROM (
    SELECT * FROM {files} {tagged} QUALIFY row_number() OVER (PARTITION BY recording ORDER BY filename) = 1
) QUALIFY NOT unfinished OR 1 = row_number() OVER (
    PARTITION BY coalesce(session, recording) ORDER BY unfinished, samples DESC, recording DESC
)
"""
"""Each recording once, and in its last state (``listed_files.py``)."""

_WANTED = "SEMI JOIN wanted USING (recording, below)"
_SAMPLE_ROWS = "CREATE VIEW sample_rows AS SELECT {columns}, file_row_number FROM {rows}"
"""Samples with their place in their file."""

_MACROS = """
CREATE MACRO base_name(file) AS CASE WHEN file LIKE '[%]%' THEN file[:strpos(file, ']')]
    ELSE regexp_extract(rtrim(file, '/'), '[^/]*$') END;
CREATE MACRO bracketed(name) AS CASE WHEN name LIKE '[%' THEN name WHEN name = '' THEN '[unknown]'
    ELSE '[' || name || ']' END;
"""

_NAMES = "depth, function, system_name, file, line, start_line, is_exact, has_inlines"
_FUNCTIONS = """
CREATE VIEW names AS
SELECT recording, place, {names} FROM lines
UNION ALL
SELECT recording, place, {names} FROM (FROM places ANTI JOIN lines USING (recording, place)) AS unnamed
    JOIN (SELECT * EXCLUDE (file), file AS source FROM symbols WHERE reason = '') AS symbols
    USING (object_id, file_offset, mode, is_return, variant);
CREATE VIEW functions AS
SELECT recording, place, coalesce(depth, 0) AS depth,
    coalesce(nullif(function, ''), bracketed(base_name(places.file))) AS function,
    CASE WHEN places.file IN ({made_up}) THEN '' ELSE base_name(places.file) END AS object,
    coalesce(system_name, '') AS system_name, coalesce(names.file, '') AS file, coalesce(line, 0) AS line,
    coalesce(start_line, 0) AS start_line, build_id, places.file AS path, file_offset, mode,
    coalesce(function, '') <> '' AS is_named
FROM places LEFT JOIN names USING (recording, place);
"""

_STACKS = """
CREATE VIEW frames AS
WITH RECURSIVE up AS (
    SELECT recording, stack, stack AS node, 0 AS above FROM samples WHERE stack IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT up.recording, up.stack, parent, above + 1 FROM up JOIN nodes USING (recording, node)
    WHERE parent IS NOT NULL AND parent < node
)
SELECT recording, stack, (max(above) OVER (PARTITION BY recording, stack) - above)::INTEGER AS position, place, depth,
    above = 0 AND depth = 0 AS is_leaf, function, object, file, line
FROM up JOIN nodes USING (recording, node) JOIN functions USING (recording, place);
CREATE VIEW stacks AS
SELECT recording, stack, list(function ORDER BY position, depth DESC) AS functions,
    list(object ORDER BY position, depth DESC) AS objects
FROM frames GROUP BY recording, stack;
"""
"""Callers have lower numbers than those they call, so the way up ends in a damaged dataset, too."""


def added_statements(files: Listing, tags: Mapping[str, str]) -> Iterator[str]:
    """Yield the statements of DuckDB that read the recordings of a dataset, but for those without one of the ``tags``.

    Rows of other tables are shown if their recordings are in the table ``wanted``, too, which is to be made of them.
    """
    yield _MACROS
    tagged = " AND ".join(_has_tag(key, value) for key, value in tags.items())
    yield _ADDED.format(files=files_sql(files, "recordings"), tagged=f"WHERE {tagged}" if tagged else "")


def view_statements(files: Listing) -> Iterator[str]:
    """Yield the statements that define views of functions and stacks, behind the tables (``table_view``)."""
    rows = f"{files_sql(files, 'samples')} {_WANTED}"
    yield _SAMPLE_ROWS.format(columns=_columns(files, "samples"), rows=rows)
    made_up = ", ".join(map(quoted, ROOT_FRAME_NAMES.values()))
    ours = _NAMES.replace("file,", "source AS file,")
    yield _FUNCTIONS.replace("place, {names} FROM (", f"place, {ours} FROM (").format(names=_NAMES, made_up=made_up)
    yield _STACKS


def _has_tag(key: str, value: str) -> str:
    day = "strftime(make_timestamp_ns(start_ns), '%Y-%m-%d')" if key == DATE else "NULL"
    return f"coalesce(tags[{quoted(key)}], {day}, '') = {quoted(value)}"


def table_view(files: Listing, table: str) -> str:
    """Return the statement that defines a table."""
    columns, rows = _columns(files, table), files_sql(files, table)
    if table == "recordings":
        rows = "added"
    elif table in PARTITIONED:
        rows += f" {_WANTED}"
    return f"CREATE VIEW {table} AS SELECT {columns} FROM {rows}"


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def as_pattern(path: Path | str) -> str:
    """A path as a pattern that matches it alone."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))


def _name(column: str) -> str:
    """A name of SQL, which may be one of its words."""
    return '"' + column.replace('"', '""') + '"'


def _own_parts(files: Listing, table: str) -> list[str]:
    """Columns that name folders, but for those that the table has itself."""
    return [key for key in files.partition or (DATE,) if key not in COLUMNS[table]] if table in PARTITIONED else []


def _columns(files: Listing, table: str) -> str:
    return ", ".join(map(_name, [*COLUMNS[table], *_own_parts(files, table)]))


def files_sql(files: Listing, table: str) -> str:
    """All rows of a table's files, with what its folders say, and the folder ``below``."""
    folder, names = files.folder / table, files.here(table)
    parts = _own_parts(files, table)
    columns = [f"NULL::{_TYPES[kind.rstrip('?')]} AS {_name(column)}" for column, kind in COLUMNS[table].items()]
    columns += [f"NULL::VARCHAR AS {_name(key)}" for key in parts]
    if not names:
        return f"(SELECT {', '.join(columns)}, 0 AS file_row_number, '' AS filename, '' AS below WHERE false)"
    paths = ", ".join(quoted(f"{as_pattern(folder)}/{as_pattern(one)}") for one in names)
    types = ", ".join(f"{quoted(key)}: VARCHAR" for key in parts)
    hive = f"true, hive_types = {{{types}}}" if parts else "false"
    read = f"read_parquet([{paths}], filename = true, hive_partitioning = {hive}, file_row_number = true)"
    below = f"regexp_replace(filename[{len(str(folder)) + 1}:], '[^/]*$', '')"
    shown = ", ".join(map(_name, [*COLUMNS[table], *parts]))
    return f"(SELECT {shown}, file_row_number, filename, {below} AS below FROM {read})"
