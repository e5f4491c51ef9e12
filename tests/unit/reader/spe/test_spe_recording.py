"""Arm SPE trace as samples: cut into chunks, threads, times, damage, and what ``--itrace`` chooses."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perf2x.base.columnar.arrays import U8
from perf2x.errors import SettingError
from perf2x.model.recording.events import Recording, Shard, Want
from perf2x.reader import open_recording
from perf2x.reader.spe import spe_recording
from perf2x.reader.spe.packets import Packets, find_packets
from tests import forge
from tests.forge import spe
from tests.forge.spe import Buffer
from tests.reference import spe as reference
from tests.support.reading import EVERYTHING
from tests.support.spe_traces import CALLS, damaged, record, trace

PC = spe.instruction(spe.PROGRAM)
STAMP = forge.Stamp(pid=100, tid=100, id=21)


def opened(
    folder: Path, buffers: Sequence[Buffer], *others: forge.Record, itrace: str = "i", timed: bool = True, **more: Any
) -> Recording:
    path = folder / "perf.data"
    path.write_bytes(forge.write_file(spe.spe_session(timed=timed), spe.spe_records(buffers, others, **more)))
    return open_recording(str(path), itrace=itrace)


def column(recording: Recording, name: str) -> list[int]:
    parts = [getattr(batch, name) for batch in recording.samples(EVERYTHING)]
    return [] if not parts else np.concatenate(parts).tolist()


def simple(thread: int | None, ticks: int) -> bytes:
    return PC + (b"" if thread is None else spe.context(thread)) + (spe.timestamp(ticks) if ticks else spe.END)


@pytest.mark.parametrize("seed", range(6))
def test_samples_are_those_of_the_twin(seed: int, tmp_path: Path) -> None:
    """Every record makes the samples that reading it alone says, of damaged trace, too."""
    data = damaged(seed)
    found = opened(tmp_path, [Buffer(data)], itrace="")
    names = [found.session.events[row].name for row in column(found, "event")]
    operations, bad = reference.operations(data)
    assert sorted(zip(column(found, "ip"), names, strict=True)) == sorted(
        (one.get("pc"), kind) for one in operations for kind in reference.kinds(one)
    )
    assert found.diagnostics["spe_records_damaged"] in (bad, bad + 1)  # the data may end inside a record
    assert found.sample_count == len(names)


@pytest.mark.parametrize("span", [3000, 1000])
def test_records_may_lie_in_two_chunks_or_blocks(span: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = trace(random.Random(5), 80)
    whole = column(opened(tmp_path, [Buffer(data)], itrace=""), "addr")
    monkeypatch.setattr(spe_recording, "CHUNK_SIZE", span)
    assert column(opened(tmp_path, [Buffer(data)], itrace=""), "addr") == whole
    cut = len(data) // 16 * 8
    for at in (cut, cut + 8):
        halves = [Buffer(data[:at]), Buffer(data[at:], offset=at)]
        found = opened(tmp_path, halves, itrace="")
        assert column(found, "addr") == whole and not found.diagnostics.counts
        positions = column(found, "position")
        assert positions == sorted(positions) and positions[-1] < found.sideband.stream_end


@pytest.mark.parametrize("first", [spe.counter(1, 0x7171), spe.extended(spe.instruction(0x71), 1)])
@pytest.mark.parametrize("span", range(100, 140, 3))
def test_records_may_begin_with_any_packet(
    first: bytes, span: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk may end inside a record's first packet, whose contents are not used."""
    data = b"".join(first + simple(100, ticks) for ticks in range(1, 60))
    whole = column(opened(tmp_path, [Buffer(data)]), "time")
    monkeypatch.setattr(spe_recording, "CHUNK_SIZE", span)
    found = opened(tmp_path, [Buffer(data)])
    assert column(found, "time") == whole and not found.diagnostics.counts


