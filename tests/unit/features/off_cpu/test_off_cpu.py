"""``off_cpu`` on forged recordings whose waits are known: when, for how long, in which stack, and what was guessed."""

import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from perf2x.base.diagnostics import Severity
from perf2x.errors import OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.kernel.load_result import Loaded
from perf2x.model.profile.profile import Wait
from tests.forge import Comm, Event, Features, Record, Sample, Session, Stamp, Switch, write_file
from tests.forge import kernel as k
from tests.forge.features import TRACING_DATA
from tests.forge.switches import FORMAT, NEXT_PID, RAW, TRACED, USER, tracing_data

OUT = 1 << 13
"""PERF_RECORD_MISC_SWITCH_OUT"""


def leaves(tid: int, time: int, to: int | None = None, order: str = "<", size: int = NEXT_PID + 4) -> Sample:
    """sched_switch at which thread ``tid`` leaves its CPU and ``to`` enters it."""
    raw = b"" if to is None else struct.pack(order + "4xii", tid, to)[:size]
    return Sample(pid=tid, tid=tid, ip=0x1000 * tid, time=time, chain=(USER, 0x1000 * tid), raw=raw)


def loaded(
    folder: Path,
    events: Iterable[Event],
    records: Iterable[Record],
    how: str = "apart",
    order: str = "<",
    traced: str = "",
) -> Loaded:
    extra = {TRACING_DATA: tracing_data(order, traced)} if traced else {}
    session = Session(events=tuple(events), order=order, features=Features(extra=extra))
    threads = [Comm(pid=tid, tid=tid, comm=f"t{tid}") for tid in (7, 8)]
    path = folder / "waits.data"
    path.write_bytes(write_file(session, [*threads, *records]))
    return load(str(path), load_options(timeline=True, off_cpu=how))


def waits(found: Loaded) -> list[tuple[int, int, int]]:
    """(thread, since, duration) of the samples of the last event."""
    samples, threads = found.profile.samples, found.profile.threads
    assert samples.time is not None
    rows = samples.event == len(found.profile.events) - 1
    tid = threads.tid[samples.thread[rows]].tolist()
    return sorted(zip(tid, samples.time[rows].tolist(), samples.value[rows].tolist(), strict=True))


def leaf_names(found: Loaded) -> list[str]:
    """Innermost function of every wait, in order of time; "" where it has no name."""
    profile = found.profile
    locations, rows = profile.locations, profile.samples.event == len(profile.events) - 1
    names = [""] * len(locations)
    for row in range(len(locations)):
        for line in range(locations.line_offsets[row], locations.line_offsets[row + 1]):
            names[row] = profile.strings[profile.functions.name[locations.line_function[line]]]
    return [names[profile.stacks.location[stack]] if stack >= 0 else "" for stack in profile.samples.stack[rows]]


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_next_thread_of_a_switch_is_back(tmp_path: Path, order: str) -> None:
    """7 leaves at 100 for 8, which leaves at 160 for 7; both are guessed to be back at their own next samples later."""
    records = [leaves(7, 100, 8, order), leaves(8, 160, 7, order), leaves(7, 300, 8, order), leaves(8, 301, 9, order)]
    found = loaded(tmp_path, [TRACED], records, order=order, traced=FORMAT)
    assert waits(found) == [(7, 100, 60), (7, 300, 1), (8, 160, 140)]
    assert found.diagnostics["guessed_ends_of_waits"] == 0
    assert found.diagnostics["waits_without_end"] == 1


def test_a_switch_whose_bytes_end_before_the_next_thread_tells_nothing(tmp_path: Path) -> None:
    """Bytes come in words of 8 with their size before them: 12 are just enough, 4 are too few."""
    records = [leaves(7, 100, 8), leaves(8, 160, 7, size=4), leaves(7, 300, 8)]
    found = loaded(tmp_path, [TRACED], records, traced=FORMAT)
    assert waits(found) == [(7, 100, 200), (8, 160, 140)]
    assert found.diagnostics["guessed_ends_of_waits"] == 1
    assert found.diagnostics.counts["guessed_ends_of_waits"].severity is Severity.GUESS
    assert "record with -a" in found.diagnostics.counts["guessed_ends_of_waits"].advice


@pytest.mark.parametrize("traced", ["", FORMAT.replace("next_pid", "other"), FORMAT.replace("316", "317")])
def test_without_the_format_a_threads_own_samples_tell(tmp_path: Path, traced: str) -> None:
    records = [leaves(7, 100, 8), leaves(8, 160, 7), leaves(7, 300, 8)]
    found = loaded(tmp_path, [TRACED], records, traced=traced)
    assert waits(found) == [(7, 100, 200), (8, 160, 140)]
    assert found.diagnostics["guessed_ends_of_waits"] == 2


