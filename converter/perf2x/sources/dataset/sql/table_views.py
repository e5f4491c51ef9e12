"""Defines, in SQL, the tables and views that a query sees (docs/fleet.md describes them).

A row counts only if its recording and attempt are in ``stored_recordings``; killed commands leave other rows.
``by_function`` joins by the ``id`` of a place or stack: the number of the recording in the upper 32 bits (``id_base``),
that of the place or stack in the lower ones.
"""

from collections.abc import Iterable, Iterator

from perf2x.model.profile import ROOT_FRAME_NAMES
from perf2x.sources.dataset.dataset_schema import COLUMNS, DATE, KEY, RECORDING_TABLES

DAMAGED = "damaged: "
"""Prefix of errors that a view raises for damaged rows."""
# base_name: /usr/lib/libc.so.6 → libc.so.6, [kernel.kallsyms]_text → [kernel.kallsyms]
_MACROS = """
CREATE MACRO base_name(file) AS CASE WHEN file LIKE '[%]%' THEN file[:strpos(file, ']')]
    ELSE coalesce(string_split(rtrim(file, '/'), '/')[-1], '') END;
CREATE MACRO bracketed(name) AS CASE WHEN name LIKE '[%' THEN name WHEN name = '' THEN '[unknown]'
    ELSE '[' || name || ']' END;
"""
_PLACE_FUNCTIONS = """
-- the recordings that count
recording_ids AS MATERIALIZED (
    SELECT recording, attempt, row_number() OVER ()::BIGINT << 32 AS id_base FROM stored_recordings
),
-- names of places that several recordings may have, numbered from 1
numbered_symbols AS MATERIALIZED (
    SELECT row_number() OVER () AS name_source, {key}, lines FROM symbols
),
-- objects: their short name ('' for synthetic frames), and what functions without a name are called in them
files AS MATERIALIZED (
    SELECT row_number() OVER ()::INTEGER AS file_number, *,
        CASE WHEN file IN ({roots}) THEN '' ELSE base_name(file) END AS object, bracketed(base_name(file)) AS unnamed
    FROM (SELECT DISTINCT file, build_id FROM stored_places)
),
place_ids AS MATERIALIZED (
    SELECT {more_columns}id_base | place AS id, file_number, stored.lines AS own_lines,
        CASE WHEN own_lines IS NULL THEN coalesce(name_source, 0) ELSE -id - 1 END AS name_source
    FROM stored_places AS stored JOIN recording_ids USING (recording, attempt) JOIN files USING (file, build_id)
        LEFT JOIN numbered_symbols USING ({key})
),
-- one row for each function at a place; its line is NULL for the only function at a place without names
listed_lines AS (
    SELECT name_source, file_number, unnest(listed) AS line, generate_subscripts(listed, 1) - 1 AS depth
    FROM (
        SELECT sources.*, coalesce(own_lines, lines) AS known,
            CASE WHEN len(known) > 0 THEN known ELSE [NULL] END AS listed
        FROM (
            SELECT name_source, file_number, any_value(own_lines) AS own_lines FROM place_ids GROUP BY ALL
        ) AS sources LEFT JOIN numbered_symbols USING (name_source)
    )
),
source_functions AS MATERIALIZED (
    SELECT *, coalesce(line['function'], unnamed) AS function FROM listed_lines JOIN files USING (file_number)
)
"""
"""Common table expressions for the functions at places; views use ``place_ids`` and ``source_functions``.

``place_ids`` has a row for each place. Its ``name_source`` tells where names are: in a row of symbols (positive
number), nowhere (0), or with the place (negative number). ``source_functions`` has the functions of each
``name_source`` and file, so that recordings with the same symbols share names. ``{more_columns}`` are further columns
of ``place_ids``.
"""
_FUNCTIONS = """
CREATE VIEW functions AS
WITH {place_functions}
SELECT recording, place, depth::INTEGER AS depth, function, object, coalesce(line.system_name, '') AS system_name,
    coalesce(line.file, '') AS file, coalesce(line.line, 0) AS line, coalesce(line.start_line, 0) AS start_line,
    build_id, source_functions.file AS path, file_offset, mode, line IS NOT NULL AS is_named
FROM place_ids JOIN source_functions USING (name_source, file_number)
"""
_FRAMES = """
CREATE VIEW frames AS
SELECT recording, stack, position, place, depth, position = last_position AND depth = 0 AS is_leaf, function, object,
    build_id, file, line
FROM (
    SELECT recording, stack, unnest(places) AS place, generate_subscripts(places, 1) - 1 AS position,
        len(places) - 1 AS last_position FROM stacks
) AS stack_places JOIN functions USING (recording, place)
"""
_WEIGHTS = """
CREATE VIEW weights AS
SELECT recording,
    CASE WHEN start_ns > 0 THEN coalesce(86400e9 / nullif(sum(duration_ns) OVER days, 0), 1) ELSE 1 END AS weight
FROM recordings WINDOW days AS (PARTITION BY host, tags::VARCHAR, start_ns // 86400000000000)
"""
"""Factor by which a recording's costs are multiplied to estimate those of a whole day.

It is a day divided by the durations of all recordings of the same day (UTC), host and tags; 1 if the start is unknown
or the durations are 0.
"""
# sampling frequency of each event; 0 for fixed periods
_RATES = """
CREATE VIEW rates AS
SELECT recording, recorded.name AS event, max(recorded.frequency) AS frequency
FROM (SELECT recording, unnest(events) AS recorded FROM recordings) GROUP BY ALL
"""
# CPU time of a function or stack; NULL for a frequency of 0
_SECONDS = """CASE unit WHEN 'nanoseconds' THEN {value} / 1e9 ELSE {count} / nullif(frequency, 0) END"""
_BY_FUNCTION = """
CREATE VIEW by_function AS
WITH {place_functions},
function_names AS MATERIALIZED (
    SELECT *, row_number() OVER ()::INTEGER AS function_number
    FROM (SELECT DISTINCT function, object, build_id FROM source_functions)
),
source_function_numbers AS MATERIALIZED (
    SELECT name_source, file_number, depth = 0 AS is_innermost, function_number
    FROM source_functions JOIN function_names USING (function, object, build_id)
),
-- events of one recording with the same name and unit are summed under the first one's number
numbered_events AS MATERIALIZED (
    SELECT id_base, (position - 1)::INTEGER AS event_number, recorded.name AS event, recorded.unit AS unit,
        (min(position) OVER (PARTITION BY id_base, event, unit) - 1)::INTEGER AS first_number,
        max(recorded.frequency) OVER (PARTITION BY id_base, event) AS frequency
    FROM (SELECT recording, unnest(events) AS recorded, generate_subscripts(events, 1) AS position FROM recordings)
        JOIN recording_ids USING (recording)
),
weighted_recordings AS MATERIALIZED (
    FROM recording_ids JOIN recordings USING (recording) JOIN weights USING (recording)
),
-- id: that of the sample's stack, NULL for a sample without one
costs AS (
    SELECT id_base, id_base | stack AS id, first_number AS event_number, value, count
    FROM stored_samples JOIN recording_ids USING (recording, attempt)
        LEFT JOIN numbered_events USING (id_base, event_number)
),
stack_places AS (
    SELECT id_base | stack AS stack_id, id_base | unnest(places) AS id,
        generate_subscripts(places, 1) = len(places) AS is_last
    FROM stored_stacks JOIN recording_ids USING (recording, attempt)
),
-- each function of a stack once, however often it calls itself; is_self: it is the stack's innermost function
stack_functions AS (
    SELECT stack_id AS id, function_number, max(is_last AND is_innermost) AS is_self
    FROM stack_places JOIN place_ids USING (id) JOIN source_function_numbers USING (name_source, file_number)
    GROUP BY ALL
),
-- function_number is NULL for samples whose stack is missing, which raises an error below
function_costs AS (
    SELECT id_base, event_number, function_number, coalesce(sum(value) FILTER (is_self), 0)::BIGINT AS self,
        sum(value)::BIGINT AS total, coalesce(sum(count) FILTER (is_self), 0)::BIGINT AS self_samples,
        sum(count)::BIGINT AS total_samples
    FROM costs LEFT JOIN stack_functions USING (id) WHERE id IS NOT NULL GROUP BY ALL
)
SELECT recording, event, unit, coalesce(function, error('{damaged}a stack is missing')) AS function, object, build_id,
    self, total, self_samples, total_samples, {seconds} AS cpu_seconds, weight, {label_columns}
FROM function_costs LEFT JOIN function_names USING (function_number) JOIN weighted_recordings USING (id_base)
    LEFT JOIN numbered_events USING (id_base, event_number)
"""
_BY_STACK = """
CREATE VIEW by_stack AS
WITH named_stacks AS (
    SELECT recording, stack, list(function ORDER BY position, depth DESC) AS functions,
        list(object ORDER BY position, depth DESC) AS objects FROM frames GROUP BY ALL
), costs AS (
    SELECT recording, event, unit, comm, stack, sum(value)::BIGINT AS value, sum(count)::BIGINT AS count
    FROM samples GROUP BY ALL
)
SELECT recording, event, unit, comm, coalesce(functions, []) AS functions, coalesce(objects, []) AS objects, value,
    count, {seconds} AS cpu_seconds, weight, {label_columns}
FROM costs LEFT JOIN named_stacks USING (recording, stack) JOIN recordings USING (recording)
    JOIN weights USING (recording) LEFT JOIN rates USING (recording, event)
"""
_RESERVED = frozenset(("recording", "event", "unit", "function", "object", "build_id", "self", "total", "self_samples",
    "total_samples", "cpu_seconds", "weight", "functions", "objects", "value", "count", "comm"))  # fmt: skip
