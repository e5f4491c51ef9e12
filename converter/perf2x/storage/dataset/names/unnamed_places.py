"""Places of a dataset that nobody has named yet, by object: each once, however many recordings have it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import U8, U64, Bools
from perf2x.storage.dataset.content_ids import as_rows
from perf2x.storage.dataset.listed_files import Listing
from perf2x.storage.dataset.parquet_files import numbers
from perf2x.storage.dataset.sql.duckdb_engine import arrow_table
from perf2x.storage.dataset.sql.table_views import files_sql
from perf2x.storage.dataset.write.table_rows import modes_of

if TYPE_CHECKING:
    import pyarrow

_FACTS = ("arch", "kernel", "kernel_build_id", "host")
_TODO = """
CREATE TEMP TABLE todo AS
SELECT object_id, place_id, file_offset, mode, is_return FROM stack_places ANTI JOIN lines USING (place_id)
WHERE recording IS NULL AND file <> ''
"""
_MAPPED = """
CREATE TEMP TABLE mapped AS
SELECT mappings.* EXCLUDE (filename, below, file_row_number)
FROM {mappings} AS mappings SEMI JOIN homes USING (recording, below)
"""
_OWNERS = """
CREATE TEMP TABLE owners AS
SELECT object_id, min(recording) AS recording FROM mapped SEMI JOIN todo USING (object_id) GROUP BY object_id
"""
_MAPPINGS = """
CREATE TEMP TABLE held AS
SELECT owners.object_id AS of_object, mapped.*, arch, kernel, kernel_build_id, host
FROM mapped JOIN owners ON mapped.recording = owners.recording
JOIN (SELECT * FROM {recordings} SEMI JOIN homes USING (recording, below)) AS about
    ON mapped.recording = about.recording
WHERE mapped.object_id = owners.object_id OR (is_kernel AND starts_with(mapped.file, '[kernel.kallsyms]'))
"""
"""Those in the recordings that have all stacks between them: so they have all objects with places of stacks."""
_KERNELS = """
SELECT count(DISTINCT object_id) FROM mapped SEMI JOIN owners USING (object_id)
WHERE is_kernel AND starts_with(file, '[kernel.kallsyms]')
"""
_FILES = """
SELECT DISTINCT below[2:] AS name FROM homes SEMI JOIN first_recordings USING (number) ORDER BY name
"""
ASKED = "stack_places"
"""SQL that the engine has to be ready for."""


class CodeObject(Struct, frozen=True):
    """An object, its places without names, and where a recording that has it held it."""

    id: bytes
    place: U8
    """(n, 16) ids of the places."""
    offset: U64
    """(n,) in the object."""
    mode: U8
    """(n,) uapi.CpuMode"""
    is_return: Bools
    """(n,) the place is the address behind a call."""
    mappings: tuple[dict[str, Any], ...]
    """Rows of the table of mappings: the object's own, and the kernel's in which a module lies."""
    facts: dict[str, str]
    """Columns of the recording's row that tell the kernel."""


class Unnamed(Struct, frozen=True):
    """Objects with places without names."""

    objects: int
    """Number of them."""
    places: int
    """Number of places in all of them."""
    kernels: int
    """Number of objects that are kernels."""
    each: Iterator[CodeObject]
    """By id, read as they are asked for."""


def unnamed_objects(connection: Any, folder: Path) -> Unnamed:
    """Find the objects of the dataset in ``folder`` that have places without names.

    Places that mean nothing outside their recording are not among them: nobody can name those later. The connection is
    that of ``engine``, with ``ASKED``.
    """
    files = Listing(folder)
    names = [name for (name,) in connection.execute(_FILES).fetchall()]
    files.check("mappings", _existing(files, "mappings", names))
    rows = {table: files_sql(files, table, _existing(files, table, names)) for table in ("mappings", "recordings")}
    for statement in (_TODO, _MAPPED, _OWNERS, _MAPPINGS):
        connection.execute(statement.format(**rows))
    ((objects,),) = connection.execute("SELECT count(*) FROM owners").fetchall()
    ((places,),) = connection.execute("SELECT count(*) FROM todo SEMI JOIN owners USING (object_id)").fetchall()
    ((kernels,),) = connection.execute(_KERNELS).fetchall()
    return Unnamed(objects, places, kernels, _code_objects(connection))


def _existing(files: Listing, table: str, names: Sequence[str]) -> list[str] | None:
    """Those of the files that a table has; None, which is all, for none."""
    known = frozenset(files.names(table))
    return [name for name in names if name in known] or None


def _code_objects(connection: Any) -> Iterator[CodeObject]:
    rows = _rows(connection, "FROM held ORDER BY of_object, mapping").to_pylist()
    for ident, mappings in groupby(rows, itemgetter("of_object")):
        yield _code_object(connection, ident, tuple(mappings))


def _code_object(connection: Any, ident: bytes, mappings: tuple[dict[str, Any], ...]) -> CodeObject:
    places = _rows(connection, "FROM todo WHERE object_id = $id ORDER BY file_offset, place_id", id=ident)
    return CodeObject(
        id=ident,
        place=as_rows(places["place_id"].to_pylist()),
        offset=numbers(places, "file_offset"),
        mode=modes_of(places),
        is_return=numbers(places, "is_return").astype(np.bool_),
        mappings=mappings,
        facts={name: mappings[0][name] for name in _FACTS},
    )


def _rows(connection: Any, sql: str, **values: bytes) -> "pyarrow.Table":
    found = connection.sql(sql, params=values) if values else connection.sql(sql)
    return arrow_table(found)
