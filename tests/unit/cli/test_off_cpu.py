"""``--off-cpu`` on a recording with context switches, and on forged ones whose answer is known."""

import gzip
import json
import struct
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf2x.emitters.pprof import profile_pb2
from perf2x.features.off_cpu.wait_report import WaitReport
from tests.forge import Comm, Event, Features, Mmap2, Sample, Session, Stamp, Switch, write_file
from tests.forge import kernel as k
from tests.support.command import folded, perf2x, recording

CLOCKED = Path(__file__).parent / "data" / "clocked.data"
OUT = 1 << 13
"""PERF_RECORD_MISC_SWITCH_OUT"""


@pytest.fixture
def switching(tmp_path: Path) -> Path:
    """Thread 7 computes at 0x1000, waits 50 ns, computes at 0x2000, waits 30 ns, and leaves for good."""
    path = tmp_path / "switching.data"

    def switch(time: int, misc: int) -> Switch:
        return Switch(misc=misc, stamp=Stamp(pid=7, tid=7, time=time))

    records = [
        Comm(pid=7, tid=7, comm="app"),
        switch(50, OUT), switch(60, 0),
        Sample(pid=7, tid=7, ip=0x1000, time=100, period=5, chain=(0xFFFFFFFFFFFFFE00, 0x1000)),
        switch(110, OUT), switch(160, 0),
        Sample(pid=7, tid=7, ip=0x2000, time=170, period=5, chain=(0xFFFFFFFFFFFFFE00, 0x2000)),
        switch(180, OUT), switch(210, 0), switch(220, OUT),
    ]  # fmt: skip
    path.write_bytes(write_file(Session(events=(Event(),)), records))
    return path


def totals(path: Path, how: str) -> dict[str, int]:
    ran = perf2x("top", path, "--no-symbols", "--off-cpu", how, "--json", "-q")
    assert ran.code == 0, ran.err
    facts = json.loads(ran.out)
    return {"samples": facts["samples"], "value": facts["value"]}


def test_the_time_between_leaving_and_coming_back(switching: Path) -> None:
    assert totals(switching, "apart") == {"samples": 3, "value": 90}
    assert totals(switching, "merged") == {"samples": 5, "value": 100}


def test_beside_is_a_column_of_the_clock_events_table(switching: Path) -> None:
    assert totals(switching, "beside") == {"samples": 2, "value": 10}
    words = ("top", switching, "--no-symbols", "--off-cpu", "beside", "-q", "--by", "thread", "--json")
    facts = json.loads(perf2x(*words).out)
    assert facts["columns"] == {"off-cpu": 90} and [row["self_off-cpu"] for row in facts["rows"]] == [90]
    assert json.loads(perf2x(*words, "--event", "off-cpu").out)["value"] == 90
    assert perf2x(*words, "--value", "samples").code == 0
    left_out = json.loads(perf2x(*words, "--event", "cpu-clock").out)
    assert "columns" not in left_out and left_out["value"] == 10


def test_what_could_not_be_told_is_said(switching: Path) -> None:
    ran = perf2x("convert", switching, "--no-symbols", "--off-cpu", "apart", "-t", "collapsed", "-o", "-", "-v")
    assert "3 waits of 0.000 s, 0.000 s without a stack (no sample at most 0.1 ms before)\n" in ran.err
    assert "info: 1 wait without a stack; context-switch records have no stack, and no sample is near;" in ran.err
    assert "guess: 2 waits with a guessed stack; the stack is that of a sample at most 0.1 ms before" in ran.err
    assert "lost:" not in ran.err


def test_time_in_waits_that_the_recording_ends_in_is_said() -> None:
    report = WaitReport(2, 9_000_000_000, 0, 0, open_ns=4_500_000_000)
    assert report.line() == "2 waits of 9.000 s, 4.500 s in waits that the recording ends in"
    assert replace(report, open_ns=0).line() == "2 waits of 9.000 s"


def test_on_and_off_cpu_together_are_the_time_that_threads_lived() -> None:
    wall = sum(folded(CLOCKED, "--off-cpu", "merged", value="period").values())
    assert 5 * 2.0e9 * 0.95 < wall < 5 * 2.0e9 * 1.05  # four that compute, and their parent, which waits for them


def waits_of(path: Path, how: str = "apart") -> list[tuple[int, int]]:
    """(since, duration) of every wait, in ns."""
    ran = perf2x(
        "convert",
        path,
        "--no-symbols",
        "--off-cpu",
        how,
        "-t",
        "pprof",
        "--label",
        "time",
        "-o",
        path.parent / "w.pb.gz",
    )
    assert ran.code == 0, ran.err
    parsed = profile_pb2.Profile.FromString(gzip.decompress((path.parent / "w.pb.gz").read_bytes()))
    return sorted((sample.label[0].num, sample.value[-1]) for sample in parsed.sample)


def test_waits_are_as_long_as_the_records_say_to_the_nanosecond(switching: Path) -> None:
    assert waits_of(switching) == [(50, 10), (110, 50), (180, 30)]


def test_a_wait_from_sched_switch_to_the_threads_next_sample(tmp_path: Path) -> None:
    """A sample does not end its own wait: thread 7 leaves at 100 and 150 and is seen again at 150 and 151."""
    path = tmp_path / "traced.data"
    event = Event(name="sched:sched_switch", type=2, config=316, period=1)
    chain = (0xFFFFFFFFFFFFFE00, 0x1000)
    records = [
        Comm(pid=7, tid=7, comm="app"),
        *(Sample(pid=7, tid=7, ip=0x1000, time=t, chain=chain) for t in (100, 150, 151)),
    ]
    path.write_bytes(write_file(Session(events=(event,)), records))
    assert waits_of(path) == [(100, 50), (150, 1)]


