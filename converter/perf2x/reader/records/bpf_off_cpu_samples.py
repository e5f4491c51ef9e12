"""Decodes off-CPU samples: RAW has a BPF program's measurement, which overrides the sample's own fields.

Source of truth: __set_offcpu_sample and evsel__is_offcpu_event in tools/perf/util/evsel.c. The event is a bpf-output
named ``offcpu-time``; RAW starts 4 bytes after a word boundary and contains::

    { u32 pid, tid; u64 period; u64 nr; u64 ips[nr]; u64 cgroup; }      period: nanoseconds without a CPU
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import ByteOrder, EventType, SampleType, SoftwareConfig
from perf2x.base.columnar import Bools, ListArray, offsets_of, ranges, take
from perf2x.model.recording import Event, Samples, Want
from perf2x.model.value_limits import LAST_TIME
from perf2x.reader.record_block import make_block
from perf2x.reader.records.field_cursor import FieldCursor

_NAME = "offcpu-time"
_MADE_UP = np.uint64(0xFFFFFFFF00000000)
"""OFF_CPU_TIMESTAMP in tools/perf/util/off_cpu.h."""
_HEADER = 8
_LARGEST = 0xFFF8


def is_off_cpu(event: Event) -> bool:
    """Return whether this is the event of off-CPU samples."""
    is_output = event.type == EventType.SOFTWARE and event.config == SoftwareConfig.BPF_OUTPUT
    base = event.name.split(":", 1)[0]
    return is_output and base == _NAME and bool(event.sample_type & SampleType.RAW)


def override_off_cpu(samples: Samples, whole: Bools, want: Want, order: ByteOrder) -> tuple[Samples, Bools]:
    """Replace fields by those in RAW; return the samples, and ``whole`` without rows whose RAW is malformed."""
    if samples.raw is None:
        return samples, whole
    at = _payload_cursor(samples.raw, order)
    pid, tid = at.i32_pair()
    period = at.u64()
    first, lengths = at.counted(at.u64())
    cgroup = at.u64()
    chain = at.ragged(first, lengths)
    second = take(at.block.words, first + 1, mode="clip")
    ip = np.where(lengths > 1, second, np.uint64(0))
    time = samples.time
    if time is not None:  # perf's placeholder time for sums of waits is not damage
        time = np.where(time >= _MADE_UP, np.uint64(LAST_TIME), time)
    measured = replace(
        samples,
        time=time,
        pid=pid,
        tid=tid,
        period=period,
        ip=ip,
        cgroup=cgroup if Want.CGROUP in want else None,
        chain=chain if Want.CHAIN in want else samples.chain,
        raw=samples.raw if Want.RAW in want else None,
    )
    return measured, whole & ~at.bad


def _payload_cursor(raw: ListArray, order: ByteOrder) -> FieldCursor:
    """Return a cursor at the first word of every payload; payloads are copied to word boundaries."""
    sizes = np.minimum(-(-raw.lengths // 8) * 8 + _HEADER, _LARGEST)
    used = np.minimum(raw.lengths, sizes - _HEADER)
    aligned = offsets_of(sizes)
    data = np.zeros(aligned[-1], np.uint8)
    data[ranges(aligned[:-1] + _HEADER, used)] = raw.values[ranges(raw.offsets[:-1], used)]
    return FieldCursor(make_block(data, sizes.astype(np.uint16), 0, order))