def test_samples_of_other_events_end_waits_but_do_not_begin_any(tmp_path: Path) -> None:
    """``sched:sched_switch:k`` is sched_switch; what a clock's sample holds as raw bytes names no thread."""
    events = [Event(ids=(1,), sample_type=RAW | k.IDENTIFIER), Event(
        name="sched:sched_switch:k", type=2, config=316, period=1, ids=(2,), sample_type=RAW | k.IDENTIFIER
    )]  # fmt: skip
    raw = bytes(NEXT_PID) + struct.pack("<i", 7)
    records = [
        Sample(id=2, pid=7, tid=7, ip=0x7000, time=100, chain=(USER, 0x7000), raw=bytes(16)),
        Sample(id=1, pid=8, tid=8, ip=0x8000, time=120, chain=(USER, 0x8000), raw=raw),
        Sample(id=1, pid=7, tid=7, ip=0x7000, time=180, chain=(USER, 0x7000), raw=raw),
    ]
    assert waits(loaded(tmp_path, events, records, traced=FORMAT)) == [(7, 100, 80)]


def test_context_switch_records_end_the_waits_of_sched_switch(tmp_path: Path) -> None:
    """They are no guess, and come before the thread's own next sample."""
    records = [leaves(7, 100), Switch(stamp=Stamp(pid=7, tid=7, time=130)), leaves(7, 200)]
    found = loaded(tmp_path, [TRACED], records)
    assert waits(found) == [(7, 100, 30)]
    assert found.diagnostics["guessed_ends_of_waits"] == 0


def test_stacks_of_context_switches_are_counted(tmp_path: Path) -> None:
    """8 has no sample: nobody knows where it waits; 7 waits twice in its sample's stack, once at the very same time."""
    records = [
        *(Switch(misc=misc, stamp=Stamp(pid=8, tid=8, time=time)) for time, misc in ((10, OUT), (20, 0))),
        Sample(pid=7, tid=7, ip=0x7000, time=100, chain=(USER, 0x7000)),
        *(
            Switch(misc=misc, stamp=Stamp(pid=7, tid=7, time=time))
            for time, misc in ((100, OUT), (110, 0), (150, OUT), (170, 0))
        ),
    ]
    found = loaded(tmp_path, [Event()], records)
    assert waits(found) == [(7, 100, 10), (7, 150, 20), (8, 10, 10)]
    assert leaf_names(found) == ["[waiting]", "", ""]
    assert found.diagnostics["waits_without_stack"] == 1
    assert found.diagnostics.counts["waits_without_stack"].severity is Severity.INFO
    assert found.diagnostics["guessed_stacks_of_waits"] == 2
    assert found.diagnostics["waits_without_end"] == 0


def measured(pid: int, time: int, duration: int) -> Sample:
    """A sample of ``perf record --off-cpu``, as it stands in the file when the wait is over."""
    return Sample(id=2, pid=1, tid=1, time=time, raw=struct.pack("<iiQQQQQ", pid, pid, duration, 2, USER, 0x2010, 0))


def measured_events(name: str = "offcpu-time") -> list[Event]:
    sample_type = RAW | k.IDENTIFIER
    return [
        Event(ids=(1,), sample_type=sample_type),
        Event(name=name, type=1, config=10, sample_type=sample_type, ids=(2,), period=1),
    ]


@pytest.mark.parametrize("name", ["offcpu-time", "offcpu-time:u"])
@pytest.mark.parametrize("how", ["apart", "beside"])
def test_measured_waits_begin_as_long_before_their_sample_as_they_last(tmp_path: Path, how: str, name: str) -> None:
    records = [Sample(id=1, pid=7, tid=7, time=5_000, chain=(USER, 0x7000)), measured(7, 8_000, 5_000)]
    found = loaded(tmp_path, measured_events(name), records, how)
    assert waits(found) == [(7, 3_000, 5_000)]
    last, samples = found.profile.events[-1], found.profile.samples
    assert (last.name, last.unit, last.is_wait) == ("off-cpu" if how == "apart" else name, "nanoseconds", True)
    assert how == "beside" or (last.period, last.frequency) == (0, 0)
    assert samples.wait is not None
    assert samples.wait.tolist() == [Wait.UNKNOWN, Wait.RAN][: len(samples)]
    found.profile.check()


