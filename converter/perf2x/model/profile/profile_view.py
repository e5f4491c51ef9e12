"""A profile as emitters get it, with the additional data that their format requested (``Needs``)."""

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import asdict

from perf2x.base.abi import EventType, SoftwareConfig
from perf2x.base.columnar import I32, I64, U64, Frozen, ListArray
from perf2x.model.profile.code_counts import CodeCounts
from perf2x.model.profile.listings import Listings
from perf2x.model.profile.profile import Profile
from perf2x.model.recording import Event, Samples, Session, Sideband, Want


class RecordedBatch(Frozen):
    """A run of samples, in file order, that pass all filters."""

    samples: Samples
    thread: I32
    stack: I32
    """Leaf row in Stacks, −1 for an empty stack."""
    behind: int
    """The earliest time in later batches, or the earliest position if samples have no time; NEVER after the last batch.
    """


_PAGE_FAULTS = (SoftwareConfig.PAGE_FAULTS, SoftwareConfig.PAGE_FAULTS_MIN, SoftwareConfig.PAGE_FAULTS_MAJ)


def names_data(event: Event) -> bool:
    """Return whether perf names the data address of an event's samples (sample_addr_correlates_sym in util/event.c)."""
    return event.type == EventType.SOFTWARE and event.config in _PAGE_FAULTS


class NamedPlaces(Frozen):
    """Names of recorded addresses outside stacks."""

    profile: Profile
    symbol_start: U64
    """As in SampleReader, for this profile's locations."""
    locate: Callable[[Samples], I32]
    """Returns the location of each sample's data address, or of all sources and all targets of branches."""


class SampleReader(Frozen):
    """Reads the samples again, with all their columns."""

    read: Callable[[Want], Iterator[RecordedBatch]]
    worded: Callable[[Event, ListArray], tuple[list[str], I64]]
    """Returns distinct texts for the raw bytes of a tracepoint's samples, and (n,) the text of each."""
    places: Mapping[str, NamedPlaces]
    """By kind; see Needs.places."""
    session: Session
    sideband: Sideband
    symbol_start: U64
    """(locations,) recorded address of the first byte of each location's symbol, 0 if unknown."""


class View(Profile):
    """A profile and the additional data of a format."""

    code: CodeCounts | None = None
    """Counts of one object's code."""
    listings: Listings | None = None
    """Costs of lines and instructions."""
    single_samples: SampleReader | None = None
    """The samples one by one."""
    original: bytes = b""
    """The recording itself, unpacked."""


def view_of(profile: Profile, code: CodeCounts | None = None) -> View:
    """Return a view of only the profile, or with counts of code."""
    return View(**{**asdict(profile), "code": code})
