"""Samples one by one as they were recorded, for formats that write all that the recording says of each."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.base.abi.uapi import EventType, RecordType, SoftwareConfig
from perf2x.base.columnar.arrays import I32, I64, U64, AnyArray, ColumnTable
from perf2x.base.columnar.ragged import Ragged
from perf2x.model.recording.events import Event, Samples, Session, Want
from perf2x.model.recording.sideband import Sideband

if TYPE_CHECKING:
    from perf2x.model.profile.profile import Profile

NEVER = 2**64 - 1
"""A time that no sample has."""


class OtherRecords(ColumnTable, frozen=True):
    """Records that are no samples, as text; in order of time, then of the file. Texts are arrays of objects."""

    time: U64
    position: I64
    event: I32
    """The event that a record belongs to, the first one where it does not say."""
    pid: I32
    tid: I32
    cpu: I32
    mode: I32
    comm: AnyArray
    """Name of the thread that the record is about, as it is behind the record."""
    misc: AnyArray
    """Letters for what ``header.misc`` tells besides the mode: M, E, S, Sp."""
    text: AnyArray
    """Name and contents."""


class RecordedBatch(Struct, frozen=True):
    """Samples that pass all filters, one behind the other in the file."""

    samples: Samples
    thread: I32
    stack: I32
    """Leaf row in Stacks, −1 for an empty stack."""
    behind: int
    """The earliest time in later batches, or position where samples have no time; NEVER behind the last."""


PAGE_FAULTS = (SoftwareConfig.PAGE_FAULTS, SoftwareConfig.PAGE_FAULTS_MIN, SoftwareConfig.PAGE_FAULTS_MAJ)


def names_data(event: Event) -> bool:
    """Tell whether perf names the data address of an event's samples (sample_addr_correlates_sym in util/event.c)."""
    return event.type == EventType.SOFTWARE and event.config in PAGE_FAULTS


class NamedPlaces(Struct, frozen=True):
    """Names of addresses that samples tell besides their stacks."""

    profile: "Profile"
    symbol_start: U64
    """As in SampleReader, of this profile's locations."""
    locate: Callable[[Samples], I32]
    """Returns the location of each sample's data address, or of all branches' sources, of their targets, of samples."""


class SampleReader(Struct, frozen=True):
    """Reads the samples once more: all that is known of them."""

    read: Callable[[Want], Iterator[RecordedBatch]]
    worded: Callable[[Event, Ragged], tuple[list[str], I64]]
    """Distinct texts of the raw bytes of a tracepoint's samples, and (n,) the text of each."""
    instructions: Callable[[Event, Samples, bool], Iterator[bytes]]
    """Text of the code between each sample's branches, with lengths or without; ``places`` have them."""
    others: Callable[[Collection[RecordType]], OtherRecords]
    """Reads the records of some types."""
    places: Mapping[str, NamedPlaces]
    """By their kind; see Needs.places."""
    session: Session
    sideband: Sideband
    symbol_start: U64
    """(locations,) recorded address of the first byte of each location's symbol, 0 where unknown."""


class RecordedRows(ColumnTable, frozen=True):
    """Thread and stack of each sample in the order of the file: eight bytes of each are in memory."""

    thread: I32
    """−1: the sample was dropped."""
    stack: I32
    batch_end: I64
    """(batches,) one past the last row of each batch that was read."""
    batch_first: U64
    """(batches,) the earliest time in each, the first position where samples have none."""
    reader: SampleReader | None = None
    """None while the profile is being made."""
