"""Samples of perf record --off-cpu: a BPF program's measurement in RAW overrides the sample's own fields."""

import struct
from pathlib import Path

import pytest

from perf2x.model.recording.events import Want
from perf2x.model.value_limits import LAST_TIME
from tests.forge import Event, Sample, Session
from tests.forge import kernel as k
from tests.forge.features import Features
from tests.support.reading import one_batch, reopened

BPF_OUTPUT = 10
KERNEL_MARK, USER_MARK = 2**64 - 128, 2**64 - 512
CHAIN = (KERNEL_MARK, 0xFFFFFFFF81000010, USER_MARK, 0x401000)


def off_cpu_event(name: str) -> Event:
    sample_type = k.IP | k.TID | k.TIME | k.PERIOD | k.CALLCHAIN | k.RAW
    return Event(name=name, type=1, config=BPF_OUTPUT, sample_type=sample_type, ids=(3,), period=1)


def measured(order: str, nr: int = len(CHAIN)) -> bytes:
    return struct.pack(f"{order}iiQQ{len(CHAIN)}QQ", 44, 45, 7_000_000, nr, *CHAIN, 99)


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_measurement_overrides_the_sample(tmp_path: Path, order: str) -> None:
    session = Session((off_cpu_event("offcpu-time"),), order=order, features=Features(arch="x86_64"))
    forged = Sample(pid=1, tid=1, time=500, period=1, raw=measured(order))
    batch = one_batch(reopened(tmp_path, session, [forged]))
    assert (batch.pid.tolist(), batch.tid.tolist()) == ([44], [45])
    assert batch.period.tolist() == [7_000_000]
    assert tuple(batch.chain.row(0).tolist()) == CHAIN
    assert batch.ip.tolist() == [CHAIN[1]]
    assert batch.cgroup is not None and batch.cgroup.tolist() == [99]
    assert batch.time is not None and batch.time.tolist() == [500]


def test_times_that_perf_makes_up_are_no_damage(tmp_path: Path) -> None:
    session = Session((off_cpu_event("offcpu-time"),), features=Features(arch="x86_64"))
    times = (0xFFFFFFFF00000000 - 1, 0xFFFFFFFF00000000, 2**64 - 1, 500)
    recording = reopened(tmp_path, session, [Sample(pid=1, tid=1, time=time, raw=measured("<")) for time in times])
    (batch,) = recording.samples(Want.CHAIN)
    assert batch.time is not None
    assert batch.time.tolist() == [LAST_TIME, LAST_TIME, LAST_TIME, 500]
    assert recording.diagnostics["implausible_time"] == 1


def test_other_bpf_outputs_stay_as_they_are(tmp_path: Path) -> None:
    session = Session((off_cpu_event("my-output"),), features=Features(arch="x86_64"))
    batch = one_batch(reopened(tmp_path, session, [Sample(pid=1, tid=1, period=5, raw=measured("<"))]))
    assert (batch.pid.tolist(), batch.period.tolist()) == ([1], [5])


def test_an_impossible_chain_length_is_counted(tmp_path: Path) -> None:
    session = Session((off_cpu_event("offcpu-time"),), features=Features(arch="x86_64"))
    recording = reopened(tmp_path, session, [Sample(raw=measured("<", nr=2**40)), Sample(raw=measured("<"))])
    batches = list(recording.samples(Want.CHAIN))
    assert sum(len(batch) for batch in batches) == 1
    assert recording.diagnostics.counts
