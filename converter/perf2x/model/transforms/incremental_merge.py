"""Merges profiles one by one: memory grows with distinct content, not with the number of profiles."""

from msgspec.structs import replace

from perf2x.model.profile import Profile
from perf2x.model.transforms.merge_profiles import merge_profiles

# Fewer rows are not worth a merge.
LEAST_ROWS = 1 << 15


class IncrementalMerge:
    """The merged profile so far, and profiles waiting to be merged into it.

    Profiles wait until they are together as large as the merged profile, so that the total work is at most about twice
    that of a single merge.
    """

    def __init__(self) -> None:
        self._waiting: list[Profile] = []
        self._rows = self._merged_rows = 0  # row counts of all waiting profiles, and of the first one

    def add(self, profile: Profile) -> None:
        """Add the next profile."""
        self._waiting.append(replace(profile, switches=None, running=None, losses=None, parents=None))
        self._rows += _row_count(profile)
        if len(self._waiting) == 1:
            self._merged_rows = self._rows
        elif self._rows >= max(LEAST_ROWS, 2 * self._merged_rows):
            self._merge()

    def finish(self) -> Profile:
        """Merge all added profiles."""
        if len(self._waiting) > 1:
            self._merge()
        return self._waiting[0]

    def _merge(self) -> None:
        self._waiting = [merge_profiles(self._waiting)]
        self._rows = self._merged_rows = _row_count(self._waiting[0])


def _row_count(profile: Profile) -> int:
    return len(profile.samples) + len(profile.stacks) + len(profile.locations)
