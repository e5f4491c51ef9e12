"""A finished profile, from the stitcher to symbolizer and emitters; its tables are importable from here, too."""

from perf2x.model.profile.check_profile import check_profile
from perf2x.model.profile.profile_tables import (
    Functions,
    Locations,
    Losses,
    Mappings,
    Meta,
    ProfileEvent,
    ProfileSamples,
    ProfileTables,
    RunningThreads,
    Stacks,
    Threads,
    ThreadSwitches,
)

__all__ = [
    "Functions",
    "Locations",
    "Losses",
    "Mappings",
    "Meta",
    "Profile",
    "ProfileEvent",
    "ProfileSamples",
    "RunningThreads",
    "Stacks",
    "ThreadSwitches",
    "Threads",
]


class Profile(ProfileTables, frozen=True):
    """A finished profile: its tables, and the laws that hold between them."""

    def check(self) -> None:
        """Check every invariant; ValueError names the first that does not hold."""
        check_profile(self)

    def __repr__(self) -> str:
        sizes = (
            f"{name} {len(getattr(self, name)):,}" for name in ("events", "samples", "threads", "stacks", "functions")
        )
        return f"Profile(rows of {', '.join(sizes)})"
