"""SQL of the tables and views that a query sees (docs/fleet.md describes them).

A row that stands in several files is one row here, and rows of a recording that was not added whole are none: a kill
between two of its files leaves such.

Stacks of a dataset as SQL: views of their frames, and what each function costs.

A recording's own files have all nodes and places of its stacks. So those of a few recordings that have all stacks
between them are read, and not the same rows again in the files of all the others.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from perf2x.model.profile.made_up_frames import ROOT_FRAME_NAMES
from perf2x.storage.dataset.dataset_schema import COLUMNS, TABLES
from perf2x.storage.dataset.listed_files import Listing
from perf2x.storage.dataset.write.write_recording import recording_of

_STACKS_ASKED = re.compile("frames|stacks|by_function|stack_|query", re.IGNORECASE)
"""Names of the views, and of DuckDB's functions that run SQL which is put together."""
_READ = ("recordings", "samples", "lines")
"""Tables that views of stacks read whole."""
_COSTS_ASKED = re.compile("by_function", re.IGNORECASE)

_HOMES = """
CREATE {kind} homes AS
SELECT recording, below, row_number() OVER (ORDER BY samples DESC, recording)::INTEGER AS number FROM added
"""
"""Recordings as small numbers, which are cheaper to group by than ids; those with most samples first."""

_FIRST = """
CREATE {kind} first_recordings AS
SELECT stack_id, min(number) AS number FROM {samples} JOIN homes USING (recording, below)
WHERE stack_id IS NOT NULL GROUP BY stack_id
"""
"""Every stack of a sample, and the first recording that has it."""

_FRAMES = """
CREATE VIEW frames AS
WITH RECURSIVE node AS MATERIALIZED (SELECT node_id, parent_id, place_id FROM stack_nodes),
down AS (
    SELECT *, 0 AS position FROM node WHERE parent_id IS NULL
    UNION ALL SELECT node.*, position + 1 FROM down JOIN node ON node.parent_id = down.node_id
),
tree AS MATERIALIZED (SELECT * FROM down),
up AS (
    SELECT node_id AS stack_id, parent_id, place_id, position, true AS is_last FROM tree
    WHERE node_id IN (SELECT stack_id FROM first_recordings)
    UNION ALL SELECT stack_id, tree.parent_id, tree.place_id, tree.position, false
    FROM up JOIN tree ON tree.node_id = up.parent_id
)
SELECT stack_id, position, place_id, depth, is_last AND depth = 0 AS is_leaf, function, object, file, line
FROM up JOIN stack_functions USING (place_id);
"""
"""Down first: nodes of a damaged dataset that call themselves have no position, so both ways end."""

_STACKS = """
CREATE VIEW stacks AS
SELECT stack_id, list(function ORDER BY position, depth DESC) AS functions,
    list(object ORDER BY position, depth DESC) AS objects
FROM frames GROUP BY stack_id;
"""

_PASSED = """
CREATE {kind} stack_passed AS
SELECT stack_id, function, object, bool_or(is_leaf) AS is_leaf FROM frames GROUP BY stack_id, function, object
"""

_NAMES = """
CREATE {kind} stack_names AS
SELECT function, object, row_number() OVER (ORDER BY function, object)::INTEGER AS name
FROM (SELECT DISTINCT function, object FROM stack_passed)
"""

_NUMBERED = """
CREATE {kind} stack_numbered AS
SELECT stack_id, name, is_leaf FROM stack_passed JOIN stack_names USING (function, object)
"""
"""Functions of each stack, each once. DuckDB plans for far too many of them where they are no table."""

_BY_FUNCTION = """
CREATE VIEW by_function AS
WITH costs AS (
    SELECT number, event, unit, name,
        coalesce(sum(value) FILTER (is_leaf), 0)::BIGINT AS self, sum(value)::BIGINT AS total,
        coalesce(sum(count) FILTER (is_leaf), 0)::BIGINT AS self_samples, sum(count)::BIGINT AS total_samples
    FROM {samples} JOIN homes USING (recording, below) JOIN stack_numbered USING (stack_id)
    GROUP BY number, event, unit, name
)
SELECT recording, event, unit, function, object, self, total, self_samples, total_samples
FROM costs JOIN homes USING (number) JOIN stack_names USING (name);
"""
"""Samples are added up as they are read: sums by stack first would be nearly as many rows."""


def define_stack_views(connection: Any, files: Listing, asked: str) -> None:
    """Define the views of stacks. What SQL asks for by name, ``asked``, is looked at first: which files it needs.

    Where the text does not tell (SQL may be put together by SQL), answers are the same and take longer.
    """
    ready, samples = _STACKS_ASKED.search(asked) is not None, files_sql(files, "samples")
    for table in _READ if ready else ():
        files.check(table)
    for table in (_HOMES, _FIRST):
        connection.execute(table.format(kind=_kind(ready), samples=samples))
    owners = _owners(connection) if ready else None
    for name in ("nodes", "places"):
        names = None if owners is None else needed_files(files.names(name), owners)
        if ready:
            files.check(name, names)
        connection.execute(table_view(f"stack_{name}", name, files_sql(files, name, names)))
    connection.execute(functions_view("stack_functions", "stack_places"))
    connection.execute(_FRAMES)
    for table in (_PASSED, _NAMES, _NUMBERED):
        connection.execute(table.format(kind=_kind(_COSTS_ASKED.search(asked) is not None)))
    for view in (_STACKS, _BY_FUNCTION):
        connection.execute(view.format(samples=samples))


def _kind(ready: bool) -> str:
    return "TEMP TABLE" if ready else "VIEW"


def _owners(connection: Any) -> list[bytes]:
    rows = connection.execute(
        "SELECT recording FROM homes SEMI JOIN first_recordings USING (number) ORDER BY number"
    ).fetchall()
    return [recording for (recording,) in rows]


def needed_files(names: Sequence[str], recordings: Sequence[bytes]) -> list[str] | None:
    """Names of those files of a table (nodes, places) that have all rows of some recordings; None if it takes all.

    Rows of a recording without a file of its own are in files that are not named after a recording.
    """
    wanted = frozenset(recordings)
    owners = {name: recording_of(name) for name in names}
    found = [name for name, owner in owners.items() if owner is None or owner in wanted]
    is_complete = None in owners.values() or wanted <= set(owners.values())
    return found if found and is_complete else None


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
"""Each recording once, and in its last state (``listed_files.py``)."""

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
