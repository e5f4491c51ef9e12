"""Defines, in SQL, the tables and views that a query sees (docs/fleet.md describes them).

They are built on ``stored_places``, ``stored_samples`` and so on, the rows in the dataset's files. Rows count only if
their recording and attempt are in the table of recordings; killed commands leave other rows.

The large view ``by_function`` joins numbers instead of texts: ``id`` of a place or stack is the number of its recording
in the upper 32 bits, and its own number below.
"""

from collections.abc import Iterable, Iterator

from perf2x.model.profile import ROOT_FRAME_NAMES
from perf2x.sources.dataset.dataset_schema import COLUMNS, DATE, KEY, OF_RECORDINGS

DAMAGED = "damaged: "
"""Prefix of the message of an error that a view raises for damaged rows."""
_MACROS = """
CREATE MACRO base_name(file) AS CASE WHEN file LIKE '[%]%' THEN file[:strpos(file, ']')]
    ELSE coalesce(string_split(rtrim(file, '/'), '/')[-1], '') END;
CREATE MACRO bracketed(name) AS CASE WHEN name LIKE '[%' THEN name WHEN name = '' THEN '[unknown]'
    ELSE '[' || name || ']' END;
"""
_PLACE_FUNCTIONS = """
kept AS MATERIALIZED (
    SELECT recording, attempt, row_number() OVER ()::BIGINT << 32 AS number FROM stored_recordings
), known AS MATERIALIZED (
    SELECT row_number() OVER () AS named_by, {key}, lines FROM symbols
), files AS MATERIALIZED (
    SELECT row_number() OVER ()::INTEGER AS file_number, *,
        CASE WHEN file IN ({roots}) THEN '' ELSE base_name(file) END AS object, bracketed(base_name(file)) AS unnamed
    FROM (SELECT DISTINCT file, build_id FROM stored_places)
), placed AS MATERIALIZED (
    SELECT {shown}number | place AS id, file_number, held.lines AS own,
        CASE WHEN own IS NULL THEN coalesce(named_by, 0) ELSE -id - 1 END AS named_by
    FROM stored_places AS held JOIN kept USING (recording, attempt) JOIN files USING (file, build_id)
        LEFT JOIN known USING ({key})
), lines AS (
    SELECT named_by, file_number, unnest(called) AS line, generate_subscripts(called, 1) - 1 AS depth
    FROM (
        SELECT pairs.*, coalesce(own, lines) AS held, CASE WHEN len(held) > 0 THEN held ELSE [NULL] END AS called
        FROM (SELECT named_by, file_number, any_value(own) AS own FROM placed GROUP BY ALL) AS pairs
            LEFT JOIN known USING (named_by)
    )
), called AS MATERIALIZED (
    SELECT *, coalesce(line['function'], unnamed) AS function FROM lines JOIN files USING (file_number)
)
"""
"""Common table expressions for the functions of places, of which ``placed`` and ``called`` are used.

``placed`` has a row for each place, with what names it: ``named_by`` is the row of a symbol, 0 without a symbol, or
negative if the place has lines of its own. ``called`` has the functions, once for each ``named_by`` and file: names are
computed there, not for each place. ``{shown}`` stands for further columns of places.
"""
_FUNCTIONS = """
CREATE VIEW functions AS
WITH {called}
SELECT recording, place, depth::INTEGER AS depth, function, object, coalesce(line.system_name, '') AS system_name,
    coalesce(line.file, '') AS file, coalesce(line.line, 0) AS line, coalesce(line.start_line, 0) AS start_line,
    build_id, called.file AS path, file_offset, mode, line IS NOT NULL AS is_named
FROM placed JOIN called USING (named_by, file_number)
"""
_FRAMES = """
CREATE VIEW frames AS
SELECT recording, stack, position, place, depth, position = last AND depth = 0 AS is_leaf, function, object, build_id,
    file, line
FROM (
    SELECT recording, stack, unnest(places) AS place, generate_subscripts(places, 1) - 1 AS position,
        len(places) - 1 AS last FROM stacks
) AS lists JOIN functions USING (recording, place)
"""
_WEIGHTS = """
CREATE VIEW weights AS
SELECT recording,
    CASE WHEN start_ns > 0 THEN coalesce(86400e9 / nullif(sum(duration_ns) OVER days, 0), 1) ELSE 1 END AS weight
FROM recordings WINDOW days AS (PARTITION BY host, tags::VARCHAR, start_ns // 86400000000000)
"""
"""For each recording, the number by which to multiply its costs to estimate those of a whole day.

It is a day divided by the durations of all recordings of the same host and tags that began on that day.
"""
_RATES = """
CREATE VIEW rates AS
SELECT recording, one.name AS event, max(one.frequency) AS frequency
FROM (SELECT recording, unnest(events) AS one FROM recordings) GROUP BY ALL
"""
_SECONDS = """CASE unit WHEN 'nanoseconds' THEN {value} / 1e9 ELSE {count} / nullif(frequency, 0) END"""
_BY_FUNCTION = """
CREATE VIEW by_function AS
WITH {called}, names AS MATERIALIZED (
    SELECT *, row_number() OVER ()::INTEGER AS name FROM (SELECT DISTINCT function, object, build_id FROM called)
), named AS MATERIALIZED (
    SELECT named_by, file_number, depth = 0 AS is_innermost, name
    FROM called JOIN names USING (function, object, build_id)
), measured AS MATERIALIZED (
    SELECT number, (position - 1)::INTEGER AS event_number, one.name AS event, one.unit AS unit,
        (min(position) OVER (PARTITION BY number, event, unit) - 1)::INTEGER AS first,
        max(one.frequency) OVER (PARTITION BY number, event) AS frequency
    FROM (SELECT recording, unnest(events) AS one, generate_subscripts(events, 1) AS position FROM recordings)
        JOIN kept USING (recording)
), facts AS MATERIALIZED (
    FROM kept JOIN recordings USING (recording) JOIN weights USING (recording)
), costs AS (
    SELECT number, number | stack AS id, first AS event_number, value, count
    FROM stored_samples JOIN kept USING (recording, attempt) LEFT JOIN measured USING (number, event_number)
), lists AS (
    SELECT number | stack AS stack, number | unnest(places) AS id,
        generate_subscripts(places, 1) = len(places) AS is_last
    FROM stored_stacks JOIN kept USING (recording, attempt)
), once AS (
    SELECT stack AS id, name, max(is_last AND is_innermost) AS is_self
    FROM lists JOIN placed USING (id) JOIN named USING (named_by, file_number) GROUP BY ALL
), summed AS (
    SELECT number, event_number, name, coalesce(sum(value) FILTER (is_self), 0)::BIGINT AS self,
        sum(value)::BIGINT AS total, coalesce(sum(count) FILTER (is_self), 0)::BIGINT AS self_samples,
        sum(count)::BIGINT AS total_samples
    FROM costs LEFT JOIN once USING (id) WHERE id IS NOT NULL GROUP BY ALL
)
SELECT recording, event, unit, coalesce(function, error('{damaged}a stack is missing')) AS function, object, build_id,
    self, total, self_samples, total_samples, {seconds} AS cpu_seconds, weight, {labels}
FROM summed LEFT JOIN names USING (name) JOIN facts USING (number) LEFT JOIN measured USING (number, event_number)
"""
_BY_STACK = """
CREATE VIEW by_stack AS
WITH named AS (
    SELECT recording, stack, list(function ORDER BY position, depth DESC) AS functions,
        list(object ORDER BY position, depth DESC) AS objects FROM frames GROUP BY ALL
), costs AS (
    SELECT recording, event, unit, comm, stack, sum(value)::BIGINT AS value, sum(count)::BIGINT AS count
    FROM samples GROUP BY ALL
)
SELECT recording, event, unit, comm, coalesce(functions, []) AS functions, coalesce(objects, []) AS objects, value,
    count, {seconds} AS cpu_seconds, weight, {labels}
FROM costs LEFT JOIN named USING (recording, stack) JOIN recordings USING (recording) JOIN weights USING (recording)
    LEFT JOIN rates USING (recording, event)
"""
_RESERVED = frozenset(("recording", "event", "unit", "function", "object", "build_id", "self", "total", "self_samples",
    "total_samples", "cpu_seconds", "weight", "functions", "objects", "value", "count", "comm"))  # fmt: skip
