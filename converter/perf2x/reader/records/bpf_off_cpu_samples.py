"""Decodes the samples of ``perf record --off-cpu``.

A BPF program measures how long threads were off the CPU, and writes long waits as samples of the bpf-output event
``offcpu-time``; perf adds the sums of shorter ones at the end. The usual fields describe the moment of writing; the
measurement in RAW overrides them. Source of truth: __set_offcpu_sample and evsel__is_offcpu_event in
tools/perf/util/evsel.c. The data of RAW follow a u32 size, so they start in the middle of a word::

    { u32 pid, tid; u64 period; u64 nr; u64 ips[nr]; u64 cgroup; }      period: nanoseconds without a CPU
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import HEADER_SIZE, ByteOrder, EventType, SampleType, SoftwareConfig
from perf2x.base.columnar import Bools, ListArray, offsets_of, ranges, take
from perf2x.model.recording import Event, Samples, Want
from perf2x.model.value_limits import LAST_TIME
from perf2x.reader.record_block import make_block
from perf2x.reader.records.field_cursor import FieldCursor

_NAME = "offcpu-time"
# OFF_CPU_TIMESTAMP in tools/perf/util/off_cpu.h. Sums of waits have this or a later number in place of a time.
_PLACEHOLDER_TIME = np.uint64(0xFFFFFFFF00000000)
_MAX_RECORD_SIZE = 0xFFF8  # the largest multiple of 8 in 16 bits


def is_off_cpu(event: Event) -> bool:
    """Return whether this is the event of off-CPU samples."""
    is_bpf_output = event.type == EventType.SOFTWARE and event.config == SoftwareConfig.BPF_OUTPUT
    base_name = event.name.split(":", 1)[0]
    return is_bpf_output and base_name == _NAME and bool(event.sample_type & SampleType.RAW)


def override_off_cpu(samples: Samples, is_complete: Bools, want: Want, byte_order: ByteOrder) -> tuple[Samples, Bools]:
    """Replace the samples' fields by those in RAW.

    ``is_complete`` (n,) is True for samples that have all fields. In the result, it is False for malformed RAW, too.
    """
    if samples.raw is None:
        return samples, is_complete
    cursor = _payload_cursor(samples.raw, byte_order)
    pid, tid = cursor.i32_pair()
    period = cursor.u64()
    first_word, lengths = cursor.array_extents(cursor.u64())
    cgroup = cursor.u64()
    chain = cursor.copy_arrays(first_word, lengths)
    # the chain is { PERF_CONTEXT_USER, address, callers … }
    second_words = take(cursor.block.words, first_word + 1, mode="clip")
    ip = np.where(lengths > 1, second_words, np.uint64(0))
    time = samples.time
    if time is not None:  # LAST_TIME is not counted as damage, as a later time would be
        time = np.where(time >= _PLACEHOLDER_TIME, np.uint64(LAST_TIME), time)
    overridden = replace(
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
    return overridden, is_complete & ~cursor.is_malformed


def _payload_cursor(raw: ListArray, byte_order: ByteOrder) -> FieldCursor:
    """Copy each sample's RAW data to a record with an empty header, so that the data begin at a word boundary."""
    sizes = np.minimum(-(-raw.lengths // 8) * 8 + HEADER_SIZE, _MAX_RECORD_SIZE)
    copied = np.minimum(raw.lengths, sizes - HEADER_SIZE)
    offsets = offsets_of(sizes)
    data = np.zeros(offsets[-1], np.uint8)
    data[ranges(offsets[:-1] + HEADER_SIZE, copied)] = raw.values[ranges(raw.offsets[:-1], copied)]
    return FieldCursor(make_block(data, sizes.astype(np.uint16), 0, byte_order))
