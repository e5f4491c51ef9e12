"""The parts of a recording: a `Session`, the side-band tables (sideband.py) and batches of `Samples`.

Tables have a row per record, in file order. In integer columns, −1 stands for none; a missing optional column is None.
Times are nanoseconds of the recording's clock. ``position`` is the byte offset of the record in the (decompressed)
record stream; records with equal or no times are sorted by it.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Flag, auto
from functools import reduce
from operator import or_
from typing import Any, Protocol, Self

import numpy as np
from msgspec import field
from msgspec.structs import replace

from perf2x.base.abi import EventType
from perf2x.base.columnar import I32, I64, U8, U64, Frozen, ListArray, SampleColumns, offsets_of, ranges, zeros
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording.sideband import Sideband
from perf2x.model.recording.simpleperf_files import RecordedFile

PERF_STAT_ONLY_COUNTS = (
    "perf stat record counts events and takes no samples; perf2x info and report show the totals, "
    "chrome, firefox and perfetto draw them over time"
)
"""For messages about recordings of perf stat."""


class Event(Frozen):
    """One perf_event_attr (include/uapi/linux/perf_event.h) with its name and ids."""

    index: int
    name: str
    type: int
    config: int
    sample_period: int
    """Period, or the frequency in Hz when the ``freq`` flag is set."""
    sample_type: int
    read_format: int
    flags: frozenset[str]
    """Names of the bits that are set (uapi.ATTR_FLAGS)."""
    precise_ip: int = 0
    ids: tuple[int, ...] = ()
    attr_size: int = 0
    config1: int = 0
    config2: int = 0
    branch_sample_type: int = 0
    sample_regs_user: int = 0
    sample_stack_user: int = 0
    sample_regs_intr: int = 0
    clockid: int = -1
    unit: str = ""  # unit of counts after they are multiplied by ``scale``; both are from HEADER_EVENT_UPDATE
    scale: float = 1.0
    group_leader: int = -1
    """Index of the group's leader if the leader's samples read this event's counter (``{a,b}:S``), else −1."""


class Session(Frozen):
    """Header, attributes and feature sections of a recording."""

    source: str
    """Name of the input, for messages."""
    byte_order: str
    """``<`` or ``>``, as in numpy dtypes and struct."""
    events: tuple[Event, ...]
    is_pipe: bool = False
    arch: str = ""
    """uname -m of the recording machine, "" if unknown."""
    hostname: str = ""
    os_release: str = ""
    perf_version: str = ""
    command_line: tuple[str, ...] = ()
    cpus_online: int = 0
    clock_id: int = -1
    """``ClockId`` of recorded times; −1: perf's own clock."""
    wall_clock_offset_ns: int | None = None
    """Number to add to recorded times to get nanoseconds since the Unix epoch; None if unknown.

    Known from HEADER_CLOCK_DATA; 0 if the clock is CLOCK_REALTIME.
    """
    build_ids: Mapping[str, bytes] = field(default_factory=dict)
    """Build id by recorded file name, from HEADER_BUILD_ID or PERF_RECORD_HEADER_BUILD_ID (67)."""
    features: Mapping[str, object] = field(default_factory=dict)
    """Every feature section by lower-case name, decoded to plain JSON-like values."""
    kcore_dir: str = ""
    """Path of ``kcore_dir`` in a directory recorded with --kcore; "" otherwise."""
    thread_map: tuple[tuple[int, str], ...] = ()
    """(tid, name) of each thread whose events perf stat counted, from PERF_RECORD_THREAD_MAP; tid −1 stands for all."""
    aggregation: int = -1
    """enum aggr_mode: how perf stat aggregated counts; −1 if unknown."""
    is_perf_stat: bool = False
    """Whether perf stat made the recording: events were counted, not sampled."""
    recorded_files: Mapping[str, RecordedFile] = field(default_factory=dict)
    """Files whose symbols are in the recording itself, by file name (simpleperf)."""
    kallsyms: bytes = b""
    """The kernel's symbols in the recording itself, as text of /proc/kallsyms (simpleperf); b"" without them."""
    has_call_addresses: bool = False
    """True if callchains have addresses inside call instructions instead of return addresses (simpleperf)."""

    @property
    def sample_times(self) -> tuple[int, int]:
        """First and last time of samples from HEADER_SAMPLE_TIME; zeros without it."""
        section: Any = self.features.get("sample_time") or {}
        return int(section.get("first") or 0), int(section.get("last") or 0)

    def tracepoint_format(self, event: Event) -> Mapping[str, Any] | None:
        """Return the parsed ``format`` file of a tracepoint, or None."""
        section: Any = self.features.get("tracing_data") or {}
        return section.get("formats", {}).get(str(event.config)) if event.type == EventType.TRACEPOINT else None


