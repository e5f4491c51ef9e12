"""Encodes a Profile for each event of each resource: its type, time and period, and its samples.

Each Sample message has one stack and one set of attributes.

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

from perf2x.base.columnar import (
    I64,
    U64,
    Frozen,
    ListArray,
    arange,
    row_slices,
    searchsorted,
    side_by_side,
    sorted_runs,
    sum_at,
    sum_runs,
    unique,
)
from perf2x.emitters.encoding.protobuf import (
    entry,
    fixed64_but_0,
    message,
    message_field,
    number_but_0,
    number_field,
    packed_field,
    text,
    top_level,
    varint,
)
from perf2x.emitters.otlp.otlp_schema import Chunks, Sample, ScopeProfiles, ValueType
from perf2x.emitters.otlp.otlp_schema import Profile as ProfileFields
from perf2x.emitters.otlp.otlp_tables import Dictionary, number_rows
from perf2x.emitters.pprof.pprof_tables import comment_lines
from perf2x.emitters.pprof.sample_types import fixed_period, in_style, names_in_style
from perf2x.errors import OptionError, SettingError
from perf2x.model.profile import Meta, Profile, ProfileEvent, View, plain_names
from perf2x.model.recording import is_tracepoint

_SAMPLES_AT_ONCE = 1 << 14


class SampleGroups(Frozen):
    """Samples grouped into messages, by resource, then event."""

    stack: I64
    """(messages,) row of the stack table."""
    attributes: tuple[I64, ...]
    """Columns (messages,) of attribute indices; 0 for none."""
    offsets: I64
    """(messages + 1,) offsets of each message's observations."""
    values: I64
    """(observations,)"""
    times: U64 | None
    """(observations,) nanoseconds since the epoch."""
    resource: I64
    event: I64


def grouped(keys: tuple[I64, I64, I64], attributes: Sequence[I64], values: I64, times: U64 | None) -> SampleGroups:
    """Group rows of samples; ``keys`` are the columns of resources, events and stacks.

    Equal rows become one message: with times, an observation for each row, otherwise their sum.
    """
    columns = [*keys, *attributes]
    order, first = sorted_runs(columns)
    resource, event, stack, *rest = (column[order[first]] for column in columns)
    if times is None:
        sums = sum_runs(values, order, first) if len(first) else values
        return SampleGroups(stack, tuple(rest), arange(len(first) + 1), sums, None, resource, event)
    offsets = np.append(first, len(order))
    return SampleGroups(stack, tuple(rest), offsets, values[order], times[order], resource, event)


def _sample_rows(groups: SampleGroups, messages: slice) -> Iterator[ListArray]:
    """Yield encoded Sample messages, a few thousand at a time."""
    first = messages.start
    for part in row_slices(messages.stop - first, _SAMPLES_AT_ONCE):
        yield _encoded(groups, slice(first + part.start, first + part.stop))


def _encoded(groups: SampleGroups, part: slice) -> ListArray:
    offsets = groups.offsets[part.start : part.stop + 1]
    span = slice(int(offsets[0]), int(offsets[-1]))
    attributes = number_rows([column[part] for column in groups.attributes], part.stop - part.start)
    fields = [
        number_field(Sample.STACK_INDEX, groups.stack[part]),
        packed_field(Sample.ATTRIBUTE_INDICES, attributes),
        packed_field(Sample.VALUES, ListArray(offsets - offsets[0], groups.values[span])),
    ]
    if groups.times is not None:
        words = ListArray((offsets - offsets[0]) * 8, groups.times[span].astype("<u8").view(np.uint8))
        fields.append(message_field(Sample.TIMESTAMPS_UNIX_NANO, words))
    return side_by_side(fields)


_COMMENT = "pprof.profile.comment"
_ORIGINAL_FORMAT = "linux_perf"
"""The specification's name for perf.data."""


class CountedEvent(Frozen):
    """Type and unit of an event's numbers."""

    name: str
    unit: str
    period_name: str
    """Unit of a period; "" for waits, which have none."""
    period_unit: str
    period: int


def event_types(profile: Profile, count_samples: bool, style: str) -> list[CountedEvent]:
    """Return (events,) types; with ``count_samples``, values are numbers of samples instead of sums of periods."""
    names = plain_names(profile.events)
    if style != "plain":
        names = list(names_in_style(profile, range(len(names)), style).values())
    units = (in_style(event.unit, style) for event in profile.events)
    return [
        _event_type(*one, count_samples) for one in zip(profile.events, names, units, _periods(profile), strict=True)
    ]


