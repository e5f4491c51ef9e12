"""The sample pass: decodes, unwinds and stitches samples, in one process or in several."""

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
from perf2x.model.filters.sample_filters import Seen
from perf2x.model.recording import Recording, Samples, Shard, Want, take_rows
from perf2x.model.transforms.weights_and_mispredicts import SampleValues
from perf2x.stitcher.call_graphs import CallGraphs, UnwindCounts
from perf2x.stitcher.stitch import Stitcher, StitchResult

_WORDS_AT_ONCE = 1 << 16
"""Words of chains to stitch at once, if a batch has very many."""
Progress = Callable[[int, int], None]
"""Called with the number of samples done, and the total."""


class _PartialResult(Frozen):
    """The result and counters of one worker process."""

    stitched: StitchResult
    unwound: UnwindCounts
    seen: Seen
    counts: list[Count]
    stages: Stages
    taken: list[int]
    """The shards that were processed."""


class SamplePass(Struct):
    """The stages of the sample pass, and their counters."""

    recording: Recording
    want: Want
    filters: AppliedFilters
    call_graphs: CallGraphs
    stitcher: Stitcher
    diagnostics: Diagnostics
    stages: Stages
    values: tuple[SampleValues, ...]
    """Replace values, or addresses, of samples; empty: keep them as recorded."""
    stacks: bool
    """False: count samples by event, thread and name, ignoring their stacks."""

    def run(self, processes: int, progress: Progress | None) -> None:
        """Process every sample once; the result does not depend on the number of processes."""
        known = self.diagnostics.counts.copy()
        if processes == 1:
            self._process(Shard(), progress)
        else:
            self._run_in(processes, progress)
        found = self.diagnostics.counts
        for name in sorted(found.keys() - known.keys()):  # sorted, because any process may read any block
            found[name] = found.pop(name)

    def _run_in(self, processes: int, progress: Progress | None) -> None:
        """Process the samples in several processes, in contiguous shards if the order of samples must be kept."""
        ordered = self.stitcher.recorded
        shards, done = ShardQueue.among(processes), list[int]()
        if ordered is not None:
            ordered.create_worker_spools(processes)

        def work(number: int) -> None:
            if number:
                self._begin_elsewhere(number)
            self._process(shards if ordered is None else Shard(number, processes), None if number else progress)
            done.extend(shards.taken)

        def result() -> _PartialResult:
            with self.stages.stage("stitch"):
                stitched = self.stitcher.result()
            counts = list(self.diagnostics.counts.values())
            return _PartialResult(stitched, self.call_graphs.counted(), self.filters.seen, counts, self.stages, done)

        def absorb(partial: _PartialResult) -> None:
            with self.stages.stage("join"):
                self.stitcher.absorb(partial.stitched)
                self.call_graphs.absorb(partial.unwound)
                self.filters.seen.absorb(partial.seen)
                self.diagnostics.absorb(partial.counts)
                done.extend(partial.taken)
            self.stages.absorb(partial.stages)

        def replace_lost(numbers: range) -> None:
            for number in numbers if ordered is not None else ():
                self._process(Shard(number, processes), None)

        try:
            join_from_processes(processes, work, result, absorb, replace_lost)
            lost = shards.lost(done) if ordered is None else None
            if lost is not None:
                self._process(lost, None)
        finally:
            shards.close()

    def _begin_elsewhere(self, process: int) -> None:
        """Start in a worker process, whose counters start from zero."""
        self.diagnostics.counts.clear()
        self.stages.wall.clear()
        self.stages.processor.clear()
        if self.stitcher.recorded is not None:
            self.stitcher.recorded.use_spool_of(process)

    def _process(self, shard: Shard, progress: Progress | None) -> None:
        want = self.want | self.call_graphs.want
        for value in self.values:
            want |= value.want
        batches = self.recording.samples(want, shard)
        counted = _with_progress(batches, self.recording.sample_count, shard.of, progress)
        for decoded in self.stages.each("decode", self.filters.batches(counted)):
            batch = decoded
            with self.stages.stage("unwind"):
                for value in self.values:
                    batch = value.of(batch)
                completed = self.call_graphs.complete(batch if self.stacks else _without_addresses(batch))
            with self.stages.stage("stitch"):
                for part in _cache_sized(*completed):
                    self.stitcher.add(*part)


def _cache_sized(samples: Samples, root: U8 | None) -> Iterator[tuple[Samples, U8 | None]]:
    """Yield samples with their root frames; unwound ones in batches whose chains fit into the CPU's cache."""
    if root is None:
        yield samples, None
        return
    for rows in row_batches(samples.chain.lengths, _WORDS_AT_ONCE):
        yield take_rows(samples, rows), root[rows]


def _without_addresses(samples: Samples) -> Samples:
    """Clear instruction pointers and modes, so that all samples of a thread are equal."""
    return replace(samples, ip=np.zeros_like(samples.ip), cpumode=np.zeros_like(samples.cpumode))


def _with_progress(batches: Iterator[Samples], total: int, shards: int, progress: Progress | None) -> Iterator[Samples]:
    """Yield the batches and report progress, assuming that other processes have done an equal part of their shards."""
    done = 0
    for batch in batches:
        yield batch
        done += len(batch) * shards
        if progress is not None:
            progress(min(done, total), total)
