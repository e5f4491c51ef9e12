"""Reports named and unnamed frames by object, for the summary and ``info --json``."""

import numpy as np

from perf2x.base.columnar import I64, Bools, Frozen, argsort_small, as_int64, as_intp, bincount, cumsum, sum_at, sum_of
from perf2x.model.profile import Profile, depths, stack_weights


class ObjectReport(Frozen):
    """Counts for one object: frames of stacks, each counted once per sample."""

    name: str
    build_id: str
    """Lower-case hex, "" if unknown."""
    named: int
    unnamed: int
    reason: str
    """Why frames have no name; "" if all have one."""
    samples: int = 0
    """Samples whose innermost frame is in the object: its own cost."""
    unnamed_samples: int = 0
    """The samples among them whose innermost frame has no name."""


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
        """Number of samples with a frame, by the object of their innermost frame."""
        return sum(row.samples for row in self.objects)

    @property
    def sample_share(self) -> float:
        """Share of samples whose innermost frame has a name; 1 if there are none."""
        named = self.samples - sum(row.unnamed_samples for row in self.objects)
        return named / self.samples if self.samples else 1.0

    def lacking(self) -> tuple[ObjectReport, ...]:
        """The objects with unnamed frames, worst first."""
        return tuple(row for row in self.objects if row.unnamed)


def location_weights(profile: Profile) -> I64:
    """Return (2, locations) number of frames, and of innermost frames, of samples at each location.

    Computed level by level, deepest first.
    """
    weight = stack_weights(profile.samples, len(profile.stacks))
    innermost = sum_at(profile.stacks.location, weight, len(profile.locations))
    parent = as_int64(profile.stacks.parent)
    depth = depths(parent)
    for rows in np.split(argsort_small(depth), cumsum(bincount(depth))[:-1])[:0:-1]:
        np.add.at(weight, as_intp(parent[rows]), weight[rows])
    return np.stack([sum_at(profile.stacks.location, weight, len(profile.locations)), innermost])


def object_report(name: str, build_id: bytes, weight: I64, named: Bools, reason: str) -> ObjectReport:
    """Sum up one object's locations, ``named`` (n,); ``weight`` (2, n) is that of ``location_weights``."""
    (has, own), (lacks, unnamed) = ([sum_of(row[kept]) for row in weight] for kept in (named, ~named))
    return ObjectReport(name, build_id.hex(), has, lacks, reason if lacks else "", own + unnamed, unnamed)


def sorted_report(rows: list[ObjectReport]) -> SymbolReport:
    """Build the report from rows in any order; rows without frames are dropped."""
    rows.sort(key=lambda row: (-row.unnamed, -row.named, row.name, row.build_id))
    return SymbolReport(tuple(row for row in rows if row.named + row.unnamed))
