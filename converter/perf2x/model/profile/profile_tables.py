"""Profile tables, from the stitcher to the symbolizer and the emitters: full stacks in pprof's terms.

Strings, functions, mappings, locations and threads are tables; stacks are a prefix tree; samples refer to them by row.
The order of rows depends only on the content, so the same input gives the same bytes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import field

from perf2x.base.columnar import I32, I64, U8, U64, Bools, ColumnTable, Frozen, SampleColumns
from perf2x.model.advice import Advice
from perf2x.model.profile.recorded_samples import RecordedRows
from perf2x.model.profile.tracepoint_fields import TracepointFields


class ProfileEvent(Frozen):
    """An event of the profile; events without samples are kept, in recorded order."""

    name: str
    """perf's name: ``cycles:P``, ``cpu-clock``, ``sched:sched_switch``."""
    unit: str
    """Unit of ``samples.value``: ``nanoseconds`` for cpu-clock and task-clock, else ``count``."""
    period: int
    """Fixed period, 0 for frequency events."""
    frequency: int
    """Hz, 0 for fixed-period events."""
    is_wait: bool = False
    """All samples are waits, or times between two tracepoints: ``value`` is their length in nanoseconds."""
    leader: int = -1
    """Row of the event whose samples read this one's counter (``{a,b}:S``); −1: it has its own samples."""
    is_count: bool = False
    """All samples are readings of perf stat: ``value`` is the count since the previous reading; there are no stacks."""


class Threads(ColumnTable):
    """Unique (pid, tid, comm): a renamed thread has several rows, ``count_threads`` counts it once.

    ``comm`` and ``process`` (the main thread's comm) index strings; pid −1: unknown.
    """

    pid: I32
    tid: I32
    comm: I32
    process: I32
    starts: I32 | None = None
    """How many threads had these ids, one after another, and this name first; None if unknown."""


class Mappings(ColumnTable):
    """Unique (start, limit, offset, file, build id), and pid if the file name is only meaningful within its process."""

    start: U64
    limit: U64
    """First address past the mapping; 0 if the address is unknown, so that its locations have none."""
    offset: U64
    """File offset of ``start``."""
    filename: I32
    """String index, as recorded (``[kernel.kallsyms]_text``, ``//anon``, ``[vdso]``)."""
    build_id: I32
    """String index, lower-case hex; 0 ("") if unknown."""
    pid: I32
    """A process that has the mapping (for perf-PID.map and /proc/PID/root); −1 for the kernel, and for data."""
    is_kernel: Bools
    has_functions: Bools
    has_filenames: Bools
    has_line_numbers: Bools
    has_inline_frames: Bools


class Functions(ColumnTable):
    """Unique (name, system_name, filename, start_line); the first three index strings.

    ``name`` is displayed, in the requested style. Several functions may share a ``name``: instances of a template,
    overloads. Their ``system_name`` differs: the name in the symbol table or from a JIT compiler.
    """

    name: I32
    system_name: I32
    filename: I32
    start_line: I32


class Locations(ColumnTable):
    """Unique (mapping, address, lookup, mode).

    ``address`` is the recorded virtual address. ``lookup`` equals it for instruction pointers and is one less for
    return addresses, so that it is inside the call. ``mapping`` is −1 for addresses outside all mappings. ``mode`` is a
    uapi.CpuMode. A synthetic location (``[user stack missing]``) has address 0, mapping −1, ``synthetic`` True and one
    line.

    Lines of location i are ``line_function[line_offsets[i]:line_offsets[i + 1]]``, innermost inlined function first; no
    lines: unresolved.
    """

    address: U64
    lookup: U64
    mapping: I32
    mode: U8
    synthetic: Bools
    line_offsets: I64
    line_function: I32
    line_number: I32
    """0 if unknown."""


class Stacks(ColumnTable):
    """A prefix tree, root first: row i is ``location[i]`` called from row ``parent[i]``, −1 for outermost frames.

    A parent precedes its children, so one pass forwards (or backwards) suffices to fold. An empty stack is the index −1
    in samples.
    """

    parent: I32
    location: I32


