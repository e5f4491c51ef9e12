"""Samples of one track, event and stack as one row of the page."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, AnyArray
from perf2x.base.columnar.ragged import row_numbers
from perf2x.base.columnar.unique import sorted_runs, sum_runs
from perf2x.emitters.encoding.json_encoder import json_table
from perf2x.model.profile.profile import Profile, Wait


class SummedSamples(Struct, frozen=True):
    """Runs of equal samples, and per run, which is a row, its first sample and the sums of all."""

    order: I64
    """(samples,) run by run."""
    begins: I64
    """(rows,) where in that order each run begins."""
    first: I64
    value: I64
    count: I64
    latency: I64 | None
    """None where the profile has none."""
    off: I64 | None
    """1 where a thread was off its CPU, 0 where it ran; None where all ran."""

    def row_of_sample(self) -> I64:
        """(samples,) the row of each."""
        row = np.empty(len(self.order), np.int64)
        row[self.order] = row_numbers(np.diff(self.begins, append=len(self.order)))
        return row


def summed_samples(profile: Profile, track: AnyArray, node: I64) -> SummedSamples:
    """Sum samples by track, event and node of the tree, waits apart; ``track``, ``node`` (samples,)."""
    samples = profile.samples
    off = _off_cpu(profile)
    columns = [track, samples.event.astype(np.int64), node]
    order, begins = sorted_runs(columns if off is None else [*columns, off])
    first = order[begins]
    latency = None if samples.latency is None else sum_runs(samples.latency, order, begins)
    value, count = (sum_runs(column, order, begins) for column in (samples.value, samples.count))
    return SummedSamples(order, begins, first, value, count, latency, None if off is None else off[first])


def _off_cpu(profile: Profile) -> I64 | None:
    """(samples,) 1 for waits."""
    of_waits = np.array([event.is_wait for event in profile.events], np.bool_)
    if profile.samples.wait is not None:
        is_off = profile.samples.wait != Wait.RAN
    elif of_waits.any():
        is_off = of_waits[profile.samples.event]
    else:
        return None
    return is_off.astype(np.int64) if is_off.any() else None


def row_table(profile: Profile, track: AnyArray, node: I64, summed: SummedSamples) -> Iterator[bytes]:
    """Yield the rows as columns."""
    first = summed.first
    columns: list[tuple[str, AnyArray]] = [("thread", track[first]), ("event", profile.samples.event[first])]
    columns += [("node", node[first]), ("value", summed.value), ("count", summed.count)]
    if summed.latency is not None:
        columns.append(("latency", summed.latency))
    if summed.off is not None:
        columns.append(("off", summed.off))
    yield from json_table(columns)
