"""Shares of functions in two parts of a fleet, and which changes the differences between hosts do not explain.

A share is the CPU time of a function by that of all, each summed over hosts. Hosts, or the recordings of a single one,
differ more than samples of one recording do, so the variance of a share is that of its hosts' residuals (linearized
ratio estimator, Cochran, Sampling Techniques, chapter 6). Hosts of both parts are compared with themselves. Intervals
are Student's t, for the smaller number of hosts; a change counts as one where an interval that holds for all functions
at once (Bonferroni) excludes 0.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perf2x.base.errors import OptionError
from perf2x.base.student import student
from perf2x.fleet.query import Answer, answered
from perf2x.storage.dataset.dataset_schema import arrow
from perf2x.storage.dataset.sql.duckdb_engine import Limits, arrow_table, duckdb
from perf2x.storage.dataset.sql.table_views import quoted

if TYPE_CHECKING:
    import pyarrow

_EVENT = "SELECT event FROM by_function GROUP BY event ORDER BY sum(self_samples) DESC, event LIMIT 1"
_COSTS = """
SELECT host, recording, function, object, sum(self * weight)::DOUBLE AS cost
FROM by_function JOIN recordings USING (recording) WHERE event = ({event}) AND self > 0 GROUP BY ALL
"""
_COMPARED = """
WITH units AS (
    SELECT least(a.hosts, b.hosts) > 1 AS by_host, a.hosts AS n, b.hosts AS m FROM
        (SELECT count(DISTINCT host) AS hosts FROM before) a, (SELECT count(DISTINCT host) AS hosts FROM after) b
), costs AS (
    SELECT CASE WHEN by_host THEN host ELSE recording END AS unit, function, object,
        sum(cost) FILTER (side = 0) AS x, sum(cost) FILTER (side = 1) AS y
    FROM (SELECT 0 AS side, * FROM before UNION ALL SELECT 1, * FROM after), units GROUP BY ALL
), wholes AS (
    SELECT unit, coalesce(sum(x), 0) AS v, coalesce(sum(y), 0) AS w FROM costs GROUP BY unit
), alls AS (
    SELECT sum(v) AS v, sum(w) AS w, sum(v * v) AS vv, sum(w * w) AS ww, sum(v * w) AS vw,
        least(count(*) FILTER (v > 0), count(*) FILTER (w > 0)) AS units FROM wholes
), sums AS (
    SELECT function, object, sum(x) AS x, sum(y) AS y, sum(x * x) AS xx, sum(y * y) AS yy, sum(x * y) AS xy,
        sum(x * v) AS xv, sum(y * w) AS yw, sum(x * w) AS xw, sum(y * v) AS yv
    FROM (SELECT * REPLACE (coalesce(x, 0) AS x, coalesce(y, 0) AS y) FROM costs) JOIN wholes USING (unit)
    GROUP BY ALL
), shares AS (
    SELECT function, object, sums.x / alls.v AS p, sums.y / alls.w AS q, units,
        (xx - 2 * p * xv + p * p * vv) / alls.v ** 2 + (yy - 2 * q * yw + q * q * ww) / alls.w ** 2
        - 2 * (xy - q * xw - p * yv + p * q * vw) / (alls.v * alls.w) AS squares
    FROM sums, alls WHERE greatest(sums.x / alls.v, sums.y / alls.w) >= {least}
), errors AS (
    SELECT *, q - p AS change, sqrt(greatest(squares, 0) * units / nullif(units - 1, 0)) AS deviation FROM shares
)
"""
"""Per function the shares p and q, and the squares of its residuals: x and y are a unit's costs, v and w its wholes."""
_ROWS = """
SELECT function, object, round(100 * p, 2) AS before, round(100 * q, 2) AS after, round(100 * change, 2) AS change,
    round(100 * (change - {one} * deviation), 2) AS low, round(100 * (change + {one} * deviation), 2) AS high,
    coalesce(abs(change) > {every} * deviation, false) AS significant
FROM errors ORDER BY greatest(abs(change) - {every} * coalesce(deviation, 1), 0) DESC, abs(change) DESC, change DESC,
    function, object
"""


@contextmanager
def compared(
    dataset: str, parts: tuple[str, str], event: str, least: float, confidence: float, limits: Limits
) -> Iterator[Answer]:
    """Give the functions of two parts of a dataset, those that certainly changed most first.

    ``parts`` are tags as in an address (``date=2026-11-22&service=web``); ``event`` is that with the most samples where
    empty. Functions below the share ``least`` of both parts are left out. FormatError and OptionError as ``answered``;
    OptionError for a part without samples.
    """
    tables = []
    for part in parts:
        sql = _COSTS.format(event=quoted(event) if event else _EVENT)
        with answered(f"{dataset}{'&' if '?' in dataset else '?'}{part}", sql, limits) as answer:
            tables.append(arrow().Table.from_batches(answer.batches, answer.schema))
        if not len(tables[-1]):
            raise OptionError(f"{part}: no samples{f' of {event}' if event else ''} in {dataset}")
    yield compared_costs(tables[0], tables[1], least, confidence)


def compared_costs(before: "pyarrow.Table", after: "pyarrow.Table", least: float, confidence: float) -> Answer:
    """Compare two tables of host, recording, function, object and cost, as ``compared`` does."""
    with duckdb().connect(":memory:") as connection:
        connection.register("before", before)
        connection.register("after", after)
        compare = f"CREATE TEMP TABLE errors AS {_COMPARED.format(least=least)} FROM errors"
        connection.execute(compare)
        units, functions = connection.execute("SELECT any_value(units), count(*) FROM errors").fetchall()[0]
        one, every = (student(confidence, number, (units or 1) - 1) for number in (1, functions))
        table = arrow_table(connection.sql(f"{_ROWS.format(one=one, every=every)}"))
    return Answer(table.schema, iter(table.to_batches()))
