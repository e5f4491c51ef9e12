"""Loads recordings into a finished profile by running all stages in order.

The modules of a stage are imported when the load reaches the stage, so that ``perf2x --help`` imports none of them.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from perf2x.base.diagnostics import Diagnostics, comment
from perf2x.errors import FormatError, OptionError
from perf2x.kernel.feature import SessionRun, features, with_profile
from perf2x.kernel.load_options import LoadContext, LoadOptions, Progress
from perf2x.kernel.load_result import Loaded, event_counts
from perf2x.kernel.open_sessions import Input, SessionInput, SessionPart, find_sessions
from perf2x.kernel.options_for_format import ONE_RECORDING
from perf2x.kernel.stage_timer import Stages
from perf2x.model.profile import profile_as_view


def load(
    paths: str | Sequence[str],
    options: LoadOptions,
    progress: Progress | None = None,
    stages: Stages | None = None,
) -> Loaded:
    """Read, stitch and symbolize recordings; the path ``-`` is standard input.

    Files of one session are stitched together. Independent recordings are loaded one after the other, and merged, so
    that memory grows with distinct stacks rather than with recordings.

    Raises Perf2xError if a recording cannot be read; OptionError if an option does not fit the inputs, or if the files
    of a session have different tags.
    """
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.kernel.open_bundle import open_bundles

    # the user's ``names`` for inputs, and the ``files`` to open: for a bundle, its unpacked recording
    names = [paths] if isinstance(paths, str) else paths
    tags: Sequence[Mapping[str, str]] = options.tags or [{}] * len(names)
    with (
        limit_unpacking(options.max_unpacked),
        open_bundles(names, options.symbols) as (files, symbols),
    ):
        options = replace(options, symbols=symbols)  # with the bundles as places to search for objects
        for feature in features():
            if feature.check:
                feature.check(options, files)
        context = LoadContext(options, Diagnostics(), progress, stages or Stages(), files)
        with context.stages.stage("index"):
            sessions = find_sessions([Input(*fields) for fields in zip(files, names, tags, strict=True)], context)
        if options.as_recorded and len(sessions) != 1:
            raise OptionError(ONE_RECORDING)
        parts = [part for session in sessions for part in session.parts]
        if not _all_from_perf_stat(parts):
            _require_samples(sum(part.sample_count for part in parts), parts, context)
        loaded = _load_session(sessions[0], context) if len(sessions) == 1 else _load_and_merge(sessions, context)
        _require_samples(len(loaded.profile.samples), parts, context)
        loaded = _with_loss_comments(loaded)
        for feature in features():
            loaded = feature.finish(loaded, context) if feature.finish else loaded
        return loaded


def _all_from_perf_stat(parts: Sequence[SessionPart]) -> bool:
    made_by_perf_stat = [part.source for part in parts if part.is_perf_stat]
    if made_by_perf_stat and len(made_by_perf_stat) < len(parts):
        raise FormatError(
            f"{made_by_perf_stat[0]}: it has counts of perf stat record,"
            " which cannot be added to the samples of the others"
        )
    return bool(made_by_perf_stat)


def _load_and_merge(sessions: Sequence[SessionInput], context: LoadContext) -> Loaded:
    from perf2x.kernel.merge_reports import ResultMerge
    from perf2x.model.filters.unmatched_filters import UnmatchedFilters
    from perf2x.symbolizer.known.known_names import KnownNames

    context.known_names = KnownNames()
    context.unmatched = unmatched = UnmatchedFilters(len(sessions), context.diagnostics)
    results = ResultMerge([session.tags for session in sessions])
    for session in sessions:
        loaded = _load_session(session, context)
        with context.stages.stage("merge"):
            results.add(loaded)
    unmatched.check()
    with context.stages.stage("merge"):
        return results.finish()


def _require_samples(sample_count: int, parts: Sequence[SessionPart], context: LoadContext) -> None:
    if not sample_count and not context.options.allow_empty:
        from perf2x.kernel.no_samples import no_samples

        names, recorded_samples = [part.source for part in parts], sum(part.sample_count for part in parts)
        raise no_samples(names, recorded_samples, any(part.has_events for part in parts), context.diagnostics.counts)


def _load_session(session: SessionInput, context: LoadContext) -> Loaded:
    from perf2x.kernel.session_steps import session_steps
    from perf2x.model.filters.applied_filters import AppliedFilters, check_root

    options, source = context.options, session.open()
    recording = source.recording
    # a feature may need samples outside the user's time ranges, which then apply to the feature's result
    late_times = any(settings.LATE_TIMES for settings in options.features)
    check_root(options.grouping.root, recording)
    filters = AppliedFilters(
        options.filters,
        recording,
        late_times=late_times,
        unmatched=context.unmatched,
    )
    stitched = source.stitched(filters, context)
    loaded = Loaded(
        profile=profile_as_view(stitched.profile),
        recording=recording,
        recorded_samples=recording.sample_count,
        events=(),
        unwound=stitched.unwound,
        deferred=stitched.deferred,
        symbols=None,
        diagnostics=context.diagnostics,
        sources=stitched.recordings or (recording.session.source,),
        record_counts=recording.sideband.record_counts,
    )
    run = SessionRun(recording, filters, context, session, stitched.stored_names)
    for step in session_steps():
        loaded = step(loaded, run)
    return replace(loaded, events=event_counts(loaded.profile))


def _with_loss_comments(loaded: Loaded) -> Loaded:
    profile, deferred = loaded.profile, loaded.deferred
    lines = []
    if deferred.samples or deferred.records:
        lines.append(
            f"perf2x-deferred:samples={deferred.samples} records={deferred.records} joined={deferred.joined}"
            f" missing={deferred.missing} refused={deferred.refused} duplicates={deferred.duplicates}"
            f" orphans={deferred.orphans}"
        )
    counts = sorted(loaded.diagnostics.counts.values(), key=lambda count: count.name)
    lines += [comment(count.name, count.count) for count in counts if count.severity != "info"]
    # equal comments of several inputs become one
    comments = (*sorted(set(profile.meta.comments)), *lines)
    return with_profile(loaded, replace(profile, meta=replace(profile.meta, comments=comments)))
