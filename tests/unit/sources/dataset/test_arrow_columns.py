"""Columns of a dataset's tables as numpy arrays."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from perf2x.sources.dataset.arrow_columns import numbers  # noqa: E402
from perf2x.sources.dataset.dataset_schema import schema_of  # noqa: E402
from perf2x.sources.dataset.names.known_lines import PlaceLines  # noqa: E402
from perf2x.symbolizer.object_resolver import function_row  # noqa: E402
from perf2x.symbolizer.sources.symbol_source import Function  # noqa: E402


@pytest.mark.parametrize(
    ("kind", "known", "found"),
    [("bool", True, [True, False]), ("uint64", 2**64 - 1, [2**64 - 1, 0]), ("int32", -5, [-5, 0])],
)
def test_nulls_are_zeros_of_each_type(kind: str, known: object, found: list[object]) -> None:
    """Only damaged tables have nulls where the schema has none."""
    table = pa.table({"column": pa.array([known, None], kind)})
    assert numbers(table, "column").tolist() == found


def test_a_function_without_texts_in_a_damaged_table_has_empty_ones() -> None:
    lines = [{"function": None, "system_name": None, "file": None, "line": 7, "start_line": 7}]
    row = {"object_id": "ab", "file_offset": 0, "mode": "user", "is_return": False, "variant": 0, "lines": lines,
           "is_exact": False, "has_inlines": False, "reason": ""}  # fmt: skip
    rows = PlaceLines(pa.Table.from_pylist([row], schema_of("symbols")))
    names = rows.names(np.zeros(1, np.int64), "short", inline=True)
    assert (names.functions, names.line.tolist()) == ([function_row(Function("", "", "", 7), "short")], [7])
