"""Samples one by one as they were recorded, for formats that write all that the recording says of each."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, U64, ColumnTable
from perf2x.base.columnar.ragged import Ragged
from perf2x.model.recording.events import Event, Samples, Session, Want
from perf2x.model.recording.sideband import Sideband


class SampleReader(Struct, frozen=True):
    """Reads the samples once more: all that is known of them besides their threads and stacks."""

    read: Callable[[Want], Iterator[Samples]]
    """Yields batches of all rows of RecordedRows, in their order."""
    worded: Callable[[Event, Ragged], tuple[list[str], I64]]
    """Distinct texts of the raw bytes of a tracepoint's samples, and (n,) the text of each."""
    session: Session
    sideband: Sideband
    symbol_start: U64
    """(locations,) recorded address of the first byte of each location's symbol, 0 where unknown."""


class RecordedRows(ColumnTable, frozen=True):
    """Thread and stack of each sample in the order of the file: eight bytes of each are in memory."""

    thread: I32
    stack: I32
    """Leaf row in Stacks, −1 for an empty stack."""
    batch_end: I64
    """(batches,) one past the last row of each batch that was read."""
    batch_first: U64
    """(batches,) the earliest time in each, 0 where samples have none."""
    reader: SampleReader | None = None
    """None while the profile is being made."""