def test_a_gap_in_the_buffer_ends_a_record(tmp_path: Path) -> None:
    one = simple(100, 9)
    halves = [Buffer((one + one)[:32]), Buffer((one + one)[32:], offset=64)]
    found = opened(tmp_path, halves)
    assert found.sample_count == 1 and found.diagnostics["spe_records_damaged"] == 2


def test_buffers_of_other_cpus_lie_between(tmp_path: Path) -> None:
    one = simple(100, 9) + bytes(1)
    halves = [Buffer(one[:16]), Buffer(one + one[:3], cpu=1), Buffer(one[16:], offset=16)]
    found = opened(tmp_path, halves)
    assert column(found, "cpu") == [0, 1] and found.diagnostics["spe_records_damaged"] == 1


def test_endless_records_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spe_recording, "CHUNK_SIZE", 600)
    pieces = [Buffer(PC[:8], offset=8 * row) for row in range(300)]
    found = opened(tmp_path, [*pieces, Buffer(PC * 400 + simple(100, 9), cpu=1)])
    assert found.sample_count == 1 and found.diagnostics["spe_records_damaged"]


def test_blocks_of_a_buffer_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(data: U8, base: int) -> Packets:
        calls.append(base)
        return find_packets(data, base)

    monkeypatch.setattr(spe_recording, "find_packets", counted)
    data = simple(100, 9) * 16
    buffers = [Buffer(data, cpu, offset=len(data) * row) for row in range(20) for cpu in (0, 1)]
    assert opened(tmp_path, buffers).sample_count == 40 * 16 and len(calls) == 2


def test_every_shard_has_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spe_recording, "CHUNK_SIZE", 500)
    found = opened(tmp_path, [Buffer(trace(random.Random(7), 60), cpu) for cpu in range(3)])
    parts = [[len(batch) for batch in found.samples(Want(0), Shard(number, 3))] for number in range(3)]
    assert sum(map(sum, parts)) == found.sample_count and all(parts)


def test_the_thread_is_that_of_the_record(tmp_path: Path) -> None:
    others = [
        forge.Fork(pid=7, tid=8, ppid=7, ptid=7, time=50, event=1, stamp=STAMP),
        forge.Comm(pid=5, tid=6, comm="late", event=1, stamp=forge.Stamp(time=900, id=21)),
    ]
    data = b"".join(simple(thread, ticks) for ticks, thread in enumerate((8, 8, 99, 0, 6), 1))
    found = opened(tmp_path, [Buffer(data)], *others)
    assert column(found, "tid") == [8, 8, 99, 0, 6] and column(found, "pid") == [7, 7, -1, 0, 5]


def test_the_thread_is_the_one_that_was_switched_in(tmp_path: Path) -> None:
    def switched(pid: int, tid: int, cpu: int, time: int) -> forge.SwitchCpuWide:
        return forge.SwitchCpuWide(event=1, stamp=forge.Stamp(pid=pid, tid=tid, cpu=cpu, time=time, id=21))

    others = [switched(100, 100, 0, 80), switched(0, 0, 0, 160), switched(100, 100, 1, 120)]
    data = b"".join(simple(None, ticks) for ticks in (1, 2, 3, 4, 5))
    found = opened(tmp_path, [Buffer(data), Buffer(data, cpu=1)], *others)
    assert column(found, "tid") == [-1, 100, 100, 0, 0, -1, -1, 100, 100, 100]
    assert column(found, "pid") == [-1, 100, 100, 0, 0, -1, -1, 100, 100, 100]


def test_the_thread_is_the_one_that_had_the_buffer(tmp_path: Path) -> None:
    found = opened(tmp_path, [Buffer(simple(None, 0) * 2, cpu=-1, tid=100)], timed=False)
    assert column(found, "tid") == [100, 100] and column(found, "pid") == [100, 100]
    assert all(batch.time is None for batch in found.samples(EVERYTHING)) and not found.diagnostics.counts


