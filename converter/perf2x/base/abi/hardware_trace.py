"""Kinds of hardware trace, and the options with which perf makes samples from each.

Source of truth: enum auxtrace_type in tools/perf/util/auxtrace.h, tools/perf/Documentation/itrace.txt.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from perf2x.base.frozen_struct import Frozen


class TraceKind(Frozen):
    """A kind of hardware trace."""

    name: str
    itrace: str = ""
    """The value of perf inject's ``--itrace`` that makes samples; "" if it cannot make any, or is not needed."""


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
# Our names of the words of one CPU that follow its magic number. ``parameters`` is the number of words after it.
_PARAMETERS = ("cpu", "parameters", "midr", "pmu_type", "min_interval", "event_filter")


def hardware_trace(number: int, words: Sequence[int]) -> dict[str, Any]:
    """Describe a recording's hardware trace: the section ``hardware_trace`` of a session's features.

    ``number`` is the kind in AUXTRACE_INFO, ``words`` are the 64-bit numbers after it. An unknown kind gets an empty
    name.

    The older layout of Arm SPE has two words: the PMU's type (perf_event_attr.type), and whether each CPU had a buffer.
    The newer layout begins with a header: version, size of the header in words, the PMU's type, number of CPUs. Then
    each CPU has the same number of words: a magic number and _PARAMETERS (arm_spe_alloc_metadata in
    tools/perf/util/arm-spe.c).
    """
    kind = KINDS.get(number, TraceKind(""))
    facts: dict[str, Any] = {"type": number, "name": kind.name, "itrace": kind.itrace}
    if kind.name != ARM_SPE or not words:
        return facts
    if len(words) == 2:
        return facts | {"pmu_type": words[0]}
    _, header_size, pmu_type, cpu_count = (*words, 0, 0, 0)[:4]
    words_per_cpu = (len(words) - header_size) // cpu_count if cpu_count else 0
    starts = [header_size + words_per_cpu * index for index in range(cpu_count)] if words_per_cpu > 1 else []
    cpus = [words[start + 1 : start + words_per_cpu] for start in starts]
    return facts | {"pmu_type": pmu_type, "cpus": [dict(zip(_PARAMETERS, cpu, strict=False)) for cpu in cpus]}


def is_decoded(features: Mapping[str, Any]) -> bool:
    """Return whether perf2x makes samples from the hardware trace without perf inject.

    ``features`` are those of the recording's session.
    """
    return bool(features.get("hardware_trace", {}).get("name") == ARM_SPE)
