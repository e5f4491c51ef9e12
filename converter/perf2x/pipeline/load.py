"""Wires the stages; the only module that knows them all.

``load`` turns recordings into a finished profile, ``write`` hands it to an emitter. The heavy modules are imported when
a stage is reached, so that ``perf2x --help`` needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.pipeline.stage_timer import Stages
from perf2x.tables.diagnostics import Diagnostics
from perf2x.tables.errors import OptionError
from perf2x.tables.value_limits import check_total
from perf2x.transform.choice import Choice, Grouping

if TYPE_CHECKING:
    from perf2x.debugfiles.finder import Finder
    from perf2x.pipeline.call_graphs import CallGraphOptions, CallGraphs, UnwindReport
    from perf2x.stitch.deferred_report import DeferredReport
    from perf2x.stitch.stitcher import Stitcher, StitchOptions
    from perf2x.symbolize.options import SymbolOptions
    from perf2x.symbolize.report import SymbolReport
    from perf2x.tables.events import Recording, Sideband, Want
    from perf2x.tables.profile import Profile
    from perf2x.transform.selection import Selection

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) now and then."""


class LoadOptions(Struct, frozen=True):
    """Everything that decides what the profile is, none of what decides how it is written."""

    timeline: bool = False
    by_cpu: bool = False
    by_cgroup: bool = False
    stacks: bool = True
    """False: count only; stacks are neither read nor shown, unless they say what became of deferred or copied ones."""
    deferred_missing: str = "mark"
    merge_callchains: bool = True
    """False: leave deferred user chains where they are and mark the samples that wait for one."""
    events: tuple[str, ...] = ()
    """Names or globs of the events to keep; empty: all."""
    choice: Choice = field(default_factory=Choice)
    """What part of the recording is wanted."""
    grouping: Grouping = field(default_factory=Grouping)
    """How the samples of that part are put together."""
    off_cpu: str = ""
    """How to show the time that threads waited, one of model.off_cpu.HOW; empty: not at all."""
    anonymize: str = ""
    """Secret to hash names with; empty: leave them."""
    tags: tuple[Mapping[str, str], ...] = ()
    """Labels of each input; empty: none."""
    max_unpacked: int | None = None
    """Bytes that each compressed input may unpack to; None: as files/unpack_limit.py says."""
    allow_empty: bool = True
    """False: recordings without a single sample are an error that says why."""
    symbols: SymbolOptions | None = None
    """None: leave every location without names."""
    look_up: bool = True
    """False: ``symbols`` says where objects are, for unwinding; nothing is named."""
    jobs: int = 1
    """Processes that read, stitch and look up names, 0: as many as pay. A library does not fork unasked."""
    call_graphs: CallGraphOptions | None = None
    """Unwinding of stack copies and branch records; None: as usual."""


class EventCount(Struct, frozen=True):
    """One event and what was counted of it."""

    name: str
    samples: int
    value: int
    unit: str


class Loaded(Struct, frozen=True):
    """A profile and what there is to say about how it came to be."""

    profile: Profile
    recording: Recording
    recorded_samples: int
    """Samples in the recording, as ``perf script`` counts them, whatever was chosen of them."""
    events: tuple[EventCount, ...]
    """Every event of the recording and what of it is in the profile, in recorded order."""
    deferred: DeferredReport
    unwound: UnwindReport
    symbols: SymbolReport | None
    diagnostics: Diagnostics
    others: tuple[Recording, ...] = ()
    """The recordings after the first when independent ones were merged."""

    @property
    def samples(self) -> int:
        """Samples in the profile, after all filters."""
        return sum(event.samples for event in self.events)


