"""Side-band tables: every record that is not a sample, one table for each kind of record.

Structs of equal-length arrays, one row per record in file order; −1 is "none" in integer columns. Columns that all
tables share are described in events.py.
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
    """What every table begins with."""

    time: U64
    position: I64


class _OfThread(_Records):
    """Records that tell their thread."""

    pid: I32
    tid: I32


class Mmaps(_OfThread):
    """PERF_RECORD_MMAP and MMAP2."""

    start: U64
    length: U64
    pgoff: U64
    prot: I32
    """−1 for records that lack it, as MMAP; PROT_EXEC is 4."""
    flags: I32
    cpumode: U8
    filename: DictionaryColumn[str]
    build_id: DictionaryColumn[bytes]
    """b"" where the record carries none."""
    is_data: Bools
    """MISC_MMAP_DATA: a data mapping without code."""
    file: U64
    """Device, inode and its generation as one hash: distinguishes files of one name in several containers. 0 where the
    record carries a build id instead, or neither."""
    inode: U64
    """0 where ``file`` is."""


def further_mappings(mmaps: Mmaps, *, prot: int, mode: int, **columns: Any) -> Mmaps:
    """Append mappings that no record tells of; all that they carry is in ``columns``, up to ``pgoff``, and filename."""
    count = len(columns["start"])
    added = Mmaps(
        prot=np.full(count, prot, np.int32),
        flags=np.full(count, -1, np.int32),
        cpumode=np.full(count, mode, np.uint8),
        build_id=DictionaryColumn(np.zeros(count, np.int32), [b""]),
        is_data=falses(count),
        file=np.zeros(count, np.uint64),
        inode=np.zeros(count, np.uint64),
        **columns,
    )
    return join_tables([mmaps, added])


class Comms(_OfThread):
    """PERF_RECORD_COMM; ``is_exec`` is MISC_COMM_EXEC."""

    comm: DictionaryColumn[str]
    is_exec: Bools


class Tasks(_Records):
    """PERF_RECORD_FORK or EXIT (one table each); ``is_exec`` is MISC_FORK_EXEC: do not copy the parent's maps."""

    pid: I32
    ppid: I32
    tid: I32
    ptid: I32
    is_exec: Bools


class DeferredChains(_OfThread):
    """PERF_RECORD_CALLCHAIN_DEFERRED: user chains that complete samples with the same cookie.

    Unlike the other tables sorted by (cookie, tid, time, position), so that the join needs no other index.
    """

    cpu: I32
    cookie: U64
    chain: SharedRows
    """uint64; as recorded, innermost first; equal chains are kept once."""


class Losts(_Records):
    """PERF_RECORD_LOST and LOST_SAMPLES: ``lost`` records or samples that the ring buffer had no room for."""

    event: I32
    cpu: I32
    pid: I32
    tid: I32
    lost: U64
    samples_only: Bools
    """True for LOST_SAMPLES, which counts samples; LOST counts records of any type."""


class Throttles(_Records):
    """PERF_RECORD_THROTTLE, and UNTHROTTLE (``lifted``): the kernel stopped an event that fired too often."""

    event: I32
    """−1 where the id is nobody's."""
    cpu: I32
    lifted: Bools


class Auxes(_Records):
    """PERF_RECORD_AUX: a piece of hardware trace that the kernel handed over; PERF_AUX_FLAG_* say what it lacks."""

    cpu: I32
    offset: U64
    """Offset of its first byte in the CPU's AUX buffer."""
    flags: U64


class Ksymbols(_Records):
    """PERF_RECORD_KSYMBOL: kernel code that came (or went, ``unregister``) at run time: BPF programs, trampolines."""

    start: U64
    length: U64
    type: I32
    unregister: Bools
    name: DictionaryColumn[str]


class Switches(_OfThread):
    """PERF_RECORD_SWITCH and SWITCH_CPU_WIDE: ``tid`` left (``is_out``) or entered a CPU."""

    cpu: I32
    is_out: Bools
    preempted: Bools


class Cgroups(_Records):
    """PERF_RECORD_CGROUP: names of the ids in the samples' cgroup column."""

    id: U64
    path: DictionaryColumn[str]


class Namespaces(_OfThread):
    """PERF_RECORD_NAMESPACES; ``links`` rows are (dev, inode) pairs, flattened, indexed by namespace kind."""

    links: ListArray


class Readings(_Records):
    """PERF_RECORD_STAT: what a counter had counted when perf stat read it, in the round that the next one ends."""

    event: I32
    """−1 where the id is nobody's."""
    id: U64
    cpu: I32
    """−1: the counter follows its thread."""
    thread: I32
    """Place in Session.thread_map."""
    value: U64
    enabled: U64
    """Nanoseconds that the counter was to run."""
    running: U64
    """Nanoseconds that it had a place in the hardware."""


class Reads(_Records):
    """PERF_RECORD_READ: what an event had counted in a thread that ended (``perf record -s``)."""

    event: I32
    value: U64
    """Number of events instead, where the event's read_format says GROUP."""


class Rounds(_Records):
    """PERF_RECORD_STAT_ROUND: the end of a round of readings, in nanoseconds since perf stat began to count."""


class Sideband(Frozen):
    """All side-band tables of a recording, decoded once."""

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
    """Kernel name without prefix (``"MMAP2"``, ``"SAMPLE"``, ``"UNKNOWN_99"``) to number of records of the type."""
    stream_end: int
    """One past the last record's position."""


TABLES: dict[str, type[ColumnTable]] = {
    name: kind
    for name, kind in Sideband.__annotations__.items()
    if isinstance(kind, type) and issubclass(kind, ColumnTable)
}
NO_RECORDS = Sideband(**{name: no_rows(kind) for name, kind in TABLES.items()}, record_counts={}, stream_end=0)  # type: ignore[arg-type]
