"""Encodes a Profile for each event of each resource.

Each Sample message has one stack and one combination of attributes. With timestamps, it has a value and a time for each
row of Profile.samples: its *observations*. Without timestamps it has one value, the sum. ::

    rows of Profile.samples         rows by message      messages
    event stack pid   value time                         stack attributes values timestamps
      0     4    7      10    1     0 2 | 1              4     pid 7      [10 20] [1 3]
      0     4    9       5    2                          4     pid 9      [5]     [2]
      0     4    7      20    3
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
    message,
    message_chunks,
    message_field,
    nonzero_fixed64,
    nonzero_number,
    number_field,
    packed_field,
    string,
    top_level,
    varint,
)
from perf2x.emitters.otlp.otlp_schema import Chunks, Sample, ScopeProfiles, ValueType
from perf2x.emitters.otlp.otlp_schema import Profile as ProfileFields
from perf2x.emitters.otlp.otlp_tables import Dictionary, lists_without_zeros
from perf2x.emitters.pprof.pprof_tables import comment_lines
from perf2x.emitters.pprof.sample_types import fixed_period, in_style, names_in_style
from perf2x.errors import OptionError, SettingError
from perf2x.model.profile import Meta, Profile, ProfileEvent, View, plain_names
from perf2x.model.recording import is_tracepoint

_SAMPLES_AT_ONCE = 1 << 14


class SampleGroups(Frozen):
    """Sample messages as columns, sorted by resource, then event."""

    stack: I64
    """(messages,) row of the file's stack table."""
    attributes: tuple[I64, ...]
    """Columns (messages,) of rows of the attribute table; 0 for none."""
    offsets: I64
    """(messages + 1,) message i has the observations from ``offsets[i]`` to before ``offsets[i + 1]``."""
    values: I64
    """(observations,) in the event's unit, or numbers of samples."""
    times: U64 | None
    """(observations,) nanoseconds since the epoch; None without timestamps."""
    resource: I64
    """(messages,) row of Profile.tag_sets; 0 if inputs are not tagged."""
    event: I64
    """(messages,) row of Profile.events."""


def group_samples(
    keys: tuple[I64, I64, I64], attributes: Sequence[I64], values: I64, times: U64 | None
) -> SampleGroups:
    """Group rows of Profile.samples into messages; all arguments are columns (samples,).

    ``keys`` are resources, events and stacks.
    """
    columns = [*keys, *attributes]
    order, first = sorted_runs(columns)
    resource, event, stack, *message_attributes = (column[order[first]] for column in columns)
    if times is None:
        sums = sum_runs(values, order, first) if len(first) else values
        return SampleGroups(stack, tuple(message_attributes), arange(len(first) + 1), sums, None, resource, event)
    offsets = np.append(first, len(order))
    return SampleGroups(stack, tuple(message_attributes), offsets, values[order], times[order], resource, event)


def _sample_batches(groups: SampleGroups, messages: slice) -> Iterator[ListArray]:
    first = messages.start
    for rows in row_slices(messages.stop - first, _SAMPLES_AT_ONCE):
        yield _encoded_samples(groups, slice(first + rows.start, first + rows.stop))


def _encoded_samples(groups: SampleGroups, messages: slice) -> ListArray:
    offsets = groups.offsets[messages.start : messages.stop + 1]
    observations = slice(int(offsets[0]), int(offsets[-1]))
    attributes = lists_without_zeros([column[messages] for column in groups.attributes], messages.stop - messages.start)
    fields = [
        number_field(Sample.STACK_INDEX, groups.stack[messages]),
        packed_field(Sample.ATTRIBUTE_INDICES, attributes),
        packed_field(Sample.VALUES, ListArray(offsets - offsets[0], groups.values[observations])),
    ]
    if groups.times is not None:
        times = ListArray((offsets - offsets[0]) * 8, groups.times[observations].astype("<u8").view(np.uint8))
        fields.append(message_field(Sample.TIMESTAMPS_UNIX_NANO, times))
    return side_by_side(fields)


_COMMENT = "pprof.profile.comment"
_ORIGINAL_FORMAT = "linux_perf"
"""The specification's name for perf.data."""


class EventType(Frozen):
    """Sample type and sampling period of an event's profile."""

    name: str
    unit: str
    period_name: str
    """Type of the period; "" for waits, which have none."""
    period_unit: str
    period: int


