"""A profile as emitters get it, with what their format asked for besides (``Needs``)."""

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import asdict

from perf2x.base.abi import EventType, SoftwareConfig
from perf2x.base.columnar import I32, I64, U64, Frozen, ListArray
from perf2x.model.profile.code_counts import CodeCounts
from perf2x.model.profile.listings import Listings
from perf2x.model.profile.profile import Profile
from perf2x.model.recording import Event, Samples, Session, Sideband, Want


class RecordedBatch(Frozen):
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


class NamedPlaces(Frozen):
    """Names of addresses that samples tell besides their stacks."""

    profile: Profile
    symbol_start: U64
    """As in SampleReader, of this profile's locations."""
    locate: Callable[[Samples], I32]
    """Returns the location of each sample's data address, or of all branches' sources and of their targets."""


class SampleReader(Frozen):
    """Reads the samples once more: all that is known of them."""

    read: Callable[[Want], Iterator[RecordedBatch]]
    worded: Callable[[Event, ListArray], tuple[list[str], I64]]
    """Distinct texts of the raw bytes of a tracepoint's samples, and (n,) the text of each."""
    places: Mapping[str, NamedPlaces]
    """By their kind; see Needs.places."""
    session: Session
    sideband: Sideband
    symbol_start: U64
    """(locations,) recorded address of the first byte of each location's symbol, 0 where unknown."""


class View(Profile, frozen=True):
    """A profile, and what was asked for besides."""

    code: CodeCounts | None = None
    """Counts of one object's code."""
    listings: Listings | None = None
    """Costs of lines and instructions."""
    single_samples: SampleReader | None = None
    """The samples one by one."""
    original: bytes = b""
    """The recording itself, unpacked."""


def view_of(profile: Profile, code: CodeCounts | None = None) -> View:
    """The profile, and nothing else, or counts of code."""
    return View(**{**asdict(profile), "code": code})
