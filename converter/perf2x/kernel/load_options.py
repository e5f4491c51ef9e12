"""Options that determine the contents of a profile, and the context that the stages of a load share."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.files.unpack_limit import parse_size
from perf2x.base.frozen_struct import Frozen
from perf2x.kernel.feature import with_settings
from perf2x.model.cgroup_parts import cpu_and_cgroup_columns
from perf2x.model.filters.filter_options import SAMPLES_PANEL, Filters, Grouping
from perf2x.model.plugin_options import SAMPLES, STACKS, TAGS
from perf2x.model.setting import ON_BY_DEFAULT, FeatureSettings, Setting, Settings, settings_of
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
    """True: keep one row per sample, in time order. False: keep one row per distinct stack."""
    times_optional: bool = False
    """True: if the input stores only sums, as datasets without times do, load them without times and CPUs.

    False: such an input is refused if the options need times or CPUs.
    """
    by_thread: bool = True
    """False: sum samples of threads with the same name, unless another option needs single threads.

    In both cases, the profile lists all threads.
    """
    keep: frozenset[str] = frozenset()
    """Optional columns of samples to keep; samples that differ in one of them are not summed.

    These are ``cpu``, ``cgroup``, ``data_src`` (memory accesses), in timelines ``fields`` (of tracepoints), and in
    datasets ``host``. The names ``counts`` and ``events`` of Needs.columns have no effect here: they set the options
    ``counts`` and ``keep_other_events``.
    """
    stacks: bool = True
    """False: only count samples.

    Even then, stacks are read if they are deferred or must be unwound, because reports count those.
    """
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
    """Names or globs of the events to keep; empty: all events."""
    every_event: bool = False
    """Whether the user asked for ``all`` events by name, so that a format such as collapsed writes each of them."""
    join_events: bool = True
    """Merge events that perf opened once per kind of CPU core, or once per control group."""
    keep_other_events: bool = False
    """True: keep all events; ``events`` only determines which of them is the default."""
    itrace: Annotated[
        str,
        Setting(
            "Samples to make from Arm SPE trace, as in perf: bfmtaMi, i100i, l.",
            metavar="LETTERS",
            shown_default="all",
            panel=SAMPLES_PANEL,
            rare=True,
            asks="trace",
        ),
    ] = ""
    """Kinds of samples to make from Arm SPE trace, by the letters of ``perf script --itrace``; empty: all."""
    filters: Filters = Filters()
    """Filters on samples and frames."""
    allow_empty: Annotated[bool, Setting("Continue when there are no samples.", rare=True, typed_default=False)] = True
    """False: if no recording has samples, raise an error with the reason."""
    grouping: Grouping = Grouping()
    """How to group the samples that pass the filters."""
    value: Annotated[Literal["", "weight", "mispredicts"], Setting(group=STACKS, asks="records")] = ""
    """What samples count instead of their period: ``weight``, or one row for each mispredicted branch.

    Empty: the period.
    """
    data_objects: Annotated[bool, Setting(group=STACKS, asks="records")] = False
    """Place samples at the accessed data, without a stack, instead of at their instruction."""
    tags: Annotated[tuple[Mapping[str, str], ...], Setting(group=TAGS)] = ()
    """A mapping of labels for each input, in the order of the inputs; empty: no labels."""
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
    """How callers are found in user stack dumps and branch records."""
    merge_callchains: Annotated[
        bool,
        Setting(
            "Join deferred user stacks to their samples.",
            ("--merge-callchains/--no-merge-callchains",),
            panel=ON_BY_DEFAULT,
            rare=True,
            group=STACKS,
            asks="stitching",
        ),
    ] = True
    """True: join deferred user callchains to their samples. False: end the samples' stacks with a mark instead."""
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
    """Settings of features, at most one object of each class; a feature without an object has its defaults."""
    max_unpacked: Annotated[
        int | None,
        Setting(
            "Maximum size of a decompressed input, or of input from a pipe: 500M, 20G.",
            metavar="SIZE",
            shown_default="256 MiB plus 200 times its size",
            rare=True,
            read=lambda name, text: parse_size(text, name),
        ),
    ] = None
    """Limit, in bytes, on the unpacked size of each compressed input, and on the input from a pipe.

    None: 256 MiB plus 200 times the size of the compressed file, at most 64 GiB; for a pipe, 64 GiB. See
    base/files/unpack_limit.py.
    """

    def of(self, kind: type[Settings]) -> Settings:
        """Return the settings of the feature with this class of settings."""
        return settings_of(self.features, kind)

    def with_values(self, **values: Any) -> "LoadOptions":
        """Return the options with some fields, or settings of features, replaced.

        Raises TypeError for unknown names.
        """
        load_fields = {name: values.pop(name) for name in self.__struct_fields__ if name in values}
        return replace(self, features=with_settings(self.features, values), **load_fields)

    @property
    def needs_times(self) -> bool:
        """Whether samples are processed one by one, in order of time."""
        return self.timeline or any(settings.NEEDS_TIMES for settings in self.features)

    @property
    def as_recorded(self) -> bool:
        """Whether the format writes single samples as they were recorded, so that each must stay identifiable."""
        return any(settings.AS_RECORDED for settings in self.features)

    @property
    def hiding_setting(self) -> str:
        """The name of the setting that hides names; "" if none does."""
        return next((settings.HIDES_NAMES for settings in self.features if settings.HIDES_NAMES), "")

    @property
    def keeps_threads(self) -> bool:
        """Whether samples of different threads stay separate, even if ``by_thread`` is False.

        Timelines, filters, groups and hidden names may need single threads.
        """
        may_select_threads = self.filters or self.grouping != Grouping() or self.hiding_setting
        return bool(self.by_thread or self.needs_times or may_select_threads)

    @property
    def columns(self) -> frozenset[str]:
        """The optional columns of samples to keep, including the one to group by."""
        return self.keep | cpu_and_cgroup_columns([self.grouping.root])

    @property
    def keeps_fields(self) -> bool:
        """Whether samples keep the fields of their tracepoints, which may contain names that are hidden."""
        return self.timeline and "fields" in self.keep and not self.hiding_setting


