"""Profile tables, from the stitcher to the symbolizer and the emitters: stacks in pprof's terms.

Samples refer to rows of events, threads and stacks; stacks to locations; locations to mappings and functions; threads,
mappings and functions to strings. A reference is a row number, −1 for none. The order of rows depends only on their
contents, so equal inputs give equal bytes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import field

from perf2x.base.columnar import I32, I64, U8, U64, Bools, ColumnTable, Frozen, SampleColumns
from perf2x.model.advice import Advice
from perf2x.model.profile.recorded_samples import RecordedRows
from perf2x.model.profile.tracepoint_fields import TracepointFields


class ProfileEvent(Frozen):
    """An event of the profile; events without samples are kept."""

    name: str
    """perf's name: ``cycles:P``, ``cpu-clock``, ``sched:sched_switch``."""
    unit: str
    """Unit of ``samples.value``: ``nanoseconds`` for cpu-clock and task-clock, else ``count``."""
    period: int
    """Fixed period, 0 for events that are sampled at a frequency."""
    frequency: int
    """Samples per second, 0 for events with a fixed period."""
    is_wait: bool = False
    """True if all samples are waits, or times between two tracepoints: ``value`` is a duration in nanoseconds."""
    leader: int = -1
    """Row of the event whose samples read this event's counter (``{a,b}:S``); −1 if the event has its own samples."""
    is_count: bool = False
    """True if all samples are readings of perf stat, without stacks: ``value`` is the count since the last reading."""


class Threads(ColumnTable):
    """Unique (pid, tid, comm, process): a renamed thread has several rows, ``count_threads`` counts it once.

    ``pid`` is −1 if unknown. ``comm``, the thread's name, and ``process``, the name of its main thread, are string
    indices.
    """

    pid: I32
    tid: I32
    comm: I32
    process: I32
    starts: I32 | None = None
    """Number of threads that began with this pid, tid and name: more than one if ids were reused; None if unknown."""


class Mappings(ColumnTable):
    """Unique (start, limit, offset, file, build id), and pid if the file name is only meaningful within its process."""

    start: U64
    limit: U64
    """First address past the mapping; 0 if it is unknown where the file was mapped: then addresses are unknown, too."""
    offset: U64
    """File offset of ``start``."""
    filename: I32
    """String index, as recorded (``[kernel.kallsyms]_text``, ``//anon``, ``[vdso]``)."""
    build_id: I32
    """String index, lower-case hex; 0 ("") if unknown."""
    pid: I32
    """A process that has the mapping (for perf-PID.map and /proc/PID/root); −1 for the kernel, and for data."""
    is_kernel: Bools
    # whether these are known for the mapping's code, as in pprof
    has_functions: Bools
    has_filenames: Bools
    has_line_numbers: Bools
    has_inline_frames: Bools


class Functions(ColumnTable):
    """Unique (name, system_name, filename, start_line); the first three index strings.

    ``name`` is the display name, in the style of ``--names``; ``system_name`` is the name in the symbol table, or the
    one that a JIT compiler gave.
    """

    name: I32
    system_name: I32
    filename: I32
    start_line: I32


class Locations(ColumnTable):
    """Unique (mapping, address, lookup, mode), apart from synthetic frames, which differ in their functions.

    - ``address``: the recorded virtual address;
    - ``lookup``: the address to look up: ``address`` or, for return addresses, one less;
    - ``mapping``: −1 for addresses outside all mappings;
    - ``mode``: a uapi.CpuMode;
    - ``synthetic``: True for a frame that perf2x adds; it has address 0, mapping −1 and one line.

    Location i has the lines ``line_offsets[i]`` to ``line_offsets[i + 1]`` − 1, innermost inlined function first; none
    if the function is unknown. A line is a row in Functions and a line number, 0 if unknown. Shapes: ``line_offsets``
    (locations + 1,), ``line_function`` and ``line_number`` (lines,).
    """

    address: U64
    lookup: U64
    mapping: I32
    mode: U8
    synthetic: Bools
    line_offsets: I64
    line_function: I32
    line_number: I32