"""Columns of views; a tag of the same name does not become a column."""


def statements(partition: Iterable[str], tags: Iterable[str]) -> Iterator[str]:
    """Yield the statements that define tables and views on ``stored_…``, the rows of files.

    ``stored_recordings`` must have the selected recordings alone. ``partition`` are the partition columns, ``tags`` the
    names of the recordings' tags; both become columns.
    """
    parts = [key for key in partition if key != DATE]
    keys = [key for key in dict.fromkeys([*parts, *tags]) if key not in {*COLUMNS["recordings"], DATE}]
    columns = [f"tags[{quoted(key)}] AS {_name(key)}" for key in keys]
    day = "strftime(make_timestamp_ns(start_ns), '%Y-%m-%d') AS date"
    stored = ", ".join(map(_name, COLUMNS["recordings"]))
    yield _MACROS
    yield f"CREATE VIEW recordings AS SELECT {', '.join([stored, day, *columns])} FROM stored_recordings"
    for table in OF_RECORDINGS[:-1]:
        shown = ", ".join(map(_name, [*COLUMNS[table], *partition]))
        yield (
            f"CREATE VIEW {table} AS SELECT {shown} FROM stored_{table} "
            "SEMI JOIN stored_recordings USING (recording, attempt)"
        )
    yield "CREATE VIEW symbols AS FROM stored_symbols WHERE len(lines) > 0"
    roots = ", ".join(map(quoted, ROOT_FRAME_NAMES.values()))
    called = _PLACE_FUNCTIONS.format(roots=roots, key=", ".join(KEY), shown="{shown}")
    yield _FUNCTIONS.format(called=called.format(shown="recording, place, file_offset, mode, "))
    yield from (_FRAMES, _WEIGHTS, _RATES)
    labels = ", ".join(["host", DATE, *(_name(key) for key in keys if key not in _RESERVED)])
    yield _BY_FUNCTION.format(
        called=called.format(shown=""),
        seconds=_SECONDS.format(value="self", count="self_samples"),
        labels=labels,
        damaged=DAMAGED,
    )
    yield _BY_STACK.format(seconds=_SECONDS.format(value="value", count="count"), labels=labels)


def quoted(text: str) -> str:
    """Quote a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    """Quote an SQL name, which may be a keyword."""
    return '"' + column.replace('"', '""') + '"'
