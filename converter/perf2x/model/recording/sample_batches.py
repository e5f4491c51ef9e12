"""Selects rows of batches of samples, and joins batches."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace

from perf2x.base.columnar import I64, Bools, ListArray, argsort, flatnonzero
from perf2x.base.columnar.list_array import join_columns
from perf2x.model.recording.events import Samples

# Values where a batch lacks a column; 0 or an empty list for all other columns.
_FILL = {"cpu": -1}


def select_rows(samples: Samples, keep: Bools) -> Samples:
    """Select the rows where ``keep`` (n,) is True."""
    return samples if keep.all() else take_rows(samples, flatnonzero(keep))


def take_rows(samples: Samples, rows: I64) -> Samples:
    """Select rows by number, in the given order; numbers may repeat."""
    columns = asdict(samples)
    extra = columns.pop("extra")
    return replace(samples, extra=_take_each(extra, rows), **_take_each(columns, rows))


def _take_each(columns: Mapping[str, Any], rows: I64) -> dict[str, Any]:
    return {name: column[rows] for name, column in columns.items() if column is not None}


def join_batches(parts: Sequence[Samples]) -> Samples:
    """Join batches into one, in file order.

    In a column that a batch lacks, its samples get 0 or an empty list; in ``cpu``, −1.
    """
    if len(parts) == 1:
        return parts[0]
    counts = [len(part) for part in parts]
    columns: dict[str, Any] = {
        field: _join_column(field, [getattr(part, field) for part in parts], counts)
        for field in Samples.__struct_fields__
    }
    joined = Samples(**columns)
    return take_rows(joined, argsort(joined.position))


def _join_column(name: str, parts: Sequence[Any], counts: Sequence[int]) -> Any:
    """Concatenate one column of several batches; None if all lack it.

    A column is an array, a table such as Branches, or a mapping of further columns (``Samples.extra``).
    """
    present = [part for part in parts if part is not None]
    if not present:
        return None
    example = present[0]
    if isinstance(example, dict):
        names = dict.fromkeys(key for part in parts for key in part)
        return {key: _join_column(key, [part.get(key) for part in parts], counts) for key in names}
    filled = [
        _filler(name, example, count) if part is None else part for part, count in zip(parts, counts, strict=True)
    ]
    if isinstance(example, np.ndarray) and example.ndim == 2:
        # batches may differ in values per sample: pad with zeros
        width = max(part.shape[1] for part in filled)
        filled = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in filled]
    return join_columns(filled)


def _filler(name: str, example: Any, count: int) -> Any:
    if isinstance(example, np.ndarray):
        return np.full((count, *example.shape[1:]), _FILL.get(name, 0), example.dtype)
    if isinstance(example, ListArray):
        return ListArray.of_empty_rows(count, example.values.dtype)
    return example.empty(count)
