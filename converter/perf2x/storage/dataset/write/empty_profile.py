"""A profile of nothing: for recordings that could not be read, and for places that only names are wanted of."""

from collections.abc import Mapping

import numpy as np

from perf2x.model.profile.profile import Functions, Locations, Mappings, Meta, Profile, ProfileSamples, Stacks, Threads
from perf2x.storage.dataset.write.recording_to_store import StoredRecording


def empty_profile(source: str) -> Profile:
    """Make a profile without events, samples and code."""
    none, numbers, addresses = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint64)
    flags = none > 0
    return Profile(
        strings=("",),
        events=(),
        threads=Threads(none, none, none, none),
        mappings=Mappings(addresses, addresses, addresses, none, none, none, flags, flags, flags, flags, flags),
        functions=Functions(none, none, none, none),
        locations=Locations(
            addresses, addresses, none, none.astype(np.uint8), flags, np.zeros(1, np.int64), none, none
        ),
        stacks=Stacks(none, none),
        samples=ProfileSamples(none, none, none, numbers, numbers),
        meta=Meta(source=source),
    )


def failed_recording(recording: bytes, source: str, error: str, tags: Mapping[str, str]) -> StoredRecording:
    """Make a recording without samples that says why it has none."""
    return StoredRecording(recording, empty_profile(source), tags, error=error)
