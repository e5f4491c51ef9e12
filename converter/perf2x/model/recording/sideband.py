"""Side-band tables: records other than samples, one table for each kind of record that perf2x uses.

Tables have a row per record, in file order except in DeferredChains. As in events.py, −1 stands for none.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    ColumnTable,
    DictionaryColumn,
    Frozen,
    ListArray,
    SharedRows,
    falses,
    join_tables,
    no_rows,
)


class _Records(ColumnTable):
    time: U64
    position: I64


class _ThreadRecords(_Records):
    pid: I32
    tid: I32


class Mmaps(_ThreadRecords):
    """PERF_RECORD_MMAP and MMAP2."""

    start: U64
    length: U64
    pgoff: U64
    prot: I32
    """−1 for records without it, such as MMAP; PROT_EXEC is 4."""
    flags: I32
    cpumode: U8
    filename: DictionaryColumn[str]
    build_id: DictionaryColumn[bytes]
    """b"" if the record has none."""
    is_data: Bools
    """MISC_MMAP_DATA: a data mapping without code."""
    file_hash: U64
    """Hash of device, inode and inode generation, which distinguishes files of the same name in several containers.

    0 if the record does not have these three: it has a build id in their place, or is a PERF_RECORD_MMAP.
    """
    inode: U64
    """Inode number; 0 if ``file_hash`` is 0."""


def append_mappings(mmaps: Mmaps, *, prot: int, mode: int, **columns: Any) -> Mmaps:
    """Append mappings that no mmap record describes, such as those of kernel modules or of JIT-compiled code.

    ``columns`` are time, position, pid, tid, start, length, pgoff and filename; the mappings have no build id.
    """
    count = len(columns["start"])
    added = Mmaps(
        prot=np.full(count, prot, np.int32),
        flags=np.full(count, -1, np.int32),
        cpumode=np.full(count, mode, np.uint8),
        build_id=DictionaryColumn(np.zeros(count, np.int32), [b""]),
        is_data=falses(count),
        file_hash=np.zeros(count, np.uint64),
        inode=np.zeros(count, np.uint64),
        **columns,
    )
    return join_tables([mmaps, added])


class Comms(_ThreadRecords):
    """PERF_RECORD_COMM; ``is_exec`` is MISC_COMM_EXEC."""

    comm: DictionaryColumn[str]
    is_exec: Bools


class Tasks(_Records):
    """PERF_RECORD_FORK or EXIT (one table each).

    ``is_exec`` is MISC_FORK_EXEC: the child does not inherit the parent's mappings.
    """

    pid: I32
    ppid: I32
    tid: I32
    ptid: I32
    is_exec: Bools


class DeferredChains(_ThreadRecords):
    """PERF_RECORD_CALLCHAIN_DEFERRED: user chains that complete samples with the same cookie.

    Unlike the other tables, it is sorted by (cookie, tid, time, position).
    """

    cpu: I32
    cookie: U64
    chain: SharedRows
    """uint64 addresses as recorded, innermost first; equal chains are stored once."""


class Losts(_Records):
    """PERF_RECORD_LOST and LOST_SAMPLES: ``lost`` is the number of lost records or samples (lost_samples.py)."""

    event: I32
    cpu: I32
    pid: I32
    tid: I32
    lost: U64
    samples_only: Bools
    """True for LOST_SAMPLES, which counts samples; LOST counts records of any type."""


class Throttles(_Records):
    """PERF_RECORD_THROTTLE: the kernel stopped an event that fired too often; UNTHROTTLE: it resumed the event."""

    event: I32
    """−1 for an unknown id."""
    cpu: I32
    is_unthrottle: Bools


class Auxes(_Records):
    """PERF_RECORD_AUX: the kernel added a chunk of hardware trace to a CPU's AUX buffer.

    ``flags`` (PERF_AUX_FLAG_*) say why parts of the trace are missing.
    """

    cpu: I32
    offset: U64
    """Offset of the chunk's first byte in the CPU's AUX buffer."""
    flags: U64


class Ksymbols(_Records):
    """PERF_RECORD_KSYMBOL: kernel code, such as a BPF program, was loaded or, if ``unregister`` is True, unloaded."""

    start: U64
    length: U64
    type: I32
    unregister: Bools
    name: DictionaryColumn[str]


class Switches(_ThreadRecords):
    """PERF_RECORD_SWITCH and SWITCH_CPU_WIDE: thread ``tid`` left a CPU (``is_out``), or entered it.

    ``preempted`` is MISC_SWITCH_OUT_PREEMPT: the thread left although it was runnable.
    """

    cpu: I32
    is_out: Bools
    preempted: Bools


class Cgroups(_Records):
    """PERF_RECORD_CGROUP: the path of a cgroup, by the id in ``Samples.cgroup``."""

    id: U64
    path: DictionaryColumn[str]


class Namespaces(_ThreadRecords):
    """PERF_RECORD_NAMESPACES: the namespaces that a thread is in."""

    links: ListArray
    """A list for each record: device and inode of each namespace in turn, in the order of the kernel's *_NS_INDEX."""


class Readings(_Records):
    """PERF_RECORD_STAT: a counter's value when perf stat read it.

    The next PERF_RECORD_STAT_ROUND (`Rounds`) has the time.
    """

    event: I32
    """−1 for an unknown id."""
    id: U64
    cpu: I32
    """−1: the counter follows its thread."""
    thread: I32
    """Index into Session.thread_map."""
    value: U64
    enabled: U64
    """Nanoseconds for which the counter was enabled."""
    running: U64
    """Nanoseconds for which the counter was on the hardware: less than ``enabled`` if counters were multiplexed."""


class Reads(_Records):
    """PERF_RECORD_READ: an event's count in a thread that exited (``perf record -s``)."""

    event: I32
    value: U64
    """The count; if the event's read_format has GROUP, the number of events in the group instead."""


class Rounds(_Records):
    """PERF_RECORD_STAT_ROUND: perf stat has read all counters; ``time`` is in nanoseconds since perf stat started."""


class Sideband(Frozen):
    """All side-band tables of a recording."""

    mmaps: Mmaps
    comms: Comms
    forks: Tasks
    exits: Tasks
    deferred: DeferredChains
    losts: Losts
    ksymbols: Ksymbols
    switches: Switches
    throttles: Throttles
    auxes: Auxes
    cgroups: Cgroups
    namespaces: Namespaces
    readings: Readings
    rounds: Rounds
    reads: Reads
    record_counts: Mapping[str, int]
    """Number of records by type: the kernel's name without prefix ("MMAP2", "SAMPLE"), or "UNKNOWN_99"."""
    stream_end: int
    """Position at which the last record ends."""


TABLES: dict[str, type[ColumnTable]] = {
    name: kind
    for name, kind in Sideband.__annotations__.items()
    if isinstance(kind, type) and issubclass(kind, ColumnTable)
}
"""The type of each table of Sideband, by field name."""
NO_RECORDS = Sideband(**{name: no_rows(kind) for name, kind in TABLES.items()}, record_counts={}, stream_end=0)  # type: ignore[arg-type]
