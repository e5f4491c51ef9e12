"""Every process of a recording over time: what was mapped where, and what threads were called.

Built once from the side-band records and never changed, so that forked workers share it without a copy.
"""

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import SampleType
from perf2x.base.columnar.arrays import I32, I64, U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.recording.build_ids import with_vdso_names
from perf2x.model.recording.events import Samples, Session
from perf2x.model.recording.sideband import Mmaps, Sideband
from perf2x.model.value_limits import LAST_TIME
from perf2x.stitcher.deferred.deferred_matching import DeferredRecords
from perf2x.stitcher.history.address_layout import AddressLayout
from perf2x.stitcher.history.address_spaces import MAX_FORK_DEPTH, AddressSpaces
from perf2x.stitcher.history.event_order import EventOrder, order_events
from perf2x.stitcher.history.kernel_mappings import append_ksymbols, extend_kernel_text
from perf2x.stitcher.history.profile_mappings import MergedMappings, merge_mappings
from perf2x.stitcher.history.thread_names import ThreadNames


class ProcessHistory(Struct, frozen=True):
    """The side-band of one recording, indexed for lookup by process, time and address."""

    sideband: Sideband
    mmaps: Mmaps
    """The recorded mappings and one for each kernel symbol; ``spaces`` answers with rows of this table."""
    order: EventOrder
    spaces: AddressSpaces
    names: ThreadNames
    mappings: MergedMappings
    layout: AddressLayout
    """``mappings`` laid end to end."""
    deferred: DeferredRecords
    deferred_epoch: I32
    """(deferred records,) the epoch of the process at each record's time, −1 for unknown processes."""

    def ranks_of(self, samples: Samples) -> I64:
        """(n,) the rank of each sample among the events of the history."""
        return self.order.rank(samples.time, samples.position)

    @property
    def has_time(self) -> bool:
        """True if any sample of the recording carries its time."""
        return self.deferred.has_time

    def note_missing_times(self, time: U64, diagnostics: Diagnostics) -> None:
        """Report samples that a timeline cannot put where they belong; ``time`` (samples,) of all of them.

        Without any time a timeline shows places in the file instead. 0 and the last possible time, which larger ones
        were cut to, are no times of a clock that runs.
        """
        if not self.has_time:
            advice = "times shown are positions in the file; record without --per-thread or with -T"
            diagnostics.add("no_timestamps", Severity.GUESS, advice)
            return
        impossible = np.count_nonzero((time == 0) | (time == LAST_TIME))
        if impossible > 1:  # one may be the first of a clock
            advice = "without a possible time they are drawn at one moment, or not at all"
            diagnostics.add("samples_without_time", Severity.LOSS, advice, int(impossible))


def build_process_history(
    session: Session, sideband: Sideband, diagnostics: Diagnostics, per_process: bool = False
) -> ProcessHistory:
    """Index the side-band of a recording.

    With ``per_process``, mappings of one file in several processes stay apart. Reports processes whose mappings are
    incomplete because there were too many forks to ``diagnostics``.
    """
    mmaps = with_vdso_names(extend_kernel_text(sideband.mmaps), session)
    mmaps = append_ksymbols(mmaps, sideband.ksymbols)
    tables = (mmaps, sideband.comms, sideband.forks, sideband.ksymbols)
    order, ranks = order_events(
        np.concatenate([table.time for table in tables]), np.concatenate([table.position for table in tables])
    )
    mmap_rank, comm_rank, fork_rank, ksymbol_rank = np.split(ranks, np.cumsum([len(table) for table in tables])[:-1])
    spaces = AddressSpaces(
        mmaps, mmap_rank, sideband.forks, fork_rank, sideband.comms, comm_rank, sideband.ksymbols, ksymbol_rank
    )
    diagnostics.add(
        "fork_lines_cut", Severity.LOSS,
        f"After {MAX_FORK_DEPTH:,} forks in a row without an exec, processes do not see what was mapped before.",
        count=spaces.lines_cut,
    )  # fmt: skip
    deferred = sideband.deferred
    deferred_rank = order.rank(deferred.time, deferred.position)
    mappings = merge_mappings(mmaps, session, per_process)
    has_time = any(event.sample_type & SampleType.TIME for event in session.events)
    return ProcessHistory(
        sideband=sideband,
        mmaps=mmaps,
        order=order,
        spaces=spaces,
        names=ThreadNames(sideband.comms, comm_rank, sideband.forks, fork_rank),
        mappings=mappings,
        layout=AddressLayout(mappings),
        deferred=DeferredRecords(deferred, sideband.comms, has_time),
        deferred_epoch=spaces.epoch(deferred.pid.astype(np.int64), deferred_rank).astype(np.int32),
    )
