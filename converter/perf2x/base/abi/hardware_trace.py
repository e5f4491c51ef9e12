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
    """Describe a recording's hardware trace: its kind, and how perf makes samples from it; unknown kinds have no name.

    ``number`` and ``words`` are the kind and the rest of AUXTRACE_INFO. For Arm SPE, ``words`` contain the event type
    and, if a newer perf recorded them, parameters of each CPU (arm_spe_alloc_metadata in tools/perf/util/arm-spe.c).
    """
    kind = KINDS.get(number, TraceKind(""))
    known: dict[str, Any] = {"type": number, "name": kind.name, "itrace": kind.itrace}
    if kind.name != ARM_SPE or not words:
        return known
    if len(words) == 2:  # event type, and whether each CPU had a buffer
        return known | {"pmu_type": words[0]}
    _, head, pmu_type, count = (*words, 0, 0, 0)[:4]
    size = (len(words) - head) // count if count else 0
    rows = [words[head + size * row : head + size * (row + 1)] for row in range(count)] if size > 1 else []
    return known | {"pmu_type": pmu_type, "cpus": [dict(zip(_PARAMETERS, row[1:], strict=False)) for row in rows]}


def is_decoded(features: Mapping[str, Any]) -> bool:
    """Return whether perf2x itself makes samples from the hardware trace of a recording with these header sections."""
    return bool(features.get("hardware_trace", {}).get("name") == ARM_SPE)
