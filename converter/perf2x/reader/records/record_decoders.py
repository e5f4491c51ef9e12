"""Decodes side-band records (all but samples): one decoder for each type.

A decoder reads the fields of many records of one type as columns, in the order of the struct in
include/uapi/linux/perf_event.h, and returns them by the column names of their table. Missing columns (time, pid, tid,
cpu) come from the sample_id trailer, which ends every kernel record but SAMPLE when attr.sample_id_all is set::

    struct sample_id {                            include/uapi/linux/perf_event.h
        { u32 pid, tid;  } && PERF_SAMPLE_TID
        { u64 time;      } && PERF_SAMPLE_TIME
        { u64 id;        } && PERF_SAMPLE_ID
        { u64 stream_id; } && PERF_SAMPLE_STREAM_ID
        { u32 cpu, res;  } && PERF_SAMPLE_CPU
        { u64 id;        } && PERF_SAMPLE_IDENTIFIER
    };
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perf2x.base.abi import MISC_LOST_SAMPLES_BPF, RecordType, SampleType, UserRecordType, uapi
from perf2x.base.columnar import Bools, DictionaryColumn, Frozen, arange, take
from perf2x.base.columnar.hashing import identity_of
from perf2x.model.recording import Event
from perf2x.reader.event_table import TRAILER_FIELDS, trailer_length
from perf2x.reader.record_block import Block
from perf2x.reader.records.field_cursor import FieldCursor, as_i32

Columns = dict[str, Any]


def read_trailer(at: FieldCursor, event: Event | None) -> Columns:
    """Read ``time``, ``pid``, ``tid`` and ``cpu`` of records of one event; missing times are 0, other numbers −1.

    ``at`` must be made with the event's ``trailer_words``.
    """
    none = np.full(len(at), -1, np.int32)
    columns: Columns = {"time": np.zeros(len(at), np.uint64), "pid": none, "tid": none, "cpu": none}
    if event is None or not trailer_length(event):
        return columns
    word_index = at.end
    for bit in TRAILER_FIELDS:
        if not event.sample_type & bit:
            continue
        word = take(at.block.words, word_index, mode="clip")
        word_index = word_index + 1
        if bit == SampleType.TIME:
            columns["time"] = word
        elif bit == SampleType.TID:
            columns["pid"], columns["tid"] = map(as_i32, at.split(word))
        elif bit == SampleType.CPU:
            columns["cpu"] = as_i32(at.split(word)[0])
    return columns


def _nothing(at: FieldCursor, columns: Columns) -> Columns:
    return {}


class Decoder(Frozen):
    """Fields of a record type after its header; ``table`` is the attribute of Sideband for its rows."""

    table: str
    layout: str
    """The layout, as in ``FieldCursor.fields``."""
    further: Callable[[FieldCursor, Columns], Columns] = _nothing
    """Reads further fields and converts columns."""

    def decode(self, at: FieldCursor) -> Columns:
        """Read the fields of all records."""
        columns = at.fields(self.layout)
        return columns | self.further(at, columns)


def _mmap(at: FieldCursor, columns: Columns) -> Columns:
    unknown = np.full(len(at), -1, np.int32)
    return {
        "prot": unknown, "flags": unknown, **dict.fromkeys(("file", "inode"), np.zeros(len(at), np.uint64)),
        **_mapped_file_columns(at, DictionaryColumn(np.zeros(len(at), np.int32), [b""])),
    }  # fmt: skip


def _mmap2(at: FieldCursor, columns: Columns) -> Columns:
    """Read union of 24 bytes; u32 prot, flags; char filename[].

    The union is { u32 maj, min; u64 ino, ino_generation; } or, with MISC_MMAP_BUILD_ID, { u8 build_id_size; u8, u16
    reserved; u8 build_id[20]; }. Kernels before 3.16 that have MMAP2 (RHEL 7.0) write neither prot nor flags: the name
    is at their place.
    """
    has_build_id = _holds_build_id(at)
    build_ids = _mapping_build_ids(at, has_build_id)
    major, minor = at.u32_pair()
    inode, inode_generation = at.u64(), at.u64()
    prot, flags = at.i32_pair()
    is_name = (prot & _NO_PROTECTION) != 0
    prot[is_name] = flags[is_name] = -1
    at.step_back(is_name)
    file = identity_of(major, minor, inode, inode_generation)
    says_which = ~has_build_id & (inode != np.uint64(0))
    inode = np.where(says_which, inode, np.uint64(0))
    return {
        "prot": prot, "flags": flags, "major": major, "minor": minor, "inode": inode,
        "inode_generation": inode_generation, "file": np.where(says_which, file, np.uint64(0)),
        **_mapped_file_columns(at, build_ids),
    }  # fmt: skip


def _holds_build_id(at: FieldCursor) -> Bools:
    """Return (n,) whether the union of a MMAP2 is a build id; the flag may be left over from another perf.

    perf_event_mmap_output (kernel/events/core.c) passes a mapping to all listeners, one after the other. It leaves the
    flag set for those after a listener that wants build ids, but gives them device and inode.
    """
    found = at.has(uapi.MISC_MMAP_BUILD_ID)
    begin = take(at.block.data.view("<u8"), at.at[found], mode="clip")
    size = begin & np.uint64(0xFFFFFFFF)  # including the reserved bytes, which are 0
    # plausible major and minor device numbers
    is_inode = (size <= np.uint64(12)) & (begin >> np.uint64(52) == np.uint64(0))
    found[found] = (size > np.uint64(0)) & (size <= np.uint64(20)) & ~is_inode
    return found


def _mapping_build_ids(at: FieldCursor, carried: Bools) -> DictionaryColumn[bytes]:
    """Read { u8 size; u8 padding[3]; u8 build_id[20]; } where ``carried`` holds; b"" elsewhere."""
    words = at.at[carried][:, None] + arange(3)
    unions = take(at.block.data.view("V8"), words, mode="clip").view("V24").ravel().tolist()
    ids = DictionaryColumn.of(unions).changed(lambda union: union[4 : 4 + union[0]])
    with_none = DictionaryColumn.joined([DictionaryColumn.of([b""]), ids])
    number = np.zeros(len(at), np.int32)
    number[carried] = with_none.number[1:]
    return DictionaryColumn(number, with_none.distinct)


def _mapped_file_columns(at: FieldCursor, build_ids: DictionaryColumn[bytes]) -> Columns:
    return {
        "cpumode": (at.block.misc & uapi.MISC_CPUMODE_MASK).astype(np.uint8),
        "filename": at.texts(),
        "build_id": build_ids,
        "is_data": at.has(uapi.MISC_MMAP_DATA),
    }


def _lost_samples(at: FieldCursor, columns: Columns) -> Columns:
    """MISC_LOST_SAMPLES_BPF marks samples dropped by the user's filter."""
    return {"lost": np.where(at.has(MISC_LOST_SAMPLES_BPF), np.uint64(0), columns["lost"])}


