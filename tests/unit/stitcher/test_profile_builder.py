"""Events and threads in the profile's words, and what the stitcher leaves out."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile.profile import ProfileEvent
from perf2x.reader import open_recording
from perf2x.stitcher.profile_builder import profile_event
from perf2x.stitcher.timeline_tables import thread_names
from perf2x.testing import ProfileBuilder
from tests.forge import CallchainDeferred, Comm, Event, Ksymbol, Mmap, Sample, Session, Stamp, write_file

KERNEL, USER, LATER = 2**64 - 128, 2**64 - 512, 2**64 - 640


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Event(name="cpu-clock", period=7), ("nanoseconds", 7, 0)),
        (Event(name="task-clock", config=1, period=7), ("nanoseconds", 7, 0)),
        (Event(name="page-faults", config=2, period=7), ("count", 7, 0)),
        (Event(name="cycles", type=0, period=7), ("count", 7, 0)),
        (Event(name="instructions", type=0, config=1, period=7), ("count", 7, 0)),
        (Event(name="offcpu-time", config=10, period=1), ("nanoseconds", 1, 0)),
        (Event(name="offcpu-time:u", config=10, period=1), ("nanoseconds", 1, 0)),
        (Event(name="cycles", type=0, period=99, flags=frozenset({"freq"})), ("count", 0, 99)),
        (Event(name="cpu-clock", period=99, flags=frozenset({"freq"})), ("nanoseconds", 0, 99)),
    ],
)
def test_clocks_count_nanoseconds_and_frequencies_are_no_periods(
    tmp_path: Path, event: Event, expected: tuple[str, int, int]
) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(events=(event,)), [Sample()]))
    (found,) = open_recording(str(path)).session.events
    assert profile_event(found, -1) == ProfileEvent(event.name, *expected, is_wait=event.name.startswith("offcpu"))


def test_unnamed_threads_go_by_their_number(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    samples = [Sample(pid=pid, tid=tid, time=5) for pid, tid in ((0, 0), (7, 8), (9, 9))]
    path.write_bytes(write_file(Session(), [Comm(pid=9, tid=9, comm="nine"), *samples]))
    profile = load(str(path), LoadOptions()).profile
    threads = profile.threads
    names = [
        (profile.strings[comm], profile.strings[process])
        for comm, process in zip(threads.comm, threads.process, strict=True)
    ]
    assert names == [("swapper", "swapper"), (":8", ":7"), ("nine", "nine")]


def test_ids_and_numbers_of_names_do_not_meet() -> None:
    name, tid = np.array([-1, 0, -1, 1, -1, 0]), np.array([0, 5, -1, 0, 8, 8])
    assert list(thread_names(["a", "b"], name, tid)) == ["swapper", "a", ":-1", "b", ":8", "a"]


@pytest.mark.parametrize(
    ("address", "name"),
    [(0xFFFFFFFF80000000 - 1, ""), (0xFFFFFFFF80000000, "k"), (0xFFFFFFFFBFFFFFFF, "k"), (0xFFFFFFFFC0000000, "")],
)
def test_the_kernel_extends_one_gibibyte_where_no_mapping_follows(tmp_path: Path, address: int, name: str) -> None:
    """Code of .init.text lies behind what the record says."""
    path = tmp_path / "perf.data"
    kernel = Mmap(pid=2**32 - 1, tid=0, addr=0xFFFFFFFF80000000, len=0x1000, filename="[kernel.kallsyms]_text", misc=1)
    path.write_bytes(write_file(Session(), [kernel, Sample(ip=address, mode=1, chain=(KERNEL, address))]))
    profile = load(str(path), LoadOptions()).profile
    (mapping,) = profile.locations.mapping.tolist()
    assert bool(name) == (mapping >= 0)


def test_nothing_is_taken_off_the_first_address_of_a_mapping(tmp_path: Path) -> None:
    """Uprobes put the first address of [uprobes] in place of a return address; garbage meets a program's first one."""
    path = tmp_path / "perf.data"
    text = Mmap(pid=1, tid=1, addr=0x1000, len=0x1000, filename="/bin/prog", misc=2)
    samples = [
        Sample(ip=0x1050, chain=(USER, 0x1050, caller, 0x1000)) for caller in (0x1000, 0x1001, 0x1FFF, 0x2000, 0)
    ]
    samples.append(Sample(ip=0x1000, chain=(USER, 0x1000, 0x1000)))
    path.write_bytes(write_file(Session(), [text, *samples]))
    profile = load(str(path), LoadOptions()).profile
    profile.check()
    locations = profile.locations
    held = [
        (address, address - lookup)
        for address, lookup, mapping in zip(
            locations.address.tolist(), locations.lookup.tolist(), locations.mapping.tolist(), strict=True
        )
        if mapping >= 0
    ]
    assert held == [(0x1000, 0), (0x1001, 1), (0x1050, 0), (0x1FFF, 1)]
    assert len(profile.stacks) == 9  # the root, four callers, the sampled address under each


def test_a_profile_with_an_address_outside_its_mapping_is_broken() -> None:
    for address, is_caller in ((0x400000, True), (0x410000, False), (0x3FFFFF, False)):
        builder = ProfileBuilder()
        mapping = builder.mapping("/bin/prog", 0x400000, 0x10000)
        builder.location(address, mapping, is_caller=is_caller)
        with pytest.raises(ValueError, match="an address is outside its mapping"):
            builder.build()