class UserStacks(Frozen):
    """PERF_SAMPLE_REGS_USER and STACK_USER of a batch of ``n`` samples, for the unwinder."""

    abi: U8
    """(n,) PERF_SAMPLE_REGS_ABI_*: 0 none (the sample has no registers), 1 32-bit, 2 64-bit."""
    regs: U64
    """(n, popcount(mask)) in the bit order of ``mask``, zeros where abi is 0."""
    mask: int
    """perf_event_attr.sample_regs_user."""
    words: U64
    """Memory of all user stack dumps in the batch, in native byte order."""
    start: I64
    """(n,) index in ``words`` of the first word of each sample's dump."""
    size: I64
    """(n,) bytes that the kernel copied (dyn_size); 0 without a dump."""
    requested: int
    """perf_event_attr.sample_stack_user: the requested size of a dump, in bytes."""

    def __getitem__(self, rows: I64) -> "UserStacks":
        return replace(self, abi=self.abi[rows], regs=self.regs[rows], start=self.start[rows], size=self.size[rows])

    def empty(self, count: int) -> "UserStacks":
        """Make ``count`` entries without registers and dumps."""
        none = zeros(count)
        return replace(
            self, abi=none.astype(np.uint8), regs=np.zeros((count, 0), np.uint64), mask=0, start=none, size=none
        )

    @classmethod
    def joined(cls, parts: "Sequence[UserStacks]") -> "UserStacks":
        """Concatenate the parts of one block; all have the same ``words``. Registers that a part lacks are 0."""
        mask = reduce(or_, (part.mask for part in parts))
        return cls(
            abi=np.concatenate([part.abi for part in parts]),
            regs=np.concatenate([part._spread(mask) for part in parts]),
            mask=mask,
            words=parts[0].words,
            start=np.concatenate([part.start for part in parts]),
            size=np.concatenate([part.size for part in parts]),
            requested=max(part.requested for part in parts),
        )

    def _spread(self, mask: int) -> U64:
        """Registers that were not recorded are 0."""
        if self.mask == mask:
            return self.regs
        spread = np.zeros((len(self.abi), mask.bit_count()), np.uint64)
        for column, bit in enumerate(bit for bit in range(64) if self.mask >> bit & 1):
            # a register's column is the number of set bits below its own
            spread[:, (mask & ((1 << bit) - 1)).bit_count()] = self.regs[:, column]
        return spread


class Entries(Frozen):
    """A list for each of ``n`` samples: all entries concatenated, with a column for each field.

    Columns in ``_ONE_PER_SAMPLE`` have one number per sample.
    """

    offsets: I64
    """(n + 1,) sample i has the entries ``offsets[i]`` to ``offsets[i + 1]`` − 1."""

    def __getitem__(self, rows: I64) -> Self:
        lengths = np.diff(self.offsets)[rows]
        entries = ranges(self.offsets[rows], lengths)
        columns = {name: column[rows if name in _ONE_PER_SAMPLE else entries] for name, column in self._columns()}
        return replace(self, offsets=offsets_of(lengths), **columns)

    def empty(self, count: int) -> Self:
        """Make ``count`` samples without entries."""
        columns = {name: np.zeros(count if name in _ONE_PER_SAMPLE else 0, np.uint64) for name, _ in self._columns()}
        return replace(self, offsets=zeros(count + 1), **columns)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate parts; a column that any part lacks is None in the result."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        columns = [[getattr(part, name) for part in parts] for name in cls.__struct_fields__[1:]]
        joined = [None if any(part is None for part in column) else np.concatenate(column) for column in columns]
        return cls(offsets_of(lengths), *joined)

    def _columns(self) -> Iterator[tuple[str, U64]]:
        columns = ((name, getattr(self, name)) for name in self.__struct_fields__[1:])
        return ((name, column) for name, column in columns if column is not None)


