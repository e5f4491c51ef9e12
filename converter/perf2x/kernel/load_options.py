"""Options that determine the contents of a profile, and the context that the stages of a load share."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.files.unpack_limit import parse_size
from perf2x.base.frozen_struct import Frozen
from perf2x.kernel.feature import with_settings
from perf2x.model.cgroup_parts import columns_of
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
    """All options that determine the contents of a profile; none that only affect how it is written."""

    timeline: bool = False
    """Keep one row per sample in time order, rather than one per distinct stack."""
    times_optional: bool = False
    """Accept a missing timeline, and missing CPUs, if only sums are stored, as in datasets without times."""
    by_thread: bool = True
    """False: sum samples of threads with the same name, unless something else needs single threads; all are still
    listed.
    """
    keep: frozenset[str] = frozenset()
    """Columns to keep, by which samples stay separate.

    ``cpu``, ``cgroup``, ``data_src`` (memory accesses), in timelines ``fields`` of tracepoints; other columns of
    Needs.columns do not keep samples separate.
    """
    stacks: bool = True
    """False: only count samples; stacks are read only to report on deferred and copied ones."""
    counts: bool = False
    """Read the counts of perf stat record as samples without stacks."""
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
    """Whether the user explicitly requested all events: a format may then show each separately."""
    join_events: bool = True
    """Merge events that perf opened once per kind of CPU core, or once per control group."""
    keep_other_events: bool = False
    """Keep the other events, too, after the selected ones."""
    itrace: Annotated[
        str,
        Setting(
            "Samples to make from Arm SPE trace, as in perf: bfmtaMi, i100i.",
            metavar="LETTERS",
            shown_default="all",
            panel=SAMPLES_PANEL,
            rare=True,
            asks="trace",
        ),
    ] = ""
    """Samples to make from Arm SPE trace, by perf's letters; empty: all."""
    filters: Filters = Filters()
    """Filters on samples and frames."""
    allow_empty: Annotated[bool, Setting("Continue when there are no samples.", rare=True, typed_default=False)] = True
    """False: a recording without samples is an error that names the reason."""
    grouping: Grouping = Grouping()
    """Grouping of the remaining samples."""
    value: Annotated[Literal["", "weight", "mispredicts"], Setting(group=STACKS, asks="records")] = ""
    """The value to use instead of the samples' period; empty: the period."""
    data_objects: Annotated[bool, Setting(group=STACKS, asks="records")] = False
    """Place samples at the accessed data, without a stack, instead of at their instruction."""
    tags: Annotated[tuple[Mapping[str, str], ...], Setting(group=TAGS)] = ()
    """Labels of each input; empty: none."""
    deferred_missing: Annotated[
        Literal["mark", "kernel-only", "drop"],
        Setting(
            "Mark samples without their deferred user stack, keep only their kernel part, or drop them.",
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
    """False: leave deferred user chains separate, and mark the samples that wait for one."""
    jobs: Annotated[
        int,
        Setting(
            "Number of processes that read samples and look up names; the result is the same.",
            metavar="N",
            least=0,
            shown_default="auto",
            panel=CallGraphOptions.PANEL,
            rare=True,
            typed_default=0,
        ),
    ] = 1
    """The number of processes that read, stitch and symbolize (Linux); 0: as many as are worthwhile.

    The library's default is one, because a library must not fork unless told to.
    """
    symbols: Annotated[
        SymbolOptions | None,
        Setting("Do not look up symbols.", ("--no-symbols",), panel=SymbolOptions.PANEL),
    ] = None
    """None: leave all locations without names."""
    symbolize: bool = True
    """False: use ``symbols`` only to find objects for unwinding; symbolize nothing."""
    features: tuple[FeatureSettings, ...] = ()
    """Settings of the features in use, one object for each."""
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
    """Bytes to which each compressed input may be unpacked (None: 200 times its size, at least 256 MiB).

    It also limits the bytes read from a pipe (None: 64 GiB); see base/files/unpack_limit.py.
    """

    def of(self, kind: type[Settings]) -> Settings:
        """Return the settings of a feature."""
        return settings_of(self.features, kind)

    def but(self, **values: Any) -> "LoadOptions":
        """Return the options with some fields, or settings of features, replaced.

        Raises TypeError for unknown names.
        """
        own = {name: values.pop(name) for name in self.__struct_fields__ if name in values}
        return replace(self, features=with_settings(self.features, values), **own)

    @property
    def needs_times(self) -> bool:
        """Whether samples are processed one by one, in order of time."""
        return self.timeline or any(one.NEEDS_TIMES for one in self.features)

    @property
    def as_recorded(self) -> bool:
        """Whether single samples stay identifiable."""
        return any(one.AS_RECORDED for one in self.features)

    @property
    def hides_names(self) -> str:
        """The setting that hides names; "" if none does."""
        return next((one.HIDES_NAMES for one in self.features if one.HIDES_NAMES), "")

    @property
    def keeps_threads(self) -> bool:
        """Whether samples of different threads stay separate, as times and single threads require."""
        selects = self.filters or self.grouping != Grouping() or self.hides_names
        return bool(self.by_thread or self.needs_times or selects)

    @property
    def columns(self) -> frozenset[str]:
        """The columns to keep, including the one to group by."""
        return self.keep | columns_of([self.grouping.root])

    @property
    def keeps_fields(self) -> bool:
        """Whether samples have the fields of their tracepoint, which name programs and files."""
        return self.timeline and "fields" in self.keep and not self.hides_names


def load_options(**values: Any) -> LoadOptions:
    """Make options from fields and settings of features. Raises TypeError for unknown names."""
    return LoadOptions().but(**values)


Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) from time to time."""


class LoadContext(Struct, dict=True):
    """Options, diagnostics, progress and stage times of one load, and the object finder that its stages share."""

    options: LoadOptions
    diagnostics: "Diagnostics"
    progress: Progress | None
    stages: "Stages"
    files: Sequence[str] = ()
    known_names: "KnownNames | None" = None
    """Names from earlier recordings, which later ones need not look up; None for a single recording."""
    unmatched: "UnmatchedFilters | None" = None
    """Filters that only some of several recordings match; None for a single recording."""

    @cached_property
    def finder(self) -> "Finder":
        """The object finder, created on first use: most loads without symbols do not need it."""
        from perf2x.symbolizer.make_object_finder import make_finder

        return make_finder(self.options.symbols or SymbolOptions(), self.diagnostics, self.progress)

    def symbol_facts(self, profile: "Profile", recording: "Recording", symbols: SymbolOptions) -> "Context":
        """Collect what symbol sources need to know about a recording and its profile."""
        from perf2x.symbolizer.make_object_finder import make_context

        return make_context(profile, recording.session, symbols, self.diagnostics, self.finder, recording.sideband)

    def progress_of(self, stage: str) -> Callable[[int, int], None] | None:
        """Return a callback for one stage, called with (done, total); None if progress is not shown."""
        progress = self.progress
        return None if progress is None else lambda done, total: progress(stage, done, total)
