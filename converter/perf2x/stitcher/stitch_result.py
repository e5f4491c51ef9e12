"""The result of stitching samples: a value that workers send and that a profile is built from."""

import numpy as np

from perf2x.base.columnar import Bools, Frozen, Ragged
from perf2x.model.profile import RecordedRows
from perf2x.model.recording import Samples
from perf2x.model.value_limits import LAST_TIME
from perf2x.stitcher.deferred.deferred_join import DeferredTally
from perf2x.stitcher.stacks.frame_keys import SideTable
from perf2x.stitcher.stacks.sample_sums import SampleRows, TimedRows
from perf2x.stitcher.stacks.stack_interner import ThreadRows


class SampleTotals(Frozen):
    """The span and the sum of all samples, also of those that are dropped."""

    first_ns: int | None = None
    """None without samples that carry a time."""
    last_ns: int | None = None
    period: float = 0.0
    """The sum of all periods; a float shows when it does not fit int64."""

    def plus(self, other: "SampleTotals") -> "SampleTotals":
        """Totals of both."""
        first = [time for time in (self.first_ns, other.first_ns) if time is not None]
        last = [time for time in (self.last_ns, other.last_ns) if time is not None]
        return SampleTotals(min(first, default=None), max(last, default=None), self.period + other.period)


def totals_of(samples: Samples) -> SampleTotals:
    """Totals of one batch; the latest time there is stands for none."""
    period = float(samples.period.sum(dtype=float))
    time = np.zeros(0, np.uint64) if samples.time is None else samples.time
    known = time if len(time) and time.max() < np.uint64(LAST_TIME) else time[time < np.uint64(LAST_TIME)]
    if not len(known):
        return SampleTotals(period=period)
    return SampleTotals(int(known.min()), int(known.max()), period)


class StitchResult(Frozen):
    """Distinct threads and stacks of many samples, and the sums of samples that are alike.

    Numbers of threads, stacks and side-table addresses hold within one result only. Columns may be views of the
    stitcher that made it: take the result last.
    """

    stacks: Ragged
    """Frame keys of every distinct stack, innermost first."""
    side_table: SideTable
    """Addresses that frame keys refer to by number."""
    hit: Bools
    """(recorded mappings + 1,) whether a frame lies in each mapping; the last row stands for none."""
    threads: ThreadRows
    samples: SampleRows
    """Sums; empty where there is a timeline."""
    timeline: TimedRows | None
    recorded: RecordedRows | None
    totals: SampleTotals
    deferred: DeferredTally
