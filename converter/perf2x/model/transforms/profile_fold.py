"""Folds profiles into one as they come: memory follows what is distinct in them, not their number."""

from msgspec.structs import replace

from perf2x.model.profile import Profile
from perf2x.model.transforms.merge_profiles import merge_profiles

LEAST = 1 << 15
"""Rows that wait, at least, before they are merged: fewer would cost more calls than work."""


class ProfileFold:
    """The profiles so far as one, and those that wait to be merged with it.

    They are merged when they are as large as the one together, so that the work is that of one merge of all, twice at
    most. Merging is associative, so the rounds do not show.
    """

    def __init__(self) -> None:
        self._waiting: list[Profile] = []
        self._size = self._merged_size = 0

    def add(self, profile: Profile) -> None:
        """Take the next profile."""
        self._waiting.append(replace(profile, switches=None, running=None, losses=None, parents=None))
        self._size += _size(profile)
        if len(self._waiting) == 1:
            self._merged_size = self._size
        elif self._size >= max(LEAST, 2 * self._merged_size):
            self._merge()

    def finish(self) -> Profile:
        """Return all profiles as one, that of ``merge_profiles`` for all of them."""
        if len(self._waiting) > 1:
            self._merge()
        return self._waiting[0]

    def _merge(self) -> None:
        self._waiting = [merge_profiles(self._waiting)]
        self._size = self._merged_size = _size(self._waiting[0])


def _size(profile: Profile) -> int:
    return len(profile.samples) + len(profile.stacks) + len(profile.locations)
