"""Selects the records of losses to add up. Most losses are in two kinds of records, but must not count twice.

- PERF_RECORD_LOST: the kernel counts the records that do not fit into a ring buffer, and writes their number when there
  is room again.
- PERF_RECORD_LOST_SAMPLES without a time: since Linux 6.0, the kernel also counts these losses for each event
  (PERF_FORMAT_LOST; kernel/events/ring_buffer.c, __perf_output_begin). perf record writes the totals when it ends
  (builtin-record.c, record__read_lost_samples).
- PERF_RECORD_LOST_SAMPLES with a time: samples that are lost because the hardware mixed them up
  (perf_log_lost_samples).

So if there are totals, LOST records are ignored, as in perf report (machine.c, machines__deliver_event). A perf record
that was killed wrote no totals.
"""

from collections.abc import Sequence

from perf2x.base.abi import ReadFormat
from perf2x.base.columnar import Bools, as_int64, take_rows_of
from perf2x.model.recording.events import Event
from perf2x.model.recording.sideband import Losts


def are_final_totals(events: Sequence[Event], losts: Losts) -> Bools:
    """Return (losts,) True for the total of an event, which perf record wrote when it ended."""
    total_flag = as_int64([event.read_format & ReadFormat.LOST for event in events] + [0])  # the last entry: event −1
    is_total: Bools = losts.samples_only & (losts.time == 0) & (losts.lost > 0) & (total_flag[losts.event] > 0)
    return is_total


def losses_to_count(events: Sequence[Event], losts: Losts) -> Losts:
    """Select the rows to add up: without LOST records if there are totals of events."""
    return take_rows_of(losts, losts.samples_only) if are_final_totals(events, losts).any() else losts
