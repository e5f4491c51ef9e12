import io
from dataclasses import replace

import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters.perfetto.perfetto import Perfetto
from perf2x.emitters.timeline.tracks import UNKNOWN_ID
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import NO_STACK
from perf2x.testing import EmitterContract, ProfileBuilder
from tests.support import outputs
from tests.support.perfetto_trace import Sample, Trace, read_trace
from tests.support.recordings import corpus_cases

CASES = [case for case in corpus_cases() if case.name in {"events", "family", "compat32", "per_thread", "calls"}]


def written(profile: Profile) -> Trace:
    out = io.BytesIO()
    Perfetto().emit(profile, out)
    return read_trace(out.getvalue())


class TestContract(EmitterContract):
    def emitter(self) -> Perfetto:
        return Perfetto()

    def total(self, output: bytes) -> int:
        return sum(sample.weight for sample in read_trace(output).samples)


def expected(profile: Profile) -> list[Sample]:
    """The scalar twin: samples of one event after the other, without mappings, places and kinds of frames."""
    rows = range(len(profile.samples))
    return [row_of(profile, row) for row in sorted(rows, key=lambda row: (order(profile, row), row))]


def order(profile: Profile, row: int) -> tuple[bool, int]:
    event = int(profile.samples.event[row])
    return event != profile.default_event, event


def row_of(profile: Profile, row: int) -> Sample:
    samples, threads = profile.samples, profile.threads
    thread, cpu = int(samples.thread[row]), int(samples.cpu[row])
    pid, tid = int(threads.pid[thread]), int(threads.tid[thread])
    leaf = int(samples.stack[row])
    innermost = int(profile.stacks.location[leaf]) if leaf >= 0 else -1
    has_mode = innermost >= 0 and not profile.locations.synthetic[innermost]
    return Sample(
        event=profile.events[int(samples.event[row])].name,
        time=int(samples.time[row]),
        pid=pid if pid >= 0 else UNKNOWN_ID,
        tid=UNKNOWN_ID if tid < 0 or (tid == 0 and pid != 0) else tid,
        cpu=cpu if cpu >= 0 else None,
        mode=int(profile.locations.mode[innermost]) if has_mode else 0,
        stack=tuple(names_of(profile, leaf)),
        weight=int(samples.value[row]),
    )


def names_of(profile: Profile, leaf: int) -> list[str]:
    if leaf < 0:
        return [NO_STACK]
    found: list[str] = []
    while leaf >= 0:
        location = int(profile.stacks.location[leaf])
        first, last = profile.locations.line_offsets[location : location + 2].tolist()
        functions = profile.locations.line_function[first:last].tolist()
        found += [profile.strings[profile.functions.name[row]] for row in functions] or [bare(profile, location)]
        leaf = int(profile.stacks.parent[leaf])
    return found[::-1]


def bare(profile: Profile, location: int) -> str:
    mapping = int(profile.locations.mapping[location])
    if mapping < 0:
        return "[unknown]"
    name = profile.strings[profile.mappings.filename[mapping]].rstrip("/").rpartition("/")[2]
    return name.partition("]")[0] + "]" if name.startswith("[") else f"[{name}]"


def bare_names(sample: Sample) -> Sample:
    return replace(sample, stack=sample.names)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_samples_are_read_back(case) -> None:
    profile = outputs.profile_of(case.data, timeline=True, symbols=outputs.symbols_of(case))
    trace = written(profile)
    assert [bare_names(sample) for sample in trace.samples] == expected(profile)
    threads = profile.threads
    ids = set(zip(threads.pid.tolist(), threads.tid.tolist(), strict=True))
    assert {key for key in trace.threads if UNKNOWN_ID not in key} == {pair for pair in ids if min(pair) >= 0}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_stacks_are_those_of_collapsed(case) -> None:
    profile = outputs.profile_of(case.data, timeline=True, symbols=outputs.symbols_of(case))
    folded = outputs.profile_of(case.data, symbols=outputs.symbols_of(case))
    weights = written(profile).weights()
    for event in {name for name, _ in weights}:
        collapsed = outputs.read_collapsed(outputs.emitted(folded, "collapsed", event=event))
        seen = {
            tuple(name.replace(";", ":") for name in stack): total
            for (name, stack), total in weights.items()
            if name == event and total
        }
        without_threads: dict[tuple[str, ...], int] = {}
        for stack, total in collapsed.items():
            without_threads[stack[1:]] = without_threads.get(stack[1:], 0) + total
        assert seen == {stack: total for stack, total in without_threads.items() if total}


def busy() -> ProfileBuilder:
    builder = ProfileBuilder()
    builder.event("cycles:P", "count")
    builder.event("page-faults", "count", period=1, frequency=0)
    builder.event("sched:sched_switch", "count", period=1, frequency=0)
    return builder


