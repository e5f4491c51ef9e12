"""Before and after: what moved, as a table, as two columns of collapsed stacks, and as one profile for pprof.

Beside the pipeline because it compares what emitters would show.
"""

import dataclasses
import io
import math
from collections.abc import Callable, Iterator

import numpy as np

from perf2x.classes import dataclass
from perf2x.emit.collapsed import Collapsed
from perf2x.model.merge import merge
from perf2x.model.profile import Profile
from perf2x.totals import Total, Totals

BASE = {"pprof::base": "true"}
"""How pprof marks the samples of -diff_base (internal/driver/fetch.go in google/pprof)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One function (object, thread) before and after; values in the event's unit."""

    name: str
    object: str
    own_before: int
    own_after: int
    total_before: int
    total_after: int
    own_noise: float = 0.0
    """A smaller change may be chance: two standard deviations of counts of samples, in the event's unit."""
    total_noise: float = 0.0

    @property
    def own(self) -> int:
        """How much more it costs itself."""
        return self.own_after - self.own_before

    def moved(self, sort: str) -> int:
        """The change that ``sort`` (self or total) means."""
        return self.own if sort == "self" else self.total

    def noise(self, sort: str) -> float:
        """How large that change may be by chance."""
        return self.own_noise if sort == "self" else self.total_noise

    @property
    def total(self) -> int:
        """How much more it costs with all that it calls."""
        return self.total_after - self.total_before


def changes(before: Totals, after: Totals, *, normalize: bool = False) -> list[Change]:
    """Every line of either table; ``normalize`` scales ``after`` to the whole of ``before``, so that shares compare."""
    old = {(row.name, row.object): row for row in before.rows}
    new = {(row.name, row.object): row for row in after.rows}
    scale = before.whole / after.whole if normalize and after.whole else 1.0
    nothing, noise = Total("", "", 0, 0), _noise_of(before, after, scale)
    found = []
    for name, thing in sorted(old.keys() | new.keys()):
        was, now = old.get((name, thing), nothing), new.get((name, thing), nothing)
        own, total = round(now.own * scale), round(now.total * scale)
        own_noise, total_noise = noise(was.own, own), noise(was.total, total)
        found.append(Change(name, thing, was.own, own, was.total, total, own_noise, total_noise))
    return found


def _noise_of(before: Totals, after: Totals, scale: float) -> Callable[[int, int], float]:
    """How much values of two tables may differ by chance: a value of v made of samples of p each has variance v · p."""
    old = before.whole / before.samples if before.samples else 0.0
    new = after.whole * scale / after.samples if after.samples else 0.0
    return lambda was, now: 2 * math.sqrt(was * old + now * new)


def two_columns(before: Profile, after: Profile, emitter: Collapsed) -> Iterator[bytes]:
    """Lines ``stack before after``, as difffolded.pl writes them, sorted bytewise."""
    old, new = _lines(before, emitter), _lines(after, emitter)
    for stack in sorted(old.keys() | new.keys()):
        yield b"%b %d %d\n" % (stack, old.get(stack, 0), new.get(stack, 0))


def difference(before: Profile, after: Profile) -> Profile:
    """``after`` less ``before``: samples of ``before`` are negative and marked, so that pprof takes them as base."""
    samples = before.samples
    negative = dataclasses.replace(samples, value=-samples.value, count=-samples.count)
    whole = merge([dataclasses.replace(before, samples=negative), after], [BASE, {}])
    return dataclasses.replace(whole, meta=dataclasses.replace(whole.meta, duration_ns=after.meta.duration_ns))


def normalized(before: Profile, after: Profile, value: str) -> Profile:
    """``after`` with every event scaled to its whole in ``before``; events that one of them lacks stay as they are.

    Sums are rounded, not samples: a thousand samples of 1 times 0.4 are four hundred.
    """
    wholes = _wholes(before, value)
    samples = after.samples
    value_column, count = samples.value.copy(), samples.count.copy()
    for row, (event, whole) in enumerate(_wholes(after, value).items()):
        held = np.flatnonzero(samples.event == row)
        factor = wholes[event] / whole if whole and wholes.get(event) else 1.0
        for column in (value_column, count):
            sums = np.rint(np.cumsum(column[held]) * factor).astype(np.int64)
            column[held] = np.diff(sums, prepend=0)
    return dataclasses.replace(after, samples=dataclasses.replace(samples, value=value_column, count=count))


def _wholes(profile: Profile, value: str) -> dict[tuple[str, str], int]:
    """Sum of each event's samples, in the order of the events."""
    samples = profile.samples
    whole = np.zeros(len(profile.events), np.int64)
    np.add.at(whole, samples.event, samples.count if value == "samples" else samples.value)
    return dict(zip([(event.name, event.unit) for event in profile.events], whole.tolist(), strict=True))


def _lines(profile: Profile, emitter: Collapsed) -> dict[bytes, int]:
    out = io.BytesIO()
    emitter.emit(profile, out)
    pairs = (line.rpartition(b" ") for line in out.getvalue().splitlines())
    return {stack: int(number) for stack, _, number in pairs}
