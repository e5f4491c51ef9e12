"""Columns of a dataset's tables as numpy arrays."""

import pytest

pa = pytest.importorskip("pyarrow")

from perf2x.storage.dataset.arrow_columns import numbers  # noqa: E402


@pytest.mark.parametrize(
    ("kind", "known", "found"),
    [("bool", True, [True, False]), ("uint64", 2**64 - 1, [2**64 - 1, 0]), ("int32", -5, [-5, 0])],
)
def test_nulls_are_zeros_of_each_type(kind: str, known: object, found: list[object]) -> None:
    """Only damaged tables have nulls where the schema has none."""
    table = pa.table({"column": pa.array([known, None], kind)})
    assert numbers(table, "column").tolist() == found
