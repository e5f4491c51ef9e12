"""Waits of forged schedules: how they end, why threads left, and which stack is theirs."""

from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.base.diagnostics import Severity
from perf2x.errors import OptionError
from perf2x.features.off_cpu.wait_report import WaitReport
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.kernel.load_result import Loaded
from perf2x.model.filters.filter_options import Filters
from perf2x.model.profile.profile import Wait
from tests.forge import Comm, Event, Features, Mmap2, Record, Session, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.features import TRACING_DATA
from tests.forge.switches import CLOCK, MS, RAW, STATES, TRACED, born, ended, leaves, ran, switch, tracing_data

CODE = ((7, 7), (7, 8), (8, 8), (9, 9), (3, 8), (0, 0))
"""Processes, and threads whose code they have."""
Row = tuple[int, int, int, int, str]
"""Thread, since, duration, kind, innermost frame."""


def loaded(
    folder: Path, *records: Record, event: Event = CLOCK, traced: str = "", filters: Filters | None = None,
    how: str = "apart", release: str = "6.1.0", order: str = "<",
) -> Loaded:  # fmt: skip
    extra = {TRACING_DATA: tracing_data(order, traced)} if traced else {}
    session = Session(events=(event,), order=order, features=Features(extra=extra, os_release=release))
    path = folder / "waits.data"
    code = [Mmap2(pid=pid, tid=pid, addr=0x1000 * tid, len=0x1000, filename=f"{tid}000") for pid, tid in CODE]
    path.write_bytes(write_file(session, [Comm(pid=7, tid=7, comm="main"), *code, *records]))
    found = load(str(path), load_options(timeline=True, off_cpu=how, filters=filters or Filters()))
    found.profile.check()
    return found


def waits(found: Loaded) -> list[Row]:
    profile = found.profile
    samples, locations = profile.samples, profile.locations
    assert samples.wait is not None
    assert samples.time is not None
    rows = []
    for row in range(len(samples)):
        location = profile.stacks.location[samples.stack[row]]
        lines = locations.line_function[locations.line_offsets[location] : locations.line_offsets[location + 1]]
        names = [profile.strings[profile.functions.name[line]] for line in lines]
        frame = names[0] if names else profile.strings[profile.mappings.filename[locations.mapping[location]]]
        tid, kind = int(profile.threads.tid[samples.thread[row]]), int(samples.wait[row])
        rows.append((tid, int(samples.time[row]), int(samples.value[row]), kind, frame))
    return [row for row in rows if row[3]]


def test_a_wait_ends_with_its_thread(tmp_path: Path) -> None:
    """Killed while it slept: no record says that it came back, but its end does; then the recording goes on."""
    found = loaded(tmp_path, ran(7, 10), switch(7, 20, out=True), ended(7, 180), ran(8, 1000))
    assert waits(found) == [(7, 20, 160, Wait.BLOCKED, "7000")]
    assert found.diagnostics["guessed_ends_of_waits"] == 1
    assert found.diagnostics["waits_without_end"] == 0


def test_a_wait_ends_with_the_recording(tmp_path: Path) -> None:
    found = loaded(tmp_path, ran(7, 10), switch(7, 20, out=True), switch(8, 1450))
    assert waits(found) == [(7, 20, 1430, Wait.BLOCKED, "7000")]
    (report,) = (one for one in found.reports if isinstance(one, WaitReport))
    assert isinstance(report, WaitReport)
    assert (report.waited_ns, report.open_ns) == (1430, 1430)
    assert found.diagnostics["waits_without_end"] == 1
    assert found.diagnostics["guessed_ends_of_waits"] == 0


SAMPLED = replace(TRACED, period=1000, flags=TRACED.flags | {"freq"})


def test_switches_that_were_sampled_are_some_of_many(tmp_path: Path) -> None:
    """-F holds for sched_switch: the second sample stands for two more switches, which nobody knows."""
    records = [leaves(7, 100), replace(leaves(7, 400), period=3), leaves(8, 1000)]
    found = loaded(tmp_path, *records, event=SAMPLED, traced=STATES)
    assert [row[:3] for row in waits(found)] == [(7, 100, 300), (7, 400, 600)]
    assert found.diagnostics["switches_not_sampled"] == 2
    assert found.diagnostics.counts["switches_not_sampled"].severity is Severity.LOSS


def test_records_of_all_switches_win_over_samples_of_some(tmp_path: Path) -> None:
    """The sample in front of the switch has the stack that waits."""
    records = [leaves(7, 100), switch(7, 101, out=True), switch(7, 200), switch(7, 300, out=True), switch(7, 400)]
    found = loaded(tmp_path, *records, leaves(8, 1000), event=SAMPLED, traced=STATES)
    assert [row[:3] for row in waits(found)] == [(7, 101, 99), (7, 300, 100)]
    assert waits(found)[0][4] == "7000"
    assert found.diagnostics["switches_not_sampled"] == 0


