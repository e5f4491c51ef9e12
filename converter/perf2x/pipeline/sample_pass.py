"""The pass over the samples: decode, unwind, stitch; in one process or in several."""

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.pipeline.call_graphs import CallGraphs, UnwindCounts
from perf2x.pipeline.stage_timer import Stages
from perf2x.pipeline.worker_pool import run_in_processes
from perf2x.stitch.stitch_result import StitchResult
from perf2x.stitch.stitcher import Stitcher
from perf2x.tables.diagnostics import Count, Diagnostics
from perf2x.tables.events import Recording, Samples, Share, Want
from perf2x.transform.sample_filter import Seen
from perf2x.transform.selection import Selection

Progress = Callable[[int, int], None]
"""Called with samples done and samples in all."""


class PartialResult(Struct, frozen=True):
    """What one process's share came to."""

    stitched: StitchResult
    unwound: UnwindCounts
    seen: Seen
    counts: list[Count]
    stages: Stages


class SamplePass(Struct):
    """Everything that samples go through, and everything that keeps count of them."""

    recording: Recording
    want: Want
    selection: Selection
    call_graphs: CallGraphs
    stitcher: Stitcher
    diagnostics: Diagnostics
    stages: Stages
    stacks: bool = True
    """False: samples are counted by event, thread and name, whatever their stacks."""

    def run(self, processes: int, progress: Progress | None) -> None:
        """Pass all samples once; afterwards it does not show how many processes there were."""
        if processes == 1:
            self._pass(Share(), progress)
            return
        for outcome in run_in_processes(processes, lambda share: self._pass(share, progress), self._outcome):
            with self.stages.stage("join"):
                self.stitcher.absorb(outcome.stitched)
                self.call_graphs.absorb(outcome.unwound)
                self.selection.seen.absorb(outcome.seen)
                self.diagnostics.absorb(outcome.counts)
            self.stages.absorb(outcome.stages)
            del outcome  # before the next one comes

    def _outcome(self, share: Share) -> PartialResult:
        """The share's part of everything, in a process that has nothing else to tell."""
        self.diagnostics.counts.clear()
        self.stages.wall.clear()
        self.stages.processor.clear()
        self._pass(share, None)
        with self.stages.stage("stitch"):
            stitched = self.stitcher.result()
        counts = list(self.diagnostics.counts.values())
        return PartialResult(stitched, self.call_graphs.counted(), self.selection.seen, counts, self.stages)

    def _pass(self, share: Share, progress: Progress | None) -> None:
        batches = self.recording.samples(self.want | self.call_graphs.want, share)
        counted = _with_progress(batches, self.recording.sample_count, share.of, progress)
        for batch in self.stages.each("decode", self.selection.batches(counted)):
            with self.stages.stage("unwind"):
                completed = self.call_graphs.complete(batch if self.stacks else _without_addresses(batch))
            with self.stages.stage("stitch"):
                self.stitcher.add(*completed)


def _without_addresses(samples: Samples) -> Samples:
    """The samples without instruction pointers and modes: what is left is alike wherever a thread was."""
    return replace(samples, ip=np.zeros_like(samples.ip), cpumode=np.zeros_like(samples.cpumode))


def _with_progress(batches: Iterator[Samples], total: int, shares: int, progress: Progress | None) -> Iterator[Samples]:
    """The same batches, with word of how far they are; other processes are taken to be as far with their shares."""
    done = 0
    for batch in batches:
        yield batch
        done += len(batch) * shares
        if progress is not None:
            progress(min(done, total), total)
