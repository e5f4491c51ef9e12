"""Descriptions of events: name and unit of what samples count."""

from collections.abc import Sequence

from perf2x.emitters.perfetto.message import message, number, text
from perf2x.emitters.perfetto.trace_schema import (
    Counter,
    CounterDescriptor,
    FollowerEvent,
    PerfSampleDefaults,
    Scope,
    StackSampleDefaults,
    Timebase,
    TracePacketDefaults,
    Tracepoint,
    Unit,
)
from perf2x.model.printable_text import one_line
from perf2x.model.profile.profile import Profile, ProfileEvent, plain_names

SOURCE = "linux.perf"
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

_COUNTERS = {
    "cpu-clock": Counter.SW_CPU_CLOCK,
    "task-clock": Counter.SW_TASK_CLOCK,
    "page-faults": Counter.SW_PAGE_FAULTS,
    "faults": Counter.SW_PAGE_FAULTS,
    "minor-faults": Counter.SW_PAGE_FAULTS_MIN,
    "major-faults": Counter.SW_PAGE_FAULTS_MAJ,
    "context-switches": Counter.SW_CONTEXT_SWITCHES,
    "cs": Counter.SW_CONTEXT_SWITCHES,
    "cpu-migrations": Counter.SW_CPU_MIGRATIONS,
    "migrations": Counter.SW_CPU_MIGRATIONS,
    "alignment-faults": Counter.SW_ALIGNMENT_FAULTS,
    "emulation-faults": Counter.SW_EMULATION_FAULTS,
    "cycles": Counter.HW_CPU_CYCLES,
    "cpu-cycles": Counter.HW_CPU_CYCLES,
    "instructions": Counter.HW_INSTRUCTIONS,
    "cache-references": Counter.HW_CACHE_REFERENCES,
    "cache-misses": Counter.HW_CACHE_MISSES,
    "branches": Counter.HW_BRANCH_INSTRUCTIONS,
    "branch-instructions": Counter.HW_BRANCH_INSTRUCTIONS,
    "branch-misses": Counter.HW_BRANCH_MISSES,
    "bus-cycles": Counter.HW_BUS_CYCLES,
    "ref-cycles": Counter.HW_REF_CPU_CYCLES,
}


def event_names(profile: Profile) -> list[str]:
    """Name of each event, as other formats have it."""
    return [one_line(name) or "event" for name in plain_names(profile.events)]


def stack_sample_defaults(events: Sequence[tuple[ProfileEvent, str]]) -> bytes:
    """TracePacketDefaults of a sequence of StackSample packets: events with their names, the sampled one first.

    One counter for all CPUs: samples without a CPU would have no weight in one of each CPU's.
    """
    first, *followers = (_descriptor(event, name) for event, name in events)
    counters = text(StackSampleDefaults.SOURCE, SOURCE) + message(StackSampleDefaults.PRIMARY_DESCRIPTOR, first)
    counters += b"".join(message(StackSampleDefaults.FOLLOWER_DESCRIPTORS, follower) for follower in followers)
    return message(TracePacketDefaults.STACK_SAMPLE_DEFAULTS, counters)


def perf_sample_defaults(events: Sequence[tuple[ProfileEvent, str]]) -> bytes:
    """TracePacketDefaults of a sequence of PerfSample packets: events with their names, the sampled one first."""
    (event, name), *followers = events
    timebase = number(Timebase.FREQUENCY, event.frequency) if event.frequency else b""
    timebase = timebase or number(Timebase.PERIOD, max(event.period, 1))
    timebase += _what_counts(event, name, Timebase.COUNTER, Timebase.TRACEPOINT) + text(Timebase.NAME, name)
    counters = message(PerfSampleDefaults.TIMEBASE, timebase)
    for follower, label in followers:
        payload = _what_counts(follower, label, FollowerEvent.COUNTER, FollowerEvent.TRACEPOINT)
        counters += message(PerfSampleDefaults.FOLLOWERS, payload + text(FollowerEvent.NAME, label))
    return message(TracePacketDefaults.PERF_SAMPLE_DEFAULTS, counters)


def _descriptor(event: ProfileEvent, name: str) -> bytes:
    descriptor = text(CounterDescriptor.NAME, name) + number(CounterDescriptor.UNIT, _unit(event))
    return descriptor + number(CounterDescriptor.SCOPE, Scope.SCOPE_GLOBAL)


def _what_counts(event: ProfileEvent, name: str, counter: int, tracepoint: int) -> bytes:
    """Encode the counter that readers know, which tells them the unit, or else the name as that of a tracepoint."""
    known = _base(event.name)
    if known in _COUNTERS:
        return number(counter, _COUNTERS[known])
    if event.unit == "nanoseconds":
        return number(counter, Counter.SW_CPU_CLOCK)  # the only way to say so
    return message(tracepoint, text(Tracepoint.NAME, name))


def _unit(event: ProfileEvent) -> Unit:
    if event.unit == "nanoseconds":
        return Unit.UNIT_NANOSECONDS
    return _UNITS.get(_base(event.name), Unit.UNIT_COUNT)


def _base(name: str) -> str:
    """``cycles`` of ``cycles:P``, ``cycles/freq=99/u`` and ``cpu_core/cycles/``."""
    parts = [part for part in name.replace(":", "/").split("/") if part]
    return next((part for part in parts if part in _COUNTERS), parts[0] if parts else "")