def test_leaving_for_good_is_no_wait(tmp_path: Path) -> None:
    """A thread leaves its CPU for the last time after its EXIT record; a new thread may get its number."""
    again = [born(8, 300), switch(8, 310), switch(8, 330, out=True), switch(8, 350)]
    found = loaded(tmp_path, ran(8, 10), ended(8, 100), switch(8, 100, out=True), switch(7, 250), *again)
    assert waits(found) == [(8, 330, 20, Wait.BLOCKED, "8000")]


def test_a_thread_that_left_twice_was_back_between(tmp_path: Path) -> None:
    found = loaded(tmp_path, ran(7, 10), switch(7, 20, out=True), switch(7, 50, out=True), switch(7, 90))
    assert [row[1:3] for row in waits(found)] == [(20, 30), (50, 40)]
    assert found.diagnostics["guessed_ends_of_waits"] == 1


@pytest.mark.parametrize(
    ("preempted", "age", "frame"),
    [
        (False, MS // 10, "7000"),
        (False, MS // 10 + 1, "[waiting]"),
        (True, MS, "[preempted]"),
        (True, MS + 1, "[preempted]"),
    ],
)
def test_a_stack_is_that_of_a_sample_near_by(tmp_path: Path, preempted: bool, age: int, frame: str) -> None:
    """A tenth of the interval of 1 ms where a thread blocked, all of it where it was preempted."""
    out = switch(7, 10 + age, out=True, preempted=preempted)
    found = loaded(tmp_path, ran(7, 10), out, switch(7, 90 * MS))
    assert waits(found) == [(7, 10 + age, 90 * MS - 10 - age, Wait.PREEMPTED if preempted else Wait.BLOCKED, frame)]
    leaf = int(found.profile.samples.stack[0])
    is_near = age <= (MS if preempted else MS // 10)
    assert bool(found.profile.stacks.parent[leaf] >= 0) == (preempted and is_near)
    assert (found.diagnostics["guessed_stacks_of_waits"], found.diagnostics["waits_without_stack"]) == (
        int(is_near),
        int(not is_near),
    )
    (report,) = (one for one in found.reports if isinstance(one, WaitReport))
    assert isinstance(report, WaitReport)
    assert (report.near_ns, report.nameless_ns > 0) == (MS // 10, not is_near)


def test_a_loop_is_not_charged_with_the_sleep_after_it(tmp_path: Path) -> None:
    """50 times: 5 ms on the CPU with a sample each ms, 20 ms asleep; one of the last samples happens to be near."""
    records: list[Record] = []
    for turn in range(50):
        start, late = turn * 25 * MS, (turn % 10) * MS // 10
        records.append(switch(7, start))
        records += [ran(7, start + at * MS + late) for at in range(5)]
        records.append(switch(7, start + 5 * MS, out=True))
    charged = {"7000": 0, "[waiting]": 0}
    for _, _, length, _, frame in waits(loaded(tmp_path, *records)):
        charged[frame] += length
    assert charged == {"7000": 4 * 20 * MS, "[waiting]": 45 * 20 * MS}


def test_preempted_threads_of_old_kernels_cannot_be_told(tmp_path: Path) -> None:
    records = (ran(7, 10), switch(7, 20, out=True), switch(7, 30))
    assert waits(loaded(tmp_path, *records, release="4.16.1"))[0][3] == Wait.UNKNOWN
    assert waits(loaded(tmp_path, *records, release="4.17-rc1"))[0][3] == Wait.BLOCKED


def test_threads_without_samples_wait_too(tmp_path: Path) -> None:
    """They are called what their parents were called when they were born, or what they call themselves."""
    records = [
        ran(7, 10), born(8, 20), Comm(pid=7, tid=7, comm="later", stamp=Stamp(pid=7, tid=7, time=25)),
        born(9, 30, parent=8),
        Comm(pid=7, tid=9, comm="nine", stamp=Stamp(pid=7, tid=9, time=40)),
        *(switch(tid, 50 + tid, out=True) for tid in (8, 9, 10)), switch(7, 100),
    ]  # fmt: skip
    found = loaded(tmp_path, *records)
    threads, strings = found.profile.threads, found.profile.strings
    named = {tid: strings[row] for tid, row in zip(threads.tid.tolist(), threads.comm.tolist(), strict=True)}
    assert named == {7: "main", 8: "main", 9: "nine", 10: ":10"}
    assert [strings[row] for row in threads.process.tolist()] == ["main", "later", "later", "later"]
    assert waits(found) == [(tid, 50 + tid, 50 - tid, Wait.BLOCKED, "[waiting]") for tid in (8, 9, 10)]


def test_a_sample_of_another_process_has_no_stack_for_it(tmp_path: Path) -> None:
    found = loaded(tmp_path, ran(8, 10, pid=3), switch(8, 20, out=True), switch(8, 30))
    assert waits(found) == [(8, 20, 10, Wait.BLOCKED, "[waiting]")]
    assert found.profile.threads.pid.tolist() == [3, 7]


def test_the_idle_task_does_not_wait(tmp_path: Path) -> None:
    records = [ran(0, 5, pid=0), ran(7, 10), switch(0, 20, out=True, pid=0), switch(0, 30, pid=0)]
    assert waits(loaded(tmp_path, *records, switch(7, 40, out=True), switch(7, 41))) == [
        (7, 40, 1, Wait.BLOCKED, "7000")
    ]


@pytest.mark.parametrize("order", ["<", ">"])
def test_states_of_threads_that_leave(tmp_path: Path, order: str) -> None:
    """7 sleeps, 8 is preempted, 9 is dead: it never comes back, although no EXIT record says so."""
    traced = [
        leaves(7, 100, 8, 1, order), leaves(8, 150, 9, 0x100, order), leaves(9, 170, 7, 0x10, order),
        leaves(7, 200, 8, 0, order), leaves(8, 240, 7, 2, order),
    ]  # fmt: skip
    assert waits(loaded(tmp_path, *traced, event=TRACED, traced=STATES, order=order)) == [
        (7, 100, 70, Wait.BLOCKED, "7000"),
        (8, 150, 50, Wait.PREEMPTED, "[preempted]"),
        (7, 200, 40, Wait.PREEMPTED, "[preempted]"),
    ]


def test_a_traced_wait_ends_with_its_thread(tmp_path: Path) -> None:
    found = loaded(tmp_path, leaves(7, 100), ended(7, 260), leaves(8, 1000), event=TRACED, traced=STATES)
    assert waits(found) == [(7, 100, 160, Wait.BLOCKED, "7000")]
    assert found.diagnostics["guessed_ends_of_waits"] == 1


def test_waits_are_cut_to_the_time_that_is_asked_for(tmp_path: Path) -> None:
    records = [ran(7, 10), switch(7, 20, out=True), switch(7, 80), ran(7, 90), switch(7, 95, out=True), switch(7, 99)]
    wanted = Filters(times=("0.000000015,0.000000050",))
    found = loaded(tmp_path, *records, filters=wanted, how="beside")
    assert waits(found) == [(7, 20, 31, Wait.BLOCKED, "7000")]
    assert len(found.profile.samples) == 1
    assert waits(loaded(tmp_path, *records, filters=Filters(times=("0.00000005,0.0000001",)))) == [
        (7, 50, 30, Wait.BLOCKED, "7000"),
        (7, 95, 4, Wait.BLOCKED, "7000"),
    ]


def test_waits_pass_the_filters_of_samples(tmp_path: Path) -> None:
    event = Event(period=MS, sample_type=Event().sample_type | k.CPU)
    records = [
        ran(7, 10), ran(8, 11), switch(7, 20, out=True, cpu=0), switch(8, 21, out=True, cpu=1),
        switch(7, 30), switch(8, 40, cpu=1),
    ]  # fmt: skip
    for filters, tids in ((Filters(tids=(8,)), [8]), (Filters(pids=(7,)), [7, 8])):
        assert [row[0] for row in waits(loaded(tmp_path, *records, filters=filters))] == tids
    found = loaded(tmp_path, *records, event=event, filters=Filters(cpus=(0,)))
    assert [row[0] for row in waits(found)] == [7]
    traced = [leaves(7, 100, 8), leaves(8, 150, 7), leaves(7, 200, 8)]
    assert [
        row[:3] for row in waits(loaded(tmp_path, *traced, event=TRACED, traced=STATES, filters=Filters(tids=(7,))))
    ] == [(7, 100, 50)]


def test_no_sample_or_wait_in_that_time(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no sample and no wait in that time"):
        loaded(tmp_path, ran(7, 10), switch(7, 20, out=True), switch(7, 80), filters=Filters(times=("5,6",)))


def test_raw_bytes_of_other_events_say_nothing() -> None:
    """The forged events above carry RAW; this one does not, and must be told from them by its type."""
    assert RAW & k.RAW
    assert not CLOCK.sample_type & k.RAW


def test_frames_of_both_kinds_in_one_recording(tmp_path: Path) -> None:
    """Each made-up frame is one location; a stack that was preempted twice stands in the tree once."""
    records = [
        ran(7, 10), switch(7, 20, out=True, preempted=True), switch(7, 30), switch(7, 5 * MS, out=True),
        switch(7, 6 * MS), switch(8, 6 * MS, out=True, preempted=True), switch(8, 7 * MS),
        ran(7, 8 * MS), switch(7, 8 * MS + 5, out=True, preempted=True), switch(7, 9 * MS),
    ]  # fmt: skip
    found = loaded(tmp_path, *records)
    assert [(tid, frame) for tid, _, _, _, frame in waits(found)] == [
        (7, "[preempted]"), (7, "[waiting]"), (8, "[preempted]"), (7, "[preempted]")
    ]  # fmt: skip
    stacks = found.profile.samples.stack.tolist()
    assert stacks[0] == stacks[3] != stacks[2]
    assert found.profile.stacks.parent[stacks].tolist()[1:3] == [-1, -1]
    assert int(found.profile.locations.synthetic.sum()) == 2
