"""Options of a load: everything that decides the contents of a profile, nothing about how it is written.

Context of a load: its options, and everything that its stages report to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.model.diagnostics import Diagnostics
from perf2x.model.profile.code_counts import CodeRequest
from perf2x.pipeline.stage_timer import Stages
from perf2x.stitcher.call_graphs import CallGraphOptions
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.transforms.filters.choice import Choice, Grouping

if TYPE_CHECKING:
    from perf2x.binaries.find.object_finder import Finder
    from perf2x.symbolizer.known.known_names import KnownNames
    from perf2x.transforms.filters.unmatched_filters import UnmatchedFilters


class LoadOptions(Struct, frozen=True):
    """Everything that decides the contents of a profile, nothing about how it is written."""

    timeline: bool = False
    sums_do: bool = False
    """Whether a timeline, and its CPUs, may be missing where only sums are known, as in datasets without times."""
    by_thread: bool = True
    """False: nothing is asked of threads but their names, so that samples of namesakes may be summed."""
    keep: frozenset[str] = frozenset()
    """Columns as of Needs.columns: ``cpu``, ``cgroup`` and ``data_src`` keep samples apart."""
    as_recorded: bool = False
    """Whether samples can be read once more, each with its thread and its stack, at the addresses of its process."""
    places: frozenset[str] = frozenset()
    """Addresses of such samples to name besides their stacks: ``branches``, ``data``."""
    stacks: bool = True
    """False: only count samples; stacks are read only to tell what became of deferred or copied ones."""
    counts: bool = False
    """Whether what perf stat record counted is read, as samples without stacks."""
    deferred_missing: str = "mark"
    merge_callchains: bool = True
    """False: leave deferred user chains where they are and mark the samples that wait for one."""
    events: tuple[str, ...] = ()
    """Names or globs of the events to keep; empty: all."""
    join_events: bool = True
    """Show what is one event on several kinds of CPU core, or in several control groups, as one."""
    beside: bool = False
    """Whether the other events stay, too, behind those to keep."""
    choice: Choice = field(default_factory=Choice)
    """The part of the recording to take."""
    grouping: Grouping = field(default_factory=Grouping)
    """Grouping of the samples of that part."""
    itrace: str = ""
    """Samples to make of Arm SPE trace, by perf's letters; empty: all."""
    off_cpu: str = ""
    """Way to show the time that threads waited: apart, beside or merged; empty: not at all."""
    value: str = ""
    """Value of samples other than their period, ``weight`` or ``mispredicts``; empty: the period."""
    data_objects: bool = False
    """Whether samples stand at the data that they accessed, without a stack, not at their instruction."""
    latency: str = ""
    """``value``: values are divided by the number of threads that ran at that moment; ``beside``: those are in
    Profile.samples.latency; empty: neither."""
    anonymize: str = ""
    """Secret to hash names with; empty: leave them."""
    tags: tuple[Mapping[str, str], ...] = ()
    """Labels of each input; empty: none."""
    max_unpacked: int | None = None
    """Bytes that each compressed input may unpack to; None: the default of base/files/unpack_limit.py."""
    start_time: int | Literal["file"] | None = None
    """Time of the first sample in nanoseconds since the epoch; ``file``: by the recording's date; None: as recorded."""
    allow_empty: bool = True
    """False: recordings without a single sample are an error that says why."""
    symbols: SymbolOptions | None = None
    """None: leave every location without names."""
    look_up: bool = True
    """False: use ``symbols`` only to find objects for unwinding; name nothing."""
    code: CodeRequest | None = None
    """Count branches and samples of one object's code; None: do not."""
    jobs: int = 1
    """Processes that read, stitch and look up names, 0: as many as are worth it. A library does not fork unasked."""
    listings: ListingOptions | None = None
    """Functions to list with costs of lines and instructions, in Profile.listings; None: none."""
    original: int = 0
    """Bytes of the recording that may be kept as they are, in Profile.original; 0: none."""
    call_graphs: CallGraphOptions | None = None
    """Unwinding of user stack dumps and branch records; None: the defaults."""

    @property
    def needs_times(self) -> bool:
        """Whether samples are processed one by one, in order of time."""
        return self.timeline or self.reads_again

    @property
    def reads_again(self) -> bool:
        """Whether samples may be read once more behind the pass over them."""
        return bool(self.off_cpu or self.latency or self.choice.parallelism)

    @property
    def keeps_threads(self) -> bool:
        """Whether samples of different threads stay apart: what looks at times, or at single threads, needs them."""
        asked = self.choice or self.grouping != Grouping() or self.anonymize
        return bool(self.by_thread or self.needs_times or asked)

    @property
    def columns(self) -> frozenset[str]:
        """The columns to keep, and the one to group by."""
        return self.keep | {self.grouping.root}

    @property
    def keeps_fields(self) -> bool:
        """Whether samples carry the fields of their tracepoint, which name programs and files."""
        return self.timeline and "fields" in self.keep and not self.anonymize


Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) now and then."""


class LoadContext:
    """Options, diagnostics, progress and stage times of one load, and the finder of objects that its stages share."""

    def __init__(
        self, options: LoadOptions, diagnostics: Diagnostics, progress: Progress | None, stages: Stages
    ) -> None:
        self.options = options
        self.diagnostics = diagnostics
        self.progress = progress
        self.stages = stages
        self.known_names: KnownNames | None = None
        """Names that one recording is given and the next one need not look up; None for one recording alone."""
        self.unmatched: UnmatchedFilters | None = None
        """Filters that only some of several recordings may match; None for one recording alone."""

    @cached_property
    def finder(self) -> Finder:
        """Finder of objects, made on first use: most loads without symbols need none."""
        from perf2x.symbolizer.make_finder import make_finder
        from perf2x.symbolizer.symbol_options import SymbolOptions

        return make_finder(self.options.symbols or SymbolOptions(), self.diagnostics, self.progress)

    def progress_of(self, stage: str) -> Callable[[int, int], None] | None:
        """A callback for one stage, called with (done, total); None when nobody watches."""
        progress = self.progress
        return None if progress is None else lambda done, total: progress(stage, done, total)
