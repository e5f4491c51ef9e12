"""Columns that identify places in objects, as arrays and as rows of tables."""

from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.abi import MODE_NAMES, CpuMode
from perf2x.base.columnar import I64, U8, U64, AnyArray, Bools, Frozen, as_int64, as_uint64
from perf2x.sources.dataset.arrow_columns import numbers, text_column, texts

if TYPE_CHECKING:
    import pyarrow


class PlaceKeys(Frozen):
    """Keys that identify the places of one object."""

    offset: U64
    """(n,) in the object."""
    mode: U8
    """(n,) uapi.CpuMode"""
    is_return: Bools
    """(n,) whether the place is a return address."""
    variant: AnyArray
    """(n,) as in CodeObjects."""

    def columns(self) -> dict[str, Any]:
        """The columns of tables."""
        return {
            "file_offset": self.offset, "mode": text_column(MODE_NAMES, self.mode),
            "is_return": self.is_return, "variant": self.variant,
        }  # fmt: skip

    def flags(self) -> I64:
        """Return (n,) everything but the offset as one number."""
        found: I64 = as_int64(self.variant) << 8 | as_int64(self.mode) << 1 | self.is_return
        return found


def keys_of_rows(rows: "pyarrow.Table") -> PlaceKeys:
    """Return the keys of a table's rows; an invalid mode is UNKNOWN."""
    code, known = texts(rows, "mode")
    modes = {text: mode for mode, text in enumerate(MODE_NAMES)}
    return PlaceKeys(
        as_uint64(numbers(rows, "file_offset")),
        np.array([modes.get(text, CpuMode.UNKNOWN) for text in known], np.uint8)[code],
        numbers(rows, "is_return").astype(np.bool_),
        numbers(rows, "variant"),
    )
