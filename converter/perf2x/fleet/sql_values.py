"""Values of Arrow as those that every output has: ids in hexadecimal, times as texts, whole decimals as numbers."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.storage.dataset.dataset_schema import arrow

if TYPE_CHECKING:
    import pyarrow


def plain_column(column: "pyarrow.Array") -> list[object]:
    """Return the values of a column; None for null, and for numbers that are none."""
    pa = arrow()
    if pa.types.is_timestamp(column.type):
        return list(_times(column))
    if pa.types.is_map(column.type):
        return [
            None if row is None else {str(plain(key)): plain(value) for key, value in row} for row in column.to_pylist()
        ]
    return [plain(value) for value in column.to_pylist()]


def plain(value: Any) -> object:
    """Return one value as text, number, truth, list or mapping."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return str(value)


def _times(column: "pyarrow.Array") -> Iterator[str | None]:
    """Times of a day as ISO 8601, in UTC those that have a zone: no table of zones is needed."""
    zone = "Z" if column.type.tz else ""
    ticks = column.cast(arrow().int64()).to_pylist()
    for tick in ticks:
        yield None if tick is None else f"{np.datetime64(tick, column.type.unit)}{zone}"
