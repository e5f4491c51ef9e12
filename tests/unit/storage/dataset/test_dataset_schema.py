"""docs/parquet.md describes every table and column, with its type."""

import re

import pytest

from perf2x.storage.dataset import dataset_schema
from tests.support.recordings import ROOT

PAGE = (ROOT / "docs" / "parquet.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### (\w+)\n\n\|.*?\n\|.*?\n((?:\|.*\n)+)", re.MULTILINE)


def described() -> dict[str, dict[str, str]]:
    rows = {name: [line.split("|")[1:3] for line in table.splitlines()] for name, table in SECTION.findall(PAGE)}
    return {name: {column.strip(): kind.strip() for column, kind in table} for name, table in rows.items()}


def test_the_page_has_the_tables_of_the_schema() -> None:
    assert described() == {name: dict(columns) for name, columns in dataset_schema.COLUMNS.items()}


def test_the_page_names_the_version() -> None:
    assert f"(`{dataset_schema.VERSION_KEY.decode()}`, now {dataset_schema.SCHEMA})" in PAGE


def test_every_column_has_a_type() -> None:
    pa = pytest.importorskip("pyarrow")
    for table in dataset_schema.TABLES:
        fields = list(dataset_schema.schema_of(table))
        assert [field.name for field in fields] == list(dataset_schema.COLUMNS[table])
        assert all(isinstance(field.type, pa.DataType) for field in fields)
