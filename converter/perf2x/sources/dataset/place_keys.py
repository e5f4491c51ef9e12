"""Converts columns that identify places in objects between numpy arrays and a dataset's tables."""

from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.abi import MODE_NAMES, CpuMode
from perf2x.base.columnar import I64, U8, U64, AnyArray, Bools, Frozen, as_int64, as_uint64
from perf2x.sources.dataset.arrow_columns import numbers, string_codes, string_column

if TYPE_CHECKING:
    import pyarrow


class PlaceKeys(Frozen):
    """Keys of n places in their objects."""

    offset: U64
    """(n,) bytes from the object's base (``CodeObjects.base``).

    The column is called file_offset, but for the kernel and code without a file these are not offsets in a file.
    """
    mode: U8
    """(n,) CpuMode."""
    is_return: Bools
    """(n,) whether the place is a return address, not an instruction's."""
    variant: AnyArray
    """(n,) as in ``CodeObjects.variant``."""

    def columns(self) -> dict[str, Any]:
        """Return the tables' columns for these keys, by name."""
        return {
            "file_offset": self.offset, "mode": string_column(MODE_NAMES, self.mode),
            "is_return": self.is_return, "variant": self.variant,
        }  # fmt: skip

    def packed(self) -> I64:
        """Return (n,) all columns except the offset as one number."""
        packed: I64 = as_int64(self.variant) << 8 | as_int64(self.mode) << 1 | self.is_return
        return packed


def keys_of_rows(rows: "pyarrow.Table") -> PlaceKeys:
    """Return the keys of a table's rows; a mode with an unknown name becomes CpuMode.UNKNOWN."""
    mode_codes, distinct = string_codes(rows, "mode")
    mode_by_name = {name: mode for mode, name in enumerate(MODE_NAMES)}
    return PlaceKeys(
        as_uint64(numbers(rows, "file_offset")),
        np.array([mode_by_name.get(name, CpuMode.UNKNOWN) for name in distinct], np.uint8)[mode_codes],
        numbers(rows, "is_return").astype(np.bool_),
        numbers(rows, "variant"),
    )
