"""Batches that are added to a stitcher: which samples are distinct, which are counted, which miss their user stack."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perf2x.base.diagnostics import Diagnostics
from perf2x.emitters.pprof.sample_labels import labels_of
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.model.recording.events import Want
from perf2x.reader import open_recording
from perf2x.stitcher.deferred.cookie_matching import JoinOutcome
from perf2x.stitcher.history.process_history import build_process_history
from perf2x.stitcher.stacks.stack_rows import StackInputs
from perf2x.stitcher.stitch import Stitcher, StitchOptions
from tests.forge import (
    CallchainDeferred,
    Cgroup,
    Comm,
    Event,
    Exit,
    Mmap,
    Record,
    Sample,
    Session,
    Stamp,
    Switch,
    write_file,
)
from tests.forge import kernel as k

WITH_CPU = replace(Event(), sample_type=Event().sample_type | k.CPU)
WITH_CGROUP = replace(Event(), sample_type=WITH_CPU.sample_type | k.CGROUP)
KERNEL_ADDRESS = 0xFFFFFFFF81000000
MOST = 2**31 - 1


def written(tmp_path: Path, records: list[Record], event: Event | None = None) -> str:
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(events=(event or Event(),)), records))
    return str(path)


def stitchers(path: str, options: StitchOptions, count: int = 2) -> tuple[list[Stitcher], list]:
    """``count`` stitchers of one recording, and its batches."""
    recording = open_recording(path)
    history = build_process_history(recording.session, recording.sideband, Diagnostics())
    return [Stitcher(history, options) for _ in range(count)], list(recording.samples(Want.CHAIN))


def waiting(time: int, cookie: int, *kernel: int) -> Sample:
    """A sample whose user part comes later, with so many kernel frames."""
    chain = ((k.CONTEXT_KERNEL, *kernel) if kernel else ()) + (k.CONTEXT_USER_DEFERRED, cookie)
    return Sample(ip=KERNEL_ADDRESS if kernel else 0, mode=1, time=time, chain=chain)


def frames_of(profile) -> list[list[str | int]]:  # type: ignore[no-untyped-def]
    """Each sample's frames, innermost first: addresses, and the names of those that are made up."""
    found = []
    functions = profile.functions.name[profile.locations.line_function].tolist()
    begin = profile.locations.line_offsets.tolist()
    for node in profile.samples.stack.tolist():
        frames = []
        while node >= 0:
            place = int(profile.stacks.location[node])
            synthetic = bool(profile.locations.synthetic[place])
            frames.append(
                profile.strings[functions[begin[place]]] if synthetic else int(profile.locations.address[place])
            )
            node = int(profile.stacks.parent[node])
        found.append(frames)
    return found


def test_a_batch_with_only_deferred_user_parts(tmp_path: Path) -> None:
    """Without a chain or a root frame of its own, the record's frames are the stack."""
    record = CallchainDeferred(cookie=5, ips=(k.CONTEXT_USER, 0x1000), stamp=Stamp(pid=1, tid=1, time=12))
    mapped = Mmap(pid=1, tid=1, addr=0x1000, len=0x1000, filename="/bin/app")
    profile = load(written(tmp_path, [mapped, waiting(10, 5), record]), LoadOptions()).profile
    assert frames_of(profile) == [[0x1000]]


def test_a_batch_with_only_missing_user_parts(tmp_path: Path) -> None:
    profile = load(written(tmp_path, [waiting(10, 5)]), LoadOptions()).profile
    assert frames_of(profile) == [["[user stack missing]"]]


@pytest.mark.parametrize("how", ["mark", "drop"])
def test_figures_of_all_batches_and_processes_add_up(tmp_path: Path, how: str) -> None:
    """Add a recording's only batch twice here and once to another stitcher."""
    records = [waiting(10, 5, KERNEL_ADDRESS), waiting(11, 6, KERNEL_ADDRESS), Sample(ip=0x1000, time=30, period=4)]
    record = CallchainDeferred(cookie=5, ips=(k.CONTEXT_USER, 0x1000), stamp=Stamp(pid=1, tid=1, time=12))
    (here, there), (batch,) = stitchers(written(tmp_path, [*records, record]), StitchOptions(deferred_missing=how))
    here.add(batch)
    here.add(batch)
    there.add(batch)
    here.absorb(there.result())
    result = here.result()
    totals, outcomes = result.totals, result.deferred_tally.outcomes
    assert totals.period == 18.0
    assert int(result.samples.count.sum()) == (6 if how == "drop" else 9)
    assert (totals.first_ns, totals.last_ns) == (10, 30)
    assert {JoinOutcome(outcome): count for outcome, count in enumerate(outcomes.tolist()) if count} == {
        JoinOutcome.NONE: 3, JoinOutcome.JOINED: 3, JoinOutcome.MISSING: 3,
    }  # fmt: skip


