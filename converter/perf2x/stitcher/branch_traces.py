"""Counts the samples in one object, and the branches from or to it in branch stacks.

A branch stack has the last branches that were taken, newest first. From the target of one branch to the source of the
next newer one, code ran without a jump. So each branch is counted together with the source of the branch after it::

    newest   C ─▶ D        after it: not recorded
             B ─▶ C'       after it: C, so that the code from C' to C ran
    oldest   A ─▶ B'       after it: B, so that the code from B' to B ran
"""

import numpy as np

from perf2x.base.columnar import I64, U64, as_int64, begins_run, falses, flatnonzero, no_rows, of_previous, row_numbers
from perf2x.model.format_features import CodeRequest
from perf2x.model.profile import (
    EXTERNAL,
    KERNEL_HALF,
    NOT_RECORDED,
    AddressCounts,
    BranchCounts,
    sum_addresses,
    sum_branches,
)
from perf2x.model.recording import Branches, Samples
from perf2x.stitcher.history.mapping_lookup import MappingLookup, lookup_contexts
from perf2x.stitcher.history.process_history import ProcessHistory

# bit mispred of struct perf_branch_entry's flags
_MISPREDICTED = np.uint64(1)
# bit not_taken of struct branch_flags (tools/perf/util/branch.h), which perf sets in samples of Arm SPE
_NOT_TAKEN = np.uint64(1 << 33)
# equal rows are summed when the new rows outnumber the sums by more than this
_MIN_NEW_ROWS = 1 << 20


class _MappedCode:
    """Converts addresses in one object's mappings to file offsets."""

    def __init__(self, history: ProcessHistory, rows: I64) -> None:
        mmaps = history.mmaps
        self._spaces, self._lookup = history.spaces, MappingLookup(history.spaces, len(mmaps))
        # (mmaps + 1,) the last row is for no mapping
        self._is_in_object = falses(len(mmaps) + 1)
        self._is_in_object[rows] = True
        self._to_file_offset = np.append(mmaps.pgoff - mmaps.start, np.uint64(0))

    def offsets(self, epoch: I64, address: U64) -> U64:
        """File offset (n,) of each address; EXTERNAL outside the object."""
        interval, _ = self._spaces.ranges.intervals(address)
        mmap = self._lookup.find(lookup_contexts(epoch, falses(len(epoch))), interval)
        return np.where(self._is_in_object[mmap], address + self._to_file_offset[mmap], EXTERNAL)


class CodeCounter:
    """Counts the branches and samples of batches; addresses are file offsets."""

    def __init__(self, history: ProcessHistory, rows: I64, request: CodeRequest) -> None:
        """``rows`` are the object's rows of ``history.mmaps``."""
        self._history, self._request = history, request
        self._code = _MappedCode(history, rows)
        self._branches, self._samples = [no_rows(BranchCounts)], [no_rows(AddressCounts)]

    def add(self, samples: Samples) -> None:
        """Add a batch."""
        if not len(samples):
            return
        epoch = self._history.spaces.epoch(as_int64(samples.pid), self._history.sequence_of(samples))
        offsets = self._code.offsets(epoch, samples.ip)
        offsets = offsets[offsets != EXTERNAL]
        self._samples.append(sum_addresses([AddressCounts(offsets, np.ones(len(offsets), np.int64))]))
        if samples.branches is not None and len(samples.branches.from_ip):
            self._branches.append(self._count_branches(samples.branches, epoch))
        if sum(map(len, self._branches)) > 2 * len(self._branches[0]) + _MIN_NEW_ROWS:
            self._branches = [sum_branches(self._branches)]
        if sum(map(len, self._samples)) > 2 * len(self._samples[0]) + _MIN_NEW_ROWS:
            self._samples = [sum_addresses(self._samples)]

    def result(self) -> tuple[BranchCounts, AddressCounts]:
        """Return the counts so far."""
        return sum_branches(self._branches), sum_addresses(self._samples)

    def _count_branches(self, branches: Branches, epoch: I64) -> BranchCounts:
        sample = row_numbers(np.diff(branches.offsets))
        is_user = (branches.from_ip < KERNEL_HALF) & (branches.to_ip < KERNEL_HALF)
        source = self._code.offsets(epoch[sample], branches.from_ip)
        target = self._code.offsets(epoch[sample], branches.to_ip)
        is_in_object = (source != EXTERNAL) | (target != EXTERNAL)
        is_taken = branches.flags & _NOT_TAKEN == 0
        # only these can be the next branch: taken branches in user mode, or of the object, as the request says
        candidates = flatnonzero(is_taken & (is_user if self._request.skipped_branches == "kernel" else is_in_object))
        next_source = _next_sources(source[candidates], target[candidates], sample[candidates])
        is_counted = is_in_object[candidates]
        rows = candidates[is_counted]
        mispredicted = as_int64(branches.flags[rows] & _MISPREDICTED)
        ones = np.ones(len(rows), np.int64)
        counts = BranchCounts(source[rows], target[rows], next_source[is_counted], ones, mispredicted)
        return sum_branches([counts])


def _next_sources(source: U64, target: U64, sample: I64) -> U64:
    """Source (n,) of the branch after each one; branches are given sample by sample, newest first."""
    newer_source = of_previous(source, NOT_RECORDED)
    is_known = ~begins_run(sample) & (newer_source != EXTERNAL) & (target != EXTERNAL)
    return np.where(is_known, newer_source, NOT_RECORDED)
