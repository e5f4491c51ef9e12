"""What each function of each recording costs, by itself and with all that it calls: numpy on the trees of many stacks.

SQL would make a row for every frame of every stack. Here nodes get numbers in pre-order, so that the samples below a
node are a span of sums, and a function counts at those of its frames that have none of its own above them.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import (
    I64,
    Bools,
    arange,
    argsort,
    as_intp,
    begins_run,
    bincount,
    cumsum,
    flatnonzero,
    lexsort,
    repeat,
    searchsorted,
    sum_of,
)
from perf2x.base.columnar.ragged import offsets_of, ranges
from perf2x.base.columnar.unique import rows_by
from perf2x.base.errors import FormatError
from perf2x.model.profile.stack_tree import depths
from perf2x.storage.dataset.dataset_schema import arrow

if TYPE_CHECKING:
    import pyarrow

_NODES = 4_000_000
"""Nodes that are counted together, about."""
_PREPARE = (
    """CREATE TEMP TABLE homes AS
    SELECT recording, row_number() OVER (ORDER BY recording)::INTEGER - 1 AS number FROM wanted WHERE error IS NULL""",
    """CREATE TEMP TABLE named AS
    SELECT number, place, depth, function, object, build_id FROM functions JOIN homes USING (recording)""",
    """CREATE TEMP TABLE costed AS
    SELECT *, row_number() OVER (ORDER BY function, object, build_id)::INTEGER - 1 AS name
    FROM (SELECT DISTINCT function, object, build_id FROM named)""",
    """CREATE TEMP TABLE counted AS
    SELECT event, unit, row_number() OVER (ORDER BY event, unit)::INTEGER - 1 AS kind
    FROM (SELECT DISTINCT event, unit FROM samples)""",
)
_SIZES = "SELECT number, count(*)::BIGINT FROM nodes JOIN homes USING (recording) GROUP BY number ORDER BY number"
_OF_SOME = {
    "nodes": """SELECT number, node, coalesce(parent, -1) AS parent, place FROM nodes JOIN homes USING (recording)
        WHERE number BETWEEN $first AND $last ORDER BY number, node""",
    "frames": """SELECT number, place, depth, name FROM named JOIN costed USING (function, object, build_id)
        WHERE number BETWEEN $first AND $last ORDER BY number, place, depth""",
    "samples": """SELECT number, stack, kind, sum(value)::BIGINT AS value, sum(count)::BIGINT AS count
        FROM samples JOIN homes USING (recording) JOIN counted USING (event, unit)
        WHERE stack IS NOT NULL AND number BETWEEN $first AND $last GROUP BY ALL ORDER BY ALL""",
}
_VIEW = """
CREATE VIEW by_function AS
WITH weights AS (
    SELECT recording, coalesce(tags['version'], '') AS version,
        CASE WHEN start_ns > 0 THEN coalesce(86400e9 / nullif(sum(duration_ns) OVER days, 0), 1) ELSE 1 END AS weight
    FROM recordings WINDOW days AS (PARTITION BY host, tags::VARCHAR, start_ns // 86400000000000)
), rates AS (
    SELECT recording, one.name AS event, max(one.frequency) AS frequency
    FROM (SELECT recording, unnest(events) AS one FROM recordings) GROUP BY ALL
)
SELECT recording, event, unit, function, object, build_id, version, self, total, self_samples, total_samples,
    CASE unit WHEN 'nanoseconds' THEN self / 1e9 ELSE self_samples / nullif(frequency, 0) END AS cpu_seconds, weight
FROM function_costs JOIN homes USING (number) JOIN counted USING (kind) JOIN costed USING (name)
    JOIN weights USING (recording) LEFT JOIN rates USING (recording, event)
"""
"""A weight is a day by the seconds of it that were recorded, for the recordings of a host that have equal tags."""
Columns = Mapping[str, I64]


def define_costs(connection: Any, folder: object) -> None:
    """Count what the dataset's functions cost, for the view ``by_function``; FormatError when a stack is damaged."""
    for statement in _PREPARE:
        connection.execute(statement)
    parts = [_costs(rows, folder) for rows in _batches(connection)]
    names = ("number", "kind", "name", "self", "total", "self_samples", "total_samples")
    pa = arrow()
    columns = {name: np.concatenate([np.zeros(0, np.int64), *(part[name] for part in parts)]) for name in names}
    connection.register("counted_costs", pa.table(columns))
    connection.execute("CREATE TEMP TABLE function_costs AS FROM counted_costs")
    connection.unregister("counted_costs")
    connection.execute(_VIEW)


def _batches(connection: Any) -> Iterator[dict[str, Columns]]:
    sizes = connection.execute(_SIZES).fetchall()
    first, total = 0, 0
    for at, (number, size) in enumerate(sizes):
        total += size
        if total >= _NODES or at == len(sizes) - 1:
            span = {"first": first, "last": number}
            yield {name: columns_of(connection, sql, span) for name, sql in _OF_SOME.items()}
            first, total = number + 1, 0


def columns_of(connection: Any, sql: str, span: Mapping[str, object]) -> Columns:
    """Columns of whole numbers that SQL gives."""
    found: pyarrow.Table = connection.sql(sql, params=span).to_arrow_table()
    return {name: found[name].to_numpy().astype(np.int64) for name in found.column_names}


class _Tree(Struct, frozen=True):
    """Trees of many recordings in pre-order."""

    begin: I64
    """(nodes,) the place of each node in the order."""
    end: I64
    """(nodes,) the place behind all that is below it."""


def _costs(rows: Mapping[str, Columns], folder: object) -> Columns:
    nodes, frames, samples = (rows[name] for name in ("nodes", "frames", "samples"))
    base, parent = _bases(nodes["number"]), nodes["parent"]
    start = base[nodes["number"]]
    is_damaged = (nodes["node"] != arange(len(start)) - start) | (parent >= nodes["node"]) | (parent < -1)
    stack = samples["stack"] + base[samples["number"]] if len(samples["stack"]) else samples["stack"]
    if is_damaged.any() or (len(stack) and not (stack.min() >= 0 and stack.max() < len(start))):
        raise FormatError(f"{folder}: damaged: a stack is missing")
    tree = _in_order(np.where(parent < 0, -1, parent + start))
    node, name, is_leaf = _frames_of(nodes, frames)
    key = nodes["number"][node] * (int(name.max(initial=0)) + 1) + name
    order = lexsort((tree.begin[node], key))
    node, key, is_leaf, name = node[order], key[order], is_leaf[order], name[order]
    starts = flatnonzero(begins_run(key))
    is_first = _has_none_above(tree, node, key)
    found: list[Columns] = []
    for kind, chosen in rows_by(samples["kind"]):
        columns: dict[str, I64] = {"number": nodes["number"][node[starts]], "name": name[starts]}
        for own, below, weight in (("self", "total", "value"), ("self_samples", "total_samples", "count")):
            sums = _running(tree.begin[stack[chosen]], samples[weight][chosen], len(start))
            begin = tree.begin[node]
            columns[own] = np.add.reduceat(np.where(is_leaf, sums[begin + 1] - sums[begin], 0), as_intp(starts))
            columns[below] = np.add.reduceat(np.where(is_first, sums[tree.end[node]] - sums[begin], 0), as_intp(starts))
        kept = columns["total_samples"] > 0
        found.append(
            {one: column[kept] for one, column in columns.items()} | {"kind": np.full(sum_of(kept), kind, np.int64)}
        )
    names = found[0] if found else ("number", "kind", "name", "self", "total", "self_samples", "total_samples")
    return {one: np.concatenate([np.zeros(0, np.int64), *(part[one] for part in found)]) for one in names}


def _bases(number: I64) -> I64:
    """(recordings,) the row of the first node of each recording."""
    return offsets_of(bincount(number))


def _in_order(parent: I64) -> _Tree:
    """Number nodes, which stand behind their callers, in pre-order."""
    size, begin = np.ones(len(parent) + 1, np.int64), np.full(len(parent) + 1, -1, np.int64)
    levels = [rows for _, rows in rows_by(depths(parent))]
    for rows in reversed(levels):
        np.add.at(size, parent[rows], size[rows])  # the last one serves -1
    order = argsort(parent)
    before = cumsum(size[order]) - size[order]
    is_first = begins_run(parent[order])
    beside = np.empty(len(parent), np.int64)
    beside[order] = before - repeat(before[is_first], np.diff(np.append(flatnonzero(is_first), len(order))))
    for rows in levels:
        begin[rows] = begin[parent[rows]] + 1 + beside[rows]
    return _Tree(begin[:-1], begin[:-1] + size[:-1])


def _frames_of(nodes: Columns, frames: Columns) -> tuple[I64, I64, Bools]:
    """(frames,) node, number of the function's name, and whether samples at the node are its own."""
    key, wanted = frames["number"] << 32 | frames["place"], nodes["number"] << 32 | nodes["place"]
    first, last = (searchsorted(key, wanted, side) for side in ("left", "right"))
    row = ranges(first, last - first)
    return repeat(arange(len(wanted)), last - first), frames["name"][row], frames["depth"][row] == 0


def _has_none_above(tree: _Tree, node: I64, key: I64) -> Bools:
    """(frames,) whether no frame of the same key, all of which stand together in pre-order, holds the frame."""
    group = cumsum(begins_run(key)) * (len(tree.begin) + 2)
    reach = np.maximum.accumulate(tree.end[node] + group)
    before = np.append(-1, reach[:-1])[: len(node)] - group
    is_alone: Bools = before <= tree.begin[node]
    return is_alone


def _running(place: I64, value: I64, count: int) -> I64:
    """(count + 1,) sums of the values in front of each place."""
    sums = np.zeros(count + 1, np.int64)
    np.add.at(sums, place + 1, value)
    return cumsum(sums)