def event_types(profile: Profile, count_samples: bool, style: str) -> list[EventType]:
    """Return the type of each event; ``style`` is the option ``sample_types``.

    ``count_samples``: values are numbers of samples, not sums of periods.
    """
    names = plain_names(profile.events)
    if style != "plain":
        names = list(names_in_style(profile, range(len(names)), style).values())
    units = (in_style(event.unit, style) for event in profile.events)
    rows = zip(profile.events, names, units, _periods(profile), strict=True)
    return [_event_type(*row, count_samples) for row in rows]


def _event_type(event: ProfileEvent, name: str, unit: str, period: int, count_samples: bool) -> EventType:
    """OpenTelemetry's own profiler uses the names samples, cpu and off_cpu."""
    if event.is_wait:
        wait_type = (name if is_tracepoint(event.name) else "off_cpu"), unit
        return EventType(*(("samples", "count") if count_samples else wait_type), "", "", 0)
    if not count_samples:
        return EventType(name, unit, name, unit, period)
    return EventType("samples", "count", "cpu" if unit == "nanoseconds" else name, unit, period)


def _periods(profile: Profile) -> list[int]:
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
    """Encodes the profiles of a file, one resource at a time."""

    def __init__(
        self,
        profile: View,
        dictionary: Dictionary,
        groups: SampleGroups,
        types: list[EventType],
        *,
        keep_original: bool,
    ) -> None:
        self._meta, self._dictionary, self._groups = profile.meta, dictionary, groups
        self._types = types
        self._default_event = profile.default_event
        comments = comment_lines(profile.meta)
        self._attributes = [dictionary.add(_COMMENT, comments)] if comments and len(groups.stack) else []
        self._original = profile.original if keep_original else b""

    def of_resource(self, resource: int) -> Chunks:
        """Yield the fields of a resource's ScopeProfiles; the default event comes first."""
        groups = self._groups
        first, last = searchsorted(groups.resource, [resource, resource + 1]).tolist()
        events = sorted(
            unique(groups.event[first:last]).tolist(), key=lambda event: (event != self._default_event, event)
        )
        chunks: list[bytes] = []
        for event in events:
            begin, end = searchsorted(groups.event[first:last], [event, event + 1]).tolist()
            fields = self._profile_fields(self._types[event], slice(first + begin, first + end))
            chunks += message_chunks(ScopeProfiles.PROFILES, fields)
        return chunks

    def _profile_fields(self, event_type: EventType, messages: slice) -> Chunks:
        start, duration = _interval(self._meta, self._groups, messages)
        batches = _sample_batches(self._groups, messages)
        samples = [top_level(ProfileFields.SAMPLES, batch) for batch in batches]
        period = self._value_type(ProfileFields.PERIOD_TYPE, event_type.period_name, event_type.period_unit)
        return [
            *self._value_type(ProfileFields.SAMPLE_TYPE, event_type.name, event_type.unit),
            *samples,
            nonzero_fixed64(ProfileFields.TIME_UNIX_NANO, start),
            nonzero_number(ProfileFields.DURATION_NANO, duration),
            *(period if event_type.period_name else []),
            nonzero_number(ProfileFields.PERIOD, event_type.period),
            *self._payload(),
            *(message(ProfileFields.ATTRIBUTE_INDICES, varint(index)) for index in self._attributes),
        ]

    def _payload(self) -> Chunks:
        """Only the first profile has the original recording."""
        original, self._original = self._original, b""
        if not original:
            return []
        format_name = string(ProfileFields.ORIGINAL_PAYLOAD_FORMAT, _ORIGINAL_FORMAT)
        return [format_name, *message_chunks(ProfileFields.ORIGINAL_PAYLOAD, [original])]

    def _value_type(self, field: int, name: str, unit: str) -> Chunks:
        add = self._dictionary.strings.add
        fields = ((ValueType.TYPE_STRINDEX, name), (ValueType.UNIT_STRINDEX, unit))
        return message_chunks(field, [nonzero_number(number, add(string)) for number, string in fields])


def _interval(meta: Meta, groups: SampleGroups, messages: slice) -> tuple[int, int]:
    """Extend the recording's interval to all times of these messages; the end is exclusive.

    Returns start since the epoch (0 if unknown) and duration, in nanoseconds.
    """
    start, duration = meta.wall_start_ns, meta.duration_ns + 1 if meta.duration_ns else 0
    if groups.times is None:
        return start, duration
    times = groups.times[groups.offsets[messages.start] : groups.offsets[messages.stop]]
    begin, end = min(start, int(times.min())), max(start + duration, int(times.max()) + 1)
    return begin, end - begin
