"""Batches of samples that were decoded by layout, put together again in file order."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from perf2x.model.arrays import I64, Bools
from perf2x.model.events import Samples
from perf2x.model.ragged import Ragged, concatenate

_FILL = {"cpu": -1}


def kept_rows(samples: Samples, keep: Bools) -> Samples:
    """Only the rows of ``keep``."""
    return samples if keep.all() else _take(samples, np.flatnonzero(keep))


def join_batches(parts: list[Samples]) -> Samples:
    """All rows in file order; a column that only some layouts have is filled with 0 (cpu: −1) for the others."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {}
    for column in fields(Samples):
        columns[column.name] = _joined(column.name, [getattr(part, column.name) for part in parts], parts)
    joined = Samples(**columns)
    return _take(joined, np.argsort(joined.position, kind="stable"))


def _joined(name: str, values: list[Any], parts: list[Samples]) -> Any:
    present = [value for value in values if value is not None]
    if not present:
        return None
    filled = [
        _filling(name, present[0], len(part)) if value is None else value
        for value, part in zip(values, parts, strict=True)
    ]
    if isinstance(present[0], Ragged):
        return concatenate(filled, present[0].values.dtype)
    if isinstance(present[0], np.ndarray):
        return np.concatenate(filled)
    return present[0]


def _filling(name: str, like: Any, count: int) -> Any:
    if isinstance(like, Ragged):
        return Ragged(np.zeros(count + 1, np.int64), np.zeros(0, like.values.dtype))
    return np.full(count, _FILL.get(name, 0), like.dtype) if isinstance(like, np.ndarray) else None


def _take(samples: Samples, rows: I64) -> Samples:
    changes: dict[str, Any] = {}
    for column in fields(Samples):
        value = getattr(samples, column.name)
        if isinstance(value, Ragged):
            changes[column.name] = value.take(rows)
        elif isinstance(value, np.ndarray):
            changes[column.name] = value[rows]
    return replace(samples, **changes)
