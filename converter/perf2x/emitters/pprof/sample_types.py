"""Sample types of a pprof file, and the values of every sample for them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from perf2x.base.columnar import I64, Frozen, arange, lexsort, rows_by, sum_at, unique, zeros
from perf2x.errors import SettingError
from perf2x.model.profile import Profile, ProfileEvent, plain_names

FEW_KINDS, MOST_CELLS = 64, 1 << 27
"""Number of sample types above which samples × types is limited (to 1 GiB): a small file can declare thousands of
events.
"""


class ValueKind(Frozen):
    """One sample type: samples or periods, of one event or (−1) of all."""

    name: str
    unit: str
    event: int
    is_count: bool


def value_kinds(profile: Profile, style: str) -> list[ValueKind]:
    """Return the sample types in file order; the last one is what viewers show first.

    Plain: ``samples/count`` of all events, then each event in its unit. Compatible with perf_data_converter: two types
    per event, ``EVENT_sample/count`` and ``EVENT_event/count``. Identifiers: as plain, in letters, digits and ``_``.
    Events without samples are omitted unless there are no others; pprof requires distinct names.
    """
    sampled = unique(profile.samples.event).tolist() or list(range(len(profile.events)))
    default = profile.default_event
    events = [row for row in sampled if row != default] + [default] * (default in sampled)
    if style == "compat":
        times = Counter(event.name for event in profile.events)
        return [kind for row in events for kind in _compat_kinds(profile.events[row].name, row, times)]
    names = names_in_style(profile, events, style)
    summed = (ValueKind(names[row], in_style(profile.events[row].unit, style), row, False) for row in events)
    return [ValueKind("samples", "count", -1, True), *summed]


def names_in_style(profile: Profile, rows: Iterable[int], style: str) -> dict[int, str]:
    """Return distinct sample type names for these events; none is ``samples``."""
    names, uses = plain_names(profile.events), dict[str, int]()
    mark = "_" if style == "identifiers" else "#"
    for row in rows:
        name = in_style(names[row], style)
        while name in uses or name == "samples":
            name = f"{name}{mark}{row}"
        uses[name] = row
    return {row: name for name, row in uses.items()}


def in_style(name: str, style: str) -> str:
    """Return the name or unit of an event in letters, digits and ``_`` if the style asks for identifiers."""
    return re.sub(r"\W", "_", name, flags=re.ASCII) if style == "identifiers" else name


def fixed_period(event: ProfileEvent) -> int:
    """Return an event's fixed sampling period, 0 if the kernel adapted it."""
    return 1_000_000_000 // event.frequency if event.unit == "nanoseconds" and event.frequency else event.period


def _compat_kinds(recorded: str, row: int, times: Mapping[str, int]) -> list[ValueKind]:
    """Return the types of perf_data_converter; events of the same name are numbered."""
    name = recorded or f"event_{row}"
    name = name if times[recorded] == 1 else f"{name}_{row}"
    return [ValueKind(f"{name}_sample", "count", row, True), ValueKind(f"{name}_event", "count", row, False)]


def summed_values(profile: Profile, kinds: list[ValueKind], merged: I64, count: int) -> I64:
    """Return (count, kinds) values; ``merged`` is the index of the written sample of each row of Profile.samples.

    Raises OptionError when many events and many samples would exceed the memory limit.
    """
    if len(kinds) > FEW_KINDS and count * len(kinds) > MOST_CELLS:
        raise SettingError(
            f"pprof has a number of each of {len(kinds):,} sample types in each of {count:,} samples, too many: "
            "choose some (",
            "events",
            "), or write a file for each (",
            "per_event",
            ")",
        )
    samples = profile.samples
    values = zeros((count, len(kinds)))
    rows_of = dict(rows_by(samples.event))
    for at, kind in enumerate(kinds):
        rows = slice(None) if kind.event < 0 else rows_of.get(kind.event, zeros(0))
        # a fifth of the time if the cells are neighbours
        values[:, at] = sum_at(merged[rows], (samples.count if kind.is_count else samples.value)[rows], count)
    return values


def heaviest(values: I64, most: int) -> I64:
    """Return the rows to keep when only ``most`` samples may be written, ascending, plus a last one for the rest's sum.

    The last sample type decides, then the one before it, then the order of rows.
    """
    if most <= 0 or len(values) <= most:
        return arange(len(values))
    order = lexsort((arange(len(values)), *(-values[:, at] for at in range(values.shape[1]))))
    return np.sort(order[: most - 1])