def test_ticks_become_times(tmp_path: Path) -> None:
    ticks = [5, 1 << 40, 2**64 - 1, 3]
    data = b"".join(simple(100, tick) for tick in ticks)
    for shift, mult, zero, short in ((0, 40, 7, None), (20, 40 << 20, 5, None), (3, 9, 0, (1 << 20, (1 << 32) - 1))):
        clock = forge.TimeConv(shift=shift, mult=mult, zero=zero)
        if short is not None:
            clock = forge.TimeConv(shift=shift, mult=mult, zero=zero, cycles=short[0], mask=short[1], short=True)
        found = opened(tmp_path, [Buffer(data)], clock=clock)
        expected = [reference.nanoseconds(tick, shift, mult, zero, short) for tick in ticks]
        assert column(found, "time") == [min(time, 2**63 - 1) for time in expected]


def test_a_record_without_a_time_has_that_of_the_one_before(tmp_path: Path) -> None:
    data = b"".join(simple(100, ticks) for ticks in (0, 5, 0, 0, 7))
    assert column(opened(tmp_path, [Buffer(data)]), "time") == [200, 200, 200, 200, 280]


def test_without_any_time_it_is_that_of_handing_over(tmp_path: Path) -> None:
    """ts_enable=0: later than the maps of the programs, so that samples find them."""
    others = [
        forge.Aux(offset=offset, aux_size=32, event=1, stamp=forge.Stamp(time=time, cpu=cpu, id=21))
        for offset, time, cpu in ((0, 70, 0), (32, 90, 0), (0, 80, 1))
    ]
    data = simple(100, 0) + simple(None, 0) + simple(100, 0)
    found = opened(tmp_path, [Buffer(data), Buffer(simple(100, 0), 1)], *others)
    assert len(simple(100, 0)) == 15 and column(found, "time") == [70, 70, 70, 80]
    found = opened(tmp_path, [Buffer(data + data)], *others)
    assert column(found, "time") == [70, 70, 70, 90, 90, 90]


def test_without_a_clock_there_are_no_times(tmp_path: Path) -> None:
    found = opened(tmp_path, [Buffer(simple(100, 5))], clock=None)
    assert [batch.time for batch in found.samples(EVERYTHING)] == [None]
    assert found.diagnostics["spe_clock_missing"] == 1


