"""Rows that all recordings share, nodes, places and names of places: each once, out of any number of files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from perf2x.base.columnar.arrays import Bools
from perf2x.base.columnar.unique import group_rows
from perf2x.base.errors import FormatError
from perf2x.fleet.upkeep.journal import staged
from perf2x.storage.dataset.content_ids import columns_at, distinct_ids, id_halves, text_id
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import SUFFIX, arrow, schema_of
from perf2x.storage.dataset.names.known_lines import of_one_namer
from perf2x.storage.dataset.parquet_files import id_rows, numbers, read_stored
from perf2x.storage.dataset.write.write_recording import MERGED, recording_of, write_file

if TYPE_CHECKING:
    import pyarrow

SHARED = ("nodes", "places", "lines")
_LEAST = 1 << 16
"""Rows that wait at least before they are put together."""
_ROWS = 1 << 22
"""Rows of a file at most."""

Keep = Callable[["pyarrow.Table"], Bools]
"""(rows,) which of a table's rows to keep."""


def shared_names(storage: Storage, table: str, known: frozenset[bytes]) -> list[str]:
    """Files of a table but for those of recordings without a row, which may be on their way."""
    names = [file.name for file in storage.files(table)]
    return [name for name in names if (recording_of(name) or b"") in known or recording_of(name) is None]


def fold(storage: Storage, table: str, names: Iterable[str], keep: Keep | None = None) -> "pyarrow.Table":
    """Read files of a table one by one, and put equal rows together: memory follows what is distinct.

    FormatError when equal ids have different contents.
    """
    total, waiting, count = schema_of(table).empty_table(), list["pyarrow.Table"](), 0
    for name in names:
        rows = read_stored(storage, name, table)
        rows = rows if keep is None else rows.filter(arrow().array(keep(rows)))
        waiting.append(rows)
        count += len(rows)
        if count >= max(_LEAST, len(total)):
            total, waiting, count = distinct_rows(storage, table, [total, *waiting]), [], 0
    return distinct_rows(storage, table, [total, *waiting])


def distinct_rows(storage: Storage, table: str, parts: "Sequence[pyarrow.Table]") -> "pyarrow.Table":
    """Return the distinct rows of tables, sorted as the schema says."""
    rows = arrow().concat_tables(parts).combine_chunks()
    try:
        return _DISTINCT[table](rows)
    except FormatError as error:
        raise FormatError(f"{storage.path(table)}: damaged: {error}") from None


def _nodes(rows: "pyarrow.Table") -> "pyarrow.Table":
    columns = [id_rows(rows, name) for name in ("parent_id", "place_id")]
    return rows.take(distinct_ids(id_rows(rows, "node_id"), columns_at(*columns)))


def _places(rows: "pyarrow.Table") -> "pyarrow.Table":
    """One row a place; of several names of its file the first in their order."""
    rows = rows.sort_by([("file", "ascending")]).combine_chunks()
    columns = [id_rows(rows, "object_id"), *(numbers(rows, name) for name in ("file_offset", "is_return", "variant"))]
    kept = distinct_ids(id_rows(rows, "place_id"), columns_at(*columns))
    order = [("build_id", "ascending"), ("file", "ascending"), ("file_offset", "ascending")]
    return rows.take(kept).sort_by(order)


def _lines(rows: "pyarrow.Table") -> "pyarrow.Table":
    """Rows of one namer of each place, as readers choose it."""
    _, place = group_rows(id_halves(id_rows(rows, "place_id")))
    return rows.take(of_one_namer(rows, place))


_DISTINCT = {"nodes": _nodes, "places": _places, "lines": _lines}


def write_shared(storage: Storage, table: str, rows: "pyarrow.Table") -> Iterator[str]:
    """Write new files of rows, which wait for their list; yields their names."""
    for start in range(0, len(rows), _ROWS):
        part = rows.slice(start, _ROWS)
        first = schema_of(table).names[0]
        ident = text_id("merged", table, id_rows(part.combine_chunks(), first).tobytes())
        name = f"{table}/{MERGED}{ident.hex()}{SUFFIX}"
        write_file(storage, staged(name), table, [part])
        yield name
