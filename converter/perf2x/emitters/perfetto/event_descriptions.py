"""Encodes names and units of events, with which a sequence of sample packets begins."""

from collections.abc import Sequence

from perf2x.emitters.encoding.protobuf import message, number, string
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
"""The source of the samples: readers put samples from this one into their tables for perf, and name tracks after it."""

# units by event name without modifiers; clocks have UNIT_NANOSECONDS, all other events UNIT_COUNT
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
    """Return the name of each event, without the terms that only describe recording."""
    return [one_line(name) or "event" for name in plain_names(profile.events)]


def stack_sample_defaults(events: Sequence[tuple[ProfileEvent, str]]) -> bytes:
    """Encode names and units of the weights of a sequence's samples.

    The first of ``events`` takes the samples, the others are read with it.
    """
    primary, *followers = (_descriptor(event, name) for event, name in events)
    defaults = string(StackSampleDefaults.SOURCE, _SOURCE) + message(StackSampleDefaults.PRIMARY_DESCRIPTOR, primary)
    defaults += b"".join(message(StackSampleDefaults.FOLLOWER_DESCRIPTORS, follower) for follower in followers)
    return message(TracePacketDefaults.STACK_SAMPLE_DEFAULTS, defaults)


def _descriptor(event: ProfileEvent, name: str) -> bytes:
    # one counter for all CPUs: with one for each, samples of unknown CPU would have no weight
    descriptor = string(CounterDescriptor.NAME, name) + number(CounterDescriptor.UNIT, _unit(event))
    return descriptor + number(CounterDescriptor.SCOPE, Scope.SCOPE_GLOBAL)


def _unit(event: ProfileEvent) -> Unit:
    if event.unit == "nanoseconds":
        return Unit.UNIT_NANOSECONDS
    # the name without modifiers and PMU: cycles in cycles:P, cycles/freq=99/u and cpu_core/cycles/
    parts = event.name.replace(":", "/").split("/")
    return next((_UNITS[part] for part in parts if part in _UNITS), Unit.UNIT_COUNT)
