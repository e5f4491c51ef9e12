"""Reads files of a dataset, and refuses those that are damaged, of another program or of a later version."""

import contextlib
import errno
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.errors import DamagedFileError, FormatError, NotReadError
from perf2x.base.files.unpack_limit import memory_limit, too_large, unpacked_limit
from perf2x.model.printable_text import as_recorded
from perf2x.storage.dataset.check_pages import check_pages
from perf2x.storage.dataset.dataset_schema import SCHEMA, TABLE_KEY, VERSION_KEY, arrow, schema_of

if TYPE_CHECKING:
    import pyarrow

    from perf2x.storage.dataset.dataset_folder import Storage


def read_table(path: Path | str, table: str, recording: str | None = None, *, file: Any = None) -> "pyarrow.Table":
    """Read one file of a table, or those groups of its rows that may be of a recording, a group at a time.

    ``file`` is the open file, one of Arrow's, where ``path`` is but a name for messages. FormatError when it is no such
    file, or takes more memory than a file of its size may.
    """
    schema = schema_of(table)
    pieces: dict[str, list[Any]] = {name: [] for name in schema.names}
    with _opened(path, table, file) as (opened, source):
        for rows in _groups(path, opened, source, schema.names, groups_with(opened.metadata, recording)):
            _check_nulls(path, rows, schema)
            for name in schema.names:
                pieces[name] += rows[name].chunks
        columns = [_plain(pieces.pop(field.name), field.type) for field in schema]  # each in place of its pieces
    return arrow().table(columns, schema=schema)


def read_groups(storage: "Storage", name: str, table: str) -> "Iterator[pyarrow.Table]":
    """Yield the rows of a file of a table a group at a time, with the checks of ``read_table``."""
    schema = schema_of(table)
    with storage.open(name) as file, _opened(storage.path(name), table, file) as (opened, source):
        everything = range(opened.metadata.num_row_groups)
        for rows in _groups(storage.path(name), opened, source, schema.names, everything):
            _check_nulls(storage.path(name), rows, schema)
            yield arrow().table([_plain(rows[field.name].chunks, field.type) for field in schema], schema=schema)


def read_checked(path: Path | str, names: Iterable[str]) -> "pyarrow.Table":
    """Read columns of any Parquet file, those that it has, with the bounds of ``read_table``."""
    try:
        with _opened(path, None) as (opened, source):
            wanted = [name for name in names if name in opened.schema_arrow.names]
            parts = list(_groups(path, opened, source, wanted, range(opened.metadata.num_row_groups)))
            return arrow().concat_tables(parts or [opened.schema_arrow.empty_table().select(wanted)])
    except DamagedFileError as error:  # of no dataset that fleet check reads
        raise FormatError(*error.args) from None


def _groups(
    path: Path | str, opened: Any, source: Any, names: Sequence[str], groups: Sequence[int]
) -> "Iterator[pyarrow.Table]":
    """Yield groups of rows, whose texts are numbers of distinct ones."""
    limit = memory_limit(source.size())
    taken = check_pages(path, opened.metadata, source, limit, groups)
    for group in groups:
        rows = opened.read_row_group(group, columns=list(names), use_threads=False)
        taken += sum(_text_bytes(_flat(rows, name)) for name in names)
        if taken > limit:
            raise FormatError(*too_large(f"{path}: ", source.size(), limit))
        yield rows


def read_stored(storage: "Storage", name: str, table: str, recording: str | None = None) -> "pyarrow.Table":
    """Read one file of a table, or those groups of its rows that may be of a recording."""
    with storage.open(name) as file:
        return read_table(storage.path(name), table, recording, file=file)


def _plain(pieces: list[Any], kind: Any) -> Any:
    """A column without numbers for texts."""
    return arrow().chunked_array([piece.cast(kind) for piece in pieces], kind).combine_chunks()


def check_file(path: Path | str, table: str) -> None:
    """FormatError when a file is not one of a table, by what it says of itself."""
    with _opened(path, table):
        pass


def check_for_engine(path: Path) -> None:
    """FormatError when pages of a file are damaged or unpack to more than a file of its size may.

    Whoever reads it afterwards may do so a piece at a time.
    """
    from pyarrow import parquet

    with _read(path, None) as source:
        check_pages(path, parquet.read_metadata(source), source, unpacked_limit(source.size()))


@contextlib.contextmanager
def _opened(path: Path | str, table: str | None, file: Any = None) -> Iterator[tuple[Any, Any]]:
    """Give the file of a table, and its bytes. Texts are read as numbers of distinct ones: few bytes repeat many."""
    from pyarrow import parquet

    with _read(path, file) as source:
        metadata = parquet.read_metadata(source)
        columns = metadata.schema
        if table is not None:
            _check_schema(path, table, columns.to_arrow_schema())
        texts = [number for number in range(len(columns)) if columns.column(number).physical_type == "BYTE_ARRAY"]
        yield (
            parquet.ParquetFile(source, metadata=metadata, page_checksum_verification=True, read_dictionary=texts),
            source,
        )


