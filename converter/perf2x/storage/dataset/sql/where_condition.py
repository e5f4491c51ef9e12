"""Recordings and samples of a dataset that meet a condition of SQL (``--where``), chosen by DuckDB."""

import contextlib
import weakref
from typing import TYPE_CHECKING

from perf2x.base.errors import SettingError
from perf2x.storage.dataset.dataset_address import DatasetAddress
from perf2x.storage.dataset.dataset_schema import arrow, schema_of
from perf2x.storage.dataset.listed_files import Listing
from perf2x.storage.dataset.sql.duckdb_engine import arrow_table, engine, told_apart

if TYPE_CHECKING:
    import pyarrow

_CHOSEN = """SELECT recordings.recording, samples.* EXCLUDE (recording)
FROM recordings LEFT JOIN sample_rows AS samples USING (recording)
WHERE (
{where}
)
"""
_OF_ONE = "SELECT * EXCLUDE (file_row_number) FROM chosen WHERE recording = $id AND file_row_number >= 0"


class ChosenSamples:
    """Samples that meet a condition on columns of ``samples`` and ``recordings``; DuckDB keeps them until asked."""

    def __init__(self, address: DatasetAddress, where: str, files: Listing) -> None:
        """Of ``files``, those of the dataset, those are left out that the condition rules out.

        OptionError for what is no condition, and without DuckDB; FormatError when the dataset is damaged.
        """
        self._folder, stack = address.folder, contextlib.ExitStack()
        weakref.finalize(self, stack.close)
        sql = _CHOSEN.format(where=where)
        self._connection = stack.enter_context(engine(address.folder, sql, tags=address.tags, files=files))
        with told_apart(address.folder):
            self._choose(sql, where)
            found = self._connection.execute("SELECT DISTINCT recording FROM chosen").fetchall()
        self.recordings = frozenset(ident for (ident,) in found)
        """Ids of the recordings, those without samples included where the condition does not ask for any."""

    def _choose(self, sql: str, where: str) -> None:
        if len(self._connection.extract_statements(sql)) != 1:
            raise SettingError("", "where", f" takes one SQL condition, not {where!r}")
        self._connection.execute(f"CREATE TEMP TABLE chosen AS {sql}")

    def samples_of(self, recording: str) -> "pyarrow.Table":
        """Return the rows of ``samples`` of one recording, in the order of its file."""
        with told_apart(self._folder):
            found = self._connection.sql(f"{_OF_ONE} ORDER BY file_row_number", params={"id": recording})
            rows = arrow_table(found)
        schema = schema_of("samples")
        columns = [rows[field.name].cast(field.type) for field in schema]
        return arrow().table(columns, schema=schema).combine_chunks()
