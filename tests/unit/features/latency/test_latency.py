"""Latency of samples in forged schedules: who counts as running, what is divided, what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.errors import OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.model.filters.filter_options import Filters
from perf2x.model.profile.profile import Profile
from tests.forge import Comm, Event, Features, Record, Sample, Session, write_file
from tests.forge import kernel as k
from tests.forge.features import TRACING_DATA
from tests.forge.switches import CLOCK, RAW, STATES, TRACED, USER, born, ended, leaves, ran, switch, tracing_data


def loaded(
    folder: Path, *records: Record, events: tuple[Event, ...] = (CLOCK,), cpus: tuple[int, int] | None = None,
    traced: str = "", filters: Filters | None = None, how: str = "beside", timeline: bool = True, off_cpu: str = "",
    wanted: tuple[int, ...] = (),
) -> Profile:  # fmt: skip
    extra = {TRACING_DATA: tracing_data("<", traced)} if traced else {}
    path = folder / "runs.data"
    path.write_bytes(
        write_file(
            Session(events=events, features=Features(cpus=cpus, extra=extra)),
            [Comm(pid=7, tid=7, comm="main"), *records],
        )
    )
    options = load_options(
        timeline=timeline, latency=how, filters=filters or Filters(), off_cpu=off_cpu, parallelism=wanted
    )
    profile = load(str(path), options).profile
    profile.check()
    return profile


def parallelism(profile: Profile) -> list[tuple[int, int]]:
    """Thread, and its value (1 ms) by its latency, of each sample in order of time."""
    samples = profile.samples
    assert samples.latency is not None
    tids = profile.threads.tid[samples.thread].tolist()
    rows = zip(tids, samples.value.tolist(), samples.latency.tolist(), strict=True)
    return [(tid, round(value / max(latency, 1))) for tid, value, latency in rows]


def test_threads_that_run_together_share_the_time(tmp_path: Path) -> None:
    """7 runs from the beginning, as the kernel reports no switch of a program that starts; 8 from 10 to 30."""
    records = [
        ran(7, 5), switch(8, 10), ran(7, 11), ran(8, 12), switch(8, 30, out=True), ran(7, 31),
        switch(7, 40, out=True), switch(8, 50), ran(8, 51), ended(8, 60), switch(9, 70), ran(9, 71),
    ]  # fmt: skip
    profile = loaded(tmp_path, *records)
    assert parallelism(profile) == [(7, 1), (7, 2), (8, 2), (7, 1), (8, 1), (9, 1)]
    assert profile.running is not None
    steps = zip(profile.running.time.tolist(), profile.running.threads.tolist(), strict=True)
    assert list(steps) == [(0, 1), (10, 2), (31, 1), (41, 0), (50, 1), (61, 0), (70, 1)]


def test_a_thread_runs_while_it_leaves(tmp_path: Path) -> None:
    records = [switch(7, 5), switch(8, 6), ran(8, 20), switch(8, 20, out=True), ran(7, 21)]
    assert parallelism(loaded(tmp_path, *records)) == [(8, 2), (7, 1)]


def test_a_lost_record_does_not_shift_the_count(tmp_path: Path) -> None:
    """8 seems to come twice; a count of records would stay one too high."""
    records = [switch(8, 5), switch(8, 10), switch(8, 20, out=True), switch(7, 25), ran(7, 30)]
    assert parallelism(loaded(tmp_path, *records)) == [(7, 1)]


def test_a_thread_without_switches_runs_from_its_first_sample(tmp_path: Path) -> None:
    assert parallelism(loaded(tmp_path, ran(8, 5), switch(7, 10), ran(7, 15))) == [(8, 1), (7, 2)]


def test_a_new_thread_that_never_came_ran_from_its_birth_on(tmp_path: Path) -> None:
    records = [switch(7, 1), ran(7, 5), born(8, 10), ran(7, 15), ended(8, 20), ran(7, 25)]
    assert parallelism(loaded(tmp_path, *records)) == [(7, 1), (7, 2), (7, 1)]


def test_the_idle_task_neither_runs_nor_waits(tmp_path: Path) -> None:
    records = [switch(0, 5, pid=0), switch(7, 10), ran(7, 15), ran(0, 16, pid=0)]
    profile = loaded(tmp_path, *records)
    assert profile.samples.latency is not None
    assert profile.samples.latency.tolist() == [1_000_000, 0]


def test_no_more_threads_than_cpus(tmp_path: Path) -> None:
    records = [*(switch(tid, tid) for tid in (7, 8, 9)), ran(7, 15)]
    assert parallelism(loaded(tmp_path, *records)) == [(7, 3)]
    for cpus in ((1, 2), (2, 2)):
        profile = loaded(tmp_path, *records, cpus=cpus)
        assert profile.running is not None
        most = int(profile.running.threads.max())
        assert most <= 2
        assert parallelism(profile) == [(7, most)]


def test_traced_schedules(tmp_path: Path) -> None:
    """8 is dead at 25; 7 comes at 20 as the next one; a clock's sample shows that 9 runs before it leaves at 60."""
    sample_type = RAW | k.IDENTIFIER
    clock = Event(period=1_000_000, ids=(1,), sample_type=sample_type)
    traced = Event(name=TRACED.name, type=2, config=316, period=1, sample_type=sample_type, ids=(2,))

    def clocked(tid: int, time: int) -> Sample:
        return Sample(id=1, pid=tid, tid=tid, ip=0x1000 * tid, time=time, period=1_000_000, chain=(USER, 0x1000 * tid))

    def left(tid: int, time: int, to: int, state: int = 1) -> Sample:
        one = leaves(tid, time, to, state)
        return Sample(id=2, pid=tid, tid=tid, ip=one.ip, time=time, chain=one.chain, raw=one.raw)

    records = [
        left(0, 5, 8), clocked(8, 10), left(9, 20, 7), clocked(7, 22), left(8, 25, 0, 0x10), clocked(7, 30),
        clocked(9, 40), clocked(7, 41), left(9, 60, 0), clocked(7, 65),
    ]  # fmt: skip
    profile = loaded(tmp_path, *records, events=(clock, traced), traced=STATES)
    clocks = [
        pair for pair, event in zip(parallelism(profile), profile.samples.event.tolist(), strict=True) if not event
    ]
    assert clocks == [(8, 2), (7, 2), (7, 1), (9, 2), (7, 2), (7, 1)]


