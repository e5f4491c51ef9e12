"""One object as a profile of its places, which is what names are looked up for.

Files of names of one object, which grow as more of its places get names.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import begins_run, flatnonzero, repeat
from perf2x.base.columnar.interner import StringInterner
from perf2x.model.printable_text import as_recorded
from perf2x.model.profile.profile import Locations, Mappings, Profile
from perf2x.model.recording.build_ids import KERNEL
from perf2x.model.recording.events import Session
from perf2x.storage.dataset.content_ids import text_id
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import SUFFIX, arrow
from perf2x.storage.dataset.names.unnamed_places import CodeObject
from perf2x.storage.dataset.parquet_files import numbers, read_stored, texts
from perf2x.storage.dataset.table_log import DataFile
from perf2x.storage.dataset.write.profile_places import code_objects
from perf2x.storage.dataset.write.recording_to_store import empty_profile
from perf2x.storage.dataset.write.write_recording import write_file

if TYPE_CHECKING:
    import pyarrow


def object_profile(code: CodeObject) -> Profile:
    """Make a profile without samples, with a location for each place, in their order.

    Places are at the addresses where the object's first mapping has them; its other mappings may hold other parts.
    """
    strings, none = StringInterner(), np.zeros(0, np.int32)
    mappings = _mappings(code, strings)
    objects = code_objects(mappings, strings.table(), bytes.fromhex(code.mappings[0]["recording"]))
    own = objects.ids.index(bytes.fromhex(code.id))
    address = code.places.offset + objects.base[own]
    count = len(address)
    return replace(
        empty_profile(""),
        strings=strings.table(),
        mappings=mappings,
        locations=Locations(
            address=address,
            lookup=address - code.places.is_return.astype(np.uint64),
            mapping=np.full(count, own, np.int32),
            mode=code.places.mode,
            synthetic=np.zeros(count, np.bool_),
            line_offsets=np.zeros(count + 1, np.int64),
            line_function=none,
            line_number=none,
        ),
    )


def object_session(code: CodeObject) -> Session:
    """Make the facts of the recording that had the object, as far as names depend on them."""
    kernel = code.facts["kernel_build_id"]
    return Session(
        source="",
        byte_order="<",
        events=(),
        arch=as_recorded(code.facts["arch"]),
        hostname=as_recorded(code.facts["host"]),
        os_release=as_recorded(code.facts["kernel"]),
        build_ids={KERNEL: bytes.fromhex(kernel)} if kernel else {},
    )


def _mappings(code: CodeObject, strings: StringInterner) -> Mappings:
    rows = code.mappings
    start, limit, offset = (
        np.array([row[name] % 2**64 for row in rows], np.uint64) for name in ("start", "limit", "file_offset")
    )
    filename, build_id = (strings.add_all(as_recorded(row[name]) for row in rows) for name in ("file", "build_id"))
    no = np.zeros(len(rows), np.bool_)
    return Mappings(
        start=start, limit=limit, offset=offset, filename=filename, build_id=build_id,
        pid=np.array([row["pid"] for row in rows], np.int32),
        is_kernel=np.array([row["is_kernel"] for row in rows], np.bool_),
        has_functions=no, has_filenames=no, has_line_numbers=no, has_inline_frames=no,
    )  # fmt: skip


def write_symbols(storage: Storage, rows: "pyarrow.Table") -> tuple[list[DataFile], list[DataFile]]:
    """Write a file with the names that the dataset has of an object and with these, which are taken where both are.

    Returns the new file, and those that it replaces, for a commit. FormatError when one of those is damaged,
    OutputError when the new one cannot be written.
    """
    ident: str = rows["object_id"][0].as_py()
    prefix = f"object-{ident}-"
    old = [file for name, file in storage.log("symbols").files.items() if name.startswith(prefix)]
    known = [read_stored(storage, f"symbols/{file.name}", "symbols") for file in old]
    rows = distinct_symbols([rows, *known])
    digest = text_id(*(repr(rows[name].to_pylist()) for name in rows.column_names)).hex()
    new = write_file(storage, "symbols", f"{prefix}{digest}{SUFFIX}", [rows], {})
    return [new], [file for file in old if file.name != new.name]


def distinct_symbols(parts: Sequence["pyarrow.Table"]) -> "pyarrow.Table":
    """Put names of places together, sorted: of each place those of the first part that has any, else a reason."""
    tables = [
        part.append_column("part", arrow().array(np.full(len(part), number, np.int32)))
        for number, part in enumerate(parts)
    ]
    rows = arrow().concat_tables(tables).combine_chunks()
    rows = rows.sort_by([(name, "ascending") for name in (*_KEY, "reason", "part", "depth")])
    columns = [texts(rows, name)[0].astype(np.int64) for name in ("object_id", "mode")]
    columns += [numbers(rows, name).astype(np.int64) for name in ("file_offset", "is_return", "variant")]
    begins = flatnonzero(begins_run(*columns))
    part = numbers(rows, "part")
    kept = part == repeat(part[begins], np.diff(np.append(begins, len(part))))
    has_reason = np.array([*texts(rows, "reason")[1], ""], np.bool_)[texts(rows, "reason")[0]]
    kept &= has_reason == repeat(has_reason[begins], np.diff(np.append(begins, len(part))))
    return rows.filter(arrow().array(kept)).drop_columns(["part"])


_KEY = ("object_id", "file_offset", "mode", "is_return", "variant")
