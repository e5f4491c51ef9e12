"""Finds the places of a dataset that do not have names yet: by object, and each place once for all recordings.

Three temporary tables in DuckDB hold what is needed. ``unnamed`` has the places. ``owners`` has one recording of each
object: the object's places are looked up at the addresses that they have in this recording. ``mapped`` has, for each
object, its mappings in this recording, and those of the kernel.
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
# A return address of the kernel is looked up a second time, as the address of an instruction: only names show which
# return addresses are in fact interrupted instructions.
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
# $builds: only objects with these build ids, null for all
_OWNERS = """
CREATE TEMP TABLE owners AS
SELECT object_id, min(recording) AS recording FROM mappings SEMI JOIN unnamed USING (object_id)
WHERE $builds IS NULL OR list_contains($builds, rtrim(build_id, '0')) GROUP BY object_id
"""
# in its owner's recording: the mappings of the object, and those of the kernel, which a module needs
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
    """An object, its places without names, and where it was mapped in one recording."""

    id: str
    places: PlaceKeys
    mappings: "pyarrow.Table"
    """Rows of the table of mappings: the object's own, and the recorded kernel's, which modules need."""
    facts: dict[str, str]
    """Id, architecture, kernel and host of that recording, by the names in _FACTS."""


class Unnamed(Frozen):
    """The objects of a dataset that have places without names."""

    objects: int
    """Number of objects."""
    places: int
    """Number of places without names in all of them."""
    kernels: int
    """Number of objects that are kernels."""
    code_objects: Iterator[CodeObject]
    """The objects, sorted by id, each read when it is needed."""


def unnamed_objects(connection: Any, builds: Collection[str] | None) -> Unnamed:
    """Find the objects of a dataset that have places without names; with ``builds``, only objects of these build ids.

    Places private to their recording are left out, because they cannot be named later. The connection is that of
    ``engine``.
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
    """Read each object that has an owner."""
    for (ident,) in connection.execute("SELECT object_id FROM owners ORDER BY ALL").fetchall():
        places, mappings = (
            arrow_table(connection.sql(f"FROM {table} WHERE {column} = $id ORDER BY {order}", params={"id": ident}))
            for table, column, order in (("unnamed", KEY[0], ", ".join(KEY)), ("mapped", "of_object", "mapping"))
        )
        yield CodeObject(ident, keys_of_rows(places), mappings, mappings.select(_FACTS).slice(0, 1).to_pylist()[0])
