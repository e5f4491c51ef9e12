"""Parses event names: the event that is counted, apart from how it was recorded.

perf names one event in many ways: ``cycles``, ``cycles:P``, ``cycles/freq=99/``, ``cpu_core/cycles/``, ``cycles:u``.
"""

import re

from perf2x.base.frozen import Frozen

RECORDING_TERMS = {
    "aux-action", "aux-output", "aux-sample-size", "branch_type", "call-graph", "freq", "inherit", "max-events",
    "max-stack", "no-inherit", "no-overwrite", "overwrite", "percore", "period", "stack-size", "time",
}  # fmt: skip
"""Terms between slashes that say how an event was recorded, not which one (tools/perf/util/parse-events.l)."""

_MODIFIERS = "ukhIGHpPSDWebR"
_BETWEEN_SLASHES = re.compile(rf"([^/]+)/([^/]*)/:?([{_MODIFIERS}]*)/?")
_BEHIND_A_COLON = re.compile(rf"(.+):([{_MODIFIERS}]+)")
_CORE = re.compile(r"cpu(_\w+)?|arm\w+|apple_\w+")
"""PMUs of CPU cores: cpu, cpu_core, cpu_atom, armv8_cortex_a72, apple_firestorm_pmu."""
_OTHER_NAMES = {
    "cpu-cycles": "cycles", "cpu_cycles": "cycles", "branch-instructions": "branches", "cs": "context-switches",
    "faults": "page-faults", "migrations": "cpu-migrations",
}  # fmt: skip
"""Of perf (event_symbols_hw and _sw in tools/perf/util/parse-events.c), and of Arm's PMUs."""


class EventName(Frozen):
    """A parsed event name."""

    event: str
    """The event alone: ``cycles``, ``sched:sched_switch``; with its PMU where it is only a code."""
    pmu: str
    """``cpu_core``; empty where the name does not say."""
    modes: frozenset[str]
    """Modes that are counted exclusively, of u, k, h and G (user, kernel, hypervisor, guest); empty: all but guests.

    The other modifiers say how precisely samples are placed and how events are scheduled. H excludes guests, as perf
    does without it.
    """

    @property
    def counted(self) -> str:
        """The event by one of the names that perf has for it."""
        return _OTHER_NAMES.get(self.event, self.event)

    @property
    def is_of_core(self) -> bool:
        """Whether the name tells the kind of CPU core."""
        return _CORE.fullmatch(self.pmu) is not None

    def counts_like(self, other: "EventName") -> bool:
        """Tell whether both count the same event, perhaps in different modes."""
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
    """Tell whether a user's name for an event means one of this name: all of its PMUs and modes, if it says none."""
    if text == name:
        return True
    asked, known = event_name(text), event_name(name)
    is_alike = asked.counted == known.counted and asked.pmu in ("", "cpu", known.pmu)
    return is_alike and (not asked.modes or asked.modes == known.modes)


def is_tracepoint(name: str) -> bool:
    """Tell a tracepoint, ``sched:sched_switch``, from a counter with modifiers, ``cycles:u``."""
    return ":" in event_name(name).event and "/" not in name


def _modes(modifiers: str) -> frozenset[str]:
    modes = frozenset(modifiers) & frozenset("ukhG")
    return modes - {"u", "k", "h"} if {"u", "k"} <= modes else modes
