"""A recording on its way into a dataset: its profile before names were looked up, and facts about it.

A profile of nothing is for recordings that could not be read, and for places that only names are wanted of.
"""

from collections.abc import Mapping

from msgspec import field
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
    """One recording as a dataset has it."""

    recording: bytes
    """Its id (``content_ids.recording_id``)."""
    profile: Profile
    """As stitched, summed or a timeline: only frames that stand for no code have names."""
    tags: Mapping[str, str] = field(default_factory=dict)
    samples: int = 0
    """Number of samples in the recording, before any filter."""
    lost: int = 0
    """Records and samples that the kernel had no room for."""
    deferred_missing: int = 0
    """Samples whose deferred user stack is not in the recording."""
    kernel_build_id: str = ""
    facts: str = "{}"
    """JSON that only perf2x reads again."""
    names: PlaceNames | None = None
    """Names of the recording's own places, which it alone can tell."""
    looked_up: Bools | None = None
    """(mappings,) names were looked up already, found or not; None: of none."""
    session: bytes | None = None
    """Digest that the finished recording and all earlier states of it share; None without samples."""
    unfinished: bool = False
    """Its end is missing: perf record was killed or still ran, or the file was cut or is damaged from some byte on."""
    missing_bytes: int | None = None
    """Bytes that an unfinished recording should have and has not; None where nobody knows."""
    error: str = ""
    """The reason why the recording could not be read; its profile is empty."""


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


def failed_recording(recording: bytes, source: str, error: str, tags: Mapping[str, str]) -> StoredRecording:
    """Make a recording without samples that says why it has none."""
    return StoredRecording(recording, empty_profile(source), tags, error=error)