@pytest.mark.parametrize(("event", "cpu"), [(Event(), [-1, -1]), (WITH_CPU, [3, 4])])
def test_missing_user_stacks_keep_the_cpu_of_their_sample(tmp_path: Path, event: Event, cpu: list[int]) -> None:
    """A lost record is searched for on the CPU of the sample, on all CPUs where it is unknown (−1)."""
    records = [replace(waiting(10 + cookie, cookie, KERNEL_ADDRESS), cpu=cookie) for cookie in (3, 4)]
    (stitcher,), (batch,) = stitchers(written(tmp_path, records, event), StitchOptions(), 1)
    stitcher.add(batch)
    (missing,) = stitcher.result().deferred_tally.missing
    assert missing.cpu.tolist() == cpu


@pytest.mark.parametrize(("event", "cpu"), [(Event(), [-1, -1]), (WITH_CPU, [3, 4])])
def test_a_timeline_has_the_cpu_of_samples_that_carry_it(tmp_path: Path, event: Event, cpu: list[int]) -> None:
    records = [Sample(ip=0x1000, time=time, cpu=time) for time in (3, 4)]
    (stitcher,), (batch,) = stitchers(written(tmp_path, records, event), StitchOptions(timeline=True), 1)
    stitcher.add(batch)
    timeline = stitcher.result().timeline
    assert timeline is not None
    assert (timeline.time.tolist(), timeline.cpu.tolist()) == ([3, 4], cpu)


@pytest.mark.parametrize("timeline", [False, True])
def test_samples_are_split_by_cgroup_on_request(tmp_path: Path, timeline: bool) -> None:
    """A cgroup without a recorded path goes by its number."""
    samples = [Sample(ip=0x1000, time=5 + number, cpu=1, cgroup=number) for number in (7, 2**40)]
    path = written(tmp_path, [Cgroup(id=2**40, path="/user.slice"), *samples], WITH_CGROUP)
    profile = load(path, LoadOptions(keep=frozenset({"cgroup"}), timeline=timeline)).profile
    assert profile.samples.cgroup is not None
    assert sorted(profile.strings[text] for text in profile.samples.cgroup.tolist()) == ["/user.slice", "cgroup:7"]
    by_cpu = load(path, LoadOptions(keep=frozenset({"cpu"}), timeline=timeline)).profile.samples
    assert by_cpu.cpu is not None and set(by_cpu.cpu.tolist()) == {1}
    assert by_cpu.count.sum() == 2 and len(by_cpu) == (2 if timeline else 1)
    assert by_cpu.cgroup is None, "not requested"


def test_an_unrecorded_cgroup_has_no_name_and_no_label(tmp_path: Path) -> None:
    path = written(tmp_path, [Sample(ip=0x1000, time=5)])
    profile = load(path, LoadOptions(keep=frozenset({"cgroup"}))).profile
    hidden = load(path, load_options(keep=frozenset({"cgroup"}), anonymize="secret")).profile
    for one in (profile, hidden):
        assert one.samples.cgroup is not None and [one.strings[text] for text in one.samples.cgroup] == [""]
    strings: list[str] = [""]

    def intern(text: str) -> int:
        strings.append(text)
        return strings.index(text)

    labels = labels_of(profile, ("cgroup",), intern)
    assert len(labels.keys()) == 1
    assert len(labels.encoded(np.arange(1, dtype=np.int64)).values) == 0


@pytest.mark.parametrize("options", [LoadOptions(keep=frozenset({"cgroup"})), LoadOptions(keep=frozenset({"cpu"}))])
def test_samples_without_cpu_and_cgroup_are_one_row(tmp_path: Path, options: LoadOptions) -> None:
    records = [Sample(ip=0x1000, time=time, cpu=time, cgroup=time) for time in (5, 6)]
    assert load(written(tmp_path, records), options).profile.samples.count.tolist() == [2]


