"""Merges profiles one by one: memory grows with distinct content, not with the number of profiles."""

from msgspec.structs import replace

from perf2x.model.profile import Profile
from perf2x.model.transforms.merge_profiles import merge_profiles

LEAST = 1 << 15
"""The smallest number of waiting rows that is worth a merge."""


class ProfileFold:
    """The merged profile so far, and profiles waiting to be merged into it.

    Waiting profiles are merged once they are together as large as the merged profile, so that the work is at most twice
    that of a single merge.
    Merging is associative, so the result does not depend on the rounds.
    """

    def __init__(self) -> None:
        self._waiting: list[Profile] = []
        self._size = self._merged_size = 0

    def add(self, profile: Profile) -> None:
        """Add the next profile."""
        self._waiting.append(replace(profile, switches=None, running=None, losses=None, parents=None))
        self._size += _size(profile)
        if len(self._waiting) == 1:
            self._merged_size = self._size
        elif self._size >= max(LEAST, 2 * self._merged_size):
            self._merge()

    def finish(self) -> Profile:
        """Return the profile that ``merge_profiles`` would make of all."""
        if len(self._waiting) > 1:
            self._merge()
        return self._waiting[0]

    def _merge(self) -> None:
        self._waiting = [merge_profiles(self._waiting)]
        self._size = self._merged_size = _size(self._waiting[0])


def _size(profile: Profile) -> int:
    return len(profile.samples) + len(profile.stacks) + len(profile.locations)
