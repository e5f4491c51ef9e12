"""Tables of equally long columns: any `msgspec.Struct` whose fields are all arrays over the same rows."""

from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64, Bools

Table = TypeVar("Table", bound=Struct)


def take_rows_of(table: Table, rows: I64 | Bools | slice) -> Table:
    """Return the table with only ``rows`` of every column, in their order; a slice copies nothing, None stays None."""
    columns = {name: getattr(table, name) for name in table.__struct_fields__}
    return replace(table, **{name: column[rows] for name, column in columns.items() if column is not None})
