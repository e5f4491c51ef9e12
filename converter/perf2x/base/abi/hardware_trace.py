"""Kinds of hardware trace, by their number in AUXTRACE_INFO, and how perf makes samples from each.

Source of truth: enum auxtrace_type in tools/perf/util/auxtrace.h, tools/perf/Documentation/itrace.txt.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from perf2x.base.frozen_struct import Frozen


class TraceKind(Frozen):
    """A kind of hardware trace."""

    name: str
    itrace: str = ""
    """Value of perf inject's option --itrace that makes samples from this kind; "" if perf inject cannot."""


KINDS = {
    1: TraceKind("Intel PT", "i100usl"),
    2: TraceKind("Intel BTS", "b"),
    3: TraceKind("Arm CoreSight ETM", "i1000il"),
    4: TraceKind("Arm SPE"),
    5: TraceKind("s390 CPU measurement", "i"),
    6: TraceKind("HiSilicon PTT"),
    7: TraceKind("PowerPC VPA dispatch trace log"),
}


ARM_SPE = "Arm SPE"
_PARAMETERS = ("cpu", "parameters", "midr", "pmu_type", "min_interval", "event_filter")


def hardware_trace(number: int, words: Sequence[int]) -> dict[str, Any]:
    """Describe a recording's hardware trace as the section ``hardware_trace`` of a session's features.

    ``number`` and ``words`` are the kind and the rest of AUXTRACE_INFO; unknown kinds have no name. For Arm SPE,
    ``words`` are the event type and a flag or, from a newer perf, a header (version, size of the header, event type,
    number of CPUs) and as many parameters for each CPU (arm_spe_alloc_metadata in tools/perf/util/arm-spe.c).
    """
    kind = KINDS.get(number, TraceKind(""))
    facts: dict[str, Any] = {"type": number, "name": kind.name, "itrace": kind.itrace}
    if kind.name != ARM_SPE or not words:
        return facts
    if len(words) == 2:  # event type, and whether each CPU had a buffer
        return facts | {"pmu_type": words[0]}
    _, header_size, pmu_type, cpu_count = (*words, 0, 0, 0)[:4]
    size = (
        (len(words) - header_size) // cpu_count if cpu_count else 0
    )  # words for each CPU; the first is a magic number
    cpus = (
        [words[header_size + size * row : header_size + size * (row + 1)] for row in range(cpu_count)]
        if size > 1
        else []
    )
    return facts | {"pmu_type": pmu_type, "cpus": [dict(zip(_PARAMETERS, cpu[1:], strict=False)) for cpu in cpus]}


def is_decoded(features: Mapping[str, Any]) -> bool:
    """Return whether perf2x itself makes samples from the hardware trace of a recording with these header sections."""
    return bool(features.get("hardware_trace", {}).get("name") == ARM_SPE)
