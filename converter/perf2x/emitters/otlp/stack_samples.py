"""Samples of each event of each resource: one message for each stack and set of attributes.

::

    rows of Profile.samples         order, groups        messages
    event stack pid   value time                         stack attributes values timestamps
      0     4    7      10    1     0 2 | 1              4     pid 7      [10 20] [1 3]
      0     4    9       5    2                          4     pid 9      [5]     [2]
      0     4    7      20    3

Without timestamps a message has one value, the sum.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U64, AnyArray, row_slices
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.columnar.unique import sorted_runs, sum_runs
from perf2x.emitters.otlp.attributes import number_rows
from perf2x.emitters.otlp.otlp_encoding import Encoding, encoded_rows
from perf2x.emitters.otlp.otlp_schema import Field, Sample

_SAMPLES_AT_ONCE = 1 << 14


class SampleGroups(Struct, frozen=True):
    """Samples in an order in which those of one message are neighbours, by resource, then event."""

    stack: I64
    """(messages,) entry of the stack table."""
    attributes: tuple[I64, ...]
    """Columns (messages,) of attributes; 0 for none."""
    offsets: I64
    """(messages + 1,) the observations of each message."""
    values: I64
    """(observations,)"""
    times: U64 | None
    """(observations,) nanoseconds since the epoch."""
    resource: I64
    event: I64


def grouped(keys: tuple[I64, I64, I64], attributes: Sequence[I64], values: I64, times: U64 | None) -> SampleGroups:
    """Group rows of samples; ``keys`` are the columns of resources, events and stacks.

    Equal rows are one message: with times an observation each, else their sum.
    """
    columns = [*keys, *attributes]
    order, first = sorted_runs(columns)
    resource, event, stack, *rest = (column[order[first]] for column in columns)
    if times is None:
        sums = sum_runs(values, order, first) if len(first) else values
        return SampleGroups(stack, tuple(rest), np.arange(len(first) + 1), sums, None, resource, event)
    offsets = np.append(first, len(order))
    return SampleGroups(stack, tuple(rest), offsets, values[order], times[order], resource, event)


def sample_rows(encoding: Encoding, groups: SampleGroups, messages: slice) -> Iterator[Ragged]:
    """Yield the given messages, some thousand at a time."""
    first = messages.start
    for part in row_slices(messages.stop - first, _SAMPLES_AT_ONCE):
        yield _encoded(encoding, groups, slice(first + part.start, first + part.stop))


def _encoded(encoding: Encoding, groups: SampleGroups, part: slice) -> Ragged:
    offsets = groups.offsets[part.start : part.stop + 1]
    held = slice(int(offsets[0]), int(offsets[-1]))
    attributes = number_rows([column[part] for column in groups.attributes], part.stop - part.start)
    fields: dict[Field, AnyArray | Ragged] = {
        Sample.STACK_INDEX: groups.stack[part],
        Sample.ATTRIBUTE_INDICES: attributes,
        Sample.VALUES: Ragged(offsets - offsets[0], groups.values[held]),
    }
    if groups.times is not None:
        fields[Sample.TIMESTAMPS_UNIX_NANO] = Ragged(offsets - offsets[0], groups.times[held])
    return encoded_rows(encoding, fields)
