"""Builds the side-band tables from decoded columns, block by block."""

from inspect import get_annotations
from typing import Any, get_args

import numpy as np
from msgspec import Struct, field

from perf2x.base.columnar.arrays import I64, Bools, ColumnTable
from perf2x.base.columnar.interner import RaggedInterner
from perf2x.base.columnar.ragged import Ragged, SharedRows, concatenate, join_columns
from perf2x.model.recording.sideband import DeferredChains, Sideband

_ORDER: dict[type, tuple[str, ...]] = {DeferredChains: ("position", "time", "tid", "cookie")}
"""Sort columns by table, most significant last (numpy.lexsort); tables that are not listed are in file order."""
TABLES: dict[str, type[ColumnTable]] = {
    name: kind
    for name, kind in get_annotations(Sideband).items()
    if isinstance(kind, type) and issubclass(kind, ColumnTable)
}


class TableBuilder(Struct):
    """One table in the making: the decoded parts of each column, in order."""

    row_type: type[ColumnTable]
    parts: dict[str, list[Any]] = field(default_factory=dict)
    chains: RaggedInterner = field(default_factory=RaggedInterner)

    def append(self, columns: dict[str, Any], keep: Bools) -> None:
        """Add the rows of ``columns`` where ``keep`` (n,) holds; columns that the table lacks are dropped."""
        whole = bool(keep.all())
        for column, kind in get_annotations(self.row_type).items():
            value = columns[column] if whole else take_rows(columns[column], np.flatnonzero(keep))
            if kind is SharedRows:  # equal rows once: a long system call repeats one user stack a thousand times
                value = self.chains.number_rows(value).astype(np.int32)
            self.parts.setdefault(column, []).append(value)

    def finish(self) -> Any:
        """Return the table, sorted; empties the builder."""
        columns = {
            column: self._joined(kind, self.parts.pop(column, []))
            for column, kind in get_annotations(self.row_type).items()
        }
        order = np.lexsort([columns[name] for name in _ORDER.get(self.row_type, ("position",))])
        if np.all(order[1:] > order[:-1]):
            return self.row_type(**columns)
        return self.row_type(**{name: take_rows(columns.pop(name), order) for name in list(columns)})

    def _joined(self, kind: Any, parts: list[Any]) -> Any:
        """The parts of a column of this type as one."""
        if kind is Ragged:
            return concatenate(parts)
        if kind == list[str] or kind == list[bytes]:
            return join_columns([[], *parts])
        dtype = np.int32 if kind is SharedRows else get_args(get_args(kind)[1])[0]
        whole = np.concatenate([np.zeros(0, dtype), *(part.astype(dtype, copy=False) for part in parts)])
        return SharedRows(whole, self.chains.table()) if kind is SharedRows else whole


def take_rows(value: Any, rows: I64) -> Any:
    """Return the rows of a column, in the order given."""
    if isinstance(value, Ragged | SharedRows):
        return value.take(rows)
    if isinstance(value, list):
        return [value[row] for row in rows.tolist()]
    return value[rows]


def build_sideband(builders: dict[str, TableBuilder], counts: dict[str, int], end: int) -> Sideband:
    """Finish all tables, empty ones too."""
    tables = {name: builders.get(name, TableBuilder(kind)).finish() for name, kind in TABLES.items()}
    return Sideband(**tables, record_counts=counts, stream_end=end)
