"""What became of the symbols, object by object: the figures behind the summary and ``info --json``."""

import numpy as np

from perf2x.classes import dataclass
from perf2x.model.arrays import I64, Bools
from perf2x.model.profile import Profile
from perf2x.model.stacks import depths


@dataclass(frozen=True, slots=True)
class ObjectReport:
    """One object; weights are frames of stacks, counted once per sample that has them."""

    name: str
    build_id: str
    """Lower-case hex, "" when unknown."""
    named: int
    unnamed: int
    reason: str
    """Why frames have no name, "" when all have one."""


@dataclass(frozen=True, slots=True)
class SymbolReport:
    """All objects that frames lie in, most unnamed frames first, then by name."""

    objects: tuple[ObjectReport, ...] = ()

    @property
    def named(self) -> int:
        """Frames with a name."""
        return sum(row.named for row in self.objects)

    @property
    def total(self) -> int:
        """All frames of all samples, synthetic ones left out."""
        return sum(row.named + row.unnamed for row in self.objects)

    @property
    def share(self) -> float:
        """Share of frames with a name; 1 when there are no frames."""
        return self.named / self.total if self.total else 1.0

    def lacking(self) -> tuple[ObjectReport, ...]:
        """The objects with unnamed frames, worst first."""
        return tuple(row for row in self.objects if row.unnamed)


def location_weights(profile: Profile) -> I64:
    """(locations,) how many frames of samples each location stands for: one pass per level of depth, deepest first."""
    weight = np.zeros(len(profile.stacks), np.int64)
    has_stack = profile.samples.stack >= 0
    np.add.at(weight, profile.samples.stack[has_stack], profile.samples.count[has_stack])
    parent = profile.stacks.parent.astype(np.int64)
    depth = depths(parent)
    order = np.argsort(-depth, kind="stable")
    levels = np.flatnonzero(np.diff(depth[order])) + 1
    for rows in np.split(order, levels):
        inner = rows[parent[rows] >= 0]
        np.add.at(weight, parent[inner], weight[inner])
    result = np.zeros(len(profile.locations), np.int64)
    np.add.at(result, profile.stacks.location, weight)
    return result


def object_report(name: str, build_id: bytes, weight: I64, named: Bools, reason: str) -> ObjectReport:
    """Sum up one object's locations: ``weight`` and ``named`` are parallel."""
    known = int(weight[named].sum())
    lost = int(weight.sum()) - known
    return ObjectReport(name, build_id.hex(), known, lost, reason if lost else "")


def in_order(rows: list[ObjectReport]) -> SymbolReport:
    """The report with its rows sorted: most unnamed first, then most named, then by name."""
    rows.sort(key=lambda row: (-row.unnamed, -row.named, row.name, row.build_id))
    return SymbolReport(tuple(row for row in rows if row.named + row.unnamed))
