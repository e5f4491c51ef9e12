"""Numbers that cannot be true are cut where they are read, so that everything behind the reader may add and subtract.

One flipped bit makes a time of 292 years, a period that no counter reaches or a CPU that no machine has.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.columnar.arrays import I32, U64
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.events import Samples
from perf2x.tables.value_limits import LAST_TIME, MOST_PERIOD

UNKNOWN_CPU = np.int32(-1)
_ADVICE = "the recording is damaged; such numbers were cut to what is possible"


def clamp_samples(samples: Samples) -> tuple[Samples, dict[str, int]]:
    """The samples with times below 2⁶³ ns, periods up to 2⁴⁸ and CPUs below 2³¹ (−1 where not), and how many of each
    were not so."""
    counts: dict[str, int] = {}
    period = clamp(samples.period, MOST_PERIOD, "implausible_period", counts)
    time = samples.time if samples.time is None else clamp(samples.time, LAST_TIME, "implausible_time", counts)
    cpu = samples.cpu if samples.cpu is None else clamp_cpus(samples.cpu, counts)
    return (replace(samples, time=time, period=period, cpu=cpu) if counts else samples), counts


def clamp_columns(columns: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """The same for the times and CPUs of other records."""
    counts: dict[str, int] = {}
    changed = dict(columns)
    for name in ("time", "own_time"):
        if name in columns:
            changed[name] = clamp(columns[name], LAST_TIME, "implausible_time", counts)
    changed["cpu"] = clamp_cpus(columns["cpu"], counts)
    return changed, counts


def note_implausible(diagnostics: Diagnostics, counts: Mapping[str, int]) -> None:
    """Count what was cut."""
    for name, count in counts.items():
        diagnostics.add(name, Severity.LOSS, _ADVICE, count)


def clamp(column: U64, most: int, name: str, counts: dict[str, int]) -> U64:
    """The column with ``most`` where it is more; ``counts`` gets how often."""
    if not len(column) or int(column.max()) <= most:
        return column
    counts[name] = counts.get(name, 0) + int(np.count_nonzero(column > np.uint64(most)))
    return np.minimum(column, np.uint64(most))


def clamp_cpus(cpu: I32, counts: dict[str, int]) -> I32:
    """The column with −1 where it is less, a number of 2³¹ or more; −1 itself is what perf writes for none."""
    if not len(cpu) or cpu.min() >= UNKNOWN_CPU:
        return cpu
    counts["implausible_cpu"] = counts.get("implausible_cpu", 0) + int(np.count_nonzero(cpu < UNKNOWN_CPU))
    return np.maximum(cpu, UNKNOWN_CPU)
