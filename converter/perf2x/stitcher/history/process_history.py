"""Builds the history of all processes of a recording: their mappings, and the names of their threads, over time.

Records that change a process (mmap, comm, fork, exec, kernel symbols) are ordered by time, then by position. The
*sequence number* of a sample, or of any other record, is the number of process changes before it. Other modules compare
sequence numbers in place of times, which also works for recordings without timestamps.

A thread without its own PERF_RECORD_COMM has the name that its parent had at the fork (thread__fork in tools/perf).

A program may copy its text over itself to have it in huge pages (iodlr, BOLT's --hot-text, Chromium). The anonymous
memory is treated as the part of the file that it replaced, whose names and call frame information still apply::

    first     0x400000 … 0x900000    /bin/server
    then      0x600000 … 0x800000    //anon, executable; treated as /bin/server from offset 0x200000 on

It must consist of whole huge pages. Other anonymous memory may be a JIT compiler's, at the address of a library that
was unloaded: no record reports an munmap.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    DictionaryColumn,
    Frozen,
    KeyedValues,
    StringTableBuilder,
    arange,
    argsort_rows,
    as_int32,
    as_int64,
    chain_ends,
    cumsum,
    falses,
    flatnonzero,
    searchsorted,
    take,
    unique_inverse,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.mapping_names import is_injected, is_jitdump, is_real_path, without_deleted
from perf2x.model.recording import Comms, Mmaps, Samples, Session, Sideband, Tasks, with_vdso_names
from perf2x.model.value_limits import LAST_TIME
from perf2x.stitcher.deferred.cookie_matching import DeferredRecords
from perf2x.stitcher.history.address_spaces import MAX_FORK_DEPTH, AddressSpaces
from perf2x.stitcher.history.kernel_mappings import append_ksymbols, end_addresses, extend_kernel_text
from perf2x.stitcher.history.profile_mappings import AddressLayout, MergedMappings, may_hold_code, merge_mappings

# bytes of a huge page, which is also its alignment; the same for all processors
_HUGE_PAGE = np.uint64(2 << 20)


def _with_copied_text(mmaps: Mmaps, mmap_sequence: I64, spaces: AddressSpaces) -> Mmaps:
    """Turn each copy of a program's text into a part of the file that it replaced."""
    is_code = may_hold_code(mmaps)
    rows = flatnonzero(mmaps.filename.which(lambda name: name.startswith(("//anon", "/anon_hugepage"))) & is_code)
    if not len(rows):
        return mmaps
    start, end = mmaps.start[rows], end_addresses(mmaps.start, mmaps.length)[rows]
    # a copy replaces the one mapping that has both its first and its last byte
    epoch = spaces.epoch(as_int64(mmaps.pid[rows]), mmap_sequence[rows] - 1)
    through_exec = falses(len(rows))
    replaced = spaces.find(epoch, start, through_exec)
    last = np.maximum(end, start + np.uint64(1)) - np.uint64(1)
    is_copy = (replaced >= 0) & (replaced != rows) & (spaces.find(epoch, last, through_exec) == replaced)
    is_copy &= (start | end) % _HUGE_PAGE == 0
    # a copy may have replaced another copy
    replaced_row = arange(len(mmaps))
    replaced_row[rows[is_copy]] = replaced[is_copy]
    source = chain_ends(replaced_row)[rows]
    has_file = mmaps.filename.which(_is_file) & is_code
    copies = flatnonzero((source != rows) & take(has_file, source))
    return _as_parts(mmaps, rows[copies], source[copies]) if len(copies) else mmaps


def _is_file(name: str) -> bool:
    return is_real_path(without_deleted(name)) and not (is_jitdump(name) or is_injected(name))


