"""Counts one object's branches from branch stacks, and the stretches of code that ran between two branches.

A branch stack has the last taken branches, newest first. From the target of one branch to the source of the next newer
branch, code ran without a jump::

    newest   C ─▶ D        D … the sample
             B ─▶ C'       C' … C ran
    oldest   A ─▶ B'       B' … B ran
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

_MISPREDICTED = np.uint64(1)
"""Bit of struct perf_branch_entry's flags."""
_NOT_TAKEN = np.uint64(1 << 33)
"""Bit of struct branch_flags (tools/perf/util/branch.h), which perf sets in samples of Arm SPE."""
_MANY_ROWS = 1 << 20


class _MappedCode:
    """Converts addresses in one object's mappings to file offsets."""

    def __init__(self, history: ProcessHistory, rows: I64) -> None:
        """``rows``: the object's rows of ``history.mmaps``."""
        mmaps = history.mmaps
        self._spaces, self._lookup = history.spaces, MappingLookup(history.spaces, len(mmaps))
        self._held = falses(len(mmaps) + 1)
        self._held[rows] = True
        self._shift = np.append(mmaps.pgoff - mmaps.start, np.uint64(0))

    def offsets(self, epoch: I64, address: U64) -> U64:
        """Return (n,) the file offset of each address; EXTERNAL outside the object."""
        interval, _ = self._spaces.ranges.intervals(address)
        mmap = self._lookup.find(lookup_contexts(epoch, falses(len(epoch))), interval)
        return np.where(self._held[mmap], address + self._shift[mmap], EXTERNAL)


class CodeCounter:
    """Counts the branches and samples of batches; addresses are file offsets."""

    def __init__(self, history: ProcessHistory, rows: I64, request: CodeRequest) -> None:
        """``rows``: the object's rows of ``history.mmaps``."""
        self._history, self._request = history, request
        self._code = _MappedCode(history, rows)
        self._branches, self._samples = [no_rows(BranchCounts)], [no_rows(AddressCounts)]

    def add(self, samples: Samples) -> None:
        """Add a batch."""
        if not len(samples):
            return
        epoch = self._history.spaces.epoch(as_int64(samples.pid), self._history.sequence_of(samples))
        places = self._code.offsets(epoch, samples.ip)
        places = places[places != EXTERNAL]
        self._samples.append(sum_addresses([AddressCounts(places, np.ones(len(places), np.int64))]))
        if samples.branches is not None and len(samples.branches.from_ip):
            self._branches.append(self._counted(samples.branches, epoch))
        if sum(map(len, self._branches)) > 2 * len(self._branches[0]) + _MANY_ROWS:
            self._branches = [sum_branches(self._branches)]
        if sum(map(len, self._samples)) > 2 * len(self._samples[0]) + _MANY_ROWS:
            self._samples = [sum_addresses(self._samples)]

    def result(self) -> tuple[BranchCounts, AddressCounts]:
        """Return the counts so far."""
        return sum_branches(self._branches), sum_addresses(self._samples)

    def _counted(self, branches: Branches, epoch: I64) -> BranchCounts:
        sample = row_numbers(np.diff(branches.offsets))
        user = (branches.from_ip < KERNEL_HALF) & (branches.to_ip < KERNEL_HALF)
        source = self._code.offsets(epoch[sample], branches.from_ip)
        target = self._code.offsets(epoch[sample], branches.to_ip)
        inside = (source != EXTERNAL) | (target != EXTERNAL)
        was_taken = branches.flags & _NOT_TAKEN == 0
        kept = flatnonzero(was_taken & (user if self._request.steps_over == "kernel" else inside))
        following = _next_branches(source[kept], target[kept], sample[kept])
        valid = inside[kept]
        rows = kept[valid]
        missed = as_int64(branches.flags[rows] & _MISPREDICTED)
        counts = BranchCounts(source[rows], target[rows], following[valid], np.ones(len(rows), np.int64), missed)
        return sum_branches([counts])


def _next_branches(source: U64, target: U64, sample: I64) -> U64:
    """Return (n,) the source of the branch that followed each branch; branches are given newest first.

    NOT_RECORDED for the newest branch of a sample, and where the branch's target or the next branch's source lies
    outside the object.
    """
    newer = of_previous(source, NOT_RECORDED)
    return np.where(~begins_run(sample) & (newer != EXTERNAL) & (target != EXTERNAL), newer, NOT_RECORDED)