def test_each_event_has_a_sequence_of_its_own() -> None:
    builder = busy()
    place = builder.function("main")
    thread = builder.thread()
    for number, event in enumerate([2, 0, 1, 0]):
        builder.sample([place], thread, event, time=number, value=number + 1)
    trace = written(builder.build(timeline=True))
    sequences = {packet.trusted_packet_sequence_id for packet in trace.of("stack_sample")}
    assert len(sequences) == 3
    assert [sample.event for sample in trace.samples] == ["cycles:P", "cycles:P", "page-faults", "sched:sched_switch"]
    counters = [
        packet.trace_packet_defaults.stack_sample_defaults
        for packet in trace.packets
        if packet.trace_packet_defaults.HasField("stack_sample_defaults")
    ]
    assert [(one.source, one.primary_descriptor.unit, one.primary_descriptor.scope) for one in counters] == [
        ("linux.perf", 2, 1), ("linux.perf", 5, 1), ("linux.perf", 9, 1)
    ]  # fmt: skip


def frames_of(builder: ProfileBuilder, *places: int) -> list:
    builder.sample(list(places), builder.thread(), builder.event())
    return list(written(builder.build(timeline=True)).samples[0].stack)


def test_inlined_functions_are_frames_of_one_place() -> None:
    builder = ProfileBuilder()
    program = builder.mapping("/usr/bin/prog", 0x400000, offset=0x1000, build_id="c0ffee00")
    lines = [("inner", "a.h", 7), ("outer", "a.c", 30)]
    outer, inner = frames_of(builder, builder.location(0x400124, program, lines, is_caller=True))
    assert (outer.name, outer.source, outer.line) == ("outer", "a.c", 30)
    assert (inner.name, inner.source, inner.line) == ("inner", "a.h", 7)
    for frame in (outer, inner):
        assert (frame.mapping, frame.build_id, frame.rel_pc, frame.kind) == ("/usr/bin/prog", "c0ffee00", 0x1123, 1)


def test_kinds_of_frames() -> None:
    builder = ProfileBuilder()
    kernel = builder.mapping("[kernel.kallsyms]_text", 2**64 - 2**31, 2**31 - 1, kernel=True, offset=2**64 - 2**31)
    jit = builder.mapping("/tmp/perf-100.map", 0x7000_0000_0000)
    anonymous = builder.mapping("//anon", 0x7100_0000_0000)
    found = frames_of(
        builder,
        builder.location(0, lines=["[truncated stack]"], synthetic=True),
        builder.function("main"),
        builder.location(0x7000_0000_0010, jit, ["LazyCompile:~f"]),
        builder.location(0x7000_0000_0020, jit, ["py::main:/x.py"]),
        builder.location(0x7100_0000_0020, anonymous),
        builder.location(2**64 - 2**20, kernel, ["read"], CpuMode.KERNEL),
        builder.location(0x1234, lines=["guest"], mode=CpuMode.GUEST_KERNEL),
    )
    assert [frame.kind for frame in found] == [0, 1, 4, 3, 1, 2, 2]
    assert found[5].rel_pc == 2**31 - 2**20
    assert [frame.mapping for frame in found][3:] == ["/tmp/perf-100.map", "//anon", "/[kernel.kallsyms]_text", ""]


def test_what_is_used_most_has_the_lowest_numbers() -> None:
    builder = ProfileBuilder()
    builder.event()
    thread, rare, common = builder.thread(), builder.function("rare"), builder.function("common")
    for time in range(5):
        builder.sample([rare if time == 0 else common], thread, time=time)
    stacks = [packet.stack_sample.callstack_iid for packet in written(builder.build(timeline=True)).of("stack_sample")]
    assert stacks == [2, 1, 1, 1, 1]


def test_names_are_those_of_the_last_sample() -> None:
    builder = ProfileBuilder()
    builder.event()
    place = builder.function("main")
    early, late = builder.thread("sh", 7), builder.thread("sleep", 7)
    other = builder.thread("worker", 7, 8, process="sleep")
    for time, thread in enumerate((late, other, early)):
        builder.sample([place], thread, time=9 - time)
    trace = written(builder.build(timeline=True))
    assert trace.threads == {(7, 7): "sleep", (7, 8): "worker"}
    assert list(trace.processes[7].cmdline) == ["sleep"]


def test_the_idle_process_keeps_its_number() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.sample([builder.function("cpu_idle", CpuMode.KERNEL)], builder.thread("swapper", 0, 0), cpu=3)
    (sample,) = written(builder.build(timeline=True)).samples
    assert (sample.pid, sample.tid, sample.cpu, sample.mode) == (0, 0, 3, 1)


def test_a_sample_takes_few_bytes() -> None:
    builder = ProfileBuilder()
    builder.event(frequency=997)
    threads = [builder.thread("worker", 4000, 4000 + row) for row in range(40)]
    stacks = [[builder.function(f"f{row}"), builder.function(f"g{row % 50}")] for row in range(300)]
    for row in range(6000):
        time = 40_000_000_000_000 + row * 1_003_009
        builder.sample(stacks[row * row % 300], threads[row % 40], time=time, value=1_003_009, cpu=row % 8)
    out = io.BytesIO()
    Perfetto().emit(builder.build(timeline=True), out)
    assert len(out.getvalue()) < 35 * 6000