def _ksymbol(at: FieldCursor, columns: Columns) -> Columns:
    """Read u32 len; u16 ksym_type; u16 flags; char name[]."""
    length, rest = at.u32_pair()
    kind, flags = at.split_u16(rest)
    unregister = (flags & np.uint64(uapi.KSYMBOL_FLAGS_UNREGISTER)) != 0
    return {"length": length, "type": as_i32(kind), "unregister": unregister, "name": at.texts()}


_NO_PROTECTION = 0xFF0000
"""Bits that no prot has (mman-common.h; simpleperf's own is 0x4000), unless it is part of a name."""
_MAPPING = "pid/tid:i start:Q length:Q pgoff:Q"
_TASK = f"pid/ppid:i tid/ptid:i is_exec:{uapi.MISC_FORK_EXEC} own_time:Q"
_SWITCH = f"is_out:{uapi.MISC_SWITCH_OUT} preempted:{uapi.MISC_SWITCH_OUT | uapi.MISC_SWITCH_OUT_PREEMPT}"
"""The switching thread is the one in the trailer."""

DECODERS: dict[int, Decoder] = {
    RecordType.MMAP: Decoder("mmaps", _MAPPING, _mmap),
    RecordType.LOST: Decoder("losts", "owner_id:Q lost:Q samples_only:no"),
    RecordType.COMM: Decoder("comms", f"pid/tid:i comm:text is_exec:{uapi.MISC_COMM_EXEC}"),
    RecordType.EXIT: Decoder("exits", _TASK),
    RecordType.AUX: Decoder("auxes", "offset:Q size:Q flags:Q"),
    RecordType.THROTTLE: Decoder("throttles", "own_time:Q owner_id:Q lifted:no"),
    RecordType.UNTHROTTLE: Decoder("throttles", "own_time:Q owner_id:Q lifted:yes"),
    RecordType.READ: Decoder("reads", "_:Q value:Q"),  # pid and tid, then the start of struct read_format
    RecordType.FORK: Decoder("forks", _TASK),
    RecordType.MMAP2: Decoder("mmaps", _MAPPING, _mmap2),
    RecordType.LOST_SAMPLES: Decoder("losts", "lost:Q samples_only:yes", _lost_samples),
    RecordType.SWITCH: Decoder("switches", _SWITCH),
    RecordType.SWITCH_CPU_WIDE: Decoder("switches", f"next_prev_pid/next_prev_tid:i {_SWITCH}"),
    RecordType.NAMESPACES: Decoder("namespaces", "pid/tid:i links:pairs"),
    RecordType.KSYMBOL: Decoder("ksymbols", "start:Q", _ksymbol),
    RecordType.CGROUP: Decoder("cgroups", "id:Q path:text"),
    RecordType.CALLCHAIN_DEFERRED: Decoder("deferred", "cookie:Q chain:words"),
    # ``thread`` is an index of THREAD_MAP
    UserRecordType.STAT: Decoder("readings", "owner_id/id:Q cpu/thread:i value:Q enabled:Q running:Q"),
    UserRecordType.STAT_ROUND: Decoder("rounds", "_:Q time:Q"),  # its type; nanoseconds since perf stat started
}


def decode_records(block: Block, kind: int, event: Event | None) -> tuple[Columns, Bools]:
    """Decode records of one type with the trailer of ``event``; return columns, and (n,) truncated rows.

    Records written by perf itself have no trailer.
    """
    event = event if kind < UserRecordType.HEADER_ATTR else None
    at = FieldCursor(block, trailer_length(event) if event else 0)
    trailer = read_trailer(at, event)
    return {"position": block.positions, **trailer} | DECODERS[kind].decode(at), at.bad
