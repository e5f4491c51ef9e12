"""Kinds of hardware trace by the number of AUXTRACE_INFO, and how perf makes samples of each.

Source of truth: enum auxtrace_type in tools/perf/util/auxtrace.h, tools/perf/Documentation/itrace.txt.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from perf2x.base.frozen_struct import Frozen


class TraceKind(Frozen):
    """A kind of hardware trace; ``itrace`` are perf inject's options, "" where it makes no samples of it."""

    name: str
    itrace: str = ""


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


def hardware_trace(number: int, words: Sequence[int] = ()) -> dict[str, Any]:
    """Number, name and perf inject's options of a kind, as plain values; the name of an unknown one is empty.

    ``words`` are the rest of AUXTRACE_INFO; Arm SPE's (arm_spe_alloc_metadata in tools/perf/util/arm-spe.c) tell the
    type of its event, and facts on each CPU where a newer perf recorded.
    """
    kind = KINDS.get(number, TraceKind(""))
    known: dict[str, Any] = {"type": number, "name": kind.name, "itrace": kind.itrace}
    if kind.name != ARM_SPE or not words:
        return known
    if len(words) == 2:  # type of the event, and whether each CPU had a buffer
        return known | {"pmu_type": words[0]}
    _, head, pmu_type, count = (*words, 0, 0, 0)[:4]
    size = (len(words) - head) // count if count else 0
    rows = [words[head + size * row : head + size * (row + 1)] for row in range(count)] if size > 1 else []
    return known | {"pmu_type": pmu_type, "cpus": [dict(zip(_PARAMETERS, row[1:], strict=False)) for row in rows]}


def is_decoded(features: Mapping[str, Any]) -> bool:
    """Return whether the hardware trace of a recording with these header sections is decoded to samples."""
    return bool(features.get("hardware_trace", {}).get("name") == ARM_SPE)
