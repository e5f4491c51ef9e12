"""Builds the side-band tables from decoded columns, block by block."""

from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, field

from perf2x.base.columnar.arrays import I64, Bools
from perf2x.base.columnar.interner import RaggedInterner
from perf2x.base.columnar.ragged import Ragged, SharedRows, concatenate, join_columns
from perf2x.model.recording.sideband import (
    Cgroups,
    Comms,
    DeferredChains,
    Ksymbols,
    Losts,
    Mmaps,
    Namespaces,
    Sideband,
    Switches,
    Tasks,
    Throttles,
)

Table = TypeVar("Table")

_RAGGED = frozenset({"links"})
_SHARED = "chain"
"""Ragged column whose equal rows are stored once: a long system call repeats one user stack a thousand times."""
_ORDER: dict[type, tuple[str, ...]] = {DeferredChains: ("position", "time", "tid", "cookie")}
"""Sort columns by table, most significant last (numpy.lexsort); tables that are not listed are in file order."""
_TEXT = frozenset({"filename", "comm", "name", "path", "build_id"})
_DTYPES: dict[str, Any] = {
    "time": np.uint64, "position": np.int64, "start": np.uint64, "length": np.uint64, "pgoff": np.uint64,
    "cookie": np.uint64, "lost": np.uint64, "id": np.uint64, "file": np.uint64, "cpumode": np.uint8,
}  # fmt: skip
_BOOLS = frozenset({"is_exec", "is_data", "samples_only", "unregister", "is_out", "preempted", "lifted"})
TABLES: dict[str, type] = {
    "mmaps": Mmaps, "comms": Comms, "forks": Tasks, "exits": Tasks, "deferred": DeferredChains, "losts": Losts,
    "ksymbols": Ksymbols, "switches": Switches, "throttles": Throttles, "cgroups": Cgroups, "namespaces": Namespaces,
}  # fmt: skip


class TableBuilder(Struct):
    """One table in the making: the decoded parts of each column, in order."""

    row_type: type[Struct]
    parts: dict[str, list[Any]] = field(default_factory=dict)
    chains: RaggedInterner = field(default_factory=RaggedInterner)

    def append(self, columns: dict[str, Any], keep: Bools) -> None:
        """Add the rows of ``columns`` where ``keep`` (n,) holds; columns that the table lacks are dropped."""
        whole = bool(keep.all())
        for column in self.row_type.__struct_fields__:
            value = columns[column] if whole else take_rows(columns[column], np.flatnonzero(keep))
            if column == _SHARED:
                value = self.chains.number_rows(value).astype(np.int32)
            self.parts.setdefault(column, []).append(value)

    def finish(self) -> Any:
        """Return the table, sorted; empties the builder."""
        columns = {
            column: _join_parts(column, self.parts.pop(column, [])) for column in self.row_type.__struct_fields__
        }
        if _SHARED in columns:
            columns[_SHARED] = SharedRows(columns[_SHARED], self.chains.table())
        order = np.lexsort([columns[name] for name in _ORDER.get(self.row_type, ("position",))])
        if np.all(order[1:] > order[:-1]):
            return self.row_type(**columns)
        return self.row_type(**{name: take_rows(columns.pop(name), order) for name in list(columns)})


def take_rows(value: Any, rows: I64) -> Any:
    """Return the rows of a column, in the order given."""
    if isinstance(value, Ragged | SharedRows):
        return value.take(rows)
    if isinstance(value, list):
        return [value[row] for row in rows.tolist()]
    return value[rows]


def _join_parts(name: str, parts: list[Any]) -> Any:
    if name in _RAGGED:
        return concatenate(parts)
    if name in _TEXT:
        return join_columns([[], *parts])
    dtype = np.bool_ if name in _BOOLS else _DTYPES.get(name, np.int32)
    return np.concatenate([np.zeros(0, dtype), *(part.astype(dtype, copy=False) for part in parts)])


def build_sideband(builders: dict[str, TableBuilder], counts: dict[str, int], end: int) -> Sideband:
    """Finish all tables, empty ones too."""
    tables = {name: builders.get(name, TableBuilder(kind)).finish() for name, kind in TABLES.items()}
    return Sideband(**tables, record_counts=counts, stream_end=end)
