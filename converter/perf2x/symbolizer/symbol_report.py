"""Counts frames with and without a name by object, for the summary and ``info --json``.

Here, a frame is an address in the stack of a sample: inlined functions do not count, and a recursive function counts
each time.
"""

import numpy as np

from perf2x.base.columnar import I64, Bools, Frozen, argsort_small, as_int64, as_intp, bincount, cumsum, sum_at, sum_of
from perf2x.model.profile import Profile, depths, samples_by_leaf


class ObjectReport(Frozen):
    """Counts for one object: frames with a name (``named``) and without (``unnamed``), and samples."""

    name: str
    build_id: str
    """Lower-case hex, "" if unknown."""
    named: int
    unnamed: int
    reason: str
    """Why frames have no name; "" if all have one."""
    samples: int = 0
    """Number of samples whose innermost frame is in the object."""
    unnamed_samples: int = 0
    """Number of ``samples`` whose innermost frame has no name."""


class SymbolReport(Frozen):
    """All objects with frames: most unnamed frames first, then most named ones, then by name."""

    objects: tuple[ObjectReport, ...] = ()

    @property
    def named(self) -> int:
        """Number of frames with a name."""
        return sum(row.named for row in self.objects)

    @property
    def total(self) -> int:
        """Number of frames of all samples, without synthetic ones."""
        return sum(row.named + row.unnamed for row in self.objects)

    @property
    def share(self) -> float:
        """Share of frames with a name; 1 if there are no frames."""
        return self.named / self.total if self.total else 1.0

    @property
    def samples(self) -> int:
        """Number of samples whose innermost frame is not synthetic."""
        return sum(row.samples for row in self.objects)

    @property
    def sample_share(self) -> float:
        """Share of ``samples`` whose innermost frame has a name; 1 without samples."""
        named = self.samples - sum(row.unnamed_samples for row in self.objects)
        return named / self.samples if self.samples else 1.0

    def unnamed_objects(self) -> tuple[ObjectReport, ...]:
        """Return the objects with unnamed frames, most unnamed frames first."""
        return tuple(row for row in self.objects if row.unnamed)


def frame_counts(profile: Profile) -> I64:
    """Return (2, locations): the number of frames of all samples at each location, and of innermost frames."""
    count = samples_by_leaf(profile.samples, len(profile.stacks))
    innermost = sum_at(profile.stacks.location, count, len(profile.locations))
    parent = as_int64(profile.stacks.parent)
    depth = depths(parent)
    # add the samples of each row to its parent, level by level, deepest first
    for rows in np.split(argsort_small(depth), cumsum(bincount(depth))[:-1])[:0:-1]:
        np.add.at(count, as_intp(parent[rows]), count[rows])
    return np.stack([sum_at(profile.stacks.location, count, len(profile.locations)), innermost])


def object_report(name: str, build_id: bytes, counts: I64, is_named: Bools, reason: str) -> ObjectReport:
    """Sum up the n locations of one object.

    ``counts`` (2, n) are the locations' columns of ``frame_counts``; ``is_named`` (n,).
    """
    (named, named_samples), (unnamed, unnamed_samples) = (
        [sum_of(count[selected]) for count in counts] for selected in (is_named, ~is_named)
    )
    samples = named_samples + unnamed_samples
    return ObjectReport(name, build_id.hex(), named, unnamed, reason if unnamed else "", samples, unnamed_samples)


def sorted_report(rows: list[ObjectReport]) -> SymbolReport:
    """Build the report from the objects in any order; those without frames are dropped."""
    rows.sort(key=lambda row: (-row.unnamed, -row.named, row.name, row.build_id))
    return SymbolReport(tuple(row for row in rows if row.named + row.unnamed))
