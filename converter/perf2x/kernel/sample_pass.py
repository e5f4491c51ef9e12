"""The sample pass: decodes, unwinds and stitches samples, in one process or in several.

Each forked worker has its own copy of the stitcher, the unwinder and all counters, and sends a `_PartialResult`. The
first process also processes shards, and absorbs all results in the end.
"""

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.columnar import U8, Frozen, row_batches
from perf2x.base.diagnostics import Count, Diagnostics
from perf2x.base.worker_processes import join_from_processes
from perf2x.kernel.stage_timer import Stages
from perf2x.kernel.worker_pool import ShardQueue
from perf2x.model.filters.applied_filters import AppliedFilters
from perf2x.model.filters.sample_filters import SeenValues
from perf2x.model.recording import Recording, Samples, Shard, Want, take_rows
from perf2x.model.transforms.replace_samples import SampleReplacement
from perf2x.stitcher.call_graphs import CallGraphs, UnwindCounts
from perf2x.stitcher.stitch import Stitcher, StitchResult

_WORDS_AT_ONCE = 1 << 16
"""Maximum number of words of unwound chains to stitch at once: 512 KiB, which fit into a CPU's cache."""
Progress = Callable[[int, int], None]
"""Called with the number of samples done, and the total."""


class _PartialResult(Frozen):
    stitched: StitchResult
    unwound: UnwindCounts
    seen: SeenValues
    counts: list[Count]
    stages: Stages
    finished_shards: list[int]
    """Numbers of the shards of the `ShardQueue` that were processed; empty if fixed shares are used instead."""


class SamplePass(Struct):
    """The parts that samples pass through, from the recording to the stitcher."""

    recording: Recording
    want: Want
    filters: AppliedFilters
    call_graphs: CallGraphs
    stitcher: Stitcher
    diagnostics: Diagnostics
    stages: Stages
    replacements: tuple[SampleReplacement, ...]
    """Replacements of the values, or of the addresses, of samples; empty: samples stay as recorded."""
    stacks: bool
    """False: ignore the stacks of samples, so that all samples of an event in one thread are summed."""

    def run(self, processes: int, progress: Progress | None) -> None:
        """Process every sample once; the result does not depend on the number of processes."""
        counts_before = self.diagnostics.counts.copy()
        if processes == 1:
            self._process(Shard(), progress)
        else:
            self._run_in(processes, progress)
        counts = self.diagnostics.counts
        # any process may read any block: sort the new counters, whose order is arbitrary
        for name in sorted(counts.keys() - counts_before.keys()):
            counts[name] = counts.pop(name)

    def _run_in(self, processes: int, progress: Progress | None) -> None:
        """If single samples are kept, process i gets the i-th of equal shares of the recording."""
        spools = self.stitcher.sample_spools
        shards, finished = ShardQueue.for_processes(processes), list[int]()
        if spools is not None:
            spools.create_worker_spools(processes)

        def work(number: int) -> None:
            if number:
                self._begin_in_worker(number)
            self._process(shards if spools is None else Shard(number, processes), None if number else progress)
            finished.extend(shards.taken)

        def result() -> _PartialResult:
            with self.stages.stage("stitch"):
                stitched = self.stitcher.result()
            counts = list(self.diagnostics.counts.values())
            return _PartialResult(stitched, self.call_graphs.counts(), self.filters.seen, counts, self.stages, finished)

        def absorb(partial: _PartialResult) -> None:
            with self.stages.stage("join"):
                self.stitcher.absorb(partial.stitched)
                self.call_graphs.absorb(partial.unwound)
                self.filters.seen.absorb(partial.seen)
                self.diagnostics.absorb(partial.counts)
                finished.extend(partial.finished_shards)
            self.stages.absorb(partial.stages)

        def replace_lost(numbers: range) -> None:
            """Process the fixed shares of processes that died; shards of the queue come later."""
            for number in numbers if spools is not None else ():
                self._process(Shard(number, processes), None)

        try:
            join_from_processes(processes, work, result, absorb, replace_lost)
            lost = shards.lost(finished) if spools is None else None
            if lost is not None:
                self._process(lost, None)
        finally:
            shards.close()

    def _begin_in_worker(self, number: int) -> None:
        """Reset the inherited counters, because the first process adds the worker's to its own."""
        self.diagnostics.counts.clear()
        self.stages.wall.clear()
        self.stages.cpu.clear()
        if self.stitcher.sample_spools is not None:
            self.stitcher.sample_spools.use_spool_of(number)

    def _process(self, shard: Shard, progress: Progress | None) -> None:
        want = self.want | self.call_graphs.want
        for replacement in self.replacements:
            want |= replacement.want
        batches = self.recording.samples(want, shard)
        batches = _with_progress(batches, self.recording.sample_count, shard.count, progress)
        for decoded in self.stages.timed_items("decode", self.filters.batches(batches)):
            batch = decoded
            with self.stages.stage("unwind"):
                for replacement in self.replacements:
                    batch = replacement.apply(batch)
                samples, root = self.call_graphs.complete(batch if self.stacks else _without_addresses(batch))
            with self.stages.stage("stitch"):
                for part, part_root in _cache_sized_parts(samples, root):
                    self.stitcher.add(part, part_root)


def _cache_sized_parts(samples: Samples, root: U8 | None) -> Iterator[tuple[Samples, U8 | None]]:
    """``root`` (n,) has a `RootFrame` for each sample; None if no sample was unwound."""
    if root is None:
        yield samples, None
        return
    for rows in row_batches(samples.chain.lengths, _WORDS_AT_ONCE):
        yield take_rows(samples, rows), root[rows]


def _without_addresses(samples: Samples) -> Samples:
    return replace(samples, ip=np.zeros_like(samples.ip), cpumode=np.zeros_like(samples.cpumode))


def _with_progress(batches: Iterator[Samples], total: int, shards: int, progress: Progress | None) -> Iterator[Samples]:
    """Report progress as if all ``shards`` were as far as this one."""
    done = 0
    for batch in batches:
        yield batch
        done += len(batch) * shards
        if progress is not None:
            progress(min(done, total), total)
