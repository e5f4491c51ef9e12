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


def summed_samples(profile: Profile, track: I64, node: I64) -> SummedSamples:
    """Sum samples by track, event and node of the tree; ``track``, ``node`` (samples,)."""
    samples = profile.samples
    first, row = group_rows([track, samples.event.astype(np.int64), node])
    value, count = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
    np.add.at(value, row, samples.value)
    np.add.at(count, row, samples.count)
    return SummedSamples(row, first, value, count)


def row_table(profile: Profile, track: I64, node: I64, summed: SummedSamples) -> Iterator[bytes]:
    """Yield the rows as columns."""
    first = summed.first
    columns: list[tuple[str, AnyArray]] = [("thread", track[first]), ("event", profile.samples.event[first])]
    yield from json_table([*columns, ("node", node[first]), ("value", summed.value), ("count", summed.count)])
