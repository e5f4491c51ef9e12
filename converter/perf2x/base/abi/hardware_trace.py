"""Kinds of hardware trace by the number of AUXTRACE_INFO, and how perf makes samples of each.

Source of truth: enum auxtrace_type in tools/perf/util/auxtrace.h, tools/perf/Documentation/itrace.txt.
"""

from msgspec import Struct


class TraceKind(Struct, frozen=True):
    """A kind of hardware trace; ``itrace`` are perf inject's options, "" where it makes no samples of it."""

    name: str
    itrace: str = ""


KINDS = {
    1: TraceKind("Intel PT", "i100usl"),
    2: TraceKind("Intel BTS", "b"),
    3: TraceKind("Arm CoreSight ETM", "i1000il"),
    4: TraceKind("Arm SPE", "i1i"),
    5: TraceKind("s390 CPU measurement", "i"),
    6: TraceKind("HiSilicon PTT"),
    7: TraceKind("PowerPC VPA dispatch trace log"),
}


def hardware_trace(number: int) -> dict[str, int | str]:
    """Number, name and perf inject's options of a kind, as plain values; the name of an unknown one is empty."""
    kind = KINDS.get(number, TraceKind(""))
    return {"type": number, "name": kind.name, "itrace": kind.itrace}
