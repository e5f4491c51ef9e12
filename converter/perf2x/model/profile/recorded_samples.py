"""Samples one by one as they were recorded, for formats that write all that the recording says of each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.abi.uapi import EventType, SoftwareConfig
from perf2x.base.columnar.arrays import I32, I64, U64
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.files.row_spool import RowSpool
from perf2x.model.recording.events import Event, Samples, Session, Want
from perf2x.model.recording.sideband import Sideband

if TYPE_CHECKING:
    from perf2x.model.profile.profile import Profile

NEVER = 2**64 - 1
"""A time that no sample has."""


class RecordedBatch(Struct, frozen=True):
    """Samples that pass all filters, one behind the other in the file."""

    samples: Samples
    thread: I32
    stack: I32
    """Leaf row in Stacks, −1 for an empty stack."""
    behind: int
    """The earliest time in later batches, or position where samples have no time; NEVER behind the last."""


_PAGE_FAULTS = (SoftwareConfig.PAGE_FAULTS, SoftwareConfig.PAGE_FAULTS_MIN, SoftwareConfig.PAGE_FAULTS_MAJ)


def names_data(event: Event) -> bool:
    """Tell whether perf names the data address of an event's samples (sample_addr_correlates_sym in util/event.c)."""
    return event.type == EventType.SOFTWARE and event.config in _PAGE_FAULTS


class NamedPlaces(Struct, frozen=True):
    """Names of addresses that samples tell besides their stacks."""

    profile: "Profile"
    symbol_start: U64
    """As in SampleReader, of this profile's locations."""
    locate: Callable[[Samples], I32]
    """Returns the location of each sample's data address, or of all branches' sources and of their targets."""


class SampleReader(Struct, frozen=True):
    """Reads the samples once more: all that is known of them."""

    read: Callable[[Want], Iterator[RecordedBatch]]
    worded: Callable[[Event, Ragged], tuple[list[str], I64]]
    """Distinct texts of the raw bytes of a tracepoint's samples, and (n,) the text of each."""
    places: Mapping[str, NamedPlaces]
    """By their kind; see Needs.places."""
    session: Session
    sideband: Sideband
    symbol_start: U64
    """(locations,) recorded address of the first byte of each location's symbol, 0 where unknown."""


DROPPED = -2
"""The stack of samples that a change of stacks left out."""


class RecordedPart(Struct, frozen=True):
    """Rows one behind the other in one spool, and the numbers that theirs stand for by now."""

    spool: int
    """Number of the spool in RecordedRows."""
    start: int
    stop: int
    thread: I32 | None = None
    stack: I32 | None = None
    """None: the numbers are as they were written."""

    def renumber(self, thread: I32 | None, stack: I32) -> "RecordedPart":
        """Replace number i by ``thread[i]`` and ``stack[i]``."""
        threads = self.thread if thread is None else _renumbered(self.thread, thread)
        return replace(self, thread=threads, stack=_renumbered(self.stack, stack))


class RecordedRows(Struct, frozen=True):
    """Thread and stack of each sample in the order of the file, outside of memory where they are many."""

    parts: list[RecordedPart]
    batch_end: I64
    """(batches,) one past the last row of each batch that was stitched."""
    batch_first: U64
    """(batches,) the earliest time in each, the first position where samples have none."""
    batch_position: I64
    """(batches,) position of the first sample of each."""
    batch_check: I64
    """(batches,) ``check_of`` the positions of its samples."""
    spools: Sequence[RowSpool] = ()
    reader: SampleReader | None = None
    """None while the profile is being made."""

    def renumber(self, thread: I32 | None, stack: I32) -> "RecordedRows":
        """Replace number i by ``thread[i]`` and ``stack[i]``; −1 stays."""
        return replace(self, parts=[part.renumber(thread, stack) for part in self.parts])

    def rows(self, start: int, stop: int) -> tuple[I32, I32]:
        """(n,) thread, −1: the sample was dropped; and stack of some rows."""
        found, end = [np.zeros((2, 0), np.int32)], 0
        for part in self.parts:
            begin, end = end, end + part.stop - part.start
            first, last = max(start, begin), min(stop, end)
            if first < last:
                rows = self.spools[part.spool].read(first - begin + part.start, last - begin + part.start)
                for row, number in zip(rows, (part.thread, part.stack), strict=True):
                    row[:] = row if number is None else np.append(number, np.int32(-1))[row]
                found.append(rows)
        thread, stack = np.concatenate(found, axis=1)
        return np.where(stack == DROPPED, np.int32(-1), thread), stack


def check_of(position: I64) -> int:
    """Checksum of positions: what is read again must be the same samples."""
    return crc32(position.tobytes())


def _renumbered(number: I32 | None, new: I32) -> I32:
    return new if number is None else np.append(new, np.array([DROPPED, -1], np.int32))[number]
