"""Finds the places in a dataset that have no names, by object, and each place once for all recordings.

It makes temporary tables in DuckDB: ``unnamed`` has the places. ``owners`` has one recording for each object; the
object's places are looked up at its addresses in this recording. ``mapped`` has the mappings of the object, and of the
kernel, in this recording.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from perf2x.base.frozen_struct import Frozen
from perf2x.sources.dataset.dataset_schema import KEY
from perf2x.sources.dataset.place_keys import PlaceKeys, keys_of_rows
from perf2x.sources.dataset.sql.duckdb_engine import arrow_table

if TYPE_CHECKING:
    import pyarrow

_FACTS = ("recording", "arch", "kernel", "kernel_build_id", "host")
# Return addresses of the kernel are looked up as instructions, too: only names show which are interrupted instructions.
_UNNAMED = """
CREATE TEMP TABLE unnamed AS
WITH nameless AS (FROM places WHERE lines IS NULL AND NOT is_local AND file <> '')
SELECT object_id, file_offset, mode, is_return, variant
FROM (
    FROM nameless UNION ALL
    SELECT * REPLACE (false AS is_return) FROM nameless WHERE mode = 'kernel' AND is_return
)
ANTI JOIN symbols USING (object_id, file_offset, mode, is_return, variant)
GROUP BY ALL
"""
# $builds: build ids of objects, null for all
_OWNERS = """
CREATE TEMP TABLE owners AS
SELECT object_id, min(recording) AS recording FROM mappings SEMI JOIN unnamed USING (object_id)
WHERE $builds IS NULL OR list_contains($builds, rtrim(build_id, '0')) GROUP BY object_id
"""
# a module needs the kernel's mappings
_MAPPINGS = """
CREATE TEMP TABLE mapped AS
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
    """An object, its places without names, and its mappings in one recording."""

    id: str
    places: PlaceKeys
    mappings: "pyarrow.Table"
    """Rows of the table of mappings: the object's, and the kernel's, which modules need."""
    facts: dict[str, str]
    """Id, architecture, kernel and host of the recording, by the names in _FACTS."""


class Unnamed(Frozen):
    """Objects with places without names."""

    objects: int
    places: int
    """Number of places without names, in all objects."""
    kernels: int
    """Number of objects that are kernels."""
    code_objects: Iterator[CodeObject]
    """Sorted by id; each is read when it is needed."""


def unnamed_objects(connection: Any, builds: Collection[str] | None) -> Unnamed:
    """Find objects with places without names; with ``builds``, only those of these build ids.

    Places private to their recording are left out, because they cannot be named later.
    """
    connection.execute(_UNNAMED)
    trimmed = None if builds is None else [build.rstrip("0") for build in builds]  # recorded ids may be padded with 0
    connection.execute(_OWNERS, {"builds": trimmed})
    connection.execute(_MAPPINGS)
    ((objects,),) = connection.execute("SELECT count(*) FROM owners").fetchall()
    ((places,),) = connection.execute("SELECT count(*) FROM unnamed SEMI JOIN owners USING (object_id)").fetchall()
    ((kernels,),) = connection.execute(_KERNELS).fetchall()
    return Unnamed(objects, places, kernels, _code_objects(connection))


def _code_objects(connection: Any) -> Iterator[CodeObject]:
    for (ident,) in connection.execute("SELECT object_id FROM owners ORDER BY ALL").fetchall():
        places, mappings = (
            arrow_table(connection.sql(f"FROM {table} WHERE {column} = $id ORDER BY {order}", params={"id": ident}))
            for table, column, order in (("unnamed", KEY[0], ", ".join(KEY)), ("mapped", "of_object", "mapping"))
        )
        yield CodeObject(ident, keys_of_rows(places), mappings, mappings.select(_FACTS).slice(0, 1).to_pylist()[0])
