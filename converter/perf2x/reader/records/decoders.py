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
import numpy.typing as npt

from perf2x.base.abi import MISC_LOST_SAMPLES_BPF, RecordType, SampleType, UserRecordType, uapi
from perf2x.base.columnar import I32, U64, Bools, Frozen, Texts, arange, take
from perf2x.base.columnar.hashing import identity_of
from perf2x.model.recording import Event
from perf2x.reader.block import Block
from perf2x.reader.event_table import TRAILER_FIELDS, trailer_length
from perf2x.reader.records.field_cursor import FieldCursor, as_i32


class Trailer(Frozen):
    """Columns of n records; missing times are 0, other missing fields −1."""

    time: U64
    pid: I32
    tid: I32
    cpu: I32


def read_trailer(at: FieldCursor, event: Event | None) -> Trailer:
    """Read the trailers of records of one event; ``at`` must be made with its ``trailer_words``."""
    count = len(at)
    none = np.full(count, -1, np.int32)
    time, pid, tid, cpu = np.zeros(count, np.uint64), none, none, none
    if event is None or not trailer_length(event):
        return Trailer(time, pid, tid, cpu)
    word_index = at.end
    for bit in TRAILER_FIELDS:
        if not event.sample_type & bit:
            continue
        word = take(at.block.words, word_index, mode="clip")
        word_index = word_index + 1
        if bit == SampleType.TIME:
            time = word
        elif bit in (SampleType.TID, SampleType.CPU):
            first, second = at.split(word)
            if bit == SampleType.CPU:
                cpu = as_i32(first)
            else:
                pid, tid = as_i32(first), as_i32(second)
    return Trailer(time, pid, tid, cpu)


Misc = npt.NDArray[np.uint16]
Columns = dict[str, Any]


class Decoder(Frozen):
    """``table`` is the attribute of Sideband that the rows belong to."""

    table: str
    decode: Callable[[FieldCursor, Misc], Columns]


def _decode_mmap(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u32 pid, tid; u64 addr, len, pgoff; char filename[]; sample_id; }."""
    pid, tid = at.i32_pair()
    unknown = np.full(len(at), -1, np.int32)
    return {
        "pid": pid, "tid": tid, "start": at.u64(), "length": at.u64(), "pgoff": at.u64(),
        "prot": unknown, "flags": unknown, **dict.fromkeys(("file", "inode"), np.zeros(len(at), np.uint64)),
        **_mapped_file_columns(at, misc, Texts(np.zeros(len(at), np.int32), [b""])),
    }  # fmt: skip


def _decode_mmap2(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u32 pid, tid; u64 addr, len, pgoff; union of 24 bytes; u32 prot, flags; char filename[]; }.

    The union is { u32 maj, min; u64 ino, ino_generation; } or, with MISC_MMAP_BUILD_ID,
    { u8 build_id_size; u8, u16 reserved; u8 build_id[20]; }.
    """
    pid, tid = at.i32_pair()
    start, length, pgoff = at.u64(), at.u64(), at.u64()
    has_build_id = _holds_build_id(at, misc)
    build_ids = _mapping_build_ids(at, has_build_id)
    major, minor = at.u32_pair()
    inode, inode_generation = at.u64(), at.u64()
    prot, flags = at.i32_pair()
    file = identity_of(major, minor, inode, inode_generation)
    says_which = ~has_build_id & (inode != np.uint64(0))
    inode = np.where(says_which, inode, np.uint64(0))
    return {
        "pid": pid, "tid": tid, "start": start, "length": length, "pgoff": pgoff,
        "prot": prot, "flags": flags, "major": major, "minor": minor, "inode": inode,
        "inode_generation": inode_generation, "file": np.where(says_which, file, np.uint64(0)),
        **_mapped_file_columns(at, misc, build_ids),
    }  # fmt: skip