def test_a_timeline_has_the_context_switches_of_the_recording(tmp_path: Path) -> None:
    records = [Sample(ip=0x1000, time=5), Switch(stamp=Stamp(pid=1, tid=1, time=7))]
    path = written(tmp_path, records)
    switches = load(path, LoadOptions(timeline=True)).profile.switches
    assert switches is not None and switches.time.tolist() == [7]
    assert load(path, LoadOptions()).profile.switches is None
    assert load(written(tmp_path, records[:1]), LoadOptions(timeline=True)).profile.switches is None


def test_an_exit_is_the_last_switch_of_a_thread(tmp_path: Path) -> None:
    switch = Switch(stamp=Stamp(pid=1, tid=1, time=4), is_out=False)
    end = Exit(pid=1, ppid=0, tid=1, ptid=0, time=9, stamp=Stamp(pid=1, tid=1, time=9))
    records = [switch, Sample(ip=0x1000, time=5), end]
    switches = load(written(tmp_path, records), LoadOptions(timeline=True)).profile.switches
    assert switches is not None
    assert list(zip(switches.time.tolist(), switches.is_out.tolist(), strict=True)) == [(4, False), (9, True)]
    assert switches.state.tolist() == [-1, 0x10], "EXIT_DEAD"
    assert load(written(tmp_path, records[1:]), LoadOptions(timeline=True)).profile.switches is None


def test_threads_differ_in_any_bit_of_pid_and_tid(tmp_path: Path) -> None:
    """−1 and the largest id, which differ only in the sign, are two processes."""
    ids = [-1, 0, 1, MOST]
    records = [Sample(ip=0x1000, time=5, pid=pid % 2**32, tid=tid % 2**32) for pid in ids for tid in ids]
    names = [Comm(pid=1, tid=tid % 2**32, comm="same") for tid in ids]
    threads = load(written(tmp_path, [*names, *records]), LoadOptions()).profile.threads
    found = list(zip(threads.pid.tolist(), threads.tid.tolist(), strict=True))
    assert sorted(found) == [(pid, tid) for pid in ids for tid in ids]


def test_packed_stack_inputs_differ_in_any_bit() -> None:
    """Several numbers share a column."""
    numbers = np.array([-1, 0, 1, 2, MOST - 1, MOST], np.int64)
    high, low = (column.reshape(-1) for column in np.meshgrid(numbers, numbers))
    none, count = np.zeros(len(high), np.int64), len(high)
    empty: list = [None, none.astype(np.uint8)]
    by_epoch = StackInputs(*empty, high, low, none, none, none).columns()
    by_record = StackInputs(*empty, none, none, high, low, none).columns()
    by_rest = StackInputs(*empty, none, high, none, low, none).columns()
    for columns in (by_epoch, by_record, by_rest):
        assert len(set(zip(*(column.tolist() for column in columns), strict=True))) == count
    modes, roots = (
        column.reshape(-1) for column in np.meshgrid(np.arange(8, dtype=np.int64), np.arange(10, dtype=np.int64))
    )
    none = np.zeros(len(modes), np.int64)
    by_mode = StackInputs(None, modes.astype(np.uint8), none, none, none, none, roots).columns()  # type: ignore[arg-type]
    assert [len(set(column.tolist())) for column in by_mode] == [80, 1, 1]


def test_an_event_of_user_code_that_was_sampled_in_the_kernel_says_so(tmp_path: Path) -> None:
    """Linux 7.3 gives such samples the address 0; other events, and samples with an address, are as they were."""
    flags = Event().flags | {"exclude_kernel"}
    kinds = k.IDENTIFIER | Event().sample_type
    user_only = replace(Event(), name="cpu-clock:u", flags=flags, sample_type=kinds, ids=(1,))
    both = replace(Event(), sample_type=kinds, ids=(2,))
    wanted: list[tuple[Sample, list[str | int]]] = [
        (Sample(chain=()), ["[kernel address hidden]"]),
        (Sample(chain=(k.CONTEXT_USER,)), ["[kernel address hidden]"]),
        (Sample(chain=(k.CONTEXT_USER, 0x1000)), [0x1000]),
        (Sample(chain=(k.CONTEXT_USER,), ip=0x1000), []),
        (Sample(chain=(), event=1), []),
    ]
    records = [
        replace(sample, time=11 + row, mode=1, ip=sample.ip if row == 3 else 0)
        for row, (sample, _) in enumerate(wanted)
    ]
    mapped = Mmap(pid=records[0].pid, tid=records[0].tid, addr=0x1000, len=0x1000, filename="/bin/app")
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(events=(user_only, both)), [mapped, *records]))
    profile = load(str(path), LoadOptions(timeline=True)).profile
    assert frames_of(profile) == [frames for _, frames in wanted]
