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

from perf2x.base.columnar.arrays import I64, U64
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.columnar.unique import argsort_rows
from perf2x.emitters.otlp.attributes import number_rows
from perf2x.emitters.otlp.otlp_encoding import Encoding
from perf2x.emitters.otlp.otlp_schema import Sample

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
    order = argsort_rows(columns)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    first = np.flatnonzero(is_first)
    offsets = np.append(first, len(order))
    resource, event, stack, *rest = (column[order[first]] for column in columns)
    ordered = values[order]
    if times is None:
        sums = np.add.reduceat(ordered, first) if len(first) else ordered
        return SampleGroups(stack, tuple(rest), np.arange(len(first) + 1), sums, None, resource, event)
    return SampleGroups(stack, tuple(rest), offsets, ordered, times[order], resource, event)


def sample_rows(encoding: Encoding, groups: SampleGroups, messages: slice) -> Iterator[Ragged]:
    """Yield the given messages, some thousand at a time."""
    for start in range(messages.start, messages.stop, _SAMPLES_AT_ONCE):
        yield _encoded(encoding, groups, slice(start, min(start + _SAMPLES_AT_ONCE, messages.stop)))


def _encoded(encoding: Encoding, groups: SampleGroups, part: slice) -> Ragged:
    offsets = groups.offsets[part.start : part.stop + 1]
    held = slice(int(offsets[0]), int(offsets[-1]))
    attributes = number_rows([column[part] for column in groups.attributes], part.stop - part.start)
    fields = [
        encoding.number(Sample.STACK_INDEX, groups.stack[part]),
        encoding.numbers(Sample.ATTRIBUTE_INDICES, attributes),
        encoding.numbers(Sample.VALUES, Ragged(offsets - offsets[0], groups.values[held])),
    ]
    if groups.times is not None:
        fields.append(encoding.numbers(Sample.TIMESTAMPS_UNIX_NANO, Ragged(offsets - offsets[0], groups.times[held])))
    return encoding.joined(fields)