def load(
    paths: str | Sequence[str],
    options: LoadOptions,
    progress: Progress | None = None,
    stages: Stages | None = None,
) -> Loaded:
    """Read, stitch and symbolize recordings (``-`` is standard input).

    Files of one session are stitched together, independent ones are merged afterwards. Raises Perf2xError when one
    cannot be read, OptionError when the files of a session are tagged differently. ``stages`` is told how long each
    stage took.
    """
    stages = stages or Stages()
    names = [paths] if isinstance(paths, str) else paths
    tags: Sequence[Mapping[str, str]] = options.tags or [{}] * len(names)
    diagnostics = Diagnostics()
    from perf2x.bundle.unpack import unbundled
    from perf2x.files.unpack_limit import at_most

    with at_most(options.max_unpacked), unbundled(names, options.symbols) as (files, symbols):
        options = replace(options, symbols=symbols)
        finder = _finder(symbols, diagnostics, progress)
        with stages.stage("index"):
            sessions = _sessions(list(zip(files, names, tags, strict=True)), diagnostics, progress)
        recordings = [recording for recording, _ in sessions]
        _require_samples(options, recordings, sum(recording.sample_count for recording in recordings), diagnostics)
        loaded = [_loaded(recording, options, diagnostics, finder, progress, stages) for recording in recordings]
    _require_samples(options, recordings, sum(len(part.profile.samples) for part in loaded), diagnostics)
    return _tagged(loaded, [tag for _, tag in sessions])


def _require_samples(
    options: LoadOptions, recordings: Sequence[Recording], samples: int, diagnostics: Diagnostics
) -> None:
    if not samples and not options.allow_empty:
        from perf2x.pipeline.no_samples import no_samples

        raise no_samples(recordings, diagnostics)


def _loaded(
    recording: Recording,
    options: LoadOptions,
    diagnostics: Diagnostics,
    finder: Callable[[], Finder],
    progress: Progress | None,
    stages: Stages,
) -> Loaded:
    """One session: read, stitch, symbolize, choose and group."""
    from perf2x.transform.selection import Selection, check_root

    check_root(options.grouping.root, recording)
    selection = Selection(options.choice, recording)
    stitcher, call_graphs = _stitched(recording, options, selection, diagnostics, finder, progress, stages)
    from perf2x.stitch.deferred_report import deferred_report
    from perf2x.stitch.profile_builder import finish
    from perf2x.transform.group import grouped

    with stages.stage("resolve"):
        profile = finish(stitcher)
    if options.off_cpu:
        profile = _with_waits(profile, recording, options, diagnostics)
        check_total(recording.session.source, profile.samples.value)
    if options.events:
        from perf2x.transform.select import keep_events

        profile = keep_events(profile, options.events)
    profile = selection.before_symbols(profile)
    symbols = None
    if options.symbols is not None and options.look_up:
        with stages.stage("symbolize"):
            profile, symbols = _symbolized(profile, recording, options, diagnostics, finder(), stages)
    profile = selection.after_symbols(profile)
    if options.anonymize:
        from perf2x.transform.anonymize import anonymized
        from perf2x.transform.compact import compact

        profile = anonymized(compact(profile), options.anonymize)
    profile = grouped(profile, options.grouping)
    counts = event_counts(profile)
    deferred = deferred_report(stitcher)
    return Loaded(
        profile=_commented(profile, deferred, diagnostics),
        recording=recording,
        recorded_samples=recording.sample_count,
        events=counts,
        unwound=call_graphs.report(),
        deferred=deferred,
        symbols=symbols,
        diagnostics=diagnostics,
    )


def event_counts(profile: Profile) -> tuple[EventCount, ...]:
    """Samples and summed periods of every event."""
    import numpy as np

    samples = profile.samples
    counts = []
    for index, event in enumerate(profile.events):
        rows = np.flatnonzero(samples.event == index)
        counts.append(
            EventCount(event.name, int(samples.count[rows].sum()), int(samples.value[rows].sum()), event.unit)
        )
    return tuple(counts)


def _sessions(
    inputs: Sequence[tuple[str, str, Mapping[str, str]]], diagnostics: Diagnostics, progress: Progress | None
) -> list[tuple[Recording, Mapping[str, str]]]:
    """The recordings and their tags in the order given; the files of a session, in order of time, are one.

    An input is a file, what the user calls it, and its tags.
    """
    from perf2x.reader import open_recording

    opened: list[tuple[Recording, Mapping[str, str]]] = []
    for path, name, tag in inputs:
        part = open_recording(path, diagnostics=diagnostics, progress=_stage(progress, "indexing"))
        if path != name:
            part.session = replace(part.session, source=name)
        opened.append((part, tag))
    return opened if len(opened) == 1 else _joined(opened, diagnostics)


