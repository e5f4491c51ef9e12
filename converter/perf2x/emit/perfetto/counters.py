"""Descriptions of events: name and unit of what samples count."""

from perf2x.analysis.event_lookup import plain_names
from perf2x.emit.perfetto.message import message, number, text
from perf2x.emit.perfetto.schema import (
    Counter,
    CounterDescriptor,
    PerfSampleDefaults,
    Scope,
    StackSampleDefaults,
    Timebase,
    TracePacketDefaults,
    Tracepoint,
    Unit,
)
from perf2x.tables.output_text import one_line
from perf2x.tables.profile import Profile, ProfileEvent

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


def stack_sample_defaults(event: ProfileEvent, name: str) -> bytes:
    """TracePacketDefaults of a sequence of StackSample packets.

    One counter for all CPUs: samples without a CPU would have no weight in one of each CPU's.
    """
    descriptor = text(CounterDescriptor.NAME, name)
    descriptor += number(CounterDescriptor.UNIT, _unit(event))
    descriptor += number(CounterDescriptor.SCOPE, Scope.SCOPE_GLOBAL)
    counters = text(StackSampleDefaults.SOURCE, SOURCE)
    counters += message(StackSampleDefaults.PRIMARY_DESCRIPTOR, descriptor)
    return message(TracePacketDefaults.STACK_SAMPLE_DEFAULTS, counters)


def perf_sample_defaults(event: ProfileEvent, name: str) -> bytes:
    """TracePacketDefaults of a sequence of PerfSample packets."""
    timebase = number(Timebase.FREQUENCY, event.frequency) if event.frequency else b""
    timebase = timebase or number(Timebase.PERIOD, max(event.period, 1))
    known = _base(event.name)
    if known in _COUNTERS:
        timebase += number(Timebase.COUNTER, _COUNTERS[known])
    elif event.unit == "nanoseconds":
        timebase += number(Timebase.COUNTER, Counter.SW_CPU_CLOCK)  # the only way to say so
    else:
        timebase += message(Timebase.TRACEPOINT, text(Tracepoint.NAME, name))
    timebase += text(Timebase.NAME, name)
    return message(TracePacketDefaults.PERF_SAMPLE_DEFAULTS, message(PerfSampleDefaults.TIMEBASE, timebase))


def _unit(event: ProfileEvent) -> Unit:
    if event.unit == "nanoseconds":
        return Unit.UNIT_NANOSECONDS
    return _UNITS.get(_base(event.name), Unit.UNIT_COUNT)


def _base(name: str) -> str:
    """``cycles`` of ``cycles:P``, ``cycles/freq=99/u`` and ``cpu_core/cycles/``."""
    parts = [part for part in name.replace(":", "/").split("/") if part]
    return next((part for part in parts if part in _COUNTERS), parts[0] if parts else "")
