"""What a dataset stores of a recording: its profile, the names that cannot be looked up later, and further facts.

A recording that could not be read has an empty profile.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from perf2x.base.columnar import Bools, Frozen, no_rows, zeros
from perf2x.model.profile import (
    Functions,
    Locations,
    Mappings,
    Meta,
    PlaceNames,
    Profile,
    ProfileSamples,
    Stacks,
    Threads,
)


class StoredRecording(Frozen):
    """One recording as a dataset stores it."""

    recording: bytes
    """Id of the recording (``content_ids.recording_id``)."""
    profile: Profile
    """The profile as stitched, in which only synthetic frames have names: summed, or a timeline with all times."""
    tags: Mapping[str, str]
    samples: int = 0
    """Number of samples in the recording, before any filter."""
    lost: int = 0
    """Records and samples that the kernel dropped."""
    deferred_missing: int = 0
    """Samples whose deferred user stack is not in the recording."""
    kernel_build_id: str = ""
    facts: str = "{}"
    """JSON of further facts, which only perf2x reads (``StoredFacts``)."""
    names: PlaceNames | None = None
    """Names of places that are private to the recording, which cannot be looked up later."""
    looked_up: Bools | None = None
    """(mappings,) whether names in the mapping were looked up, found or not; None if there was no lookup."""
    session: bytes | None = None
    """The recording's fingerprint, which all its earlier states share; None without samples."""
    unfinished: bool = False
    """Whether the end is missing: perf record was killed or still running, or the file was cut off or is damaged."""
    missing_bytes: int | None = None
    """Number of bytes that an unfinished recording lacks; None if unknown."""
    error: str = ""
    """Why the recording could not be read; "" if it could."""


def empty_profile(source: str) -> Profile:
    """Make a profile that has no events, no samples and no code."""
    return Profile(
        strings=("",),
        events=(),
        threads=no_rows(Threads),
        mappings=no_rows(Mappings),
        functions=no_rows(Functions),
        locations=replace(no_rows(Locations), line_offsets=zeros(1)),
        stacks=no_rows(Stacks),
        samples=no_rows(ProfileSamples),
        meta=Meta(source=source),
    )
