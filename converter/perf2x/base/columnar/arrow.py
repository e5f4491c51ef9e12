"""Hands columns to pyarrow, polars, pandas and others through the Arrow PyCapsule interface.

pyarrow, or polars if pyarrow is not installed, builds the C structures of that interface. Python code could not do so
safely: its release callback may run while an exception propagates, and then replaces that exception by a SystemError,
or makes Arrow abort the process.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar.dictionary_column import DictionaryColumn

_MAX_CHARACTERS = 2**29
"""Maximum number of characters in all distinct strings of a column that is of Arrow's type ``string``.

Its offsets have 32 bits, and a character takes up to four bytes. Columns with more are of type ``large_string``.
"""

Numbers = (
    npt.NDArray[np.int32]
    | npt.NDArray[np.int64]
    | npt.NDArray[np.uint64]
    | npt.NDArray[np.float64]
    | npt.NDArray[np.bool_]
)


# A column of strings, which must be encodable as UTF-8.
Strings = DictionaryColumn[str]


class ArrowTable:
    """A table for any reader of the Arrow PyCapsule interface: ``pyarrow.table(t)``, ``polars.DataFrame(t)``.

    Strings are dictionary-encoded (categories in polars and pandas), numbers keep their types, nothing is null. Reading
    raises ImportError if neither pyarrow nor polars is installed.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, Numbers | Strings]) -> None:
        self._columns = dict(columns)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return min(map(len, self._columns.values()), default=0)

    def __repr__(self) -> str:
        return f"ArrowTable({len(self)} rows: {', '.join(self._columns)})"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a PyCapsule named ``arrow_array_stream``."""
        to_table = _to_pyarrow if is_installed("pyarrow") else _to_polars
        return to_table(self._columns).__arrow_c_stream__(requested_schema)


def is_installed(module: str) -> bool:
    """Return whether a module can be imported."""
    return find_spec(module) is not None


def _to_pyarrow(columns: Mapping[str, Numbers | Strings]) -> Any:
    pyarrow = import_module("pyarrow")

    def to_column(values: Numbers | Strings) -> Any:
        if not isinstance(values, DictionaryColumn):
            return pyarrow.array(values)
        characters = sum(map(len, values.distinct))
        string_type = pyarrow.large_string() if characters > _MAX_CHARACTERS else pyarrow.string()
        distinct = pyarrow.array(list(values.distinct), string_type)
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(values.indices), distinct)

    return pyarrow.table({name: to_column(values) for name, values in columns.items()})


def _to_polars(columns: Mapping[str, Numbers | Strings]) -> Any:
    if not is_installed("polars"):
        raise ImportError("Arrow tables need pyarrow or polars; neither is installed: pip install 'perf2x[arrow]'")
    polars = import_module("polars")

    def to_column(values: Numbers | Strings) -> Any:
        if not isinstance(values, DictionaryColumn):
            return polars.Series(values)
        distinct = polars.Series(list(values.distinct), dtype=polars.String)
        return distinct.gather(values.indices.astype(np.int64)).cast(polars.Categorical)

    return polars.DataFrame({name: to_column(values) for name, values in columns.items()})
