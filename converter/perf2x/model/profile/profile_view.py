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
    """Some of the samples that pass all filters, in file order."""

    samples: Samples
    thread: I32
    """(samples,) row in Profile.threads."""
    stack: I32
    """(samples,) leaf row in Stacks, −1 for an empty stack."""
    earliest_in_later_batches: int
    """The earliest time in all later batches, or the earliest position if samples have no time.

    Samples before it can be written in time order. In the last batch, it is NEVER (recorded_samples.py).
    """


_PAGE_FAULTS = (SoftwareConfig.PAGE_FAULTS, SoftwareConfig.PAGE_FAULTS_MIN, SoftwareConfig.PAGE_FAULTS_MAJ)


def perf_names_data(event: Event) -> bool:
    """Return whether perf names the data address of an event's samples (sample_addr_correlates_sym in util/event.c).

    There, perf also names the addresses of Intel BTS, which are branch targets rather than data.
    """
    return event.type == EventType.SOFTWARE and event.config in _PAGE_FAULTS


class NamedPlaces(Frozen):
    """Names of recorded addresses that are not in stacks: those of branches, or of data."""

    profile: Profile
    """A symbolized profile, separate from the main one, whose locations are these addresses."""
    symbol_start: U64
    """(locations,) as in SampleReader, for the locations of ``profile``."""
    locate: Callable[[Samples], I32]
    """Returns the row, in ``profile.locations``, of each address in a batch.

    Data: one address for each sample. Branches: the sources of all branches, then the targets of all.
    """


class SampleReader(Frozen):
    """Reads the samples of a recording a second time, with all their columns."""

    read: Callable[[Want], Iterator[RecordedBatch]]
    """Yields the samples batch by batch, with the given optional columns."""
    raw_texts: Callable[[Event, ListArray], tuple[list[str], I64]]
    """Formats a tracepoint's raw data (PERF_SAMPLE_RAW) with its print format.

    Takes the event and the bytes of ``n`` samples; returns texts, one for each distinct data, and
    (n,) the index of each sample's text.
    """
    places: Mapping[str, NamedPlaces]
    """Named addresses outside stacks: ``branches``, ``data``, or both, as requested (`SingleSampleSettings`)."""
    session: Session
    sideband: Sideband
    symbol_start: U64
    """(locations,) recorded address of the first byte of each location's symbol, 0 if unknown."""


class View(Profile):
    """A profile with the additional data that a format requested; data that was not requested is missing."""

    code: CodeCounts | None = None
    """Counts of one object's code."""
    listings: Listings | None = None
    """Costs of lines and instructions."""
    single_samples: SampleReader | None = None
    """Reads the samples one by one."""
    original: bytes = b""
    """The recording itself, uncompressed."""


def profile_as_view(profile: Profile, code: CodeCounts | None = None) -> View:
    """Return a view without additional data except, if given, counts of code."""
    return View(**{**asdict(profile), "code": code})
