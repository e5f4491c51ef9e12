"""Options of a load: everything that decides the contents of a profile, nothing about how it is written.

Context of a load: its options, and everything that its stages report to.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec.structs import replace

from perf2x.base.files.unpack_limit import parse_size
from perf2x.base.frozen import Frozen
from perf2x.kernel.feature import with_settings
from perf2x.model.filters.filter_options import SAMPLES_PANEL, Filters, Grouping
from perf2x.model.plugin_options import SAMPLES, STACKS, TAGS
from perf2x.model.setting import ON, FeatureSettings, Setting, Settings, settings_of
from perf2x.stitcher.call_graph_options import CallGraphOptions
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    from perf2x.base.binaries.find.object_finder import Finder
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.kernel.stage_timer import Stages
    from perf2x.model.filters.unmatched_filters import UnmatchedFilters
    from perf2x.model.profile import Profile
    from perf2x.model.recording import Recording
    from perf2x.symbolizer.known.known_names import KnownNames
    from perf2x.symbolizer.sources.symbol_source import Context


def _read_events(_: str, names: Sequence[str]) -> Mapping[str, object]:
    return {"every_event": True} if "all" in names else {"events": tuple(names)}


class LoadOptions(Frozen):
    """Everything that decides the contents of a profile, nothing about how it is written."""

    timeline: bool = False
    """Keep one row per sample in order of time, not one per distinct stack."""
    times_optional: bool = False
    """Whether a timeline, and its CPUs, may be missing where only sums are known, as in datasets without times."""
    by_thread: bool = True
    """False: sum samples of threads that have one name, where nothing else is asked of threads; all are listed."""
    keep: frozenset[str] = frozenset()
    """Columns that samples have, and that keep them apart: ``cpu``, ``cgroup``, ``data_src`` (of memory accesses), in
    timelines ``fields`` of tracepoints; others of Needs.columns do not."""
    stacks: bool = True
    """False: only count samples; stacks are read only to tell what became of deferred or copied ones."""
    counts: bool = False
    """Read what perf stat record counted, as samples without stacks."""
    events: Annotated[
        tuple[str, ...],
        Setting(
            "Events by name or glob; for collapsed also all.",
            ("--event", "-e"),
            "NAME",
            panel=SAMPLES_PANEL,
            read=_read_events,
        ),
    ] = ()
    """Names or globs of the events to keep; empty: all."""
    every_event: bool = False
    """Whether the user said so: a format may show each by itself."""
    join_events: bool = True
    """Show what is one event on several kinds of CPU core, or in several control groups, as one."""
    keep_other_events: bool = False
    """Keep the other events, too, behind those to keep."""
    itrace: Annotated[
        str,
        Setting(
            "Samples to make of Arm SPE trace, as in perf: bfmtaMi, i100i.",
            metavar="LETTERS",
            shown_default="all",
            panel=SAMPLES_PANEL,
            rare=True,
            asks="trace",
        ),
    ] = ""
    """Samples to make of Arm SPE trace, by perf's letters; empty: all."""
    filters: Filters = Filters()
    """The part of the recording to take."""
    allow_empty: Annotated[bool, Setting("Continue when there are no samples.", rare=True, default=False)] = True
    """False: recordings without a single sample are an error that says why."""
    grouping: Grouping = Grouping()
    """Grouping of the samples of that part."""
    value: Annotated[Literal["", "weight", "mispredicts"], Setting(group=STACKS, asks="records")] = ""
    """Value of samples other than their period; empty: the period."""
    data_objects: Annotated[bool, Setting(group=STACKS, asks="records")] = False
    """Let samples stand at the data that they accessed, without a stack, not at their instruction."""
    tags: Annotated[tuple[Mapping[str, str], ...], Setting(group=TAGS)] = ()
    """Labels of each input; empty: none."""
    deferred_missing: Annotated[
        Literal["mark", "kernel-only", "drop"],
        Setting(
            "What to do with samples whose deferred user stack is missing: mark, kernel-only or drop.",
            metavar="HOW",
            panel=CallGraphOptions.PANEL,
            rare=True,
            group=SAMPLES,
            asks="stitching",
        ),
    ] = "mark"
    """Treatment of samples whose deferred user stack is missing: mark them, keep their kernel part, or drop them."""
    call_graphs: CallGraphOptions = CallGraphOptions()
    """Unwinding of user stack dumps and branch records."""
    merge_callchains: Annotated[
        bool,
        Setting(
            "Join deferred user stacks to their samples.",
            ("--merge-callchains/--no-merge-callchains",),
            panel=ON,
            rare=True,
            group=SAMPLES,
            asks="stitching",
        ),
    ] = True
    """False: leave deferred user chains where they are and mark the samples that wait for one."""
    jobs: Annotated[
        int,
        Setting(
            "Number of processes that read samples and look up names; the result is the same.",
            metavar="N",
            least=0,
            shown_default="auto",
            panel=CallGraphOptions.PANEL,
            rare=True,
            default=0,
        ),
    ] = 1
    """Processes that read, stitch and look up names (Linux), 0: as many as are worth it. A library does not fork
    unasked."""
    symbols: Annotated[
        SymbolOptions | None,
        Setting("Do not look up symbols.", ("--no-symbols",), panel=SymbolOptions.PANEL),
    ] = None
    """None: leave every location without names."""
    symbolize: bool = True
    """False: use ``symbols`` only to find objects for unwinding; name nothing."""
    features: tuple[FeatureSettings, ...] = ()
    """Settings of features that are asked for something, one of each."""
    max_unpacked: Annotated[
        int | None,
        Setting(
            "Maximum size of a decompressed input, or of input from a pipe: 500M, 20G.",
            metavar="SIZE",
            shown_default="200 times its size",
            rare=True,
            read=lambda name, text: parse_size(text, name),
        ),
    ] = None
    """Bytes that each compressed input may unpack to (None: 200 times its size, and never less than 256 MiB), or a pipe
    may send (None: 64 GiB); see base/files/unpack_limit.py."""

    def of(self, kind: type[Settings]) -> Settings:
        """The settings of a feature."""
        return settings_of(self.features, kind)

    def but(self, **values: Any) -> "LoadOptions":
        """The options with other values of fields and of features' settings; TypeError for other names."""
        own = {name: values.pop(name) for name in self.__struct_fields__ if name in values}
        return replace(self, features=with_settings(self.features, values), **own)

    @property
    def needs_times(self) -> bool:
        """Whether samples are processed one by one, in order of time."""
        return self.timeline or any(one.NEEDS_TIMES for one in self.features)

    @property
    def as_recorded(self) -> bool:
        """Whether samples stay findable one by one."""
        return any(one.AS_RECORDED for one in self.features)

    @property
    def hides_names(self) -> str:
        """The setting that hides names; "" for none."""
        return next((one.HIDES_NAMES for one in self.features if one.HIDES_NAMES), "")

    @property
    def keeps_threads(self) -> bool:
        """Whether samples of different threads stay apart: what looks at times, or at single threads, needs them."""
        asked = self.filters or self.grouping != Grouping() or self.hides_names
        return bool(self.by_thread or self.needs_times or asked)

    @property
    def columns(self) -> frozenset[str]:
        """The columns to keep, and the one to group by."""
        return self.keep | {self.grouping.root}

    @property
    def keeps_fields(self) -> bool:
        """Whether samples carry the fields of their tracepoint, which name programs and files."""
        return self.timeline and "fields" in self.keep and not self.hides_names