"""Columns of ``by_function`` and ``by_stack``; tags of these names do not become columns."""


def statements(partition: Iterable[str], tags: Iterable[str]) -> Iterator[str]:
    """Yield the statements that define the macros, tables and views.

    The connection must have a table ``stored_…`` for each table of the dataset, ``stored_recordings`` with only the
    selected recordings. Partition columns and ``tags`` become columns.
    """
    partition_tags = [column for column in partition if column != DATE]
    tag_names = [tag for tag in dict.fromkeys([*partition_tags, *tags]) if tag not in {*COLUMNS["recordings"], DATE}]
    tag_columns = [f"tags[{quoted(tag)}] AS {_name(tag)}" for tag in tag_names]
    date_column = "strftime(make_timestamp_ns(start_ns), '%Y-%m-%d') AS date"
    columns = ", ".join(map(_name, COLUMNS["recordings"]))
    yield _MACROS
    yield f"CREATE VIEW recordings AS SELECT {', '.join([columns, date_column, *tag_columns])} FROM stored_recordings"
    for table in RECORDING_TABLES[:-1]:  # all but the last, "recordings"
        table_columns = ", ".join(map(_name, [*COLUMNS[table], *partition]))
        yield (
            f"CREATE VIEW {table} AS SELECT {table_columns} FROM stored_{table} "
            "SEMI JOIN stored_recordings USING (recording, attempt)"
        )
    yield "CREATE VIEW symbols AS FROM stored_symbols WHERE len(lines) > 0"
    roots = ", ".join(map(quoted, ROOT_FRAME_NAMES.values()))
    place_functions = _PLACE_FUNCTIONS.format(roots=roots, key=", ".join(KEY), more_columns="{more_columns}")
    yield _FUNCTIONS.format(
        place_functions=place_functions.format(more_columns="recording, place, file_offset, mode, ")
    )
    yield from (_FRAMES, _WEIGHTS, _RATES)
    label_columns = ", ".join(["host", DATE, *(_name(tag) for tag in tag_names if tag not in _RESERVED)])
    yield _BY_FUNCTION.format(
        place_functions=place_functions.format(more_columns=""),
        seconds=_SECONDS.format(value="self", count="self_samples"),
        label_columns=label_columns,
        damaged=DAMAGED,
    )
    yield _BY_STACK.format(seconds=_SECONDS.format(value="value", count="count"), label_columns=label_columns)


def quoted(text: str) -> str:
    """Quote a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
