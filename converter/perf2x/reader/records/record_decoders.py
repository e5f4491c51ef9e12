"""Decodes side-band records (all but samples): one decoder for each type.

A decoder reads the fields of many records as columns, in the order of the struct in include/uapi/linux/perf_event.h.
The columns have the names of the side-band table. If a record has no field for its time, process, thread or CPU, these
come from its trailer: with attr.sample_id_all, every kernel record but SAMPLE ends with it::

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


def read_trailer(cursor: FieldCursor, event: Event | None) -> Columns:
    """Read ``time``, ``pid``, ``tid`` and ``cpu``, each (n,), from the trailers of records of one event.

    Missing times are 0; other missing numbers are −1. ``cursor.end`` must be where the trailer begins. ``event`` is
    None for records without a trailer.
    """
    unknown = np.full(len(cursor), -1, np.int32)
    columns: Columns = {"time": np.zeros(len(cursor), np.uint64), "pid": unknown, "tid": unknown, "cpu": unknown}
    if event is None or not trailer_length(event):
        return columns
    word_index = cursor.end
    for bit in TRAILER_FIELDS:
        if not event.sample_type & bit:
            continue
        word = take(cursor.block.words, word_index, mode="clip")
        word_index = word_index + 1
        if bit == SampleType.TIME:
            columns["time"] = word
        elif bit == SampleType.TID:
            columns["pid"], columns["tid"] = map(as_i32, cursor.split(word))
        elif bit == SampleType.CPU:
            columns["cpu"] = as_i32(cursor.split(word)[0])
    return columns


def _no_columns(cursor: FieldCursor, columns: Columns) -> Columns:
    return {}


class Decoder(Frozen):
    """Decodes the fields of a record type, between its header and its trailer."""

    table: str
    """Attribute of Sideband: the table to which the records belong."""
    layout: str
    """The first fields, for ``FieldCursor.fields``."""
    read_further: Callable[[FieldCursor, Columns], Columns] = _no_columns
    """Reads the fields after those of ``layout``; returns added or changed columns."""

    def decode(self, cursor: FieldCursor) -> Columns:
        """Return the fields of all records as (n,) columns."""
        columns = cursor.fields(self.layout)
        return columns | self.read_further(cursor, columns)


def _mmap(cursor: FieldCursor, columns: Columns) -> Columns:
    unknown = np.full(len(cursor), -1, np.int32)
    return {
        "prot": unknown, "flags": unknown, **dict.fromkeys(("file_hash", "inode"), np.zeros(len(cursor), np.uint64)),
        **_mapped_file_columns(cursor, DictionaryColumn(np.zeros(len(cursor), np.int32), [b""])),
    }  # fmt: skip


def _mmap2(cursor: FieldCursor, columns: Columns) -> Columns:
    """Read { union of 24 bytes; u32 prot, flags; char filename[]; }.

    The union is { u32 maj, min; u64 ino, ino_generation; } or, with MISC_MMAP_BUILD_ID, { u8 build_id_size; u8, u16
    reserved; u8 build_id[20]; }. RHEL 7.0's kernel writes no prot and flags: the file name follows the union.
    """
    has_build_id = _has_build_id_union(cursor)
    build_ids = _mapping_build_ids(cursor, has_build_id)
    major, minor = cursor.u32_pair()
    inode, inode_generation = cursor.u64(), cursor.u64()
    prot, flags = cursor.i32_pair()
    is_name = (prot & _NEVER_IN_PROT) != 0
    prot[is_name] = flags[is_name] = -1
    cursor.step_back(is_name)
    file = identity_of(major, minor, inode, inode_generation)
    has_inode = ~has_build_id & (inode != np.uint64(0))
    inode = np.where(has_inode, inode, np.uint64(0))
    return {
        "prot": prot, "flags": flags, "major": major, "minor": minor, "inode": inode,
        "inode_generation": inode_generation, "file_hash": np.where(has_inode, file, np.uint64(0)),
        **_mapped_file_columns(cursor, build_ids),
    }  # fmt: skip


def _has_build_id_union(cursor: FieldCursor) -> Bools:
    """Return (n,) whether the union contains a build id rather than an inode.

    MISC_MMAP_BUILD_ID may be wrong: perf_event_mmap_output (kernel/events/core.c) sends one record to all events in
    turn, and does not reset the flag after an event that wants build ids. So the first 8 bytes must also look like a
    build id's size and start, and not like device numbers.
    """
    result = cursor.has_misc(uapi.MISC_MMAP_BUILD_ID)
    first_bytes = take(cursor.block.data.view("<u8"), cursor.word_index[result], mode="clip")
    size_or_major = first_bytes & np.uint64(0xFFFFFFFF)  # u8 build_id_size and three zeros, or u32 maj
    # a small major number, and a minor number of at most 20 bits, as in Linux's dev_t
    is_device = (size_or_major <= np.uint64(12)) & (first_bytes >> np.uint64(52) == np.uint64(0))
    result[result] = (size_or_major > np.uint64(0)) & (size_or_major <= np.uint64(20)) & ~is_device
    return result


def _mapping_build_ids(cursor: FieldCursor, has_build_id: Bools) -> DictionaryColumn[bytes]:
    words = cursor.word_index[has_build_id][:, None] + arange(3)
    unions = take(cursor.block.data.view("V8"), words, mode="clip").view("V24").ravel().tolist()
    ids = DictionaryColumn.of(unions).mapped(lambda union: union[4 : 4 + union[0]])
    # b"" comes first, so that its number is 0
    with_none = DictionaryColumn.joined([DictionaryColumn.of([b""]), ids])
    number = np.zeros(len(cursor), np.int32)
    number[has_build_id] = with_none.indices[1:]
    return DictionaryColumn(number, with_none.distinct)


def _mapped_file_columns(cursor: FieldCursor, build_ids: DictionaryColumn[bytes]) -> Columns:
    return {
        "cpumode": (cursor.block.misc & uapi.MISC_CPUMODE_MASK).astype(np.uint8),
        "filename": cursor.remaining_text(),
        "build_id": build_ids,
        "is_data": cursor.has_misc(uapi.MISC_MMAP_DATA),
    }


def _lost_samples(cursor: FieldCursor, columns: Columns) -> Columns:
    """Samples that the BPF filter of ``perf record --filter`` dropped on purpose are not lost."""
    return {"lost": np.where(cursor.has_misc(MISC_LOST_SAMPLES_BPF), np.uint64(0), columns["lost"])}


def _ksymbol(cursor: FieldCursor, columns: Columns) -> Columns:
    """Read u32 len; u16 ksym_type; u16 flags; char name[]."""
    length, type_and_flags = cursor.u32_pair()
    kind, flags = cursor.split_u16(type_and_flags)
    unregister = (flags & np.uint64(uapi.KSYMBOL_FLAGS_UNREGISTER)) != 0
    return {"length": length, "type": as_i32(kind), "unregister": unregister, "name": cursor.remaining_text()}


# Bits that no prot has (mman-common.h; simpleperf sets 0x4000): if one is set, the word is part of a file name.
_NEVER_IN_PROT = 0xFF0000
_MAPPING = "pid/tid:i start:Q length:Q pgoff:Q"
_TASK = f"pid/ppid:i tid/ptid:i is_exec:{uapi.MISC_FORK_EXEC} own_time:Q"
# The trailer names the thread that is switched in or out.
_SWITCH = f"is_out:{uapi.MISC_SWITCH_OUT} preempted:{uapi.MISC_SWITCH_OUT | uapi.MISC_SWITCH_OUT_PREEMPT}"

# Two columns are in no table: ``own_time`` is a time that is not in the trailer; ``owner_id`` is the id of the event
# that the record is about.
DECODERS: dict[int, Decoder] = {
    RecordType.MMAP: Decoder("mmaps", _MAPPING, _mmap),
    RecordType.LOST: Decoder("losts", "owner_id:Q lost:Q samples_only:no"),
    RecordType.COMM: Decoder("comms", f"pid/tid:i comm:text is_exec:{uapi.MISC_COMM_EXEC}"),
    RecordType.EXIT: Decoder("exits", _TASK),
    RecordType.AUX: Decoder("auxes", "offset:Q size:Q flags:Q"),
    RecordType.THROTTLE: Decoder("throttles", "own_time:Q owner_id:Q is_unthrottle:no"),
    RecordType.UNTHROTTLE: Decoder("throttles", "own_time:Q owner_id:Q is_unthrottle:yes"),
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
    UserRecordType.STAT_ROUND: Decoder("rounds", "_:Q time:Q"),  # type, and nanoseconds since perf stat started
}


def decode_records(block: Block, kind: int, event: Event | None) -> tuple[Columns, Bools]:
    """Decode records of one type, whose trailers are those of ``event``.

    Returns the columns, and (n,) whether each record is malformed. Records of the perf tool have no trailers.
    """
    event = event if kind < UserRecordType.HEADER_ATTR else None
    cursor = FieldCursor(block, trailer_length(event) if event else 0)
    trailer = read_trailer(cursor, event)
    return {"position": block.positions, **trailer} | DECODERS[kind].decode(cursor), cursor.is_malformed