def _holds_build_id(at: FieldCursor, misc: Misc) -> Bools:
    """(n,) whether the union of a MMAP2 is a build id: the flag alone may be that of another perf's record.

    perf_event_mmap_output (kernel/events/core.c) gives a mapping to all that listen, one after the other, and leaves
    the flag set for those behind one that wants build ids; they get device and inode.
    """
    found = _has_flag(misc, uapi.MISC_MMAP_BUILD_ID)
    begin = take(at.block.data.view("<u8"), at.at[found], mode="clip")
    size = begin & np.uint64(0xFFFFFFFF)  # with what is reserved, which is 0
    is_inode = (size <= np.uint64(12)) & (begin >> np.uint64(52) == np.uint64(0))  # a major and a minor number
    found[found] = (size > np.uint64(0)) & (size <= np.uint64(20)) & ~is_inode
    return found


def _mapping_build_ids(at: FieldCursor, carried: Bools) -> Texts[bytes]:
    """Read { u8 size; u8 padding[3]; u8 build_id[20]; } where ``carried`` holds; b"" elsewhere."""
    words = at.at[carried][:, None] + arange(3)
    unions = take(at.block.data.view("V8"), words, mode="clip").view("V24").ravel().tolist()
    ids = Texts.of(unions).changed(lambda union: union[4 : 4 + union[0]])
    with_none = Texts.joined([Texts.of([b""]), ids])
    number = np.zeros(len(at), np.int32)
    number[carried] = with_none.number[1:]
    return Texts(number, with_none.distinct)


def _mapped_file_columns(at: FieldCursor, misc: Misc, build_ids: Texts[bytes]) -> Columns:
    return {
        "cpumode": (misc & uapi.MISC_CPUMODE_MASK).astype(np.uint8),
        "filename": at.texts(),
        "build_id": build_ids,
        "is_data": _has_flag(misc, uapi.MISC_MMAP_DATA),
    }


def _decode_comm(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u32 pid, tid; char comm[]; sample_id; }."""
    pid, tid = at.i32_pair()
    return {"pid": pid, "tid": tid, "comm": at.texts(), "is_exec": _has_flag(misc, uapi.MISC_COMM_EXEC)}


def _decode_task(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u32 pid, ppid; u32 tid, ptid; u64 time; sample_id; }."""
    pid, ppid = at.i32_pair()
    tid, ptid = at.i32_pair()
    is_exec = _has_flag(misc, uapi.MISC_FORK_EXEC)
    return {"pid": pid, "ppid": ppid, "tid": tid, "ptid": ptid, "is_exec": is_exec, "own_time": at.u64()}


def _decode_lost(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 id; u64 lost; sample_id; }."""
    return {"owner_id": at.u64(), "lost": at.u64(), "samples_only": np.zeros(len(at), np.bool_)}


def _decode_lost_samples(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 lost; sample_id; }: MISC_LOST_SAMPLES_BPF marks samples dropped by the user's filter."""
    filtered = _has_flag(misc, MISC_LOST_SAMPLES_BPF)
    return {"lost": np.where(filtered, np.uint64(0), at.u64()), "samples_only": np.ones(len(at), np.bool_)}


def _decode_throttle(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 time; u64 id; u64 stream_id; sample_id; }."""
    return {"own_time": at.u64(), "owner_id": at.u64(), "lifted": np.zeros(len(at), np.bool_)}


def _decode_unthrottle(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 time; u64 id; u64 stream_id; sample_id; }."""
    return _decode_throttle(at, misc) | {"lifted": np.ones(len(at), np.bool_)}


def _decode_aux(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 aux_offset, aux_size, flags; sample_id; }."""
    return {"offset": at.u64(), "size": at.u64(), "flags": at.u64()}


def _decode_ksymbol(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 addr; u32 len; u16 ksym_type; u16 flags; char name[]; sample_id; }."""
    start = at.u64()
    length, rest = at.u32_pair()
    kind, flags = at.split_u16(rest)
    unregister = (flags & np.uint64(uapi.KSYMBOL_FLAGS_UNREGISTER)) != 0
    return {"start": start, "length": length, "type": as_i32(kind), "unregister": unregister, "name": at.texts()}


def _decode_switch(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; sample_id; }; the thread in the trailer switches."""
    out = _has_flag(misc, uapi.MISC_SWITCH_OUT)
    return {"is_out": out, "preempted": out & _has_flag(misc, uapi.MISC_SWITCH_OUT_PREEMPT)}


def _decode_switch_cpu_wide(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u32 next_prev_pid, next_prev_tid; sample_id; }: the other thread has its own record."""
    pid, tid = at.i32_pair()
    return {"next_prev_pid": pid, "next_prev_tid": tid, **_decode_switch(at, misc)}


