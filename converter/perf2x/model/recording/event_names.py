"""Parses event names: separates the event from how it was recorded.

perf has many names for one event: ``cycles``, ``cycles:P``, ``cycles/freq=99/``, ``cpu_core/cycles/``, ``cycles:u``.
"""

import re

from perf2x.base.frozen_struct import Frozen

RECORDING_TERMS = {
    "aux-action", "aux-output", "aux-sample-size", "branch_type", "call-graph", "freq", "inherit", "max-events",
    "max-stack", "no-inherit", "no-overwrite", "overwrite", "percore", "period", "stack-size", "time",
}  # fmt: skip
"""Terms between slashes that describe recording, not the event (tools/perf/util/parse-events.l)."""

_MODIFIERS = "ukhIGHpPSDWebR"
_BETWEEN_SLASHES = re.compile(rf"([^/]+)/([^/]*)/:?([{_MODIFIERS}]*)/?")
_BEHIND_A_COLON = re.compile(rf"(.+):([{_MODIFIERS}]+)")
_CORE = re.compile(r"cpu(_\w+)?|arm\w+|apple_\w+")
"""PMUs of CPU cores: cpu, cpu_core, cpu_atom, armv8_cortex_a72, apple_firestorm_pmu."""
_OTHER_NAMES = {
    "cpu-cycles": "cycles", "cpu_cycles": "cycles", "branch-instructions": "branches", "cs": "context-switches",
    "faults": "page-faults", "migrations": "cpu-migrations",
}  # fmt: skip
"""perf's aliases (event_symbols_hw and _sw in tools/perf/util/parse-events.c), and those of Arm's PMUs."""


class EventName(Frozen):
    """A parsed event name."""

    event: str
    """The event alone: ``cycles``, ``sched:sched_switch``; with its PMU if it is only a code."""
    pmu: str
    """``cpu_core``; empty if the name has none."""
    modes: frozenset[str]
    """Modes counted exclusively, out of u, k, h and G (user, kernel, hypervisor, guest); empty: all but guests.

    Other modifiers concern precision and scheduling. H excludes guests, which is perf's default.
    """

    @property
    def counted(self) -> str:
        """The event's canonical name."""
        return _OTHER_NAMES.get(self.event, self.event)

    @property
    def is_of_core(self) -> bool:
        """Whether the name has the PMU of a kind of CPU core."""
        return _CORE.fullmatch(self.pmu) is not None

    def counts_like(self, other: "EventName") -> bool:
        """Return whether both count the same event, possibly in different modes."""
        cores = self.is_of_core and other.is_of_core
        return self.counted == other.counted and (self.pmu in ("", other.pmu) or not other.pmu or cores)


def event_name(text: str) -> EventName:
    """Parse a name as perf writes it."""
    if parts := _BETWEEN_SLASHES.fullmatch(text):
        pmu, listed, modifiers = parts.groups()
        terms = [term for term in listed.split(",") if term and term.partition("=")[0] not in RECORDING_TERMS]
        if not terms:
            return EventName(pmu, "", _modes(modifiers))
        if len(terms) == 1 and "=" not in terms[0]:
            return EventName(terms[0], pmu, _modes(modifiers))
        return EventName(f"{pmu}/{','.join(terms)}/", "", _modes(modifiers))
    if parts := _BEHIND_A_COLON.fullmatch(text):
        return EventName(parts[1], "", _modes(parts[2]))
    return EventName(text, "", frozenset())


def means(text: str, name: str) -> bool:
    """Return whether a user's event name matches this name; without a PMU or modes, it matches all of them."""
    if text == name:
        return True
    typed, recorded = event_name(text), event_name(name)
    is_alike = typed.counted == recorded.counted and typed.pmu in ("", "cpu", recorded.pmu)
    return is_alike and (not typed.modes or typed.modes == recorded.modes)


def is_tracepoint(name: str) -> bool:
    """Return whether a name is a tracepoint, ``sched:sched_switch``, not a counter with modifiers, ``cycles:u``."""
    return ":" in event_name(name).event and "/" not in name


def _modes(modifiers: str) -> frozenset[str]:
    modes = frozenset(modifiers) & frozenset("ukhG")
    return modes - {"u", "k", "h"} if {"u", "k"} <= modes else modes
