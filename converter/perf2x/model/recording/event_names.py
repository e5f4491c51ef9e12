"""Parses event names into the event and how it was recorded.

Their grammar is ``event:modifiers``, ``event/terms/modifiers`` or ``pmu/event,terms/modifiers``.
"""

import re

from perf2x.base.frozen_struct import Frozen

# Terms between slashes that describe recording, not the event (tools/perf/util/parse-events.l).
RECORDING_TERMS = {
    "aux-action", "aux-output", "aux-sample-size", "branch_type", "call-graph", "freq", "inherit", "max-events",
    "max-stack", "no-inherit", "no-overwrite", "overwrite", "percore", "period", "stack-size", "time",
}  # fmt: skip

# Letters after a name (tools/perf/Documentation/perf-list.txt, EVENT MODIFIERS).
_MODIFIERS = "ukhIGHpPSDWebR"
_WITH_SLASHES = re.compile(rf"([^/]+)/([^/]*)/:?([{_MODIFIERS}]*)/?")
_WITH_COLON = re.compile(rf"(.+):([{_MODIFIERS}]+)")
# PMUs of CPU cores: cpu, cpu_core, cpu_atom, armv8_cortex_a72, apple_firestorm_pmu.
_CORE_PMU = re.compile(r"cpu(_\w+)?|arm\w+|apple_\w+")
# Aliases of perf (event_symbols_hw and _sw in tools/perf/util/parse-events.c) and of Arm's PMUs.
_ALIASES = {
    "cpu-cycles": "cycles", "cpu_cycles": "cycles", "branch-instructions": "branches", "cs": "context-switches",
    "faults": "page-faults", "migrations": "cpu-migrations",
}  # fmt: skip


class EventName(Frozen):
    """A parsed event name."""

    event: str
    """The event alone: ``cycles``, ``sched:sched_switch``.

    An event that is given by numbers instead of a name keeps its PMU and terms: ``cpu/event=0x3c,umask=0x1/``.
    """
    pmu: str
    """The PMU of the event, such as ``cpu_core``; empty if the name has no PMU, or if ``event`` includes it."""
    modes: frozenset[str]
    """Letters of the modes to which the name restricts counting: u, k, h and G (user, kernel, hypervisor, guest).

    Empty if the name has no such restriction: the event is counted in all modes, except in guests. H is left out,
    because it excludes guests, which is the default. All other modifiers concern precision and scheduling.
    """

    @property
    def canonical(self) -> str:
        """The event's name; for an alias, the name for which it stands: ``cycles`` for ``cpu-cycles``."""
        return _ALIASES.get(self.event, self.event)

    @property
    def is_core_pmu(self) -> bool:
        """Whether the PMU belongs to CPU cores."""
        return _CORE_PMU.fullmatch(self.pmu) is not None

    def counts_like(self, other: "EventName") -> bool:
        """Return whether both names count the same event, possibly in different modes or on different kinds of core."""
        are_core_pmus = self.is_core_pmu and other.is_core_pmu
        return self.canonical == other.canonical and (self.pmu in ("", other.pmu) or not other.pmu or are_core_pmus)


def parse_event_name(text: str) -> EventName:
    """Parse a name as perf writes it."""
    if parts := _WITH_SLASHES.fullmatch(text):
        head, all_terms, modifiers = parts.groups()
        terms = [term for term in all_terms.split(",") if term and term.partition("=")[0] not in RECORDING_TERMS]
        if not terms:  # cycles/freq=99/
            return EventName(head, "", _modes(modifiers))
        if len(terms) == 1 and "=" not in terms[0]:  # cpu_core/cycles/
            return EventName(terms[0], head, _modes(modifiers))
        return EventName(f"{head}/{','.join(terms)}/", "", _modes(modifiers))  # cpu/event=0x3c,umask=0x1/
    if parts := _WITH_COLON.fullmatch(text):
        return EventName(parts[1], "", _modes(parts[2]))
    return EventName(text, "", frozenset())


def matches_event_name(typed_name: str, recorded_name: str) -> bool:
    """Return whether an event name that a user typed matches a recorded one.

    A typed name without a PMU, or with the PMU ``cpu``, matches all PMUs; one without modes matches all modes.
    """
    if typed_name == recorded_name:
        return True
    typed, recorded = parse_event_name(typed_name), parse_event_name(recorded_name)
    is_same_event = typed.canonical == recorded.canonical and typed.pmu in ("", "cpu", recorded.pmu)
    return is_same_event and (not typed.modes or typed.modes == recorded.modes)


def is_tracepoint(name: str) -> bool:
    """Return whether an event is a tracepoint (``sched:sched_switch``), not a counter with modifiers (``cycles:u``)."""
    return ":" in parse_event_name(name).event and "/" not in name


def _modes(modifiers: str) -> frozenset[str]:
    """`EventName.modes`; user and kernel mode together are no restriction."""
    modes = frozenset(modifiers) & frozenset("ukhG")
    return modes - {"u", "k", "h"} if {"u", "k"} <= modes else modes