def test_every_nth_record_of_a_buffer_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spe_recording, "CHUNK_SIZE", 100)
    buffers = [Buffer(b"".join(simple(100, 10 * cpu + row) for row in range(1, 9)), cpu) for cpu in (0, 1)]
    found = opened(tmp_path, buffers, itrace="i3i")
    assert [time // 40 for time in column(found, "time")] == [3, 6, 13, 16] and found.sample_count == 4
    assert column(found, "period") == [3] * 4 and found.session.events[-1].sample_period == 3


def test_calls_are_no_accesses_to_memory(tmp_path: Path) -> None:
    """perf takes the form of a branch for a kind of register, and so calls and returns for accesses (7.2)."""
    made = random.Random(3)
    data = b"".join(record(made, ticks, 100, CALLS) for ticks in range(1, 60))
    found = opened(tmp_path, [Buffer(data)], itrace="Mb")
    names = [found.session.events[row].name for row in column(found, "event")]
    jumps = [one for one in reference.operations(data)[0] if "branch" in one.tells]
    assert names.count("branch") == len(jumps) > 0
    assert names.count("memory") == sum(one.uses_memory for one in reference.operations(data)[0])


def test_branches_carry_where_they_led(tmp_path: Path) -> None:
    jump = PC + spe.operation(2, 1) + spe.target(spe.PROGRAM + 64) + spe.previous(spe.PROGRAM + 8) + spe.timestamp(3)
    for itrace, ends in (("b", [64]), ("bl1", [64]), ("bl", [64, 8]), ("il", [64, 8]), ("i", [])):
        (batch,) = opened(tmp_path, [Buffer(jump)], itrace=itrace).samples(EVERYTHING)
        assert batch.branches is not None
        assert batch.branches.to_ip.tolist() == [spe.PROGRAM + end for end in ends], itrace


@pytest.mark.parametrize(
    ("detail", "form"),
    [
        (0, 0),
        (1, 1),
        (2, 6),
        (3, 10),
        (8, 4),
        (9, 9),
        (0x0A, 4),
        (0x0B, 9),
        (0x10, 6),
        (0x11, 10),
        (0x18, 2),
        (0x1A, 6),
    ],
)
def test_branches_have_the_form_that_perf_gives_them(detail: int, form: int, tmp_path: Path) -> None:
    """PERF_BR_*: an indirect branch that is no call is taken for a return."""
    jump = PC + spe.operation(2, detail) + spe.target(spe.PROGRAM + 64) + spe.timestamp(3)
    (batch,) = opened(tmp_path, [Buffer(jump)], itrace="b").samples(EVERYTHING)
    assert batch.branches is not None and (batch.branches.flags >> np.uint64(20)).tolist() == [form]


@pytest.mark.parametrize(
    ("itrace", "events"),
    [
        ("i", ["instructions"]), ("Mb", ["memory", "branch"]),
        ("m,t", ["tlb-access", "tlb-miss", "llc-access", "llc-miss"]),
        ("f i10i", ["instructions", "l1d-access", "l1d-miss"]), ("a", ["remote-access"]),
        ("", ["instructions", "memory", "remote-access", "branch", "tlb-access", "tlb-miss", "llc-access", "llc-miss",
              "l1d-access", "l1d-miss"]),
    ],
)  # fmt: skip
def test_letters_choose_events(itrace: str, events: list[str], tmp_path: Path) -> None:
    found = opened(tmp_path, [Buffer(simple(100, 1))], itrace=itrace)
    assert [event.name for event in found.session.events[2:]] == events
    assert [event.index for event in found.session.events] == list(range(2 + len(events)))


@pytest.mark.parametrize("itrace", ["x", "i10us", "l", "Mx", "M-", " "])
def test_other_letters_are_refused(itrace: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="selects no samples; Arm SPE supports bfmtaMi"):
        opened(tmp_path, [Buffer(simple(100, 1))], itrace=itrace)


def test_without_trace_there_is_nothing_to_choose(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no Arm SPE trace"):
        opened(tmp_path, [], itrace="i")


def test_lost_trace_is_counted(tmp_path: Path) -> None:
    others = [forge.Aux(flags=flags, event=1, stamp=STAMP) for flags in (0, 1, 1 | 4, 8, 2)]
    counts = opened(tmp_path, [Buffer(simple(100, 1))], *others).diagnostics.counts
    lost = {name: count.count for name, count in counts.items()}
    assert lost == {"trace_truncated": 2, "trace_partial": 1, "trace_collision": 1}


def test_metadata_may_be_damaged(tmp_path: Path) -> None:
    """Samples are read whatever AUXTRACE_INFO has about CPUs."""
    for words in ((), (8,), (8, 1), (2, 2**63, 8, 2**63), (2, 4, 8, 3, 1), (2, 4, 8, 1, 0, 0), (2, 0, 8, 1)):
        records: list[forge.Record] = [forge.AuxtraceInfo(kind=4, words=words), spe.CLOCK]
        records.append(forge.Auxtrace(data=simple(100, 1)))
        path = tmp_path / "perf.data"
        path.write_bytes(forge.write_file(spe.spe_session(), records))
        assert open_recording(str(path)).sample_count == 1, words


def test_the_beginning_tells_recordings_apart(tmp_path: Path) -> None:
    one, longer, other = (
        opened(tmp_path, buffers).fingerprint
        for buffers in (
            [Buffer(simple(100, 1))], [Buffer(simple(100, 1)), Buffer(simple(100, 5), 1)], [Buffer(simple(100, 2))],
        )
    )  # fmt: skip
    assert one == longer != other
