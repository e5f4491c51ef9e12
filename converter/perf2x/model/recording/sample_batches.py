"""Selects and concatenates rows of sample batches, whichever optional columns they have."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace

from perf2x.base.columnar import I64, Bools, ListArray, argsort, flatnonzero
from perf2x.base.columnar.list_array import join_columns
from perf2x.model.recording.events import Samples

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
    """Concatenate batches in file order; a column that some of them lack is filled with 0 (cpu: −1)."""
    if len(parts) == 1:
        return parts[0]
    counts = [len(part) for part in parts]
    columns: dict[str, Any] = {
        field: _join_column(field, [getattr(part, field) for part in parts], counts)
        for field in Samples.__struct_fields__
    }
    joined = Samples(**columns)
    return take_rows(joined, argsort(joined.position))


def _join_column(name: str, values: Sequence[Any], counts: Sequence[int]) -> Any:
    present = [value for value in values if value is not None]
    if not present:
        return None
    like = present[0]
    if isinstance(like, dict):
        names = dict.fromkeys(key for value in values for key in value)
        return {key: _join_column(key, [value.get(key) for value in values], counts) for key in names}
    filled = [
        _absent_rows(name, like, count) if value is None else value for value, count in zip(values, counts, strict=True)
    ]
    if isinstance(like, np.ndarray) and like.ndim == 2:
        width = max(part.shape[1] for part in filled)
        filled = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in filled]
    return join_columns(filled)


def _absent_rows(name: str, like: Any, count: int) -> Any:
    """Return filler rows for samples without the column."""
    if isinstance(like, np.ndarray):
        return np.full((count, *like.shape[1:]), _FILL.get(name, 0), like.dtype)
    return ListArray.of_empty_rows(count, like.values.dtype) if isinstance(like, ListArray) else like.empty(count)
