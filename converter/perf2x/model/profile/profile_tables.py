"""Profile tables, from the stitcher to symbolizer and emitters: full stacks under pprof's names.

Strings, functions, mappings, locations and threads are tables; stacks are a prefix tree; samples point into them.
Everything is in a fixed order that depends on the input alone, so the same input gives the same bytes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import field

from perf2x.base.columnar import I32, I64, U8, U64, Bools, ColumnTable, Frozen, SampleColumns
from perf2x.model.advice import Advice
from perf2x.model.profile.recorded_samples import RecordedRows
from perf2x.model.profile.tracepoint_fields import TracepointFields


class ProfileEvent(Frozen):
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
    """All samples are waits, or times between two tracepoints: ``value`` is their length in nanoseconds."""
    leader: int = -1
    """Row of the event whose samples read this one's counter (``{a,b}:S``); −1: it is sampled by itself."""
    is_count: bool = False
    """All samples are readings of perf stat: ``value`` is what was counted up to ``time``, and there are no stacks."""


class Threads(ColumnTable):
    """Unique (pid, tid, comm): a thread that was renamed has several rows, ``count_threads`` counts it once.

    ``comm`` and ``process`` (the leader's comm) index strings; −1 pid: unknown.
    """

    pid: I32
    tid: I32
    comm: I32
    process: I32
    starts: I32 | None = None
    """Number of threads that had the ids, one after the other, and this name first; None: where it is not known."""


class Mappings(ColumnTable):
    """Unique (start, limit, offset, file, build id), and pid where the file name means nothing outside its process."""

    start: U64
    limit: U64
    """First address past the mapping; 0 where nobody knows where it lay, so that its locations have no addresses."""
    offset: U64
    """File offset of ``start``."""
    filename: I32
    """String index, as recorded (``[kernel.kallsyms]_text``, ``//anon``, ``[vdso]``)."""
    build_id: I32
    """String index, lower-case hex, index 0 ("") when unknown."""
    pid: I32
    """A process that has the mapping (for perf-PID.map and /proc/PID/root); −1 for the kernel, and for data."""
    is_kernel: Bools
    has_functions: Bools
    has_filenames: Bools
    has_line_numbers: Bools
    has_inline_frames: Bools


class Functions(ColumnTable):
    """Unique (name, system_name, filename, start_line); the first three index strings.

    ``name`` is displayed, in the style that was asked for. Several functions may have one: instances of a template,
    overloads. ``system_name`` tells them apart; it is what the symbol table or a just-in-time compiler wrote.
    """

    name: I32
    system_name: I32
    filename: I32
    start_line: I32


class Locations(ColumnTable):
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


class Stacks(ColumnTable):
    """A prefix tree, root first: row i is ``location[i]`` called from row ``parent[i]``, −1 for outermost frames.

    A parent always stands in an earlier row, so one pass from the front (or the back) folds anything. An empty stack is
    the index −1 in samples.
    """

    parent: I32
    location: I32


class ProfileSamples(SampleColumns):
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
    data_src: I64 | None = None
    """Bits of union perf_mem_data_src, 0 where a sample has none; base/abi/data_source.py words them."""
    tags: I32 | None = None
    """Row of Profile.tag_sets; None when there are none."""
    latency: I64 | None = None
    """``value`` divided by the number of threads that ran at the same moment; None unless asked for."""
    wait: U8 | None = None
    """A tables.waits.Wait: 0 where the thread ran, else it waited from ``time`` for ``value`` nanoseconds; None in
    aggregated profiles and without ``--off-cpu``."""
    fields: I32 | None = None
    """Row in all of Profile.fields, one behind the other; −1: none. None unless fields of tracepoints were wanted."""
    position: I64 | None = None
    """Position of each sample's record in the recording, by which fields are found; None once they are there."""

    @property
    def waits(self) -> U8:
        """(n,) the kind of wait of each row, 0 without the column."""
        return self._column("wait", np.uint8(0))


class ThreadSwitches(ColumnTable):
    """Context switches in time order, for timeline emitters: a thread left (``is_out``) or entered a CPU."""

    time: U64
    thread: I32
    is_out: Bools
    cpu: I32
    """−1: unknown."""
    is_preempted: Bools
    """The thread left although it could have run on; False of switches in, and where the kernel does not tell."""
    state: I64
    """prev_state of threads that left, where sched_switch tells it, and EXIT_DEAD of exits; else −1."""


class RunningThreads(ColumnTable):
    """Parallelism over time, as a step curve: ``threads`` (n,) ran from ``time`` (n,) to the next row's.

    Threads are all of the recording, or those of the processes that were asked for, without the idle task; none ran
    before the first row. Neighbouring rows differ.
    """

    time: U64
    threads: I32


class Losses(ColumnTable):
    """What the kernel had no room for, in time order, for timeline emitters."""

    time: U64
    """When the kernel said so: what is lost came before."""
    cpu: I32
    """−1: unknown."""
    lost: U64
    samples_only: Bools
    """``lost`` counts samples; else records of any kind."""


class Meta(Frozen):
    """Facts about the recording that formats carry as header fields or comments."""

    source: str = ""
    start_ns: int = 0
    """Time of the first sample on the recording's clock; 0 without timestamps."""
    duration_ns: int = 0
    wall_start_ns: int = 0
    """``start_ns`` as nanoseconds since the epoch; 0 when the file does not tell."""
    clock_id: int = -1
    """The kernel's number of the recording's clock (``ClockId``); −1: perf's own, or several that differ."""
    hostname: str = ""
    os_release: str = ""
    arch: str = ""
    perf_version: str = ""
    cpus: int = 0
    """Number of CPUs that were online; 0 when the file does not tell."""
    command_line: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    """Lines of statistics for formats that have room for them."""
    advice: tuple[Advice, ...] = ()
    """Advice on recording, for what people look at."""


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
    """None in aggregated profiles, and where the recording has no context switches."""
    losses: Losses | None = None
    """None in aggregated profiles, and in merged ones, whose clocks differ; so are ``switches``."""
    parents: I32 | None = None
    """(threads,) a row of Threads of the process that forked each thread's process, −1: unknown; for timelines."""
    recorded: RecordedRows | None = None
    """The samples one by one; None unless they are asked for."""
    default_event: int = 0
    """The event the user wants to see first: the first one that has samples unless chosen otherwise."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that hold for every sample (``--tag key=value``)."""
    tag_sets: tuple[Mapping[str, str], ...] = ()
    """Labels of some samples: of one input among several (``samples.tags``)."""
    fields: tuple[TracepointFields, ...] = ()
    """Fields of tracepoints (``samples.fields``)."""
    own_roots: bool = False
    """Whether the user chose what stacks begin with (``--root``), so that formats add nothing below them."""
    full_names: Mapping[str, str] = field(default_factory=dict)
    """Names in full by system name, of functions whose ``name`` says less; empty unless they are asked for."""