@pytest.mark.parametrize(("how", "left"), [("drop", 1), ("mark", 3), ("kernel-only", 3)])
def test_samples_without_their_user_part_are_always_counted(tmp_path: Path, how: str, left: int) -> None:
    path = tmp_path / "perf.data"
    event = Event(flags=frozenset({"sample_id_all", "defer_callchain", "defer_output"}))

    def sample(time: int, cookie: int) -> Sample:
        return Sample(ip=0xFFFFFFFF81000000, mode=1, time=time, chain=(KERNEL, 0xFFFFFFFF81000000, LATER, cookie))

    record = CallchainDeferred(cookie=5, ips=(USER, 0x1000), stamp=Stamp(pid=1, tid=1, time=12))
    path.write_bytes(write_file(Session(events=(event,)), [sample(10, 5), sample(11, 6), sample(13, 7), record]))
    found = load(str(path), LoadOptions(deferred_missing=how))
    assert (found.deferred.joined, found.deferred.missing, found.deferred.refused) == (1, 2, 0)
    assert int(found.profile.samples.count.sum()) == left
    assert found.recorded_samples == 3
    assert not found.profile.locations.line_number.any(), "synthetic frames have no line"


def test_a_timeline_without_times_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    untimed = dataclasses.replace(Event(), sample_type=Event().sample_type & ~4)
    path.write_bytes(write_file(Session(events=(untimed,)), [Sample(ip=0x1000), Sample(ip=0x2000)]))
    found = load(str(path), LoadOptions(timeline=True))
    assert found.diagnostics["no_timestamps"] == 1
    advice = "times shown are positions in the file; record without --per-thread or with -T"
    assert found.diagnostics.counts["no_timestamps"].advice == advice
    times = found.profile.samples.time
    assert times is not None and times[0] < times[1]
    assert load(str(path), LoadOptions()).diagnostics["no_timestamps"] == 0


def test_callers_are_looked_up_one_byte_earlier(tmp_path: Path) -> None:
    """Their addresses are those of the next instruction, which another function may begin with."""
    path = tmp_path / "perf.data"
    mapped = Mmap(pid=1, tid=1, addr=0x1000, len=0x3000, filename="/bin/app")
    path.write_bytes(write_file(Session(), [mapped, Sample(ip=0x1000, chain=(USER, 0x1000, 0x2000))]))
    locations = load(str(path), LoadOptions()).profile.locations
    assert sorted(zip(locations.address.tolist(), locations.lookup.tolist(), strict=True)) == [
        (0x1000, 0x1000), (0x2000, 0x1FFF),
    ]  # fmt: skip


def test_a_kernel_symbol_is_mapped_until_it_is_unregistered(tmp_path: Path) -> None:
    """The address of an unloaded BPF program belongs to no mapping afterwards."""
    path = tmp_path / "perf.data"
    at = 0xFFFFFFFFC0001000
    records = [
        Ksymbol(addr=at, len=0x100, name="bpf_prog_1", stamp=Stamp(time=5)),
        Ksymbol(addr=at, len=0x100, name="bpf_prog_1", unregister=True, stamp=Stamp(time=20)),
        *(Sample(ip=at + 8, mode=1, time=time, chain=(KERNEL, at + 8)) for time in (10, 30)),
    ]
    path.write_bytes(write_file(Session(), records))
    profile = load(str(path), LoadOptions(timeline=True)).profile
    leaf = profile.stacks.location[profile.samples.stack]
    assert (profile.locations.mapping[leaf] >= 0).tolist() == [True, False]


def test_a_timeline_of_samples_without_a_cpu_has_none(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(), [Sample(ip=0x1000, time=5)]))
    cpu = load(str(path), LoadOptions(timeline=True)).profile.samples.cpu
    assert cpu is None or cpu.tolist() == [-1]


@pytest.mark.parametrize(("beyond", "mapped"), [(0x3FFFFFFF, True), (0x40000000, False), (0x5FFFFFFF, False)])
def test_the_kernel_extends_at_most_one_gibibyte(tmp_path: Path, beyond: int, mapped: bool) -> None:
    """The next kernel mapping lies two behind it."""
    path = tmp_path / "perf.data"
    start = 0xFFFFFFFF00000000
    records = [
        Mmap(pid=2**32 - 1, tid=0, addr=start, len=0x1000, filename="[kernel.kallsyms]_text", misc=1),
        Mmap(pid=2**32 - 1, tid=0, addr=start + (2 << 30), len=0x1000, filename="[module]", misc=1),
        Sample(ip=start + beyond, mode=1, time=5, chain=(KERNEL, start + beyond)),
    ]
    path.write_bytes(write_file(Session(), records))
    assert (load(str(path), LoadOptions()).profile.locations.mapping >= 0).tolist() == [mapped]


def test_a_recording_lasts_from_its_first_to_its_last_sample(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(), [Sample(ip=0x1000, time=time) for time in (25, 5, 15)]))
    profile = load(str(path), LoadOptions()).profile
    assert (profile.meta.duration_ns, profile.default_event) == (20, 0)
    path.write_bytes(write_file(Session(), []))
    profile = load(str(path), LoadOptions()).profile
    assert (profile.meta.duration_ns, profile.default_event) == (0, 0)
