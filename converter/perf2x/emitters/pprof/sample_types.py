"""Sample types of a pprof file, and the values of every sample for them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from perf2x.base.columnar import I64, Frozen, arange, lexsort, rows_by, sum_at, unique, zeros
from perf2x.errors import SettingError
from perf2x.model.profile import Profile, ProfileEvent, plain_names

FEW_TYPES, MOST_CELLS = 64, 1 << 27
"""With more than FEW_TYPES sample types, samples × types must not exceed MOST_CELLS (1 GiB of values).

A small file can declare thousands of events.
"""


class SampleType(Frozen):
    """One sample type of the file."""

    name: str
    unit: str
    event: int
    """Row of Profile.events; −1: all events."""
    counts_samples: bool
    """Values are numbers of samples; otherwise sums of the samples' values (usually their periods)."""


def make_sample_types(profile: Profile, style: str) -> list[SampleType]:
    """Return the sample types in file order; viewers show the last one first, the default event's.

    Styles:

    - plain: ``samples/count`` of all events, then each event in its unit;
    - compat, for readers of perf_data_converter's files: each event's ``EVENT_sample/count`` and ``EVENT_event/count``;
    - identifiers: as plain, in letters, digits and ``_``.

    Events without samples are omitted unless there are no others.
    """
    sampled_events = unique(profile.samples.event).tolist() or list(range(len(profile.events)))
    default = profile.default_event
    events = [row for row in sampled_events if row != default] + [default] * (default in sampled_events)
    if style == "compat":
        name_counts = Counter(event.name for event in profile.events)
        return [
            sample_type for row in events for sample_type in _compat_types(profile.events[row].name, row, name_counts)
        ]
    names = names_in_style(profile, events, style)
    periods = (SampleType(names[row], in_style(profile.events[row].unit, style), row, False) for row in events)
    return [SampleType("samples", "count", -1, True), *periods]


def names_in_style(profile: Profile, rows: Iterable[int], style: str) -> dict[int, str]:
    """Return distinct sample type names by row of Profile.events; none is ``samples``."""
    names, row_by_name = plain_names(profile.events), dict[str, int]()
    mark = "_" if style == "identifiers" else "#"
    for row in rows:
        name = in_style(names[row], style)
        while name in row_by_name or name == "samples":
            name = f"{name}{mark}{row}"
        row_by_name[name] = row
    return {row: name for name, row in row_by_name.items()}


def in_style(name: str, style: str) -> str:
    """For the style "identifiers", replace all but letters, digits and _ by _."""
    return re.sub(r"\W", "_", name, flags=re.ASCII) if style == "identifiers" else name


def fixed_period(event: ProfileEvent) -> int:
    """Return an event's fixed sampling period in its unit; 0 if the kernel adapted it to a frequency.

    The period of a clock follows from its frequency.
    """
    return 1_000_000_000 // event.frequency if event.unit == "nanoseconds" and event.frequency else event.period


def _compat_types(recorded_name: str, row: int, name_counts: Mapping[str, int]) -> list[SampleType]:
    """pprof requires distinct names, so the event's row is appended if several events have one name."""
    name = recorded_name or f"event_{row}"
    name = name if name_counts[recorded_name] == 1 else f"{name}_{row}"
    return [SampleType(f"{name}_sample", "count", row, True), SampleType(f"{name}_event", "count", row, False)]


def summed_values(profile: Profile, types: list[SampleType], group: I64, count: int) -> I64:
    """Return (count, types) the sums of groups of samples for each sample type.

    ``group`` (samples,) are numbers below ``count``. Raises SettingError for a result that is too large.
    """
    if len(types) > FEW_TYPES and count * len(types) > MOST_CELLS:
        raise SettingError(
            f"pprof has a number of each of {len(types):,} sample types in each of {count:,} samples, too many: "
            "choose some (",
            "events",
            "), or write a file for each (",
            "per_event",
            ")",
        )
    samples = profile.samples
    values = zeros((count, len(types)))
    rows_by_event = dict(rows_by(samples.event))
    for column, sample_type in enumerate(types):
        rows = slice(None) if sample_type.event < 0 else rows_by_event.get(sample_type.event, zeros(0))
        # summing into an array of its own and copying it takes a fifth of the time: the sums are neighbours in memory
        addends = samples.count if sample_type.counts_samples else samples.value
        values[:, column] = sum_at(group[rows], addends[rows], count)
    return values


def heaviest_rows(values: I64, max_samples: int) -> I64:
    """Return the rows to keep, ascending: all, or the ``max_samples`` − 1 with the largest values (0: no limit).

    One place is left for the sum of all others. Of ``values`` (samples, sample types), the last type decides first.
    """
    if max_samples <= 0 or len(values) <= max_samples:
        return arange(len(values))
    order = lexsort((arange(len(values)), *(-values[:, column] for column in range(values.shape[1]))))
    return np.sort(order[: max_samples - 1])