@contextlib.contextmanager
def _read(path: Path | str, file: Any) -> Iterator[Any]:
    """Give the bytes of a file, and turn errors into sentences."""
    pa = arrow()
    try:
        with file or pa.OSFile(str(path)) as source:
            yield source
    except pa.ArrowMemoryError as error:
        raise MemoryError(str(error)) from None
    except FileNotFoundError:
        raise DamagedFileError(f"{path}: damaged: it is missing") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DamagedFileError(f"{path}: damaged, or not a Parquet file: {reason}") from None


def groups_with(metadata: Any, recording: str | None) -> list[int]:
    """Numbers of the groups of rows that may have a recording's, by their statistics; None: all."""
    everything = range(metadata.num_row_groups)
    if recording is None:
        return list(everything)
    names = metadata.schema.names
    column = names.index("recording") if "recording" in names else None
    return [number for number in everything if _may_hold(metadata.row_group(number), column, recording)]


def _may_hold(group: Any, column: int | None, recording: str) -> bool:
    known = None if column is None else group.column(column).statistics
    return known is None or not known.has_min_max or known.min <= recording <= known.max


def _check_schema(path: Path | str, table: str, found: "pyarrow.Schema") -> None:
    facts = found.metadata or {}
    version, name = facts.get(VERSION_KEY, b"").decode(errors="replace"), facts.get(TABLE_KEY, b"")
    if not version:
        raise NotReadError(
            f"{path}: not written as part of a dataset: it lacks {VERSION_KEY.decode()} (docs/parquet.md)"
        )
    if version != str(SCHEMA):
        raise NotReadError(f"{path}: has version {version} of the schema; this perf2x reads version {SCHEMA}")
    types = {field.name: field.type for field in found}
    wrong = [field.name for field in schema_of(table) if types.get(field.name) != field.type]
    if name != table.encode() or wrong:
        raise DamagedFileError(
            f"{path}: damaged: not the columns of the table {table}: {', '.join(wrong) or 'another table'}"
        )


def _check_nulls(path: Path | str, found: "pyarrow.Table", schema: "pyarrow.Schema") -> None:
    """A writer may say that any column is nullable; the values decide."""
    empty = [field.name for field in schema if not field.nullable and _has_null(_flat(found, field.name))]
    if empty:
        raise DamagedFileError(f"{path}: damaged: values are missing in {', '.join(empty)}")


def _has_null(column: Any) -> bool:
    """Whether a value of an array, or one inside a value, is null."""
    return bool(column.null_count) or any(map(_has_null, _inside(column)))


def _text_bytes(column: Any) -> int:
    """Bytes of the texts in an array, which has but the number of each; ArrowInvalid for one that is not UTF-8."""
    from pyarrow import compute

    if arrow().types.is_dictionary(column.type):
        column.dictionary.validate(full=True)
        return compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    return sum(map(_text_bytes, _inside(column)))


def _inside(column: Any) -> list[Any]:
    """Arrays of the values inside those of an array."""
    types = arrow().types
    if types.is_map(column.type):
        return [column.keys, column.items]
    if types.is_list(column.type):
        return [column.flatten()]
    return list(column.flatten()) if types.is_struct(column.type) else []


def numbers(table: "pyarrow.Table", name: str, missing: int = 0) -> AnyArray:
    """A column of numbers or truth values; ``missing`` stands for null."""
    column = _flat(table, name)
    if column.null_count:
        column = column.fill_null(missing)
    result: AnyArray = column.to_numpy(zero_copy_only=False)
    return result


def is_known(table: "pyarrow.Table", name: str) -> AnyArray:
    """(n,) whether a column has a value."""
    result: AnyArray = _flat(table, name).is_valid().to_numpy(zero_copy_only=False)
    return result


def texts(table: "pyarrow.Table", name: str) -> tuple[AnyArray, list[str]]:
    """(n,) code of each text, −1 for null, and the distinct texts, as they were recorded."""
    coded = _flat(table, name).dictionary_encode()
    indices = coded.indices.fill_null(-1) if coded.null_count else coded.indices  # for a scalar it imports pandas
    codes = indices.to_numpy(zero_copy_only=False)
    return codes, [as_recorded(text) for text in coded.dictionary.to_pylist()]


def _flat(table: "pyarrow.Table", name: str) -> Any:
    """A column as one array."""
    column = table[name]
    return (
        column.chunk(0)
        if column.num_chunks == 1
        else arrow().concat_arrays([*column.chunks, arrow().array([], column.type)])
    )
