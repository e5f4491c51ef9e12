"""Clamps impossible numbers where they are read, so that later stages can add and subtract without overflow.

One flipped bit makes a time of 292 years, a period that no counter reaches or a CPU that no machine has.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.recording import Samples
from perf2x.model.value_limits import LAST_TIME, MOST_PERIOD

_UNKNOWN_CPU = np.int32(-1)
_ADVICE = "the recording is damaged; such numbers were replaced by possible ones"


def clamp_samples(samples: Samples) -> tuple[Samples, dict[str, int]]:
    """Clamp times to below 2⁶³ ns and periods to 2⁴⁸, and set CPUs from 2³¹ on to −1; return the number of changes by
    diagnostic name, too."""
    counts: dict[str, int] = {}
    period = _clamp(samples.period, MOST_PERIOD, "implausible_period", counts)
    time = samples.time if samples.time is None else _clamp(samples.time, LAST_TIME, "implausible_time", counts)
    cpu = samples.cpu if samples.cpu is None else _clamp_cpus(samples.cpu, counts)
    return (replace(samples, time=time, period=period, cpu=cpu) if counts else samples), counts


def clamp_columns(columns: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Clamp times and CPUs of side-band records; return the number of changes by diagnostic name, too."""
    counts: dict[str, int] = {}
    changed = dict(columns)
    for name in ("time", "own_time"):
        if name in columns:
            changed[name] = _clamp(columns[name], LAST_TIME, "implausible_time", counts)
    changed["cpu"] = _clamp_cpus(columns["cpu"], counts)
    return changed, counts


def note_implausible(diagnostics: Diagnostics, counts: Mapping[str, int]) -> None:
    """Add the numbers of clamped values to the diagnostics."""
    for name, count in counts.items():
        diagnostics.add(name, Severity.LOSS, _ADVICE, count)


def _clamp(column: U64, most: int, name: str, counts: dict[str, int]) -> U64:
    """Limit a column to ``most``; add the number of larger values to ``counts``."""
    if not len(column) or int(column.max()) <= most:
        return column
    counts[name] = counts.get(name, 0) + int(np.count_nonzero(column > np.uint64(most)))
    return np.minimum(column, np.uint64(most))


def _clamp_cpus(cpu: I32, counts: dict[str, int]) -> I32:
    """Replace numbers from 2³¹ on (negative as int32) by −1, which perf itself writes for none; count them."""
    if not len(cpu) or cpu.min() >= _UNKNOWN_CPU:
        return cpu
    counts["implausible_cpu"] = counts.get("implausible_cpu", 0) + int(np.count_nonzero(cpu < _UNKNOWN_CPU))
    return np.maximum(cpu, _UNKNOWN_CPU)
