"""perf.data as a source of samples: sets up the stitcher and the unwinder, and runs the sample pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from perf2x.kernel.input_source import Lacks, Stitched
from perf2x.kernel.load_options import LoadContext, LoadOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf2x.model.filters.applied_filters import AppliedFilters
    from perf2x.model.recording import Event, Recording, Sideband, Want
    from perf2x.stitcher.history.process_history import ProcessHistory
    from perf2x.stitcher.stitch import StitchOptions


class PerfData(Struct):
    """A perf recording, of one file or several, as a ``kernel.input_source.Source``."""

    recording: Recording

    @property
    def lacks(self) -> Lacks:
        """Nothing: missing data shows only when the samples are read."""
        return {}

    def stitched(self, filters: AppliedFilters, context: LoadContext) -> Stitched:
        """Read, unwind and stitch the samples that pass the filters."""
        return _stitched(self.recording, filters, context)


def _stitched(recording: Recording, filters: AppliedFilters, context: LoadContext) -> Stitched:
    from perf2x.kernel.sample_pass import SamplePass
    from perf2x.kernel.worker_pool import processes_for_samples
    from perf2x.model.transforms.replace_samples import sample_replacements
    from perf2x.stitcher.call_graphs import CallGraphs, completes_stacks
    from perf2x.stitcher.deferred.deferred_join import deferred_report
    from perf2x.stitcher.profile_builder import build_profile
    from perf2x.stitcher.stitch import Stitcher

    options, diagnostics, stages = context.options, context.diagnostics, context.stages
    stacks = options.stacks or completes_stacks(recording.session) or _has_deferred_chains(recording)
    stitch_options = _stitch_options(options, recording.session.events if stacks else ())
    with stages.stage("history"):
        history = process_history(recording, stacks, context)
        stitcher = Stitcher(history, stitch_options)
    call_graphs = CallGraphs(recording.session, history, lambda: context.finder, options.call_graphs)
    want = _needed_columns(options, stacks)
    replacements = sample_replacements(options.value, options.data_objects, recording)
    sample_pass = SamplePass(recording, want, filters, call_graphs, stitcher, diagnostics, stages, replacements, stacks)
    processes = 1 if call_graphs.needs_batch_order else processes_for_samples(recording.sample_count, options)
    sample_pass.run(processes, context.stage_progress("stitching"))
    filters.check()
    call_graphs.note(diagnostics)
    with stages.stage("resolve"):
        result = stitcher.result()
        if result.timeline is not None:
            history.note_missing_times(result.timeline.time, diagnostics)
        del stitcher, sample_pass  # frees the stitcher's indices, which are as large as the profile's tables
        profile = build_profile(recording.session, history, result)
        for replacement in replacements:
            profile = replacement.with_event_names(profile)
    return Stitched(profile, deferred_report(history, result.deferred_tally), call_graphs.report(diagnostics))


def process_history(recording: Recording, stacks: bool, context: LoadContext) -> ProcessHistory:
    """Build the history of all processes; without ``stacks``, it has no mappings."""
    from perf2x.kernel.jit_code import with_jit_code
    from perf2x.stitcher.history.process_history import build_process_history

    sideband = with_jit_code(recording, context)
    sideband = sideband if stacks else _without_maps(sideband)
    return build_process_history(recording.session, sideband, context.diagnostics, context.options.as_recorded)


def _stitch_options(options: LoadOptions, events: Sequence[Event]) -> StitchOptions:
    """``events`` are those of the recording; empty if stacks are ignored."""
    from perf2x.base.abi import EventType, SampleType
    from perf2x.stitcher.stitch import StitchOptions

    timeline = options.needs_times
    extra_columns = {
        "cpu": "cpu" in options.columns and not timeline,  # every row of a timeline has its CPU
        "cgroup": "cgroup" in options.columns,
        "data_src": "data_src" in options.keep,
        "position": options.keeps_fields and any(event.type == EventType.TRACEPOINT for event in events),
    }
    return StitchOptions(
        timeline=timeline,
        per_process=options.as_recorded,
        keep_samples=options.as_recorded,
        by_thread=options.keeps_threads,
        extra_columns=tuple(name for name, is_kept in extra_columns.items() if is_kept),
        deferred_missing=options.deferred_missing,
        merge_callchains=options.merge_callchains,
        user_only=frozenset(
            event.index for event in events if "exclude_kernel" in event.flags and event.sample_type & SampleType.IP
        ),
    )


def _needed_columns(options: LoadOptions, stacks: bool) -> Want:
    from perf2x.model.recording import Want

    want = Want.CHAIN if stacks else Want(0)
    want |= Want.COUNTS if options.counts else Want(0)
    want |= Want.MEMORY if "data_src" in options.keep else Want(0)
    return want | Want.CGROUP if "cgroup" in options.columns else want


def _has_deferred_chains(recording: Recording) -> bool:
    """Whether chains of samples may end with cookies."""
    requested = any("defer_callchain" in event.flags for event in recording.session.events)
    return requested or len(recording.sideband.deferred) > 0


def _without_maps(sideband: Sideband) -> Sideband:
    from perf2x.base.columnar.arrays import take_rows_of

    no_rows = slice(0)
    return replace(
        sideband, mmaps=take_rows_of(sideband.mmaps, no_rows), ksymbols=take_rows_of(sideband.ksymbols, no_rows)
    )
