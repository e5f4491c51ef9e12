"""Counts lost samples, most of which both perf and the kernel report.

The kernel counts records that do not fit into a ring buffer per buffer, and writes PERF_RECORD_LOST when there is room
again. Since Linux 6.0 it also counts them per event (PERF_FORMAT_LOST; kernel/events/ring_buffer.c,
__perf_output_begin), and perf record writes these counts at its end as LOST_SAMPLES without a time (builtin-record.c,
record__read_lost_samples): the same losses, and those after the last LOST. They replace LOST, as in the "Total Lost
Samples" of perf report (machine.c, machines__deliver_event). A recording that was killed has only LOST. The kernel's
own LOST_SAMPLES (perf_log_lost_samples) have a time, report samples that the hardware mixed up, and always count.
"""

from collections.abc import Sequence

from perf2x.base.abi import ReadFormat
from perf2x.base.columnar import Bools, as_int64, take_rows_of
from perf2x.model.recording.events import Event
from perf2x.model.recording.sideband import Losts


def final_counts(events: Sequence[Event], losts: Losts) -> Bools:
    """Return (losts,) whether a row is an event's total, written by perf at the end."""
    counts_lost = as_int64([event.read_format & ReadFormat.LOST for event in events] + [0])
    found: Bools = losts.samples_only & (losts.time == 0) & (losts.lost > 0) & (counts_lost[losts.event] > 0)
    return found


def counted_losses(events: Sequence[Event], losts: Losts) -> Losts:
    """Return the rows that add up to a recording's total losses."""
    return take_rows_of(losts, losts.samples_only) if final_counts(events, losts).any() else losts