def _joined(
    opened: Sequence[tuple[Recording, Mapping[str, str]]], diagnostics: Diagnostics
) -> list[tuple[Recording, Mapping[str, str]]]:
    from perf2x.reader.joined_session import JoinedRecording, in_order, same_session

    groups: list[tuple[list[Recording], Mapping[str, str]]] = []
    for part, tag in opened:
        session, source = part.session, part.session.source
        mates = next((group for group in groups if same_session(group[0][0].session, session)), None)
        if mates is None:
            groups.append(([part], tag))
        elif any(source == mate.session.source for mate in mates[0]):
            raise OptionError(f"{source} is given twice")
        elif mates[1] != tag:
            raise OptionError(f"{source} is of the same session as {mates[0][0].session.source}; tag both alike")
        else:
            mates[0].append(part)
    return [
        (parts[0] if len(parts) == 1 else JoinedRecording(in_order(parts), diagnostics), tag) for parts, tag in groups
    ]


def _tagged(parts: Sequence[Loaded], tags: Sequence[Mapping[str, str]]) -> Loaded:
    """All that was loaded as one, with labels that say what came from where."""
    if len(parts) == 1:
        return replace(parts[0], profile=replace(parts[0].profile, labels=dict(tags[0])))
    from perf2x.pipeline.merge_results import common, merged_symbols, summed_reports
    from perf2x.transform.merge import merge

    check_total("these recordings together", *(part.profile.samples.value for part in parts))
    labels = common(tags)
    own = [{key: value for key, value in tag.items() if key not in labels} for tag in tags]
    profile = replace(merge([part.profile for part in parts], own), labels=labels)
    return replace(
        parts[0],
        profile=profile,
        others=tuple(part.recording for part in parts[1:]),
        recorded_samples=sum(part.recorded_samples for part in parts),
        events=event_counts(profile),
        deferred=summed_reports([part.deferred for part in parts]),
        unwound=summed_reports([part.unwound for part in parts]),
        symbols=merged_symbols([part.symbols for part in parts]),
    )


def _commented(profile: Profile, deferred: DeferredReport, diagnostics: Diagnostics) -> Profile:
    """The profile with the figures that a reader of the output should know of."""
    lines = []
    if deferred.samples or deferred.records:
        lines.append(
            f"perf2x-deferred:samples={deferred.samples} records={deferred.records} joined={deferred.joined}"
            f" missing={deferred.missing} refused={deferred.refused} duplicates={deferred.duplicates}"
            f" orphans={deferred.orphans}"
        )
    lines += [f"perf2x-{count.name}:{count.count}" for count in diagnostics.counts.values() if count.severity != "info"]
    return replace(profile, meta=replace(profile.meta, comments=(*profile.meta.comments, *lines)))


def _stitched(
    recording: Recording,
    options: LoadOptions,
    selection: Selection,
    diagnostics: Diagnostics,
    finder: Callable[[], Finder],
    progress: Progress | None,
    stages: Stages,
) -> tuple[Stitcher, CallGraphs]:
    from perf2x.pipeline.call_graphs import CallGraphOptions, CallGraphs, completes_stacks
    from perf2x.pipeline.sample_pass import Passage
    from perf2x.pipeline.worker_pool import processes_for
    from perf2x.stitch.stitcher import Stitcher, StitchOptions

    stitch_options: StitchOptions = StitchOptions(
        timeline=options.timeline or bool(options.off_cpu),
        by_cpu=options.by_cpu or options.grouping.root == "cpu",
        by_cgroup=options.by_cgroup or options.grouping.root == "cgroup",
        deferred_missing=options.deferred_missing,
        merge_callchains=options.merge_callchains,
    )
    stacks = options.stacks or completes_stacks(recording.session) or _defers(recording)
    with stages.stage("picture"):
        sideband = _with_compiled_code(recording, options.symbols, finder, diagnostics)
        sideband = sideband if stacks else _without_maps(sideband)
        stitcher = Stitcher(recording.session, sideband, stitch_options, diagnostics)
    call_graphs = CallGraphs(recording.session, stitcher, finder, options.call_graphs or CallGraphOptions())
    wanted = _wanted(options, stacks)
    passage = Passage(recording, wanted, selection, call_graphs, stitcher, diagnostics, stages, stacks)
    # the second pass for off-CPU time would count malformed samples of other processes' blocks again
    one_only = call_graphs.in_order or bool(options.off_cpu)
    jobs = 1 if one_only else processes_for(recording.sample_count, bool(call_graphs.want), options.jobs)
    passage.run(jobs, _stage(progress, "stitching"))
    selection.check()
    call_graphs.note(diagnostics)
    return stitcher, call_graphs