class ProfileSamples(SampleColumns):
    """Rows of samples.

    Aggregated profiles: unique (event, thread, stack) and any extra label columns requested, summed; ``time`` is None.
    Timeline profiles: one row per sample in time order.
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
    """String index of the cgroup's path; 0 if a sample has none."""
    data_src: I64 | None = None
    """Bits of union perf_mem_data_src, 0 if a sample has none; base/abi/data_source.py formats them."""
    tags: I32 | None = None
    """Row of Profile.tag_sets; None without tag sets."""
    latency: I64 | None = None
    """``value`` divided by the number of threads running at the same time; None unless requested."""
    wait: U8 | None = None
    """A Wait: 0 if the thread ran, otherwise it waited from ``time`` for ``value`` nanoseconds.

    None in aggregated profiles and without ``--off-cpu``.
    """
    fields: I32 | None = None
    """Row in the concatenated tables of Profile.fields; −1: none. None unless fields of tracepoints are needed."""
    position: I64 | None = None
    """Position of each sample's record in the recording, used to find its fields; None once they are there."""

    @property
    def waits(self) -> U8:
        """Return (n,) the kind of wait of each row, 0 without the column."""
        return self._column("wait", np.uint8(0))


class ThreadSwitches(ColumnTable):
    """Context switches in time order, for timeline emitters: a thread left (``is_out``) or entered a CPU."""

    time: U64
    thread: I32
    is_out: Bools
    cpu: I32
    """−1: unknown."""
    is_preempted: Bools
    """The thread was preempted and still runnable; False for switches in, and if unknown."""
    state: I64
    """prev_state of threads that left, from sched_switch, and EXIT_DEAD for exits; else −1."""


class RunningThreads(ColumnTable):
    """Number of running threads over time, as steps: ``threads`` (n,) from ``time`` (n,) to the next row's time.

    It counts all threads, or those of the selected processes, without the idle task; it is 0 before the first row.
    Neighbouring rows differ.
    """

    time: U64
    threads: I32


class Losses(ColumnTable):
    """Records that the kernel dropped because a buffer was full, in time order, for timeline emitters."""

    time: U64
    """When the kernel reported the loss; the records were lost earlier."""
    cpu: I32
    """−1: unknown."""
    lost: U64
    samples_only: Bools
    """True: ``lost`` counts samples; else records of any kind."""


class Meta(Frozen):
    """Properties of the recording that formats write as header fields or comments."""

    source: str = ""
    start_ns: int = 0
    """Time of the first sample on the recording's clock; 0 without timestamps."""
    duration_ns: int = 0
    wall_start_ns: int = 0
    """``start_ns`` as nanoseconds since the epoch; 0 if unknown."""
    clock_id: int = -1
    """The recording's clock (``ClockId``); −1: perf's own, or several that differ."""
    hostname: str = ""
    os_release: str = ""
    arch: str = ""
    perf_version: str = ""
    cpus: int = 0
    """Number of online CPUs; 0 if unknown."""
    command_line: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    """Lines of statistics for formats with comments."""
    advice: tuple[Advice, ...] = ()
    """Advice on recording, for output that people look at."""


class ProfileTables(Frozen):
    """All tables of a profile. ``strings[0]`` is ``""``; undecodable bytes are surrogate escapes."""

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
    """None in aggregated profiles, and without recorded context switches."""
    losses: Losses | None = None
    """None in aggregated profiles, and in merged ones, whose clocks differ; likewise ``switches``."""
    parents: I32 | None = None
    """(threads,) a row of Threads of the process that forked each thread's process, −1: unknown; for timelines."""
    recorded: RecordedRows | None = None
    """The single samples; None unless requested."""
    default_event: int = 0
    """The event shown first: the first one with samples unless the user chose one."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of all samples (``--tag key=value``)."""
    tag_sets: tuple[Mapping[str, str], ...] = ()
    """Labels of the samples of one input among several (``samples.tags``)."""
    fields: tuple[TracepointFields, ...] = ()
    """Fields of tracepoints (``samples.fields``)."""
    own_roots: bool = False
    """Whether the user chose the root frames (``--root``), so that formats add none."""
    full_names: Mapping[str, str] = field(default_factory=dict)
    """Full names by system name, for functions whose ``name`` is shortened; empty unless requested."""