class Stacks(ColumnTable):
    """A prefix tree of stacks: row i is ``location[i]``, called from row ``parent[i]`` (−1 for outermost frames).

    A parent precedes its children. Samples refer to the row of their innermost frame; −1 is an empty stack.
    """

    parent: I32
    location: I32


class ProfileSamples(SampleColumns):
    """The samples of a profile, summed or one by one.

    In an aggregated profile, ``time`` is None, and a row sums all samples that are equal in every column but ``value``,
    ``count`` and ``latency``. In a timeline, a row is one sample; rows are in time order.
    """

    event: I32
    thread: I32
    stack: I32
    """Leaf row in Stacks, −1 for an empty stack."""
    value: I64
    """Sum of periods, in the event's unit."""
    count: I64
    """Number of samples that the row sums."""
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
    """A Wait: 0 if the thread ran, otherwise the thread waited from ``time`` for ``value`` nanoseconds.

    None in aggregated profiles and without ``--off-cpu``.
    """
    fields: I32 | None = None
    """Row in the concatenated tables of Profile.fields, −1 for none; None unless a format needs fields."""
    position: I64 | None = None
    """Position of each sample's record in the recording, by which a feature fills ``fields``; None afterwards."""

    @property
    def waits(self) -> U8:
        """(n,) the `Wait` of each row; zeros if the column is missing."""
        return self._column("wait", np.uint8(0))


class ThreadSwitches(ColumnTable):
    """Context switches in time order: a thread left a CPU (``is_out``) or entered it."""

    time: U64
    thread: I32
    is_out: Bools
    cpu: I32
    """−1: unknown."""
    is_preempted: Bools
    """True if the thread left the CPU although it was runnable; False if it entered a CPU, or if that is unknown."""
    state: I64
    """For a thread that left: prev_state of sched_switch, EXIT_DEAD if it exited, −1 if unknown. Otherwise −1."""


class RunningThreads(ColumnTable):
    """Number of running threads over time: from ``time[i]`` to ``time[i + 1]``, ``threads[i]`` threads are running.

    The idle task does not count; with filters, only selected processes do. No threads run before the first row.
    Neighbouring rows differ.
    """

    time: U64
    threads: I32


class Losses(ColumnTable):
    """Records that the kernel dropped because a buffer was full, in time order."""

    time: U64
    """When the kernel reported the loss; the records were lost earlier."""
    cpu: I32
    """−1: unknown."""
    lost: U64
    samples_only: Bools
    """True if ``lost`` counts samples; False if it counts records of any kind."""


class Meta(Frozen):
    """Properties of the recording that formats write as header fields or comments."""

    source: str = ""  # names of the inputs, separated by commas
    start_ns: int = 0
    """Time of the first sample on the recording's clock; 0 without timestamps."""
    duration_ns: int = 0
    wall_start_ns: int = 0
    """``start_ns`` as nanoseconds since the Unix epoch; 0 if unknown."""
    clock_id: int = -1
    """The recording's clock (``ClockId``); −1 for perf's own clock, and for recordings with different clocks."""
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
    # The next three tables are None in aggregated profiles, and in merged ones, because clocks may differ.
    switches: ThreadSwitches | None = None
    running: RunningThreads | None = None
    """None also without recorded context switches."""
    losses: Losses | None = None
    parents: I32 | None = None
    """(threads,) the first row in ``threads`` of the parent of each thread's process; −1 if the parent has no samples.

    Only timelines that are not merged have this column.
    """
    recorded: RecordedRows | None = None
    """Thread and stack of every single sample; None unless requested."""
    default_event: int = 0
    """Row of the event to show first: usually the first event with samples, or the one that the user chose."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Tags that all samples have (``--tag key=value``)."""
    tag_sets: tuple[Mapping[str, str], ...] = ()
    """Distinct sets of tags, to which ``samples.tags`` refers, if samples of different inputs have different tags."""
    fields: tuple[TracepointFields, ...] = ()
    """Tables of tracepoints' fields, to which ``samples.fields`` refers."""
    has_final_roots: bool = False
    """Whether formats must not add root frames: the user chose them (``--root``), or threads have no names and ids."""
    full_names: Mapping[str, str] = field(default_factory=dict)
    """Full names by system name, for functions whose ``name`` is shortened; empty unless requested."""
