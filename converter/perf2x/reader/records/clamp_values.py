"""Clamps impossible numbers as they are read, so that later stages can add and subtract without overflow.

One flipped bit can make a time of 292 years, a period beyond any counter, or a CPU that no machine has.
"""

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
"""By column: the name of the damage, and the range of numbers. CPUs from 2³¹ on are negative as int32; −1 means none.
"""
_ADVICE = "the recording is damaged; such numbers were replaced by possible ones"


def clamp_samples(samples: Samples, damage: Diagnostics) -> Samples:
    """Clamp times to below 2⁶³ ns and periods to 2⁴⁸, and set CPUs from 2³¹ on to −1; count the changes."""
    columns = {"period": samples.period, "time": samples.time, "cpu": samples.cpu}
    return replace(samples, **clamped(columns, damage))


def clamped(columns: Mapping[str, Any], damage: Diagnostics) -> dict[str, Any]:
    """Return the columns with impossible numbers corrected; count the changes."""
    found = {}
    for name, column in columns.items():
        if name not in _LIMITS or column is None:
            continue
        what, bounded, limit = _LIMITS[name]
        is_wrong = column < limit if name == "cpu" else column > limit
        if is_wrong.any():
            damage.add(what, _ADVICE, int(np.count_nonzero(is_wrong)))
            found[name] = bounded(column, limit)
    return found
