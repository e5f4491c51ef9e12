"""Keyword arguments of the library, written for type checkers: ``python -m tests.support.library_types``."""

from collections.abc import Mapping
from typing import Literal, TypedDict

from perf2x.model.filters.filter_options import Filters, Grouping
from perf2x.model.format_features import CodeRequest
from perf2x.model.listing_options import ListingOptions
from perf2x.stitcher.call_graph_options import CallGraphOptions

FormatName = Literal[
    "autofdo",
    "bolt",
    "callgrind",
    "chrome",
    "collapsed",
    "firefox",
    "gcov",
    "html",
    "otlp",
    "perf-script",
    "perfetto",
    "pprof",
    "speedscope",
    "svg",
]
"""Names of the built-in formats; a plugin's format is made by its class, or by ``perf2x.plugins.build_emitter``."""


class TableOptions(TypedDict, total=False):
    """Keyword arguments of ``top`` and ``diff``; left out, each is as in LoadOptions."""

    timeline: bool
    """Keep one row per sample in order of time, not one per distinct stack."""
    by_thread: bool
    """False: sum samples of threads that have one name, where nothing else is asked of threads; all are listed."""
    keep: frozenset[str]
    """Columns that samples have, and that keep them apart: ``cpu``, ``cgroup``, ``data_src`` (of memory accesses), in
    timelines ``fields`` of tracepoints; others of Needs.columns do not."""
    stacks: bool
    """False: only count samples; stacks are read only to tell what became of deferred or copied ones."""
    counts: bool
    """Read what perf stat record counted, as samples without stacks."""
    events: tuple[str, ...]
    """Names or globs of the events to keep; empty: all."""
    join_events: bool
    """Show what is one event on several kinds of CPU core, or in several control groups, as one."""
    keep_other_events: bool
    """Keep the other events, too, behind those to keep."""
    itrace: str
    """Samples to make of Arm SPE trace, by perf's letters; empty: all."""
    filters: Filters
    """The part of the recording to take."""
    allow_empty: bool
    """False: recordings without a single sample are an error that says why."""
    grouping: Grouping
    """Grouping of the samples of that part."""
    tags: tuple[Mapping[str, str], ...]
    """Labels of each input; empty: none."""
    deferred_missing: Literal["mark", "kernel-only", "drop"]
    """Treatment of samples whose deferred user stack is missing: mark them, keep their kernel part, or drop them."""
    call_graphs: CallGraphOptions
    """Unwinding of user stack dumps and branch records."""
    merge_callchains: bool
    """False: leave deferred user chains where they are and mark the samples that wait for one."""
    jobs: int
    """Processes that read, stitch and look up names (Linux), 0: as many as are worth it. A library does not fork
    unasked."""
    symbolize: bool
    """False: use ``symbols`` only to find objects for unwinding; name nothing."""
    max_unpacked: int | None
    """Bytes that each compressed input may unpack to (None: 200 times its size, and never less than 256 MiB), or a pipe
    may send (None: 64 GiB); see base/files/unpack_limit.py."""
    anonymize: str
    """Secret to hash names with; empty: leave them."""
    code: CodeRequest | None
    """Count branches and samples of one object's code; None: do not."""
    parallelism: tuple[int, ...]
    """Keep samples that were taken while so many threads ran (running_threads.py); empty: all."""
    listings: ListingOptions | None
    """Functions to list with costs of lines and instructions, in View.listings; None: none."""
    off_cpu: Literal["", "apart", "beside", "merged"]
    """Way to show the time that threads waited; empty: not at all."""
    original: int
    """Bytes of the recording that may be kept as they are, in View.original; 0: none."""
    as_recorded: bool
    """Keep what reads the samples once more, one by one, each with its thread and its stack at the addresses of its
    process (``View.single_samples``)."""
    places: frozenset[str]
    """Name addresses of such samples besides their stacks: ``branches``, ``data``."""
    start_time: int | Literal["file"] | None
    """Time of the first sample in nanoseconds since the epoch; ``file``: the date of the recording's files, less its
    duration; None: as recorded."""


class ReadOptions(TableOptions, total=False):
    """Keyword arguments of ``read`` and ``convert``: these beside all of ``TableOptions``."""

    value: Literal["", "weight", "mispredicts"]
    """Value of samples other than their period; empty: the period."""
    data_objects: bool
    """Let samples stand at the data that they accessed, without a stack, not at their instruction."""
    latency: Literal["", "value", "beside"]
    """``value``: values are divided by the number of threads that ran at that moment; ``beside``: those are in
    Profile.samples.latency; empty: neither."""
