"""Samples of one track, event and stack as one row of the page."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I64, AnyArray
from perf2x.columnar.unique import group_rows
from perf2x.emit.encoding.json_encoder import json_table
from perf2x.tables.profile import Profile


class SummedSamples(Struct, frozen=True):
    """The row of each sample, and per row its first sample and the sums of all."""

    row: I64
    """(samples,)"""
    first: I64
    value: I64
    count: I64
    latency: I64 | None
    """None where the profile has none."""


def summed_samples(profile: Profile, track: I64, node: I64) -> SummedSamples:
    """Sum samples by track, event and node of the tree; ``track``, ``node`` (samples,)."""
    samples = profile.samples
    first, row = group_rows([track, samples.event.astype(np.int64), node])

    def summed(column: I64) -> I64:
        sums = np.zeros(len(first), np.int64)
        np.add.at(sums, row, column)
        return sums

    latency = None if samples.latency is None else summed(samples.latency)
    return SummedSamples(row, first, summed(samples.value), summed(samples.count), latency)


def row_table(profile: Profile, track: I64, node: I64, summed: SummedSamples) -> Iterator[bytes]:
    """Yield the rows as columns."""
    first = summed.first
    columns: list[tuple[str, AnyArray]] = [("thread", track[first]), ("event", profile.samples.event[first])]
    columns += [("node", node[first]), ("value", summed.value), ("count", summed.count)]
    if summed.latency is not None:
        columns.append(("latency", summed.latency))
    yield from json_table(columns)