def test_sums_of_waits_have_no_place(tmp_path: Path) -> None:
    """perf gives sums of short waits times of the far future; a wait cannot begin before the clock did."""
    records = [
        Sample(id=1, pid=7, tid=7, time=5_000, chain=(USER, 0x7000)),
        measured(7, 0xFFFFFFFF00000000, 900),
        measured(8, 8_000, 8_000),
        measured(8, 8_500, 8_501),
    ]
    samples = loaded(tmp_path, measured_events(), records).profile.samples
    assert samples.time is not None
    assert samples.wait is not None
    rows = zip(samples.time.tolist(), samples.value.tolist(), samples.wait.tolist(), strict=True)
    assert list(rows) == [(0, 8_000, Wait.UNKNOWN), (8_500, 900, Wait.UNPLACED), (8_500, 8_501, Wait.UNPLACED)]


def test_sums_of_waits_do_not_stretch_the_recording(tmp_path: Path) -> None:
    records = [
        *(Sample(id=1, pid=7, tid=7, time=time, chain=(USER, 0x7000)) for time in (5_000, 6_000)),
        measured(7, 0xFFFFFFFF00000000, 900),
    ]
    path = tmp_path / "sums.data"
    path.write_bytes(write_file(Session(events=tuple(measured_events())), records))
    found = load(str(path), LoadOptions(timeline=True))
    assert (found.profile.meta.start_ns, found.profile.meta.duration_ns) == (5_000, 1_000)
    assert found.profile.samples.time is not None
    assert found.profile.samples.time.tolist() == [5_000, 6_000, 6_000]
    assert not found.diagnostics.counts


def test_merging_needs_a_clock(tmp_path: Path) -> None:
    cycles = Event(name="cycles", type=0, config=0)
    sample = Sample(pid=7, tid=7, time=5, chain=(USER, 0x7000))
    switch = [Switch(misc=misc, stamp=Stamp(pid=7, tid=7, time=time)) for time, misc in ((10, OUT), (20, 0))]
    assert waits(loaded(tmp_path, [cycles], [sample, *switch])) == [(7, 10, 10)]
    with pytest.raises(OptionError, match="no event of the recording measures time"):
        loaded(tmp_path, [cycles], [sample, *switch], "merged")
    clocks = [Event(name="cycles", type=0, ids=(1,), sample_type=RAW | k.IDENTIFIER), Event(
        name="cpu-clock", ids=(2,), sample_type=RAW | k.IDENTIFIER
    )]  # fmt: skip
    sampled = Sample(id=2, pid=7, tid=7, time=5, period=9, chain=(USER, 0x7000))
    merged = loaded(tmp_path, clocks, [sampled, *switch], "merged").profile
    assert [event.name for event in merged.events] == ["cycles", "wall-clock"]
    assert merged.default_event == 1
    assert merged.samples.value.tolist() == [9, 10]


def test_a_way_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="off_cpu=yes: choose from apart, beside, merged"):
        loaded(tmp_path, [TRACED], [leaves(7, 100)], "yes")


def test_other_events_keep_their_places_beside_a_wall_clock(tmp_path: Path) -> None:
    """A wall clock counts something other than its period says."""
    kinds = (("cycles", 0), ("cpu-clock", 1), ("faults", 0))
    events = [
        Event(name=name, type=kind, ids=(at,), sample_type=RAW | k.IDENTIFIER)
        for at, (name, kind) in enumerate(kinds, 1)
    ]
    records = [
        Sample(id=2, pid=7, tid=7, time=5, period=9, chain=(USER, 0x7000)),
        *(Switch(misc=misc, stamp=Stamp(pid=7, tid=7, time=time, id=2)) for time, misc in ((10, OUT), (20, 0))),
    ]
    found = loaded(tmp_path, events, records, "merged").profile.events
    assert [event.name for event in found] == ["cycles", "wall-clock", "faults"]
    assert (found[1].unit, found[1].period, found[1].frequency) == ("nanoseconds", 0, 0)


def test_one_event_with_times_is_enough(tmp_path: Path) -> None:
    events = [
        Event(ids=(1,), sample_type=RAW | k.IDENTIFIER),
        Event(name="other", type=0, ids=(2,), sample_type=(RAW | k.IDENTIFIER) & ~k.TIME),
    ]
    records = [
        Sample(id=1, pid=7, tid=7, time=5, chain=(USER, 0x7000)),
        *(Switch(misc=misc, stamp=Stamp(pid=7, tid=7, time=time, id=1)) for time, misc in ((10, OUT), (20, 0))),
    ]
    assert waits(loaded(tmp_path, events, records)) == [(7, 10, 10)]
