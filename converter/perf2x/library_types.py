"""Keyword arguments and columns of the library, as type checkers see them."""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.model.code_request import CodeRequest
from perf2x.stitcher.call_graph_options import CallGraphOptions
from perf2x.transforms.filters.filter_options import Choice, Grouping

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
    """False: sum samples of threads that have one name; all threads are listed."""
    keep: frozenset[str]
    """Columns that samples have, and that keep them apart: ``cpu``, ``cgroup``, ``data_src`` (of memory accesses), in
    timelines ``fields`` of tracepoints."""
    as_recorded: bool
    """Keep what reads the samples once more, one by one (``View.single_samples``)."""
    places: frozenset[str]
    """Name addresses of such samples besides their stacks: ``branches``, ``data``."""
    stacks: bool
    """False: count samples by event and thread only."""
    counts: bool
    """Read what perf stat record counted, as samples without stacks."""
    deferred_missing: Literal["mark", "kernel-only", "drop"]
    """Treatment of samples whose deferred user stack is not in the file."""
    merge_callchains: bool
    """False: leave deferred user stacks out."""
    events: tuple[str, ...]
    """Names or globs of the events to keep; empty: all."""
    join_events: bool
    """Show what is one event on several kinds of CPU core, or in several control groups, as one."""
    beside: bool
    """Keep the other events, too, behind those to keep."""
    choice: Choice
    """The part of the recording to take."""
    grouping: Grouping
    """Grouping of the samples of that part."""
    itrace: str
    """Samples to make of Arm SPE trace, by perf's letters; empty: all."""
    off_cpu: Literal["", "apart", "beside", "merged"]
    """Way to show the time that threads waited; empty: not at all."""
    parallelism: tuple[int, ...]
    """Keep samples that were taken while so many threads ran; empty: all."""
    anonymize: str
    """Secret to hash names with; empty: leave them."""
    tags: tuple[Mapping[str, str], ...]
    """Labels of each input; empty: none."""
    start_time: int | Literal["file"] | None
    """Time of the first sample in nanoseconds since the epoch; ``file``: by the recording's date; None: as recorded."""
    max_unpacked: int | None
    """Bytes that each compressed input may unpack to (None: 200 times its size, and never less than 256 MiB), or a pipe
    may send (None: 64 GiB)."""
    allow_empty: bool
    """False: a recording without a single sample is an error that says why."""
    look_up: bool
    """False: look for objects only to unwind stacks; name nothing."""
    jobs: int
    """Processes to read with (Linux), 0: as many as are worth it. The default is 1: a library does not fork unasked."""
    code: CodeRequest | None
    """Count branches and samples of one object's code; None: do not."""
    listings: ListingOptions | None
    """Functions to list with costs of lines and instructions; None: none."""
    original: int
    """Bytes of the recording that may be kept as they are, in View.original; 0: none."""
    call_graphs: CallGraphOptions
    """Unwinding of user stack dumps and branch records."""


class ReadOptions(TableOptions, total=False):
    """Keyword arguments of ``read`` and ``convert``: these beside all of ``TableOptions``."""

    value: Literal["", "weight", "mispredicts"]
    """Value of samples other than their period; empty: the period."""
    data_objects: bool
    """Let samples stand at the data that they accessed, without a stack."""
    latency: Literal["", "value", "beside"]
    """Divide values by the number of threads that ran meanwhile: instead of them, or beside them; empty: not at all."""


class SampleTable(TypedDict):
    """Columns of equal length; texts are object arrays of str."""

    time: NotRequired[npt.NDArray[np.uint64]]
    """Nanoseconds of the recording's clock; in a timeline only."""
    event: npt.NDArray[np.object_]
    pid: npt.NDArray[np.int32]
    """−1: unknown."""
    tid: npt.NDArray[np.int32]
    comm: npt.NDArray[np.object_]
    """Name of the thread."""
    function: npt.NDArray[np.object_]
    """Innermost function, inlined ones included; ``[libc.so.6]`` for code without a name; "" without a stack."""
    object: npt.NDArray[np.object_]
    """Base name of the file that the innermost function lies in; "" for none."""
    stack: npt.NDArray[np.object_]
    """All functions, outermost first, joined by semicolons."""
    value: npt.NDArray[np.int64]
    """Sum of periods, in the event's unit."""
    count: npt.NDArray[np.int64]
    """Number of samples."""
    cpu: NotRequired[npt.NDArray[np.int32]]
    cgroup: NotRequired[npt.NDArray[np.object_]]
    """Path of the control group."""
