"""SQL of the tables and views that a query sees (docs/fleet.md describes them).

Rows of other attempts to add a recording than the one in the table of recordings are left out: kills leave such.
"""

from collections.abc import Iterable, Iterator

from perf2x.model.profile.made_up_frames import ROOT_FRAME_NAMES
from perf2x.storage.dataset.dataset_schema import COLUMNS, DATE, KEY, OF_RECORDINGS

_MACROS = """
CREATE MACRO base_name(file) AS CASE WHEN file LIKE '[%]%' THEN file[:strpos(file, ']')]
    ELSE coalesce(string_split(rtrim(file, '/'), '/')[-1], '') END;
CREATE MACRO bracketed(name) AS CASE WHEN name LIKE '[%' THEN name WHEN name = '' THEN '[unknown]'
    ELSE '[' || name || ']' END;
"""
_PLACES = """
CREATE VIEW functions AS
WITH objects AS (
    SELECT path, CASE WHEN path IN ({made_up}) THEN '' ELSE base_name(path) END AS object,
        bracketed(base_name(path)) AS unnamed FROM (SELECT DISTINCT file AS path FROM places)
), lines AS (
    SELECT recording, place, build_id, path, file_offset, mode, unnest(lines) AS line,
        generate_subscripts(lines, 1) - 1 AS depth
    FROM (
        SELECT places.* EXCLUDE (lines, file), places.file AS path,
            CASE WHEN len(coalesce(places.lines, symbols.lines)) > 0 THEN coalesce(places.lines, symbols.lines)
            ELSE [NULL] END AS lines
        FROM places LEFT JOIN symbols USING ({key})
    )
)
SELECT recording, place, depth::INTEGER AS depth, coalesce(line['function'], unnamed) AS function, object,
    coalesce(line.system_name, '') AS system_name, coalesce(line.file, '') AS file, coalesce(line.line, 0) AS line,
    coalesce(line.start_line, 0) AS start_line, build_id, path, file_offset, mode, line IS NOT NULL AS is_named
FROM lines JOIN objects USING (path)
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
"""A weight is a day by the seconds of it that were recorded, for the recordings of a host that have equal tags."""
_RATES = """
CREATE VIEW rates AS
SELECT recording, one.name AS event, max(one.frequency) AS frequency
FROM (SELECT recording, unnest(events) AS one FROM recordings) GROUP BY ALL
"""
_SECONDS = """CASE unit WHEN 'nanoseconds' THEN {value} / 1e9 ELSE {count} / nullif(frequency, 0) END"""
_BY_FUNCTION = """
CREATE VIEW by_function AS
WITH called AS MATERIALIZED (SELECT recording, place, depth, function, object, build_id FROM functions),
names AS MATERIALIZED (
    SELECT *, row_number() OVER ()::INTEGER AS name FROM (SELECT DISTINCT function, object, build_id FROM called)
), numbers AS MATERIALIZED (
    SELECT recording, row_number() OVER ()::INTEGER AS number FROM recordings
), named AS MATERIALIZED (
    SELECT number, place, depth, name FROM called JOIN names USING (function, object, build_id)
        JOIN numbers USING (recording)
),
costs AS MATERIALIZED (
    SELECT number, event, unit, stack, sum(value)::BIGINT AS value, sum(count)::BIGINT AS count
    FROM samples JOIN numbers USING (recording) WHERE stack IS NOT NULL GROUP BY ALL
), lists AS (
    SELECT number, stack, unnest(places) AS place, generate_subscripts(places, 1) = len(places) AS is_last
    FROM stacks JOIN numbers USING (recording)
), once AS (
    SELECT number, stack, name, bool_or(is_last AND depth = 0) AS is_self
    FROM lists JOIN named USING (number, place) GROUP BY ALL
), summed AS (
    SELECT number, event, unit, name, coalesce(sum(value) FILTER (is_self), 0)::BIGINT AS self,
        sum(value)::BIGINT AS total, coalesce(sum(count) FILTER (is_self), 0)::BIGINT AS self_samples,
        sum(count)::BIGINT AS total_samples
    FROM once JOIN costs USING (number, stack) GROUP BY ALL
)
SELECT recording, event, unit, function, object, build_id, self, total, self_samples, total_samples,
    {seconds} AS cpu_seconds, weight, {labels}
FROM summed JOIN names USING (name) JOIN numbers USING (number) JOIN recordings USING (recording)
    JOIN weights USING (recording)
    LEFT JOIN rates USING (recording, event)
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
_TAKEN = frozenset(("recording", "event", "unit", "function", "object", "build_id", "self", "total", "self_samples",
    "total_samples", "cpu_seconds", "weight", "functions", "objects", "value", "count", "comm"))  # fmt: skip
"""Columns of views, which tags of these names do not replace."""


def statements(partition: Iterable[str], tags: Iterable[str]) -> Iterator[str]:
    """Yield the statements that define tables and views on ``stored_…``, which are rows of files.

    ``stored_recordings`` has those that count; ``tags`` are those that they have.
    """
    parts = [key for key in partition if key != DATE]
    keys = [key for key in dict.fromkeys([*parts, *tags]) if key not in {*COLUMNS["recordings"], DATE}]
    columns = [f"tags[{quoted(key)}] AS {_name(key)}" for key in keys]
    day = "strftime(make_timestamp_ns(start_ns), '%Y-%m-%d') AS date"
    own = ", ".join(map(_name, COLUMNS["recordings"]))
    yield _MACROS
    yield f"CREATE VIEW recordings AS SELECT {', '.join([own, day, *columns])} FROM stored_recordings"
    for table in OF_RECORDINGS[:-1]:
        shown = ", ".join(map(_name, [*COLUMNS[table], *partition]))
        yield (
            f"CREATE VIEW {table} AS SELECT {shown} FROM stored_{table} "
            "SEMI JOIN stored_recordings USING (recording, attempt)"
        )
    yield "CREATE VIEW symbols AS FROM stored_symbols WHERE len(lines) > 0"
    made_up = ", ".join(map(quoted, ROOT_FRAME_NAMES.values()))
    yield _PLACES.format(made_up=made_up, key=", ".join(KEY))
    yield from (_FRAMES, _WEIGHTS, _RATES)
    labels = ", ".join(["host", "recordings.date", *(_name(key) for key in keys if key not in _TAKEN)])
    yield _BY_FUNCTION.format(seconds=_SECONDS.format(value="self", count="self_samples"), labels=labels)
    yield _BY_STACK.format(seconds=_SECONDS.format(value="value", count="count"), labels=labels)


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    """A name of SQL, which may be one of its words."""
    return '"' + column.replace('"', '""') + '"'
