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
    """The earliest time in all later batches, or the earliest position if samples have no times.

    Samples before it can be written without waiting for the later batches. In the last batch, it is NEVER
    (recorded_samples.py).
    """


_PAGE_FAULTS = (SoftwareConfig.PAGE_FAULTS, SoftwareConfig.PAGE_FAULTS_MIN, SoftwareConfig.PAGE_FAULTS_MAJ)


def perf_names_data(event: Event) -> bool:
    """Return whether perf script prints symbols for the data addresses of an event's samples.

    As in sample_addr_correlates_sym (tools/perf/util/event.c), but without Intel BTS: its addresses are branch targets.
    """
    return event.type == EventType.SOFTWARE and event.config in _PAGE_FAULTS


class NamedPlaces(Frozen):
    """Names of recorded addresses outside stacks: of branches, or of data."""

    profile: Profile
    """A symbolized profile, separate from the main one, whose locations are these addresses."""
    symbol_start: U64
    """(locations of ``profile``,) as in SampleReader."""
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

    Takes the event and the raw bytes of ``n`` samples. Returns one string for each distinct value of raw bytes, and
    (n,) the index of each sample's string.
    """
    places: Mapping[str, NamedPlaces]
    """Names of addresses outside stacks, by kind: ``branches``, ``data``, or both (`SingleSampleSettings.places`)."""
    session: Session
    sideband: Sideband
    symbol_start: U64
    """(locations,) recorded address at which each location's symbol begins, 0 if unknown."""


class View(Profile):
    """A profile with the additional data that a format requested."""

    code: CodeCounts | None = None
    """Counts of one object's code."""
    listings: Listings | None = None
    """Costs of lines and instructions."""
    single_samples: SampleReader | None = None
    """Reads the samples one by one."""
    original: bytes = b""
    """The recording itself, uncompressed."""


def profile_as_view(profile: Profile, code: CodeCounts | None = None) -> View:
    """Make a view whose only additional data is ``code``."""
    return View(**{**asdict(profile), "code": code})
