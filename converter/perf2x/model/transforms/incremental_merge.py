"""Merges profiles one by one: memory grows with distinct content, not with the number of profiles."""

from msgspec.structs import replace

from perf2x.model.profile import Profile
from perf2x.model.transforms.merge_profiles import merge_profiles

# Profiles wait until they have this many rows together: fewer are not worth a merge.
LEAST_ROWS = 1 << 15


class IncrementalMerge:
    """The merged profile so far, and profiles waiting to be merged into it.

    Waiting profiles are merged once they are together as large as the merged profile, which limits the total work to
    about twice the work of a single merge. Merging is associative, so the result does not depend on when it happens.
    """

    def __init__(self) -> None:
        self._waiting: list[Profile] = []  # the first one is the merged profile
        self._size = self._merged_size = 0  # numbers of rows: of all profiles in _waiting, and of the first one

    def add(self, profile: Profile) -> None:
        """Add the next profile."""
        self._waiting.append(replace(profile, switches=None, running=None, losses=None, parents=None))
        self._size += _size(profile)
        if len(self._waiting) == 1:
            self._merged_size = self._size
        elif self._size >= max(LEAST_ROWS, 2 * self._merged_size):
            self._merge()

    def finish(self) -> Profile:
        """Return the profile that ``merge_profiles`` would return for all added profiles."""
        if len(self._waiting) > 1:
            self._merge()
        return self._waiting[0]

    def _merge(self) -> None:
        self._waiting = [merge_profiles(self._waiting)]
        self._size = self._merged_size = _size(self._waiting[0])


def _size(profile: Profile) -> int:
    """Return the number of rows in the tables that grow most with a recording."""
    return len(profile.samples) + len(profile.stacks) + len(profile.locations)