def _as_parts(mmaps: Mmaps, rows: I64, source: I64) -> Mmaps:
    """Make ``rows[i]`` a part of the file that row ``source[i]`` maps; addresses stay."""
    pgoff: U64 = mmaps.pgoff.copy()
    pgoff[rows] = mmaps.pgoff[source] + (mmaps.start[rows] - mmaps.start[source])
    file, filename, build_id = mmaps.file_hash.copy(), mmaps.filename.indices.copy(), mmaps.build_id.indices.copy()
    for column in (file, filename, build_id):
        column[rows] = column[source]
    return replace(
        mmaps, pgoff=pgoff, file_hash=file,
        filename=DictionaryColumn(filename, mmaps.filename.distinct),
        build_id=DictionaryColumn(build_id, mmaps.build_id.distinct),
    )  # fmt: skip


class ThreadNames:
    """Finds the name of the thread that has a tid at a sequence number, and the fork that made this thread."""

    def __init__(self, comms: Comms, comm_sequence: I64, forks: Tasks, fork_sequence: I64) -> None:
        strings = StringTableBuilder()
        names = take(strings.add_all(comms.comm.distinct), comms.comm.indices)
        self.distinct_names = strings.table()
        tid = as_int64(np.concatenate([comms.tid, forks.tid]))
        # comms and forks that gave threads their names; comms are numbered first
        self._naming_records = KeyedValues(tid, np.concatenate([comm_sequence, fork_sequence]), arange(len(tid)))
        # a fork passes on the parent's name: it refers to the record that named the parent
        parent = self._naming_records.at(as_int64(forks.ptid), fork_sequence - 1)
        parent[forks.tid == forks.ptid] = -1  # another thread had the id before (machine__process_fork_event)
        source = chain_ends(np.concatenate([arange(len(names)), parent, [-1]]))
        self._names = np.append(as_int64(names), -1)[np.where(source < 0, len(names), source)]
        """(comms + forks + 1,) index in ``distinct_names`` of each record's name; −1 for none, and last."""
        self._fork_sequences = KeyedValues(as_int64(forks.tid), fork_sequence, fork_sequence)

    def at(self, tid: I64, sequence: I64) -> I64:
        """Return (n,) the index in ``distinct_names`` of each thread's name, −1 for none."""
        return take(self._names, self._naming_records.at(tid, sequence))

    def fork_sequence(self, tid: I64, sequence: I64) -> I64:
        """Return (n,) the sequence number of the fork that made each thread, −1 if not recorded."""
        return self._fork_sequences.at(tid, sequence)


class RecordOrder(Frozen):
    """The order of ``n`` records by time, then position; created by ``order_records``."""

    times: U64  # (n,) ascending
    next_times: U64
    """(n + 1,) time of the record after each sequence number; the last is a sentinel."""
    positions: I64
    """(n,) ascending; not in the order of ``times``."""
    tie_keys: I64
    """(n,) ascending: indices in ``distinct_times`` and ``positions`` of each record, packed."""
    distinct_times: U64
    """Ascending."""

    def sequence(self, time: U64 | None, position: I64) -> I64:
        """Return the number of records before each time (n,) or, at equal times, each position (n,) in the file."""
        if time is None:
            time = np.zeros(len(position), np.uint64)
        first, last = searchsorted(self.times, [time.min(initial=np.uint64(LAST_TIME)), time.max(initial=0)]).tolist()
        sequence: I64 = searchsorted(self.times[first:last], time) + first  # only among the times of this batch
        # positions decide between equal times
        tied = flatnonzero(take(self.next_times, sequence) == time)
        if len(tied):
            time_index = searchsorted(self.distinct_times, time[tied])
            tie_key = time_index * (len(self.positions) + 1) + searchsorted(self.positions, position[tied])
            sequence[tied] = searchsorted(self.tie_keys, tie_key)
        return sequence


def order_records(time: U64, position: I64) -> tuple[RecordOrder, I64]:
    """Return the order of records, and (n,) the sequence number from which each is in effect.

    The first record is in effect from 1 on.
    """
    order, by_position = argsort_rows([time, position]), argsort_rows([position])
    in_effect_from, position_index = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    in_effect_from[order] = arange(1, len(order) + 1)
    position_index[by_position] = arange(len(order))
    times = time[order]
    distinct_times, time_index = unique_inverse(times)
    tie_keys = time_index * (len(order) + 1) + position_index[order]
    next_times = np.append(times, np.uint64(0))
    return RecordOrder(times, next_times, position[by_position], tie_keys, distinct_times), in_effect_from