def test_beside_keeps_the_other_events() -> None:
    ran = perf2x("convert", CLOCKED, "--no-symbols", "--off-cpu", "beside", "-t", "pprof", "-o", "-")
    assert "2 events (cpu-clock 228, off-cpu" in ran.err


@pytest.mark.parametrize(
    ("how", "shown", "period"), [("beside", "cpu-clock", 3344481), ("apart", "off-cpu", 0), ("merged", "wall-clock", 0)]
)
def test_pprof_shows_the_clock_with_its_period_where_there_is_one(
    how: str, shown: str, period: int, tmp_path: Path
) -> None:
    ran = perf2x("convert", CLOCKED, "--no-symbols", "--off-cpu", how, "-q", "-o", tmp_path / "p.pb.gz")
    assert ran.code == 0, ran.err
    written = profile_pb2.Profile.FromString(gzip.decompress((tmp_path / "p.pb.gz").read_bytes()))
    texts = written.string_table
    assert texts[written.default_sample_type] == shown == texts[written.sample_type[-1].type]
    assert (texts[written.period_type.type], texts[written.period_type.unit]) == (shown, "nanoseconds")
    assert written.period == period
    assert {texts[kind.type] for kind in written.sample_type} == {"samples", shown, *["off-cpu"] * (how == "beside")}


@pytest.mark.parametrize("name", ["chrome", "html", "firefox"])
def test_timelines(name: str, tmp_path: Path) -> None:
    ran = perf2x("convert", CLOCKED, "--no-symbols", "--off-cpu", "beside", "-t", name, "-o", tmp_path / "out")
    assert ran.code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            (recording("calls"), "--off-cpu", "apart"),
            "does not show when threads waited; record with: perf",
        ),
        ((recording("per_thread"), "--off-cpu", "apart"), "the samples have no time"),
        ((CLOCKED, "--off-cpu", "yes"), "--off-cpu yes: choose from apart, beside, merged"),
    ],
)
def test_usage(words: tuple[object, ...], sentence: str) -> None:
    ran = perf2x("convert", *words, "--no-symbols", "-t", "collapsed", "-o", "-")
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.said


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A recording of perf record --off-cpu: two samples on a CPU and two waits of 7 and 5 ms with their stacks."""
    sample_type = k.IDENTIFIER | k.IP | k.TID | k.TIME | k.PERIOD | k.CALLCHAIN
    clock = Event(sample_type=sample_type | k.RAW, ids=(1,))
    waits = Event(name="offcpu-time", type=1, config=10, sample_type=sample_type | k.RAW, ids=(2,), period=1)
    user = 0xFFFFFFFFFFFFFE00

    def raw(duration: int, address: int) -> bytes:
        return struct.pack("<iiQQQQQ", 7, 7, duration, 2, user, address, 0)

    records = [
        Comm(pid=7, tid=7, comm="app"),
        *(Mmap2(pid=7, tid=7, addr=base, len=0x1000, filename=f"/o{base >> 12}") for base in (0x1000, 0x2000)),
        *(Sample(id=1, pid=7, tid=7, ip=0x1010, time=t, period=1_000_000, chain=(user, 0x1010)) for t in (5, 6)),
        Sample(id=2, pid=1, tid=1, time=8, period=1, raw=raw(7_000_000, 0x2010)),
        Sample(id=2, pid=1, tid=1, time=9, period=1, raw=raw(5_000_000, 0x1010)),
    ]
    path = tmp_path / "measured.data"
    path.write_bytes(write_file(Session(events=(clock, waits), features=Features(arch="x86_64")), records))
    return path


def stacks(path: Path, how: str, *words: str) -> dict[str, int]:
    return folded(path, "--off-cpu", how, *words, value="period")


def test_measured_waits_apart_beside_and_merged(measured: Path) -> None:
    waits = {"app;[o2]": 7_000_000, "app;[o1]": 5_000_000}
    assert stacks(measured, "apart") == waits
    assert stacks(measured, "beside", "--event", "offcpu-time") == waits
    assert stacks(measured, "beside") == {"app;[o1]": 2_000_000}
    assert stacks(measured, "merged") == {"app;[o2]": 7_000_000, "app;[o1]": 7_000_000}
    assert folded(measured) == {"app;[o1]": 2}


def test_measured_waits_in_a_profile(measured: Path, tmp_path: Path) -> None:
    ran = perf2x("convert", measured, "--no-symbols", "--off-cpu", "beside", "-o", tmp_path / "p.pb.gz")
    assert "4 samples of 2 events (cpu-clock 2, offcpu-time 2)" in ran.err


@pytest.mark.shared
def test_sched_read_switch_samples() -> None:
    from tests.support.recordings import DEFERRED

    path = DEFERRED / "32_sched_switch_defer" / "perf.data"
    if not path.exists():
        pytest.skip("the larger recordings are not here")
    ran = perf2x("top", path, "--no-symbols", "--off-cpu", "apart", "--by", "thread", "--json", "-q")
    facts = json.loads(ran.out)
    slept = {row["name"].split()[0]: row["self"] for row in facts["rows"]}
    # a thread of this program sleeps 5 ms at a time, all its life of 1.5 s
    assert 1.4e9 < slept["nap00005"] < 1.51e9