def _decode_cgroup(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 id; char path[]; sample_id; }."""
    return {"id": at.u64(), "path": at.texts()}


def _decode_namespaces(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u32 pid, tid; u64 nr_namespaces; { u64 dev, inode; } [nr]; sample_id; }."""
    pid, tid = at.i32_pair()
    first, count = at.counted(at.u64(), words_each=2)
    return {"pid": pid, "tid": tid, "links": at.ragged(first, count * 2)}


def _decode_callchain_deferred(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 cookie; u64 nr; u64 ips[nr]; sample_id; }."""
    cookie = at.u64()
    first, count = at.counted(at.u64())
    return {"cookie": cookie, "chain": at.ragged(first, count)}


def _decode_stat(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 id; u32 cpu, thread; u64 val, ena, run; }; ``thread`` is a place in THREAD_MAP."""
    identifier = at.u64()
    cpu, thread = at.i32_pair()
    counts = {"value": at.u64(), "enabled": at.u64(), "running": at.u64()}
    return {"owner_id": identifier, "id": identifier, "cpu": cpu, "thread": thread, **counts}


def _decode_stat_round(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u64 type, time; }: nanoseconds since perf stat began to count."""
    at.skip(1)
    return {"time": at.u64()}


def _decode_read(at: FieldCursor, misc: Misc) -> Columns:
    """struct { header; u32 pid, tid; struct read_format values; sample_id; }, which begins with the value."""
    at.skip(1)
    return {"value": at.u64()}


DECODERS: dict[int, Decoder] = {
    RecordType.MMAP: Decoder("mmaps", _decode_mmap),
    RecordType.LOST: Decoder("losts", _decode_lost),
    RecordType.COMM: Decoder("comms", _decode_comm),
    RecordType.EXIT: Decoder("exits", _decode_task),
    RecordType.AUX: Decoder("auxes", _decode_aux),
    RecordType.THROTTLE: Decoder("throttles", _decode_throttle),
    RecordType.UNTHROTTLE: Decoder("throttles", _decode_unthrottle),
    RecordType.READ: Decoder("reads", _decode_read),
    RecordType.FORK: Decoder("forks", _decode_task),
    RecordType.MMAP2: Decoder("mmaps", _decode_mmap2),
    RecordType.LOST_SAMPLES: Decoder("losts", _decode_lost_samples),
    RecordType.SWITCH: Decoder("switches", _decode_switch),
    RecordType.SWITCH_CPU_WIDE: Decoder("switches", _decode_switch_cpu_wide),
    RecordType.NAMESPACES: Decoder("namespaces", _decode_namespaces),
    RecordType.KSYMBOL: Decoder("ksymbols", _decode_ksymbol),
    RecordType.CGROUP: Decoder("cgroups", _decode_cgroup),
    RecordType.CALLCHAIN_DEFERRED: Decoder("deferred", _decode_callchain_deferred),
    UserRecordType.STAT: Decoder("readings", _decode_stat),
    UserRecordType.STAT_ROUND: Decoder("rounds", _decode_stat_round),
}


def decode_records(block: Block, kind: int, event: Event | None) -> tuple[Columns, Bools]:
    """Decode records of one type with the trailer of ``event``; return columns, and (n,) rows that are cut short.

    Records that perf itself writes have no trailer.
    """
    event = event if kind < UserRecordType.HEADER_ATTR else None
    at = FieldCursor(block, trailer_length(event) if event else 0)
    trailer = read_trailer(at, event)
    columns: Columns = {
        "position": block.positions,
        "time": trailer.time, "pid": trailer.pid, "tid": trailer.tid, "cpu": trailer.cpu,
    }  # fmt: skip
    return columns | DECODERS[kind].decode(at, block.misc), at.bad


def _has_flag(misc: Misc, bit: int) -> Bools:
    """Return (n,) records with this bit of header.misc set."""
    flag: Bools = (misc & np.uint16(bit)) != 0
    return flag
