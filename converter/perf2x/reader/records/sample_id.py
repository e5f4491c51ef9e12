"""Decodes the sample_id trailer, which ends every kernel record but SAMPLE when attr.sample_id_all is set.

::

    struct sample_id {                            include/uapi/linux/perf_event.h
        { u32 pid, tid;  } && PERF_SAMPLE_TID
        { u64 time;      } && PERF_SAMPLE_TIME
        { u64 id;        } && PERF_SAMPLE_ID
        { u64 stream_id; } && PERF_SAMPLE_STREAM_ID
        { u32 cpu, res;  } && PERF_SAMPLE_CPU
        { u64 id;        } && PERF_SAMPLE_IDENTIFIER
    };
"""

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import SampleType
from perf2x.base.columnar.arrays import I32, U64
from perf2x.model.recording.events import Event
from perf2x.reader.event_table import TRAILER_FIELDS, trailer_length
from perf2x.reader.records.field_cursor import FieldCursor, as_i32


class Trailer(Struct, frozen=True):
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
        word = at.block.words.take(word_index, mode="clip")
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
