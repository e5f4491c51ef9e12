"""Places of a dataset that nobody has named yet, by code object: each once, however many recordings have it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.abi.uapi import CpuMode
from perf2x.columnar.arrays import U8, U64, Bools
from perf2x.dataset.ids import as_rows
from perf2x.dataset.read_files import numbers, texts
from perf2x.dataset.tables import MODES

if TYPE_CHECKING:
    import pyarrow

_FACTS = ("arch", "kernel", "kernel_build_id", "host")
_TODO = """
CREATE TEMP TABLE todo AS
SELECT object_id, place_id, file_offset, mode, is_return FROM places ANTI JOIN lines USING (place_id)
WHERE recording IS NULL AND file <> ''
"""
_OWNERS = """
CREATE TEMP TABLE owners AS
SELECT object_id, min(recording) AS recording FROM mappings SEMI JOIN todo USING (object_id) GROUP BY object_id
"""
_MAPPINGS = """
CREATE TEMP TABLE held AS
SELECT owners.object_id AS of_object, mappings.*, arch, kernel, kernel_build_id, host
FROM mappings JOIN owners ON mappings.recording = owners.recording
JOIN recordings ON mappings.recording = recordings.recording
WHERE mappings.object_id = owners.object_id OR (is_kernel AND starts_with(mappings.file, '[kernel.kallsyms]'))
"""


class CodeObject(Struct, frozen=True):
    """A code object, its places without names, and where the first recording that has it held it."""

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


def unnamed_objects(connection: Any) -> tuple[int, Iterator[CodeObject]]:
    """Return the number of code objects with places without names, and the objects by id, read as they are asked for.

    Places that mean nothing outside their recording are not among them: nobody can name those later. The connection is
    that of ``engine``.
    """
    for statement in (_TODO, _OWNERS, _MAPPINGS):
        connection.execute(statement)
    ((count,),) = connection.execute("SELECT count(DISTINCT object_id) FROM owners").fetchall()
    return count, (_code_object(connection, ident) for ident in _owners(connection))


def _owners(connection: Any) -> list[bytes]:
    return [ident for (ident,) in connection.execute("SELECT object_id FROM owners ORDER BY object_id").fetchall()]


def _code_object(connection: Any, ident: bytes) -> CodeObject:
    places = _rows(connection, "FROM todo WHERE object_id = $id ORDER BY file_offset, place_id", ident)
    mappings = _rows(connection, "FROM held WHERE of_object = $id ORDER BY mapping", ident).to_pylist()
    code, known = texts(places, "mode")
    numbers_of = {text: int(mode) for mode, text in MODES.items()}
    return CodeObject(
        id=ident,
        place=as_rows(places["place_id"].to_pylist()),
        offset=numbers(places, "file_offset"),
        mode=np.array([numbers_of.get(text, CpuMode.UNKNOWN) for text in known], np.uint8)[code],
        is_return=numbers(places, "is_return").astype(np.bool_),
        mappings=tuple(mappings),
        facts={name: mappings[0][name] for name in _FACTS},
    )


def _rows(connection: Any, sql: str, ident: bytes) -> "pyarrow.Table":
    found = connection.sql(sql, params={"id": ident})
    table: Any = (getattr(found, "to_arrow_table", None) or found.fetch_arrow_table)()
    return table.combine_chunks()
