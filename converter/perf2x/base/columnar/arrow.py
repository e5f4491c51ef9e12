"""Hands columns to pyarrow, polars, pandas and others through the Arrow PyCapsule interface.

pyarrow builds the C structures of that interface, or polars if pyarrow is not installed. Python code cannot build them
safely: consumers release the structures whenever Python frees an object, even while an exception is propagating, and a
release callback written in Python would then replace that exception by a SystemError or make Arrow abort the process.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar.arrays import I32, I64
from perf2x.base.frozen_struct import Frozen

_MANY_CHARACTERS = 2**29
"""Characters of a column, in all distinct texts together, above which its offsets need 64 bits: a character takes up to
four bytes.
"""

Numbers = (
    npt.NDArray[np.int32]
    | npt.NDArray[np.int64]
    | npt.NDArray[np.uint64]
    | npt.NDArray[np.float64]
    | npt.NDArray[np.bool_]
)


class Coded(Frozen):
    """A column of texts: row i is ``texts[codes[i]]``; the texts are distinct and can be encoded as UTF-8."""

    codes: I32 | I64
    texts: Sequence[str]


class ArrowTable:
    """A table for any reader of the Arrow PyCapsule interface: ``pyarrow.table(t)``, ``polars.DataFrame(t)``.

    Texts are dictionary-encoded (categories in polars and pandas), numbers keep their types, nothing is null. The table
    can be read any number of times. Reading raises ImportError if neither pyarrow (``pip install 'perf2x[arrow]'``) nor
    polars is installed.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, Numbers | Coded]) -> None:
        self._columns = dict(columns)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(self._columns)

    def __len__(self) -> int:
        lengths = [len(each.codes if isinstance(each, Coded) else each) for each in self._columns.values()]
        return min(lengths, default=0)

    def __repr__(self) -> str:
        return f"ArrowTable({len(self)} rows: {', '.join(self._columns)})"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a PyCapsule named ``arrow_array_stream``."""
        make = _in_pyarrow if is_there("pyarrow") else _in_polars
        return make(self._columns).__arrow_c_stream__(requested_schema)


def is_there(module: str) -> bool:
    """Return whether a package is installed."""
    return find_spec(module) is not None


def _in_pyarrow(columns: Mapping[str, Numbers | Coded]) -> Any:
    """Make a pyarrow.Table; numbers are not copied."""
    pyarrow = import_module("pyarrow")

    def column(values: Numbers | Coded) -> Any:
        if not isinstance(values, Coded):
            return pyarrow.array(values)
        kind = pyarrow.large_string() if sum(map(len, values.texts)) > _MANY_CHARACTERS else pyarrow.string()
        texts = pyarrow.array(list(values.texts), kind)
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(values.codes.astype(np.int32)), texts)

    return pyarrow.table({name: column(values) for name, values in columns.items()})


def _in_polars(columns: Mapping[str, Numbers | Coded]) -> Any:
    """Make a polars.DataFrame."""
    if not is_there("polars"):
        raise ImportError("Arrow tables need pyarrow or polars; neither is installed: pip install 'perf2x[arrow]'")
    polars = import_module("polars")

    def column(values: Numbers | Coded) -> Any:
        if not isinstance(values, Coded):
            return polars.Series(values)
        texts = polars.Series(list(values.texts), dtype=polars.String)
        return texts.gather(values.codes.astype(np.int64)).cast(polars.Categorical)

    return polars.DataFrame({name: column(values) for name, values in columns.items()})
