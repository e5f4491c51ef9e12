"""Times of a Chrome trace: microseconds with at most three decimals."""

import numpy as np

from perf2x.base.columnar import I64, AnyArray
from perf2x.emitters.encoding.decimal_text import chunk_array, number_chunks

TICK_NS = 125
"""Times are whole eighths of a microsecond, which are exact in binary.

So a viewer that adds start and duration as floating-point numbers sees parents and children end together.
"""
_TICKS_PER_MICROSECOND = 1000 // TICK_NS
# Decimals of 0 … 7 ticks past a whole microsecond, each as four bytes.
_DECIMALS = np.array([b""] + [b".%d" % part for part in (125, 25, 375, 5, 625, 75, 875)], "S4").view(np.uint32)


def time_chunks(ticks: I64, end: bytes = b"") -> AnyArray:
    """Return (n,) chunks: each time in microseconds as decimal text, followed by ``end``."""
    return number_chunks(ticks // _TICKS_PER_MICROSECOND, end, _DECIMALS[ticks % _TICKS_PER_MICROSECOND])


def ticks_of(nanoseconds: I64) -> I64:
    """Return times in ticks, rounded to the nearest one."""
    ticks: I64 = (nanoseconds + TICK_NS // 2) // TICK_NS
    return ticks


def event_ends(pid: I64, tid: I64) -> AnyArray:
    """Return (n,) chunks that end an event: process and thread, the closing brace, a comma and a newline."""
    pairs = zip(pid.tolist(), tid.tolist(), strict=True)
    return chunk_array(b',"pid":%d,"tid":%d},\n' % pair for pair in pairs)
