"""Report of named and unnamed frames by object, for the summary and ``info --json``."""

import numpy as np

from perf2x.base.columnar import I64, Bools, Frozen, argsort_small, as_int64, as_intp, bincount, cumsum, sum_of, zeros
from perf2x.model.profile import Profile, depths, stack_weights


class ObjectReport(Frozen):
    """Counts for one object: frames of stacks, each counted once per sample."""

    name: str
    build_id: str
    """Lower-case hex, "" if unknown."""
    named: int
    unnamed: int
    reason: str
    """The reason why frames have no name, "" if all have one."""


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

    def lacking(self) -> tuple[ObjectReport, ...]:
        """The objects with unnamed frames, worst first."""
        return tuple(row for row in self.objects if row.unnamed)


def location_weights(profile: Profile) -> I64:
    """Return (locations,) number of frames of samples at each location, computed level by level, deepest first."""
    weight = stack_weights(profile.samples, len(profile.stacks))
    parent = as_int64(profile.stacks.parent)
    depth = depths(parent)
    for rows in np.split(argsort_small(depth), cumsum(bincount(depth))[:-1])[:0:-1]:
        np.add.at(weight, as_intp(parent[rows]), weight[rows])
    result = zeros(len(profile.locations))
    np.add.at(result, profile.stacks.location, weight)
    return result


def object_report(name: str, build_id: bytes, weight: I64, named: Bools, reason: str) -> ObjectReport:
    """Sum up one object's locations; ``weight`` and ``named`` have one entry for each."""
    named_frames = sum_of(weight[named])
    unnamed_frames = sum_of(weight) - named_frames
    return ObjectReport(name, build_id.hex(), named_frames, unnamed_frames, reason if unnamed_frames else "")


def sorted_report(rows: list[ObjectReport]) -> SymbolReport:
    """Make the report from rows in any order; rows without frames are dropped."""
    rows.sort(key=lambda row: (-row.unnamed, -row.named, row.name, row.build_id))
    return SymbolReport(tuple(row for row in rows if row.named + row.unnamed))
