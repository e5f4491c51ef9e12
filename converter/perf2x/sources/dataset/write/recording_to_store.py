"""A recording to be stored in a dataset: its profile without names, and data about it.

An empty profile stands for recordings that could not be read, and for places that only need names.
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
    """Its id (``content_ids.recording_id``)."""
    profile: Profile
    """As stitched, summed or a timeline: only synthetic frames have names."""
    tags: Mapping[str, str]
    samples: int = 0
    """Number of samples in the recording, before any filter."""
    lost: int = 0
    """Records and samples that the kernel dropped."""
    deferred_missing: int = 0
    """Samples whose deferred user stack is not in the recording."""
    kernel_build_id: str = ""
    facts: str = "{}"
    """JSON that only perf2x reads."""
    names: PlaceNames | None = None
    """Names of places that are private to the recording."""
    looked_up: Bools | None = None
    """(mappings,) whether names were looked up already, found or not; None: none were."""
    session: bytes | None = None
    """Digest that the finished recording and all earlier states of it share; None without samples."""
    unfinished: bool = False
    """The end is missing: perf record was killed or still running, or the file was truncated or is damaged."""
    missing_bytes: int | None = None
    """Number of bytes that an unfinished recording lacks; None if unknown."""
    error: str = ""
    """Why the recording could not be read; its profile is then empty."""


def empty_profile(source: str) -> Profile:
    """Make a profile without events, samples and code."""
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