def load_options(**values: Any) -> LoadOptions:
    """Make options from fields and settings of features; the rest are defaults. Raises TypeError for unknown names."""
    return LoadOptions().with_values(**values)


Progress = Callable[[str, int, int], None]
"""Called from time to time with the name of a stage, the amount of work done, and the total amount.

The unit of work is the stage's own: bytes, samples, or objects.
"""


class LoadContext(Struct, dict=True):
    """State that the stages of one load share."""

    options: LoadOptions
    diagnostics: "Diagnostics"
    progress: Progress | None
    stages: "Stages"
    # paths to open, one for each input: for a bundle, that of its unpacked recording
    files: Sequence[str] = ()
    known_names: "KnownNames | None" = None
    """Names that were looked up for earlier recordings of this load, so that later ones need not look them up again.

    None for a single recording.
    """
    unmatched: "UnmatchedFilters | None" = None
    """Collects the filters that nothing in a recording matched, for one error at the end; None for one recording."""

    @cached_property
    def finder(self) -> "Finder":
        """The object finder, created on first use: a load that neither symbolizes nor unwinds does not need it."""
        from perf2x.symbolizer.make_object_finder import make_finder

        return make_finder(self.options.symbols or SymbolOptions(), self.diagnostics, self.progress)

    def symbol_facts(self, profile: "Profile", recording: "Recording", symbols: SymbolOptions) -> "Context":
        """Return the facts about a recording and its profile that symbol sources need."""
        from perf2x.symbolizer.make_object_finder import make_context

        return make_context(profile, recording.session, symbols, self.diagnostics, self.finder, recording.sideband)

    def stage_progress(self, stage: str) -> Callable[[int, int], None] | None:
        """Return a callback for one stage, called with (done, total); None if progress is not shown."""
        progress = self.progress
        return None if progress is None else lambda done, total: progress(stage, done, total)
