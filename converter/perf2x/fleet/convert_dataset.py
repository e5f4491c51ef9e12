"""Datasets of versions 1 and 2 → the tables of today.

Those had nodes and places that all recordings shared, with hashes for ids; here each recording gets its own numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, AnyArray, arange, argsort, as_intp, begins_run, flatnonzero, searchsorted
from perf2x.base.columnar.unique import group_rows, unique
from perf2x.base.errors import FormatError, OptionError
from perf2x.model.profile.stack_tree import depths
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import DATE, LOG, SORTED_BY, SUFFIX, arrow, schema_of
from perf2x.storage.dataset.file_names import name_of_recording
from perf2x.storage.dataset.parquet_files import numbers, read_checked
from perf2x.storage.dataset.table_log import DataFile, commit
from perf2x.storage.dataset.write.write_recording import (
    commit_files,
    date_of,
    partition_of,
    write_file,
)

if TYPE_CHECKING:
    import pyarrow

_KEY = ("object_id", "file_offset", "mode", "is_return", "variant")
_ID = np.dtype("S16")


def convert_dataset(old: Path, storage: Storage) -> int:
    """Add all recordings of an old dataset to a new one; returns their number.

    FormatError when it is none or damaged, OptionError when the new one is there.
    """
    files = sorted((old / "recordings").rglob(f"*{SUFFIX}"))
    if not files or (old / "recordings" / LOG).exists():
        raise FormatError(f"{old}: not a dataset of an earlier version")
    if storage.log("recordings").version >= 0:
        raise OptionError(f"{storage.root}: there is a dataset already")
    keys = [part.partition("=")[0] for part in files[0].relative_to(old / "recordings").parts[:-1]]
    partition, source = partition_of(storage.log("recordings"), keys or [DATE], storage.root), _Old(old)
    known: set[bytes] = set()
    for file in files:
        rows = read_checked(file, _names("recordings"))
        waiting: list[tuple[str, DataFile]] = []
        for number, ident in enumerate(rows["recording"].to_pylist()):
            if ident not in known:
                known.add(ident)
                waiting += _recording(storage, source, file, rows.slice(number, 1), partition)
        commit_files(storage.root, partition, waiting)
    new = list(_symbols(storage, source))
    commit(storage.root, "symbols", (), new)
    return len(known)


def _first_of_each(ids: AnyArray) -> tuple[AnyArray, I64]:
    """Distinct ids, rising, and the first row of each."""
    order = argsort(ids)
    first = order[flatnonzero(begins_run(ids[order]))]
    return ids[first], first


class _Old(Struct, dict=True):
    """What the recordings of an old dataset share, by the row of each in order of its id."""

    folder: Path

    @cached_property
    def nodes(self) -> "tuple[AnyArray, I64, I64]":
        """Ids, and the rows of callers (−1: none) and of places."""
        rows = self.all_of("nodes", ("node_id", "parent_id", "place_id"))
        ids, first = _first_of_each(_ids(rows, "node_id"))
        rows = rows.take(first)
        return ids, self.found(ids, rows, "parent_id"), self.found(self.places[0], rows, "place_id")

    @cached_property
    def places(self) -> "tuple[AnyArray, pyarrow.Table, I64]":
        """Ids, rows, and the number of what a place shares with its twin, the same address in another role."""
        names = (
            "place_id",
            "object_id",
            "build_id",
            "file",
            "file_offset",
            "mode",
            "is_return",
            "variant",
            "recording",
        )
        rows = self.all_of("places", names).sort_by([("file", "ascending")])
        ids, first = _first_of_each(_ids(rows, "place_id"))
        rows = rows.take(first)
        object_ids = _ids(rows, "object_id")
        objects = searchsorted(unique(object_ids), object_ids)
        mode = rows["mode"].combine_chunks().dictionary_encode()
        codes = (mode.indices if hasattr(mode, "indices") else mode).to_numpy().astype(np.int64)
        offset = numbers(rows, "file_offset").astype(np.uint64).view(np.int64)
        same = group_rows([objects, offset, codes, numbers(rows, "variant").astype(np.int64)])[1]
        return ids, rows, same

    @cached_property
    def lines(self) -> "tuple[pyarrow.Table, I64]":
        """Names, and the row of the place of each: of several files, those of the first that says most."""
        parts = [part for part in self.files_of("lines", ("place_id", *_names("lines")[2:])) if len(part)]
        best = np.zeros(len(self.places[0]), np.int64)
        namer = np.full(len(best), -1, np.int64)
        at = [self.found(self.places[0], part, "place_id", missing=True) for part in parts]
        for number, (part, place) in enumerate(zip(parts, at, strict=True)):
            said = np.bincount(as_intp(place[place >= 0]), 1 + (numbers(part, "line") > 0)[place >= 0], len(best))
            namer[said > best] = number
            best = np.maximum(best, said.astype(np.int64))
        kept = [flatnonzero((one >= 0) & (namer[one] == number)) for number, one in enumerate(at)]
        rows = [part.take(some) for part, some in zip(parts, kept, strict=True)]
        places = [one[some] for one, some in zip(at, kept, strict=True)]
        empty = schema_of("lines").empty_table().select(list(_names("lines")[2:]))
        tables = [part.drop_columns(["place_id"]).cast(empty.schema) for part in rows]
        return arrow().concat_tables([empty, *tables]), np.concatenate([np.zeros(0, np.int64), *places])

    def all_of(self, table: str, names: Sequence[str]) -> "pyarrow.Table":
        parts = [part.cast(_plain(part.schema)) for part in self.files_of(table, names)]
        if not parts:
            raise FormatError(f"{self.folder}: damaged: it has no {table}")
        return arrow().concat_tables(parts).combine_chunks()

    def files_of(self, table: str, names: Sequence[str]) -> "Iterator[pyarrow.Table]":
        for file in sorted((self.folder / table).rglob(f"*{SUFFIX}")):
            found = read_checked(file, names)
            yield found.cast(_plain(found.schema))

    def found(self, ids: AnyArray, rows: "pyarrow.Table", name: str, *, missing: bool = False) -> I64:
        """(n,) the row of each id of a column; −1 for null, and for one that is ``missing``. FormatError else."""
        wanted, is_known = _ids(rows, name), rows[name].is_valid().to_numpy()
        row = np.minimum(searchsorted(ids, wanted), max(len(ids) - 1, 0))
        is_found = (ids[row] == wanted) & is_known if len(ids) else is_known & False
        if not missing and (is_known & ~is_found).any():
            raise FormatError(f"{self.folder}: damaged: a stack or a place is missing")
        return np.where(is_found, row, -1)


def _plain(schema: "pyarrow.Schema") -> "pyarrow.Schema":
    """The same columns without numbers for texts."""
    types = arrow().types
    return arrow().schema(
        [field.with_type(arrow().string()) if types.is_dictionary(field.type) else field for field in schema]
    )


def _names(table: str) -> tuple[str, ...]:
    return tuple(schema_of(table).names)


def _ids(rows: "pyarrow.Table", name: str) -> AnyArray:
    return np.array([one or b"" for one in rows[name].to_pylist()], _ID)


def _recording(
    storage: Storage, source: _Old, file: Path, row: "pyarrow.Table", partition: Sequence[str]
) -> list[tuple[str, DataFile]]:
    """Write the files of a recording, which no commit names yet."""
    fact = row.to_pylist()[0]
    ident, home = fact["recording"], file.relative_to(source.folder / "recordings")
    tags, date = dict(fact["tags"]), date_of(fact["start_ns"])
    parts = {key: tags.get(key) or (date if key == DATE else "") or None for key in partition}
    tables = {"recordings": _as_row(fact)}
    if fact["error"] is None:
        tables |= _rows(source, ident, home)
    session = fact.get("session")
    name = name_of_recording(parts, ident, session if fact.get("unfinished") else None)
    return [(table, write_file(storage, table, name, [rows], parts)) for table, rows in tables.items()]


def _as_row(fact: Mapping[str, Any]) -> "pyarrow.Table":
    schema = schema_of("recordings")
    later = {"session": None, "unfinished": False, "missing_bytes": None}
    session = fact.get("session")
    values = {**later, **fact, "recording": fact["recording"].hex(), "session": session.hex() if session else None}
    return arrow().table([arrow().array([values[field.name]], field.type) for field in schema], schema=schema)


def _rows(source: _Old, ident: bytes, home: Path) -> "dict[str, pyarrow.Table]":
    samples, mappings = (
        _of_one(source.folder / table / home, ident, names)
        for table, names in (
            ("samples", (*(name for name in _names("samples") if name != "stack"), "stack_id")),
            ("mappings", _names("mappings")),
        )
    )
    ids, parent, place = source.nodes
    leaf = source.found(ids, samples, "stack_id")
    used = _with_callers(parent, leaf)
    used = used[argsort(depths(_renumbered(parent[used], used)))]
    places, lines, local = _places_of(source, ident, place[used])
    row = np.full(len(parent) + 1, -1, np.int64)  # the last one serves -1
    row[used] = arange(len(used))
    caller, number = row[parent[used]], row[leaf]
    nodes = {
        "node": arange(len(used)), "parent": arrow().array(caller, mask=caller < 0),
        "place": searchsorted(local, place[used]),
    }  # fmt: skip
    stack = arrow().array(number, mask=leaf < 0)
    return {
        "nodes": _table("nodes", ident, nodes),
        "places": places,
        **({"lines": lines} if len(lines) else {}),
        "mappings": _table("mappings", ident, _columns(mappings)),
        "samples": _table("samples", ident, _columns(samples) | {"stack": stack}),
    }


def _with_callers(parent: I64, leaves: I64) -> I64:
    used = np.zeros(len(parent) + 1, np.bool_)  # the last one serves -1
    rows = unique(leaves[leaves >= 0])
    while len(rows):
        used[rows] = True
        above = unique(parent[rows])
        rows = above[(above >= 0) & ~used[above]]
    return flatnonzero(used[:-1])


def _renumbered(parent: I64, used: I64) -> I64:
    return np.where(parent < 0, -1, searchsorted(used, parent))


def _places_of(source: _Old, ident: bytes, used: I64) -> "tuple[pyarrow.Table, pyarrow.Table, I64]":
    """Places that nodes are at, and their twins; names of those that only this recording has; and their old rows."""
    _, rows, same = source.places
    wanted = np.zeros(int(same.max(initial=-1)) + 1, np.bool_)
    wanted[same[used]] = True
    local = flatnonzero(wanted[same])
    taken = rows.take(local)
    columns = _columns(taken) | {"place": arange(len(local)), "is_local": taken["recording"].is_valid()}
    named, of_place = source.lines
    own = flatnonzero(rows["recording"].is_valid().to_numpy()[of_place] & np.isin(of_place, local))
    lines = _columns(named.take(own)) | {"place": searchsorted(local, of_place[own])}
    return _table("places", ident, columns), _table("lines", ident, lines), local


def _of_one(path: Path, ident: bytes, names: Sequence[str]) -> "pyarrow.Table":
    found = read_checked(path, names)
    found = found.cast(_plain(found.schema))
    return found.filter(arrow().array([one == ident for one in found["recording"].to_pylist()], arrow().bool_()))


def _columns(rows: "pyarrow.Table") -> dict[str, Any]:
    """Columns with ids in hexadecimal, and numbers with a sign."""
    pa, found = arrow(), {}
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        if pa.types.is_fixed_size_binary(column.type):
            column = pa.array([one.hex() if one else None for one in column.to_pylist()], pa.string())
        elif pa.types.is_uint64(column.type):
            column = pa.array(column.to_numpy().view(np.int64))
        found[name] = column
    return found


def _table(table: str, ident: bytes, columns: Mapping[str, Any]) -> "pyarrow.Table":
    pa, schema = arrow(), schema_of(table)
    count = len(columns[schema.names[1]])
    every = {**columns, "recording": pa.array([ident.hex()] * count, pa.string())}
    rows = pa.table([every[name] for name in schema.names], names=schema.names).cast(schema)
    return rows if table == "samples" else rows.sort_by([(name, "ascending") for name in SORTED_BY[table]])


def _symbols(storage: Storage, source: _Old) -> Iterator[DataFile]:
    """Write a file with the names of each object that several recordings may have."""
    named, of_place = source.lines
    _, rows, _ = source.places
    shared = flatnonzero(~rows["recording"].is_valid().to_numpy()[of_place])
    if not len(shared):
        return
    keys = _columns(rows.take(of_place[shared]).select(list(_KEY)))
    columns = keys | _columns(named.take(shared)) | {"reason": arrow().array([""] * len(shared))}
    schema = schema_of("symbols")
    table = arrow().table([columns[name] for name in schema.names], names=schema.names).cast(schema)
    table = table.sort_by([(name, "ascending") for name in SORTED_BY["symbols"]])
    for ident in table["object_id"].unique().to_pylist():
        part = table.filter(arrow().compute.equal(table["object_id"], ident))
        yield write_file(storage, "symbols", f"object-{ident}-converted{SUFFIX}", [part], {})
