"""Profile tables, from the stitcher to symbolizer and emitters: full stacks under pprof's names.

Strings, functions, mappings, locations and threads are tables; stacks are a prefix tree; samples point into them.
Everything is in a fixed order that depends on the input alone, so the same input gives the same bytes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from perf2x.columnar.arrays import I32, I64, U8, U64, AnyArray, Bools
from perf2x.columnar.unique import unique
from perf2x.tables.tracepoint_fields import TracepointFields


class ProfileEvent(Struct, frozen=True):
    """One event that samples refer to; events of the recording without samples are kept, in recorded order."""

    name: str
    """perf's name: ``cycles:P``, ``cpu-clock``, ``sched:sched_switch``."""
    unit: str
    """Unit of ``samples.value``: ``nanoseconds`` for cpu-clock and task-clock, else ``count``."""
    period: int
    """Fixed period, 0 for frequency events."""
    frequency: int
    """Hz, 0 for fixed-period events."""
    is_wait: bool = False
    """All samples are waits: ``value`` is time without a CPU in nanoseconds."""


class Threads(Struct, frozen=True):
    """Unique (pid, tid, comm); ``comm`` and ``process`` (the leader's comm) index strings; −1 pid: unknown."""

    pid: I32
    tid: I32
    comm: I32
    process: I32

    def __len__(self) -> int:
        return len(self.pid)


class Mappings(Struct, frozen=True):
    """Unique (start, limit, offset, file, build id), and pid where the file name means nothing outside its process."""

    start: U64
    limit: U64
    """First address past the mapping."""
    offset: U64
    """File offset of ``start``."""
    filename: I32
    """String index, as recorded (``[kernel.kallsyms]_text``, ``//anon``, ``[vdso]``)."""
    build_id: I32
    """String index, lower-case hex, index 0 ("") when unknown."""
    pid: I32
    """A process that has the mapping (for perf-PID.map and /proc/PID/root); −1 for the kernel."""
    is_kernel: Bools
    has_functions: Bools
    has_filenames: Bools
    has_line_numbers: Bools
    has_inline_frames: Bools

    def __len__(self) -> int:
        return len(self.start)


class Functions(Struct, frozen=True):
    """Unique (name, system_name, filename, start_line); the first three index strings.

    ``name`` is displayed, in the style that was asked for. Several functions may have one: instances of a template,
    overloads. ``system_name`` tells them apart; it is what the symbol table or a just-in-time compiler wrote.
    """

    name: I32
    system_name: I32
    filename: I32
    start_line: I32

    def __len__(self) -> int:
        return len(self.name)


class Locations(Struct, frozen=True):
    """Unique (mapping, address, lookup, mode).

    ``address`` is the avma as recorded. ``lookup`` equals it for instruction pointers and is one less for
    return addresses, so that it lies inside the call. ``mapping`` is −1 for addresses outside all mappings. ``mode`` is
    a uapi.CpuMode. A location made up by perf2x (``[user stack missing]``) has address 0, mapping −1, ``synthetic``
    True and one line.
    Lines of location i are ``line_function[line_offsets[i]:line_offsets[i + 1]]``, innermost inlined function first;
    no lines: unresolved.
    """

    address: U64
    lookup: U64
    mapping: I32
    mode: U8
    synthetic: Bools
    line_offsets: I64
    line_function: I32
    line_number: I32
    """0 where unknown."""

    def __len__(self) -> int:
        return len(self.address)


class Stacks(Struct, frozen=True):
    """A prefix tree, root first: row i is ``location[i]`` called from row ``parent[i]``, −1 for outermost frames.

    A parent always stands in an earlier row, so one pass from the front (or the back) folds anything. An empty stack is
    the index −1 in samples.
    """

    parent: I32
    location: I32

    def __len__(self) -> int:
        return len(self.parent)


class ProfileSamples(Struct, frozen=True):
    """Rows of samples.

    Aggregated profiles: unique (event, thread, stack) and whatever extra label columns were asked for, summed; ``time``
    is None. Timeline profiles: one row per sample in time order.
    """

    event: I32
    thread: I32
    stack: I32
    """Leaf row in Stacks, −1 for an empty stack."""
    value: I64
    """Sum of periods, in the event's unit."""
    count: I64
    """Number of samples."""
    time: U64 | None = None
    """Nanoseconds of the recording's clock."""
    cpu: I32 | None = None
    cgroup: I32 | None = None
    """String index of the cgroup's path; of the empty string where a sample has none."""
    tags: I32 | None = None
    """Row of Profile.tag_sets; None when there are none."""
    latency: I64 | None = None
    """``value`` divided by the number of threads that ran at the same moment; None unless asked for."""
    wait: U8 | None = None
    """A tables.waits.Wait: 0 where the thread ran, else it waited from ``time`` for ``value`` nanoseconds; None in
    aggregated profiles and without ``--off-cpu``."""
    fields: I32 | None = None
    """Row in all of Profile.fields, one behind the other; −1: none. None unless fields of tracepoints were wanted."""

    def __len__(self) -> int:
        return len(self.event)