def load_options(**values: Any) -> LoadOptions:
    """Make options of values of fields and of features' settings; TypeError for other names."""
    return LoadOptions().but(**values)


Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) now and then."""


class LoadContext:
    """Options, diagnostics, progress and stage times of one load, and the finder of objects that its stages share."""

    def __init__(
        self,
        options: LoadOptions,
        diagnostics: "Diagnostics",
        progress: Progress | None,
        stages: "Stages",
        files: Sequence[str] = (),
    ) -> None:
        self.options = options
        self.files = files
        self.diagnostics = diagnostics
        self.progress = progress
        self.stages = stages
        self.known_names: KnownNames | None = None
        """Names that one recording is given and the next one need not look up; None for one recording alone."""
        self.unmatched: UnmatchedFilters | None = None
        """Filters that only some of several recordings may match; None for one recording alone."""

    @cached_property
    def finder(self) -> "Finder":
        """Finder of objects, made on first use: most loads without symbols need none."""
        from perf2x.symbolizer.make_finder import make_finder

        return make_finder(self.options.symbols or SymbolOptions(), self.diagnostics, self.progress)

    def symbol_facts(self, profile: "Profile", recording: "Recording", symbols: SymbolOptions) -> "Context":
        """Collect what sources of symbols need to know of a recording and its profile."""
        from perf2x.symbolizer.make_finder import make_context

        return make_context(profile, recording.session, symbols, self.diagnostics, self.finder, recording.sideband)

    def progress_of(self, stage: str) -> Callable[[int, int], None] | None:
        """A callback for one stage, called with (done, total); None when nobody watches."""
        progress = self.progress
        return None if progress is None else lambda done, total: progress(stage, done, total)
