"""Descriptions of events: name and unit of what samples count."""

from collections.abc import Sequence

from perf2x.emitters.encoding.protobuf import message, number, text
from perf2x.emitters.perfetto.trace_schema import (
    CounterDescriptor,
    Scope,
    StackSampleDefaults,
    TracePacketDefaults,
    Unit,
)
from perf2x.model.printable_text import one_line
from perf2x.model.profile import Profile, ProfileEvent, plain_names

_SOURCE = "linux.perf"
"""Readers fill perf's tables, and call the tracks so."""

_UNITS = {
    "cycles": Unit.UNIT_CPU_CYCLES,
    "cpu-cycles": Unit.UNIT_CPU_CYCLES,
    "ref-cycles": Unit.UNIT_CPU_CYCLES,
    "bus-cycles": Unit.UNIT_CPU_CYCLES,
    "instructions": Unit.UNIT_INSTRUCTIONS,
    "page-faults": Unit.UNIT_PAGE_FAULTS,
    "faults": Unit.UNIT_PAGE_FAULTS,
    "minor-faults": Unit.UNIT_PAGE_FAULTS,
    "major-faults": Unit.UNIT_PAGE_FAULTS,
    "cache-misses": Unit.UNIT_CACHE_MISSES,
    "cache-references": Unit.UNIT_CACHE_REFERENCES,
    "branch-misses": Unit.UNIT_BRANCH_MISSES,
}


def event_names(profile: Profile) -> list[str]:
    """Name of each event, as other formats have it."""
    return [one_line(name) or "event" for name in plain_names(profile.events)]


def stack_sample_defaults(events: Sequence[tuple[ProfileEvent, str]]) -> bytes:
    """TracePacketDefaults of a sequence of StackSample packets: events with their names, the sampled one first.

    One counter for all CPUs: samples without a CPU would have no weight in one of each CPU's.
    """
    first, *followers = (_descriptor(event, name) for event, name in events)
    counters = text(StackSampleDefaults.SOURCE, _SOURCE) + message(StackSampleDefaults.PRIMARY_DESCRIPTOR, first)
    counters += b"".join(message(StackSampleDefaults.FOLLOWER_DESCRIPTORS, follower) for follower in followers)
    return message(TracePacketDefaults.STACK_SAMPLE_DEFAULTS, counters)


def _descriptor(event: ProfileEvent, name: str) -> bytes:
    descriptor = text(CounterDescriptor.NAME, name) + number(CounterDescriptor.UNIT, _unit(event))
    return descriptor + number(CounterDescriptor.SCOPE, Scope.SCOPE_GLOBAL)


def _unit(event: ProfileEvent) -> Unit:
    """Return what an event counts: ``cycles`` in ``cycles:P``, ``cycles/freq=99/u`` and ``cpu_core/cycles/``."""
    if event.unit == "nanoseconds":
        return Unit.UNIT_NANOSECONDS
    parts = event.name.replace(":", "/").split("/")
    return next((_UNITS[part] for part in parts if part in _UNITS), Unit.UNIT_COUNT)
