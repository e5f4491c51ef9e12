"""Types of the library's keyword arguments, written by ``python -m tests.support.library_types``."""

from collections.abc import Mapping
from typing import Literal, TypedDict

from perf2x.model.annotate_options import ListingOptions
from perf2x.model.filters.filter_options import Filters, Grouping
from perf2x.model.format_features import CodeRequest
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
"""Names of the built-in formats; for a plugin's format, pass an object that ``perf2x.plugins.build_emitter`` made."""


class TableOptions(TypedDict, total=False):
    """Keyword arguments of ``top`` and ``diff``; LoadOptions and the settings of features have the defaults."""

    timeline: bool
    """True: keep one row per sample, in time order. False: keep one row per distinct stack."""
    by_thread: bool
    """False: sum samples of threads with the same name, unless another option needs single threads. In both cases, the
    profile lists all threads."""
    keep: frozenset[str]
    """Optional columns of samples to keep; samples that differ in one of them are not summed. These are ``cpu``,
    ``cgroup``, ``data_src`` (memory accesses), in timelines ``fields`` (of tracepoints), and in datasets ``host``. The
    names ``counts`` and ``events`` of Needs.columns have no effect here: they set the options ``counts`` and
    ``keep_other_events``."""
    stacks: bool
    """False: only count samples. Even then, stacks are read if they are deferred or must be unwound, because reports
    count those."""
    counts: bool
    """Read the counts of perf stat record as samples without stacks."""
    events: tuple[str, ...]
    """Names or globs of the events to keep; empty: all events."""
    join_events: bool
    """Merge events that perf opened once per kind of CPU core, or once per control group."""
    keep_other_events: bool
    """True: keep all events; ``events`` only determines which of them is the default."""
    itrace: str
    """Kinds of samples to make from Arm SPE trace, by the letters of ``perf script --itrace``; empty: all."""
    filters: Filters
    """Filters on samples and frames."""
    allow_empty: bool
    """False: if no recording has samples, raise an error with the reason."""
    grouping: Grouping
    """How to group the samples that pass the filters."""
    tags: tuple[Mapping[str, str], ...]
    """A mapping of labels for each input, in the order of the inputs; empty: no labels."""
    deferred_missing: Literal["mark", "kernel-only", "drop"]
    """Treatment of samples whose deferred user stack is missing: mark them, keep their kernel part, or drop them."""
    call_graphs: CallGraphOptions
    """How callers are found in user stack dumps and branch records."""
    merge_callchains: bool
    """True: join deferred user callchains to their samples. False: end the samples' stacks with a mark instead."""
    jobs: int
    """The number of processes that read, stitch and symbolize (Linux); 0: as many as are worthwhile. The library's
    default is one, because a library must not fork unless told to."""
    symbolize: bool
    """False: use ``symbols`` only to find objects for unwinding; symbolize nothing."""
    max_unpacked: int | None
    """Limit, in bytes, on the unpacked size of each compressed input, and on the input from a pipe. None: 256 MiB plus
    200 times the size of the compressed file, at most 64 GiB; for a pipe, 64 GiB. See base/files/unpack_limit.py."""
    anonymize: str
    """A secret salt for the hashes; empty: names stay."""
    code: CodeRequest | None
    """Count branches and samples of one object's code; None: no counts."""
    parallelism: tuple[int, ...]
    """Keep samples taken while this many threads ran (running_threads.py); empty: all."""
    listings: ListingOptions | None
    """Functions to list with costs of lines and instructions, in View.listings; None: no listings."""
    off_cpu: Literal["", "apart", "beside", "merged"]
    """Show the time that threads waited: alone, as another event, or added to the clock event; empty: not at all."""
    original: int
    """Maximum size, in bytes, of a recording to keep unchanged in View.original; 0: keep none."""
    as_recorded: bool
    """Provide a reader of single samples (``View.single_samples``). Samples keep the addresses of their process."""
    places: frozenset[str]
    """Addresses outside stacks to symbolize, too: ``branches`` (sources and targets), ``data`` (accessed addresses)."""
    start_time: int | Literal["file"] | None
    """Time of the first sample in nanoseconds since the epoch; None: as recorded. ``file``: the latest date of the
    recording's files, minus the recording's duration."""


class ReadOptions(TableOptions, total=False):
    """Keyword arguments of ``read`` and ``convert``: all of ``TableOptions``, and these."""

    value: Literal["", "weight", "mispredicts"]
    """What samples count instead of their period: ``weight``, or one row for each mispredicted branch. Empty: the
    period."""
    data_objects: bool
    """Place samples at the accessed data, without a stack, instead of at their instruction."""
    latency: Literal["", "value", "beside"]
    """Divide values by the number of running threads: ``value`` replaces the values, ``beside`` adds samples.latency.
    Empty: do neither."""
