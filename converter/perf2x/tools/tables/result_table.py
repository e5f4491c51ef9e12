"""The common base of the tables that the Python API returns: their columns for pandas, Arrow and notebooks."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.columnar.arrow import ArrowTable, is_installed
from perf2x.model.printable_text import escaped, short
from perf2x.model.totals.totals import Totals
from perf2x.tools.tables.sample_table import strings_of

if TYPE_CHECKING:
    from pandas import DataFrame

COSTS = ("self", "total")
_STRING_COLUMNS = ("name", "object")
# Types of columns by name, or by the last part of the name; ratios are float64, other columns int64.
_DTYPES = {**dict.fromkeys(_STRING_COLUMNS, np.object_), "low": np.float64, "high": np.float64, "significant": np.bool_}
_ROWS_IN_HTML = 20
_ROWS_IN_REPR, _NAME_LENGTH_IN_REPR = 3, 40


class ResultTable(ABC):
    """The rows of a result, as a table. ``repr`` shows the first three rows, notebooks the first twenty."""

    whole: Totals
    """The event, its total, to which shares refer, and all rows, unsorted; ``rows`` may be fewer."""
    rows: Sequence[Any]
    """Rows derived from Line (``model/totals/totals.py``)."""
    by: str
    """Function, object, thread or data-object."""
    sort: str
    """The column that rows are sorted by: ``self`` or ``total``."""
    other_columns: Sequence[Any] = ()
    """Other events and ratios, as EventColumn or ColumnChange."""
    no_rows_note = ""
    """The sentence to show if there are no rows."""

    @property
    @abstractmethod
    def totals_note(self) -> str:
        """The sentence after the event's name: the total, and what limits or scales it."""

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Sequence[object]]:
        """Names of the columns and their values: strings as recorded, numbers in the event's unit."""

    @property
    @abstractmethod
    def display_cells(self) -> Mapping[str, Sequence[str]]:
        """Headings and cells to display, with names in the last columns; control characters are not escaped."""

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The name and object of each row."""
        return [row.key for row in self.rows]

    @property
    def name_columns(self) -> dict[str, Sequence[object]]:
        """The columns ``name`` and ``object``, which come first in ``columns``."""
        return {"name": [row.name for row in self.rows], "object": [row.object for row in self.rows]}

    @property
    def name_cells(self) -> dict[str, list[str]]:
        """Headings and cells of objects and names, which come last in ``display_cells``."""
        return {"object": [row.object for row in self.rows], self.by: [row.name for row in self.rows]}

    @property
    def other_columns_by_name(self) -> dict[str, Sequence[object]]:
        """Self and total costs of other events and ratios, by name of the column."""
        columns: dict[str, Sequence[object]] = {}
        for other in self.other_columns:
            for cost in COSTS:
                columns |= other.columns(self.keys, cost)
        return columns

    @property
    def other_column_cells(self) -> dict[str, list[str]]:
        """Headings and cells of other events and ratios: the costs by which rows are sorted."""
        return {f"{self.sort} {other.name}": other.texts(self.keys, self.sort) for other in self.other_columns}

    @property
    def heading(self) -> str:
        """The event and its total."""
        return f"{self.whole.event}: {self.totals_note}"

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        rows = islice(zip(*self.display_cells.values(), strict=True), _ROWS_IN_REPR)
        listed = [" ".join(short(cell, _NAME_LENGTH_IN_REPR) for cell in row if cell) for row in rows]
        more = ", …" if len(self) > _ROWS_IN_REPR else ""
        lines = (escaped(self.heading), (", ".join(listed) or "no rows") + more, f"columns: {', '.join(self.columns)}")
        return f"{type(self).__name__}: " + "\n  ".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        rows = islice(zip(*self.display_cells.values(), strict=True), _ROWS_IN_HTML)
        cells = [["<th>" + escape(escaped(head)) for head in self.display_cells]]
        cells += [["<td>" + escape(escaped(cell)) for cell in row] for row in rows]
        left_out = len(self) - _ROWS_IN_HTML
        more = f"<p>… and {left_out:,} more rows" if left_out > 0 else ""
        return (
            f"<p>{escape(escaped(self.heading))}<table>{''.join('<tr>' + ''.join(row) for row in cells)}</table>{more}"
        )

    def to_arrow(self) -> ArrowTable:
        """Make a table for Arrow: ``pyarrow.table(table.to_arrow())``, ``polars.DataFrame(table.to_arrow())``.

        Strings are dictionary-encoded; undecodable bytes of names are shown as ``\\xNN``. Requires pyarrow or polars.
        """
        return ArrowTable(
            {name: strings_of(values) if name in _STRING_COLUMNS else values for name, values in self._arrays()}
        )

    def to_pandas(self) -> "DataFrame":
        """Make a pandas.DataFrame. Raises ImportError without pandas."""
        if not is_installed("pandas"):
            raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas")
        frame: DataFrame = import_module("pandas").DataFrame(dict(self._arrays()))
        return frame

    def _arrays(self) -> Iterator[tuple[str, Any]]:
        for name, values in self.columns.items():
            suffix = name.rpartition("_")[2]
            is_ratio = any(value is None or isinstance(value, float) for value in values)
            yield name, np.array(values, _DTYPES.get(name) or _DTYPES.get(suffix, np.float64 if is_ratio else np.int64))