class ThreadSwitches(Struct, frozen=True):
    """Context switches in time order, for timeline emitters: a thread left (``is_out``) or entered a CPU."""

    time: U64
    thread: I32
    is_out: Bools
    cpu: I32
    """−1: unknown."""
    is_preempted: Bools
    """The thread left although it could have run on; False of switches in, and where the kernel does not tell."""


class RunningThreads(Struct, frozen=True):
    """Parallelism over time, as a step curve: ``threads`` (n,) ran from ``time`` (n,) to the next row's.

    Threads are all of the recording, or those of the processes that were asked for, without the idle task; none ran
    before the first row. Neighbouring rows differ.
    """

    time: U64
    threads: I32

    def __len__(self) -> int:
        return len(self.time)


class Losses(Struct, frozen=True):
    """What the kernel had no room for, in time order, for timeline emitters."""

    time: U64
    """When the kernel said so: what is lost came before."""
    cpu: I32
    """−1: unknown."""
    lost: U64
    samples_only: Bools
    """``lost`` counts samples; else records of any kind."""

    def __len__(self) -> int:
        return len(self.time)


class Meta(Struct, frozen=True):
    """Facts about the recording that formats carry as header fields or comments."""

    source: str = ""
    start_ns: int = 0
    """Time of the first sample on the recording's clock; 0 without timestamps."""
    duration_ns: int = 0
    wall_start_ns: int = 0
    """``start_ns`` as nanoseconds since the epoch; 0 when the file does not tell."""
    hostname: str = ""
    os_release: str = ""
    arch: str = ""
    perf_version: str = ""
    command_line: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    """Lines of statistics for formats that have room for them."""


class Profile(Struct, frozen=True):
    """A finished profile. ``strings[0]`` is ``""``; undecodable bytes are surrogate escapes."""

    strings: Sequence[str]
    events: tuple[ProfileEvent, ...]
    threads: Threads
    mappings: Mappings
    functions: Functions
    locations: Locations
    stacks: Stacks
    samples: ProfileSamples
    meta: Meta = field(default_factory=Meta)
    switches: ThreadSwitches | None = None
    running: RunningThreads | None = None
    """None in aggregated profiles, and where the recording has no context switches."""
    losses: Losses | None = None
    """None in aggregated profiles, and in merged ones, whose clocks differ; so are ``switches``."""
    parents: I32 | None = None
    """(threads,) a row of Threads of the process that forked each thread's process, −1: unknown; for timelines."""
    default_event: int = 0
    """The event the user wants to see first: the first one that has samples unless chosen otherwise."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that hold for every sample (``--tag key=value``)."""
    tag_sets: tuple[Mapping[str, str], ...] = ()
    """Labels of some samples: of one input among several (``samples.tags``)."""
    fields: tuple[TracepointFields, ...] = ()
    """Fields of tracepoints (``samples.fields``)."""
    full_names: Mapping[str, str] = field(default_factory=dict)
    """Names in full by system name, of functions whose ``name`` says less; empty unless they are asked for."""

    def check(self) -> None:
        """Check every invariant; ValueError names the first that does not hold."""
        _check_strings(self)
        _check_lengths(self)
        _check_ranges(self)
        _check_addresses(self)
        _check_tree(self.stacks)
        _check_samples(self)
        if self.running is not None:
            _check_curve(self.running)


def _require(holds: bool | np.bool_, sentence: str) -> None:
    if not holds:
        raise ValueError(f"broken profile: {sentence}")


def _within(column: AnyArray, low: int, high: int) -> bool:
    return not len(column) or bool(column.min() >= low and column.max() < high)


def _check_strings(profile: Profile) -> None:
    _require(len(profile.strings) > 0 and profile.strings[0] == "", "string 0 is not empty")
    _require(len(set(profile.strings)) == len(profile.strings), "a string stands twice in the table")


def _check_lengths(profile: Profile) -> None:
    for table in (profile.threads, profile.mappings, profile.functions, profile.stacks, profile.samples):
        for name in table.__struct_fields__:
            column = getattr(table, name)
            _require(column is None or len(column) == len(table), f"{type(table).__name__}.{name} has another length")
    locations = profile.locations
    for column in (locations.lookup, locations.mapping, locations.mode, locations.synthetic):
        _require(len(column) == len(locations), "a column of locations has another length")
    _require(len(locations.line_offsets) == len(locations) + 1, "line_offsets is not one longer than locations")
    _require(locations.line_offsets[0] == 0, "line_offsets does not start at 0")
    _require(locations.line_offsets[-1] == len(locations.line_function), "line_offsets ends wrong")
    _require(len(locations.line_number) == len(locations.line_function), "line_number has another length")