class ProcessHistory(Frozen):
    """The side-band of one recording, indexed for lookups by process, time and address."""

    sideband: Sideband
    mmaps: Mmaps
    """The recorded mappings, and one for each kernel symbol; ``spaces`` returns rows of this table."""
    order: RecordOrder
    spaces: AddressSpaces
    names: ThreadNames
    merged_mappings: MergedMappings
    layout: AddressLayout
    """``merged_mappings`` laid end to end."""
    deferred_records: DeferredRecords
    deferred_epoch: I32
    """(deferred records,) epoch of the process at the record's time, −1 for unknown processes."""
    has_call_addresses: bool = False
    """Whether callchains have addresses inside call instructions instead of return addresses."""

    def sequence_of(self, samples: Samples) -> I64:
        """Return (n,) the sequence number of each sample."""
        return self.order.sequence(samples.time, samples.position)

    @property
    def has_time(self) -> bool:
        """Whether any event of the recording has samples with times."""
        return self.deferred_records.has_time

    def note_missing_times(self, time: U64, diagnostics: Diagnostics) -> None:
        """Report samples that a timeline cannot place; ``time`` (samples,) has the times of all samples.

        Times 0 and LAST_TIME come from no clock: the reader replaces later and unknown times by LAST_TIME.
        """
        if not self.has_time:
            advice = "times shown are positions in the file; record without --per-thread or with -T"
            diagnostics.add("no_timestamps", advice)
            return
        impossible = np.count_nonzero((time == 0) | (time == LAST_TIME))
        if impossible > 1:  # a clock may start at 0
            advice = "their times are impossible, so they are drawn at one moment, or not at all"
            diagnostics.add("samples_without_time", advice, int(impossible))


def build_process_history(
    session: Session, sideband: Sideband, diagnostics: Diagnostics, per_process: bool = False
) -> ProcessHistory:
    """Index the side-band of a recording.

    With ``per_process``, mappings of one file at different addresses stay separate. Reports processes whose mappings
    are incomplete after too many forks.
    """
    mmaps = with_vdso_names(extend_kernel_text(sideband.mmaps), session)
    mmaps = append_ksymbols(mmaps, sideband.ksymbols)
    tables = (mmaps, sideband.comms, sideband.forks, sideband.ksymbols)
    order, sequences = order_records(
        np.concatenate([table.time for table in tables]), np.concatenate([table.position for table in tables])
    )
    mmap_sequence, comm_sequence, fork_sequence, ksymbol_sequence = np.split(
        sequences, cumsum([len(table) for table in tables])[:-1]
    )
    spaces = AddressSpaces(
        mmaps,
        mmap_sequence,
        sideband.forks,
        fork_sequence,
        sideband.comms,
        comm_sequence,
        sideband.ksymbols,
        ksymbol_sequence,
    )
    mmaps = _with_copied_text(mmaps, mmap_sequence, spaces)
    diagnostics.add(
        "fork_lines_cut",
        f"After {MAX_FORK_DEPTH:,} forks in a row without an exec, processes do not see earlier mappings.",
        count=spaces.cut_count,
    )  # fmt: skip
    deferred = sideband.deferred
    deferred_sequence = order.sequence(deferred.time, deferred.position)
    merged_mappings = merge_mappings(mmaps, session, per_process)
    has_time = session.is_perf_stat or any(event.sample_type & SampleType.TIME for event in session.events)
    return ProcessHistory(
        sideband=sideband,
        mmaps=mmaps,
        order=order,
        spaces=spaces,
        names=ThreadNames(sideband.comms, comm_sequence, sideband.forks, fork_sequence),
        merged_mappings=merged_mappings,
        layout=AddressLayout(merged_mappings),
        deferred_records=DeferredRecords(deferred, sideband.comms, has_time),
        deferred_epoch=as_int32(spaces.epoch(as_int64(deferred.pid), deferred_sequence)),
        has_call_addresses=session.has_call_addresses,
    )