_ONE_PER_SAMPLE = frozenset({"hw_index", "enabled", "running"})


class Branches(Entries):
    """PERF_SAMPLE_BRANCH_STACK of a batch: an entry per branch, each sample's newest branch first."""

    from_ip: U64
    to_ip: U64
    flags: U64
    hw_index: U64 | None = None
    """(n,) index of the register with the newest branch, all ones if unknown; None if not recorded."""


class ReadValues(Entries):
    """PERF_SAMPLE_READ of a batch: an entry per counter read, several if the event's read_format has GROUP."""

    enabled: U64 | None
    """(n,) nanoseconds for which the event was enabled; None if not recorded."""
    running: U64 | None
    """(n,) nanoseconds for which it was on the hardware; None if not recorded."""
    value: U64
    id: U64 | None
    lost: U64 | None


class Samples(SampleColumns):
    """One batch of PERF_RECORD_SAMPLE in file order; all columns have ``n`` rows.

    ``event`` is an index into Session.events. ``cpumode`` is misc & PERF_RECORD_MISC_CPUMODE. ``chain`` is the
    callchain as recorded, including context markers and cookies of deferred callchains, but cut off at the end of the
    record.
    """

    event: I32
    position: I64
    time: U64 | None
    pid: I32
    tid: I32
    cpu: I32 | None
    ip: U64
    period: U64
    """The recorded period; if there is none, attr.sample_period of an event with a fixed period; otherwise 1."""
    cpumode: U8
    chain: ListArray
    addr: U64 | None = None
    cgroup: U64 | None = None
    weight: U64 | None = None
    data_src: U64 | None = None
    user_stacks: UserStacks | None = None
    branches: Branches | None = None
    raw: ListArray | None = None
    """uint8 bytes of PERF_SAMPLE_RAW, in the file's byte order."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Columns that only ``perf2x dump`` and the format perf-script show: id, read values, transaction, phys_addr, …"""


class Want(Flag):
    """Optional columns of Samples to decode; COUNTS and REREAD change what is read and counted."""

    CHAIN = auto()
    """Callchains; without this flag, all rows of ``chain`` are empty (``info`` does not need them)."""
    ADDR = auto()
    CGROUP = auto()
    MEMORY = auto()
    """The columns weight and data_src."""
    STACKS = auto()
    """The column user_stacks."""
    BRANCHES = auto()
    RAW = auto()
    EXTRA = auto()
    COUNTS = auto()
    """Yield readings of perf stat, as samples without a stack; ``period`` is the count since the previous reading."""
    REREAD = auto()
    """Do not count damage, because another pass over the recording counts it."""


class Shard(Frozen):
    """One of ``count`` shares of a recording's blocks: a run of consecutive blocks."""

    number: int = 0
    count: int = 1

    def holds(self, index: int, total: int) -> bool:
        """Return whether block ``index`` of ``total`` belongs to the shard."""
        return index * self.count // max(total, 1) == self.number


ALL_BLOCKS = Shard()


class Recording(Protocol):
    """An opened input, of which samples can be read any number of times."""

    @property
    def session(self) -> Session:
        """Header, attributes and feature sections."""
        ...

    @property
    def sideband(self) -> Sideband:
        """Tables of the records other than samples."""
        ...

    @property
    def sample_count(self) -> int:
        """Number of samples that perf script prints."""
        ...

    @property
    def fingerprint(self) -> bytes | None:
        """A 16-byte digest that identifies the recording, even while it is being written; None without samples."""
        ...

    @property
    def diagnostics(self) -> Diagnostics:
        """Damage found so far; reading samples may add to it."""
        ...

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Yield batches in file order, each a few MiB of records; arrays may be views that the next batch invalidates.

        The shards of a recording together yield every batch once.
        """
        ...