def _check_ranges(profile: Profile) -> None:
    strings, locations = len(profile.strings), profile.locations
    texts = (
        profile.threads.comm, profile.threads.process, profile.mappings.filename, profile.mappings.build_id,
        profile.functions.name, profile.functions.system_name, profile.functions.filename,
    )  # fmt: skip
    for column in texts:
        _require(_within(column, 0, strings), "a string index is out of range")
    _require(_within(locations.mapping, -1, len(profile.mappings)), "a location's mapping is out of range")
    _require(_within(locations.line_function, 0, len(profile.functions)), "a line's function is out of range")
    _require(_within(np.diff(locations.line_offsets), 0, 2**31), "line_offsets falls")
    _require(locations.address.dtype == np.uint64 and locations.lookup.dtype == np.uint64, "addresses are not uint64")


def _check_addresses(profile: Profile) -> None:
    locations, mappings = profile.locations, profile.mappings
    held = np.flatnonzero(locations.mapping >= 0)
    mapping = locations.mapping[held]
    for column in (locations.address[held], locations.lookup[held]):
        inside = (column >= mappings.start[mapping]) & (column < mappings.limit[mapping])
        _require(bool(inside.all()), "an address lies outside its mapping")


def _check_tree(stacks: Stacks) -> None:
    rows = np.arange(len(stacks))
    _require(bool(np.all(stacks.parent < rows)), "a parent comes after its child")
    _require(_within(stacks.parent, -1, len(stacks)), "a parent is out of range")
    pairs = stacks.parent.astype(np.int64) << 32 | stacks.location
    _require(len(unique(pairs)) == len(stacks), "a stack stands twice in the tree")


def _check_samples(profile: Profile) -> None:
    samples = profile.samples
    _require(_within(profile.stacks.location, 0, len(profile.locations)), "a stack's location is out of range")
    _require(_within(samples.event, 0, len(profile.events)), "a sample's event is out of range")
    _require(_within(samples.thread, 0, len(profile.threads)), "a sample's thread is out of range")
    _require(_within(samples.stack, -1, len(profile.stacks)), "a sample's stack is out of range")
    if profile.parents is not None:
        _require(len(profile.parents) == len(profile.threads), "parents have another length than threads")
        _require(_within(profile.parents, -1, len(profile.threads)), "a parent's thread is out of range")
    if samples.tags is not None:
        _require(_within(samples.tags, 0, len(profile.tag_sets)), "a sample's tags are out of range")
    if samples.wait is not None:
        _check_waits(profile, samples, samples.wait)
    if samples.fields is not None:
        rows = sum(entry.count for entry in profile.fields)
        _require(_within(samples.fields, -1, rows), "a sample's fields are out of range")
    _require(_within(samples.count, 1, 2**62), "a sample counts nothing")
    if samples.latency is not None:
        _require(samples.latency.dtype == np.int64, "latencies are not int64")
        shares = (samples.latency >= 0) & (samples.latency <= samples.value)
        _require(bool(np.all(shares)), "a latency is no share of the value")
    _require(samples.value.dtype == np.int64 and samples.count.dtype == np.int64, "values are not int64")
    if samples.time is not None:
        _require(bool(np.all(samples.time[1:] >= samples.time[:-1])), "a timeline is not in time order")


def _check_curve(running: RunningThreads) -> None:
    _require(len(running.time) == len(running.threads), "the curve of running threads has columns of two lengths")
    _require(bool(np.all(running.time[1:] > running.time[:-1])), "the curve of running threads is not in time order")
    _require(_within(running.threads, 0, 2**31), "less than no thread runs")
    _require(bool(np.all(np.diff(running.threads) != 0)), "a step of the curve of running threads is none")


def _check_waits(profile: Profile, samples: ProfileSamples, wait: U8) -> None:
    _require(samples.time is not None, "waits stand in a profile without times")
    _require(_within(wait, 0, 5), "a sample's kind of wait is out of range")
    rows = wait > 0
    _require(bool(np.all(samples.value[rows] >= 0)), "a wait is shorter than nothing")
    _require(bool(np.all(samples.count[rows] == 1)), "a wait stands for several")
    of_waits = np.array([event.is_wait for event in profile.events], np.bool_)
    _require(not np.any(of_waits[samples.event[~rows]]), "a sample of an event of waits is none")
