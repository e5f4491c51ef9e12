"""Places of a dataset without names, by object: each once, however many recordings contain it."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from perf2x.base.frozen_struct import Frozen
from perf2x.sources.dataset.dataset_schema import KEY
from perf2x.sources.dataset.place_keys import PlaceKeys, keys_of_rows
from perf2x.sources.dataset.sql.duckdb_engine import arrow_table

if TYPE_CHECKING:
    import pyarrow

_FACTS = ("recording", "arch", "kernel", "kernel_build_id", "host")
_TODO = """
CREATE TEMP TABLE todo AS
WITH nameless AS (FROM places WHERE lines IS NULL AND NOT is_local AND file <> '')
SELECT object_id, file_offset, mode, is_return, variant
FROM (
    FROM nameless UNION ALL
    SELECT * REPLACE (false AS is_return) FROM nameless WHERE mode = 'kernel' AND is_return
)
ANTI JOIN symbols USING (object_id, file_offset, mode, is_return, variant)
GROUP BY ALL
"""
_OWNERS = """
CREATE TEMP TABLE owners AS
SELECT object_id, min(recording) AS recording FROM mappings SEMI JOIN todo USING (object_id)
WHERE $builds IS NULL OR list_contains($builds, rtrim(build_id, '0')) GROUP BY object_id
"""
_MAPPINGS = """
CREATE TEMP TABLE held AS
SELECT owners.object_id AS of_object, mappings.*, arch, kernel, kernel_build_id, host
FROM mappings JOIN owners ON mappings.recording = owners.recording
JOIN recordings ON mappings.recording = recordings.recording
WHERE mappings.object_id = owners.object_id OR (is_kernel AND starts_with(mappings.file, '[kernel.kallsyms]'))
"""
_KERNELS = """
SELECT count(DISTINCT object_id) FROM mappings SEMI JOIN owners USING (object_id)
WHERE is_kernel AND starts_with(file, '[kernel.kallsyms]')
"""


class CodeObject(Frozen):
    """An object, its places without names, and where one recording had it mapped."""

    id: str
    places: PlaceKeys
    mappings: "pyarrow.Table"
    """Rows of the table of mappings: the object's own, and the kernel's if it is a module."""
    facts: dict[str, str]
    """Columns of the recording's row that identify the kernel."""


class Unnamed(Frozen):
    """The objects of a dataset that have places without names."""

    objects: int
    """Number of objects."""
    places: int
    """Number of places in all of them."""
    kernels: int
    """Number of objects that are kernels."""
    each: Iterator[CodeObject]
    """The objects by id, read on demand."""


def unnamed_objects(connection: Any, builds: Collection[str] | None) -> Unnamed:
    """Find the objects of a dataset that have places without names, of all build ids or of ``builds``.

    Places private to their recording are excluded, because they cannot be named later. The connection is that of
    ``engine``.
    """
    connection.execute(_TODO)
    ids = None if builds is None else [one.rstrip("0") for one in builds]  # recorded build ids may be padded
    connection.execute(_OWNERS, {"builds": ids})
    connection.execute(_MAPPINGS)
    ((objects,),) = connection.execute("SELECT count(*) FROM owners").fetchall()
    ((places,),) = connection.execute("SELECT count(*) FROM todo SEMI JOIN owners USING (object_id)").fetchall()
    ((kernels,),) = connection.execute(_KERNELS).fetchall()
    return Unnamed(objects, places, kernels, _code_objects(connection))


def _code_objects(connection: Any) -> Iterator[CodeObject]:
    for (ident,) in connection.execute("SELECT object_id FROM owners ORDER BY ALL").fetchall():
        places, mappings = (
            arrow_table(connection.sql(f"FROM {table} WHERE {column} = $id ORDER BY {order}", params={"id": ident}))
            for table, column, order in (("todo", KEY[0], ", ".join(KEY)), ("held", "of_object", "mapping"))
        )
        yield CodeObject(ident, keys_of_rows(places), mappings, mappings.select(_FACTS).slice(0, 1).to_pylist()[0])