def _event_type(event: ProfileEvent, name: str, unit: str, period: int, count_samples: bool) -> CountedEvent:
    """Return an event's type; CPU time and waits have the names that OpenTelemetry's own profiler uses."""
    if event.is_wait:
        own = (name if is_tracepoint(event.name) else "off_cpu"), unit
        return CountedEvent(*(("samples", "count") if count_samples else own), "", "", 0)
    if not count_samples:
        return CountedEvent(name, unit, name, unit, period)
    return CountedEvent("samples", "count", "cpu" if unit == "nanoseconds" else name, unit, period)


def _periods(profile: Profile) -> list[int]:
    """Return (events,) the sampling period: the requested one, or the mean if the kernel adapted it."""
    samples, events = profile.samples, profile.events
    sums, counts = (sum_at(samples.event, column, len(events)) for column in (samples.value, samples.count))
    means = (sums // np.maximum(counts, 1)).tolist()
    return [fixed_period(event) or max(mean, 0) for event, mean in zip(events, means, strict=True)]


def utc_times(profile: Profile) -> U64:
    """Return (samples,) nanoseconds since the epoch. Raises OptionError if the recording has no time of day."""
    meta, time = profile.meta, profile.samples.time
    if time is None:
        raise OptionError("otlp's timestamps need the times of samples; read with timeline=True")
    if not meta.wall_start_ns:
        raise SettingError(
            "otlp's timestamps are wall-clock times, which the recording does not have: add ",
            "start_time",
            " TIME, or ",
            "start_time",
            " file",
        )
    return time + np.uint64((meta.wall_start_ns - meta.start_ns) % (1 << 64))  # wraps around, as the difference does


class ProfileEncoder:
    """Encodes the profiles of a file."""

    def __init__(
        self,
        profile: View,
        dictionary: Dictionary,
        groups: SampleGroups,
        types: list[CountedEvent],
        *,
        keep_original: bool,
    ) -> None:
        self._meta, self._dictionary, self._groups = profile.meta, dictionary, groups
        self._types = types
        self._shown = profile.default_event
        comments = comment_lines(profile.meta)
        self._attributes = [dictionary.add(_COMMENT, comments)] if comments and len(groups.stack) else []
        self._original = profile.original if keep_original else b""

    def of_resource(self, resource: int) -> Chunks:
        """Yield the profiles of one resource as a field of its ScopeProfiles; the shown event comes first."""
        groups = self._groups
        first, last = searchsorted(groups.resource, [resource, resource + 1]).tolist()
        events = sorted(unique(groups.event[first:last]).tolist(), key=lambda event: (event != self._shown, event))
        entries: list[bytes] = []
        for event in events:
            begin, end = searchsorted(groups.event[first:last], [event, event + 1]).tolist()
            fields = self._profile(self._types[event], slice(first + begin, first + end))
            entries += entry(ScopeProfiles.PROFILES, fields)
        return entries

    def _profile(self, kind: CountedEvent, messages: slice) -> Chunks:
        start, duration = _interval(self._meta, self._groups, messages)
        rows = _sample_rows(self._groups, messages)
        samples = [top_level(ProfileFields.SAMPLES, some) for some in rows]
        period = self._value_type(ProfileFields.PERIOD_TYPE, kind.period_name, kind.period_unit)
        return [
            *self._value_type(ProfileFields.SAMPLE_TYPE, kind.name, kind.unit),
            *samples,
            fixed64_but_0(ProfileFields.TIME_UNIX_NANO, start),
            number_but_0(ProfileFields.DURATION_NANO, duration),
            *(period if kind.period_name else []),
            number_but_0(ProfileFields.PERIOD, kind.period),
            *self._payload(),
            *(message(ProfileFields.ATTRIBUTE_INDICES, varint(one)) for one in self._attributes),
        ]

    def _payload(self) -> Chunks:
        """Yield the original recording for the first profile that requests it; it is embedded once per file."""
        original, self._original = self._original, b""
        if not original:
            return []
        named = text(ProfileFields.ORIGINAL_PAYLOAD_FORMAT, _ORIGINAL_FORMAT)
        return [named, *entry(ProfileFields.ORIGINAL_PAYLOAD, [original])]

    def _value_type(self, field: int, name: str, unit: str) -> Chunks:
        add = self._dictionary.texts.add
        parts = ((ValueType.TYPE_STRINDEX, name), (ValueType.UNIT_STRINDEX, unit))
        return entry(field, [number_but_0(part, add(word)) for part, word in parts])


def _interval(meta: Meta, groups: SampleGroups, messages: slice) -> tuple[int, int]:
    """Return start (0: unknown) and duration of a profile in nanoseconds; it ends after its last sample."""
    start, duration = meta.wall_start_ns, meta.duration_ns + 1 if meta.duration_ns else 0
    if groups.times is None:
        return start, duration
    times = groups.times[groups.offsets[messages.start] : groups.offsets[messages.stop]]
    begin, end = min(start, int(times.min())), max(start + duration, int(times.max()) + 1)
    return begin, end - begin
