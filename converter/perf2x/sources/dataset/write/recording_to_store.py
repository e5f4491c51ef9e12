"""Facts about a recording that a dataset stores; a recording that could not be read has an empty profile."""

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
    """Made by ``content_ids.recording_id``."""
    profile: Profile
    """As stitched: summed, or a timeline with all times; only synthetic frames have names."""
    tags: Mapping[str, str]
    samples: int = 0
    """Samples in the recording, before any filter."""
    lost: int = 0
    """Records and samples that the kernel dropped."""
    deferred_missing: int = 0
    """Samples whose deferred user stack is not in the recording."""
    kernel_build_id: str = ""
    facts: str = "{}"
    """JSON of ``StoredFacts``."""
    names: PlaceNames | None = None
    """Names of places that are private to the recording: they cannot be looked up later."""
    looked_up: Bools | None = None
    """(mappings,) whether names were looked up, found or not; None without a lookup."""
    session: bytes | None = None
    """Fingerprint of the recording and of its earlier states; None without samples."""
    unfinished: bool = False
    """Whether perf record was killed or still running, or the file was cut off or is damaged."""
    missing_bytes: int | None = None
    """None if unknown or finished."""
    error: str = ""
    """Reason why the recording could not be read."""


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