def test_switches_that_were_sampled_tell_no_parallelism(tmp_path: Path) -> None:
    sampled = replace(TRACED, period=1000, flags=TRACED.flags | {"freq"})
    with pytest.raises(OptionError, match=r"only some of its context switches.*--switch-events"):
        loaded(tmp_path, leaves(7, 100), leaves(8, 200), events=(sampled,), traced=STATES)
    loaded(tmp_path, leaves(7, 100), switch(7, 101, out=True), leaves(8, 200), events=(sampled,), traced=STATES)


def test_processes_that_are_asked_for_count_alone(tmp_path: Path) -> None:
    records = [switch(7, 1), switch(8, 2), switch(9, 3, pid=9), ran(7, 10), ran(8, 11), ran(9, 12, pid=9)]
    assert parallelism(loaded(tmp_path, *records)) == [(7, 3), (8, 3), (9, 3)]
    assert parallelism(loaded(tmp_path, *records, filters=Filters(pids=(7,)))) == [(7, 2), (8, 2)]


def test_samples_of_a_parallelism(tmp_path: Path) -> None:
    records = [switch(7, 1), ran(7, 5), switch(8, 10), ran(7, 11), ran(8, 12)]
    for wanted, tids in (((1,), [7]), ((2,), [7, 8]), ((1, 2, 3), [7, 7, 8])):
        profile = loaded(tmp_path, *records, how="", wanted=wanted)
        assert profile.threads.tid[profile.samples.thread].tolist() == tids
        assert profile.samples.latency is None
    with pytest.raises(OptionError, match="no sample was taken while that many threads ran; samples have 1, 2"):
        loaded(tmp_path, *records, how="", wanted=(3,))


def test_samples_of_another_parallelism_leave_no_trace(tmp_path: Path) -> None:
    records = [switch(7, 1), ran(7, 5), Comm(pid=7, tid=8, comm="other"), switch(8, 10), ran(7, 11), ran(8, 12)]
    assert "other" in loaded(tmp_path, *records, how="", wanted=(2,)).strings
    assert "other" not in loaded(tmp_path, *records, how="", wanted=(1,)).strings


def test_sums_of_latencies(tmp_path: Path) -> None:
    records = [switch(7, 1), ran(7, 5), switch(8, 10), *(ran(7, time) for time in (11, 12)), ran(8, 13)]
    profile = loaded(tmp_path, *records, how="value", timeline=False)
    assert [(event.name, event.unit, event.period) for event in profile.events] == [
        ("latency:cpu-clock", "nanoseconds", 0)
    ]
    assert (profile.samples.time, profile.samples.latency, profile.running) == (None, None, None)
    assert sorted(profile.samples.value.tolist()) == [500_000, 2_000_000]
    beside = loaded(tmp_path, *records, how="beside", timeline=False).samples
    assert beside.latency is not None
    assert (sorted(beside.latency.tolist()), sorted(beside.value.tolist())) == (
        [500_000, 2_000_000],
        [1_000_000, 3_000_000],
    )


@pytest.mark.parametrize(
    ("records", "event", "off_cpu", "sentence"),
    [
        ((ran(7, 5),), CLOCK, "", "does not show how many threads ran; record with: perf record --switch-events"),
        ((ran(7, 5), switch(7, 6)), CLOCK, "beside", "it only concerns running threads; leave out off_cpu"),
        ((ran(7, 0),), Event(sample_type=CLOCK.sample_type & ~k.TIME), "", "the samples have no time"),
    ],
)
def test_what_cannot_be_told(
    records: tuple[Record, ...], event: Event, off_cpu: str, sentence: str, tmp_path: Path
) -> None:
    for how, wanted, option in (("value", (), "latency"), ("", (1,), "parallelism")):
        with pytest.raises(OptionError, match=f"{option}: .*{sentence}"):
            loaded(tmp_path, *records, events=(event,), how=how, wanted=wanted, off_cpu=off_cpu)