def _with_waits(profile: Profile, recording: Recording, options: LoadOptions, diagnostics: Diagnostics) -> Profile:
    """The profile with off-CPU time; samples are told apart by time only while that is worked out."""
    from perf2x.tables.stack_tree import without_times
    from perf2x.transform.off_cpu import off_cpu

    profile = off_cpu(profile, recording, options.off_cpu, diagnostics)
    by_cpu = options.by_cpu or options.grouping.root == "cpu"
    return profile if options.timeline else without_times(profile, keep_cpu=by_cpu)


def _finder(options: SymbolOptions | None, diagnostics: Diagnostics, progress: Progress | None) -> Callable[[], Finder]:
    """One finder of objects for unwinder and symbolizer, made when the first of them asks."""
    from functools import cache

    @cache
    def make() -> Finder:
        from perf2x.symbolize.make_finder import make_finder
        from perf2x.symbolize.options import SymbolOptions

        return make_finder(options or SymbolOptions(), diagnostics, progress)

    return make


def _with_compiled_code(
    recording: Recording, options: SymbolOptions | None, finder: Callable[[], Finder], diagnostics: Diagnostics
) -> Sideband:
    """The side-band, with mappings for what just-in-time compilers wrote down when there are such files."""
    sideband = recording.sideband
    if options is None:
        return sideband
    from perf2x.symbolize.sources.jit_names import is_jitdump

    if not any(is_jitdump(name) for name in sideband.mmaps.filename):
        return sideband
    from perf2x.symbolize.sources.jit import with_jitdumps

    return with_jitdumps(sideband, recording.session, options, diagnostics, finder())


def _without_maps(sideband: Sideband) -> Sideband:
    """The side-band for counting: names of threads, and nothing about what was mapped where."""
    return replace(sideband, mmaps=_emptied(sideband.mmaps), ksymbols=_emptied(sideband.ksymbols))


def _emptied(table: Any) -> Any:
    return replace(table, **{column: getattr(table, column)[:0] for column in table.__struct_fields__})


def _defers(recording: Recording) -> bool:
    """Whether the ends of chains say which samples wait for a user stack."""
    asked = any("defer_callchain" in event.flags for event in recording.session.events)
    return asked or len(recording.sideband.deferred) > 0


def _wanted(options: LoadOptions, stacks: bool) -> Want:
    from perf2x.tables.events import Want

    want = Want.CHAIN if stacks else Want(0)
    return want | Want.CGROUP if options.by_cgroup or options.grouping.root == "cgroup" else want


def _symbolized(
    profile: Profile,
    recording: Recording,
    options: LoadOptions,
    diagnostics: Diagnostics,
    finder: Finder,
    stages: Stages,
) -> tuple[Profile, SymbolReport]:
    from perf2x.plugins.registry import load_symbol_sources
    from perf2x.symbolize.resolve import Answers, symbolize

    def spread(work: Callable[[int], Answers], costs: Sequence[int]) -> Iterable[Answers]:
        from perf2x.pipeline.task_queue import handed_out
        from perf2x.pipeline.worker_pool import processes_for_work

        processes = processes_for_work(sum(costs), len(costs), options.jobs)
        if processes == 1:
            return map(work, range(len(costs)))
        return handed_out(processes, work, costs, stages, "symbolize")

    sources, namespaces, symbols = load_symbol_sources(), recording.sideband.namespaces, options.symbols
    assert symbols is not None
    return symbolize(profile, recording.session, symbols, diagnostics, sources, finder, namespaces, spread)


def _stage(progress: Progress | None, stage: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(stage, done, total)
