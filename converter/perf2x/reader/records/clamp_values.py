"""Clamps impossible numbers as they are read, so that later stages can add and subtract without overflow."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import Samples
from perf2x.model.value_limits import LAST_TIME, MOST_PERIOD

_LIMITS: dict[str, tuple[str, Any, Any]] = {
    "time": ("implausible_time", np.minimum, np.uint64(LAST_TIME)),
    "own_time": ("implausible_time", np.minimum, np.uint64(LAST_TIME)),
    "period": ("implausible_period", np.minimum, np.uint64(MOST_PERIOD)),
    "cpu": ("implausible_cpu", np.maximum, np.int32(-1)),
}
"""By column: the name of the diagnostic, the function that clamps the column, and the limit.

A CPU of 2³¹ or more is negative as an int32. It becomes −1, which means that no CPU is known.
"""
_ADVICE = "the recording is damaged; such numbers were replaced by possible ones"


def clamp_samples(samples: Samples, damage: Diagnostics) -> Samples:
    """Clamp times to less than 2⁶³ ns and periods to at most 2⁴⁸; set CPUs of 2³¹ or more to −1; count the changes."""
    columns = {"period": samples.period, "time": samples.time, "cpu": samples.cpu}
    return replace(samples, **clamp_columns(columns, damage))


def clamp_columns(columns: Mapping[str, Any], damage: Diagnostics) -> dict[str, Any]:
    """Return the columns that had impossible numbers, clamped; count the changes."""
    changed = {}
    for name, column in columns.items():
        if name not in _LIMITS or column is None:
            continue
        diagnostic, clamp, limit = _LIMITS[name]
        is_wrong = column < limit if name == "cpu" else column > limit
        if is_wrong.any():
            damage.add(diagnostic, _ADVICE, int(np.count_nonzero(is_wrong)))
            changed[name] = clamp(column, limit)
    return changed
