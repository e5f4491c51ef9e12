import gzip
import io

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters.pprof import profile_pb2
from perf2x.emitters.pprof.pprof import Pprof
from perf2x.errors import OptionError
from perf2x.model.profile.profile import Meta, Profile
from perf2x.testing import EmitterContract, ProfileBuilder


def message(profile: Profile, **options: object) -> profile_pb2.Profile:
    out = io.BytesIO()
    Pprof(**options).emit(profile, out)
    parsed = profile_pb2.Profile.FromString(gzip.decompress(out.getvalue()))
    check_valid(parsed)
    return parsed


def check_valid(parsed: profile_pb2.Profile) -> None:
    """Assert what pprof's CheckValid demands, and Parca's stricter rules."""
    assert parsed.string_table[0] == ""
    for table in (parsed.mapping, parsed.location, parsed.function):
        assert [row.id for row in table] == list(range(1, len(table) + 1))
    for sample in parsed.sample:
        assert len(sample.value) == len(parsed.sample_type)
        assert all(1 <= row <= len(parsed.location) for row in sample.location_id)
        keys = [label.key for label in sample.label]
        assert len(set(keys)) == len(keys)
        assert all(keys)
        assert all(bool(label.num_unit) != bool(label.str) for label in sample.label)
    for location in parsed.location:
        assert location.mapping_id <= len(parsed.mapping)
        assert all(1 <= line.function_id <= len(parsed.function) for line in location.line)
    assert not parsed.doc_url


def stacks(parsed: profile_pb2.Profile) -> dict[tuple[str, ...], list[int]]:
    """Function names, root first, to values; inlined functions included."""
    text, found = parsed.string_table, {}
    for sample in parsed.sample:
        places = [parsed.location[row - 1] for row in sample.location_id]
        names = [text[parsed.function[line.function_id - 1].name] for place in places for line in place.line]
        found[tuple(reversed(names))] = list(sample.value)
    return found


def types(parsed: profile_pb2.Profile) -> list[tuple[str, str]]:
    return [(parsed.string_table[kind.type], parsed.string_table[kind.unit]) for kind in parsed.sample_type]


def labels(parsed: profile_pb2.Profile) -> list[dict[str, object]]:
    text = parsed.string_table
    return [
        {text[label.key]: label.num if label.num_unit else text[label.str] for label in sample.label}
        for sample in parsed.sample
    ]


class TestPprofContract(EmitterContract):
    def emitter(self) -> Pprof:
        return Pprof()

    def total(self, output) -> int:
        parsed = profile_pb2.Profile.FromString(gzip.decompress(output))
        check_valid(parsed)
        return sum(sum(sample.value[1:]) for sample in parsed.sample)


class TestPprofFramesContract(TestPprofContract):
    def emitter(self) -> Pprof:
        return Pprof(inline="frames", label=("pid", "tid", "comm", "process", "thread", "cpu", "mode", "event", "time"))


@pytest.fixture
def builder(builder: ProfileBuilder) -> ProfileBuilder:
    builder.event("page-faults", "count", period=1)
    return builder


def test_stacks_and_values(builder) -> None:
    main, work = builder.function("main"), builder.function("work")
    builder.sample([main, work], value=30, count=3)
    builder.sample([main], value=12, count=1)
    parsed = message(builder.build())
    assert types(parsed) == [("samples", "count"), ("cpu-clock", "nanoseconds")]
    assert stacks(parsed) == {("main", "work"): [3, 30], ("main",): [1, 12]}
    assert parsed.string_table[parsed.default_sample_type] == "cpu-clock"
    assert (parsed.string_table[parsed.period_type.type], parsed.period) == ("cpu-clock", 1_000_000)


def test_events_stand_side_by_side_the_default_last(builder) -> None:
    main = builder.function("main")
    builder.sample([main], value=100, count=2)
    builder.sample([main], event=1, value=5, count=5)
    parsed = message(builder.build())
    assert types(parsed) == [("samples", "count"), ("page-faults", "count"), ("cpu-clock", "nanoseconds")]
    assert stacks(parsed) == {("main",): [7, 5, 100]}


def test_labels_and_zeros_have_units(builder) -> None:
    idle = builder.thread("swapper/0", 0, 0)
    builder.sample([builder.function("idle")], idle)
    parsed = message(builder.build())
    assert labels(parsed) == [{"pid": 0, "tid": 0, "comm": "swapper/0"}]


def test_pid_and_tid_are_numbers_of_their_own(builder) -> None:
    """The label tid of a thread that is not its process's first is not the label pid."""
    builder.sample([builder.function("main")])
    assert labels(message(builder.build())) == [{"pid": 7, "tid": 8, "comm": "my prog"}]
    assert labels(message(builder.build(), label=("tid",))) == [{"tid": 8}]


def test_without_labels_threads_are_one(builder) -> None:
    builder.thread("other", 9, 9)
    for thread in (0, 1):
        builder.sample([builder.function("main")], thread, value=4)
    assert len(message(builder.build()).sample) == 2
    parsed = message(builder.build(), label=())
    assert [list(sample.value) for sample in parsed.sample] == [[2, 8]]


def test_every_label(builder) -> None:
    wanted = ("thread", "cpu", "mode", "event", "time", "process", "cgroup")
    builder.sample([builder.function("main"), builder.function("sys_read", CpuMode.KERNEL)], time=77, cpu=0)
    parsed = message(builder.build(timeline=True), label=wanted)
    expected = {
        "thread": "my prog/8",
        "cpu": 0,
        "mode": "kernel",
        "event": "cpu-clock",
        "time": 77,
        "process": "leader",
    }
    assert labels(parsed) == [expected]
    assert Pprof(label=wanted).needs.timeline
    assert Pprof(label=wanted).needs.columns == {"cpu", "cgroup"}
    with pytest.raises(OptionError, match="label=colour: choose from"):
        Pprof(label=("colour",))


def test_labels_of_the_whole_profile(builder) -> None:
    builder.sample([builder.function("main")])
    profile = builder.build()
    tagged = replace(profile, labels={"build": "1.2"})
    assert labels(message(tagged, label=())) == [{"build": "1.2"}]


def test_locations_keep_mapping_build_id_and_call_address(builder) -> None:
    library = builder.mapping("/usr/lib/libc.so.6", 0x7F0000000000, build_id="cafe")
    program = builder.mapping("/usr/bin/my prog", 0x400000, build_id="beef")
    places = [
        builder.location(0x400105, program, [("main", "main.c", 12)], is_caller=True),
        builder.location(0x7F0000000042, library),
    ]
    builder.sample(places)
    parsed = message(builder.build())
    text = parsed.string_table
    files = [(text[row.filename], text[row.build_id], row.memory_start, row.has_functions) for row in parsed.mapping]
    assert files == [
        ("/usr/bin/my prog", "beef", 0x400000, True),
        ("/usr/lib/libc.so.6", "cafe", 0x7F0000000000, False),
    ]
    caller, leaf = parsed.location
    assert (caller.address, caller.mapping_id, caller.line[0].line) == (0x400104, 1, 12)
    assert (leaf.address, leaf.mapping_id) == (0x7F0000000042, 2)
    assert list(stacks(parsed)) == [("main", "[libc.so.6]")]


@pytest.mark.parametrize("inline", ["lines", "frames", "off"])
def test_a_frame_without_a_name_has_no_line_where_names_are_left_to_pprof(builder, inline) -> None:
    builder.sample([builder.location(0x1234), builder.location(0x1300, lines=["f"])])
    written = message(builder.build(), inline=inline, placeholders=False).location
    assert [(place.address, len(place.line)) for place in written] == [(0x1234, 0), (0x1300, 1)]


def test_a_frame_without_a_name_has_no_line_number(builder) -> None:
    builder.sample([builder.location(0x1234), builder.location(0x1300, lines=[("f", "f.c", 7)])])
    lines = [[line.line for line in place.line] for place in message(builder.build()).location]
    assert lines == [[0], [7]]


@pytest.mark.parametrize("inline", ["lines", "frames", "off"])
def test_functions_with_and_without_inlining_side_by_side(builder, inline) -> None:
    builder.sample([builder.location(0x1300, lines=["alone"]), builder.location(0x1400, lines=["inner", "outer"])])
    inner = () if inline == "off" else ("inner",)
    (found,) = stacks(message(builder.build(), inline=inline, placeholders=False))
    assert sorted(found) == sorted(("alone", *inner, "outer"))


def test_unresolved_frames_may_be_left_to_pprof(builder) -> None:
    builder.sample([builder.location(0x1234)])
    parsed = message(builder.build(), placeholders=False)
    assert (parsed.location[0].address, len(parsed.location[0].line), len(parsed.function)) == (0x1234, 0, 0)


@pytest.mark.parametrize(
    ("inline", "lines"),
    [("lines", [["inner", "outer"]]), ("frames", [["inner"], ["outer"]]), ("off", [["outer"]])],
)
def test_inlining(builder, inline, lines) -> None:
    builder.sample([builder.location(0x400100, lines=["inner", "outer"])])
    parsed = message(builder.build(), inline=inline)
    text = parsed.string_table
    names = [[text[parsed.function[line.function_id - 1].name] for line in place.line] for place in parsed.location]
    assert names == lines
    assert list(parsed.sample[0].location_id) == list(range(1, len(lines) + 1))


def test_meta(builder) -> None:
    builder.sample([builder.function("main")])
    meta = Meta(
        wall_start_ns=10**18, duration_ns=5, perf_version="7.2", command_line=("perf", "record"), comments=("x",)
    )
    parsed = message(builder.build(meta=meta))
    assert (parsed.time_nanos, parsed.duration_nanos) == (10**18, 5)
    comments = [parsed.string_table[row] for row in parsed.comment]
    assert comments == ["perf-version:7.2", "perf-command:perf record", "x"]


def test_undecodable_names_are_valid_text(builder) -> None:
    builder.sample([builder.function("caf\udce9")])
    assert list(stacks(message(builder.build()))) == [("caf\\xe9",)]


def test_bytes_do_not_depend_on_the_clock(builder, monkeypatch) -> None:
    builder.sample([builder.function("main")])
    out = io.BytesIO()
    Pprof().emit(builder.build(), out)
    assert out.getvalue()[4:8] == bytes(4)


def test_many_samples_span_writes(builder) -> None:
    places = [builder.function(f"f{row}") for row in range(300)]
    for outer in range(150):
        for inner in range(150, 300):
            builder.sample([places[outer], places[inner]], value=outer * 1000 + inner)
    profile = builder.build()
    parsed = message(profile)
    assert len(parsed.sample) == 150 * 150
    assert sum(sample.value[1] for sample in parsed.sample) == int(np.sum(profile.samples.value))
    assert stacks(parsed)["f7", "f201"] == [1, 7201]


def test_names_without_recording_terms(builder) -> None:
    made = ProfileBuilder()
    made.event("cycles/freq=99,call-graph=no/", "count", frequency=99)
    made.event("cpu/mem-loads,ldlat=30/P", "count", period=1)
    made.event("cycles/freq=99/u", "count", frequency=99)
    made.thread()
    for event in range(3):
        made.sample([made.function("main")], event=event)
    assert [name for name, _ in types(message(made.build()))] == [
        "samples",
        "cpu/mem-loads,ldlat=30/P",
        "cycles:u",
        "cycles",
    ]


def test_events_of_one_name_keep_their_terms() -> None:
    made = ProfileBuilder()
    for rate in (99, 199, 199):
        made.event(f"cycles/freq={rate}/", "count", frequency=rate)
        made.thread()
        made.sample([made.function("main")], event=rate == 199)
    names = [name for name, _ in types(message(made.build()))]
    assert names == ["samples", "cycles/freq=199/", "cycles/freq=99/"]


def test_an_event_called_samples_is_not_mistaken_for_their_number() -> None:
    made = ProfileBuilder()
    made.event("samples", "count", period=1)
    made.thread()
    made.sample([made.function("main")], value=5)
    names = [name for name, _ in types(message(made.build()))]
    assert names[0] == "samples" and len(set(names)) == 2


def test_names_of_perf_data_converter(builder) -> None:
    main = builder.function("main")
    builder.sample([main], value=100, count=2)
    builder.sample([main], event=1, value=5, count=5)
    parsed = message(builder.build(), sample_types="compat")
    expected = ["page-faults_sample", "page-faults_event", "cpu-clock_sample", "cpu-clock_event"]
    assert types(parsed) == [(name, "count") for name in expected]
    assert parsed.string_table[parsed.default_sample_type] == "cpu-clock_event"
    assert stacks(parsed) == {("main",): [5, 5, 2, 100]}


def test_limit_keeps_the_heaviest_and_sums_the_rest(builder) -> None:
    for row in range(10):
        builder.sample([builder.function(f"f{row}")], value=10 * row + 1)
    profile = builder.build()
    parsed = message(profile, max_samples=4)
    assert stacks(parsed) == {("f9",): [1, 91], ("f8",): [1, 81], ("f7",): [1, 71], ("[other stacks]",): [7, 217]}
    assert len(message(profile, max_samples=10).sample) == 10
    assert Pprof(max_samples=10).notes(profile) == ()
    expected = ("7 of 10 samples are summed up as [other stacks]: 47.2% of the value",)
    assert Pprof(max_samples=4).notes(profile) == expected


def test_a_limit_goes_by_the_default_event(builder) -> None:
    """The others' values do not decide who stays, nor what share of the value is summed up."""
    for row in range(3):
        place = builder.function(f"f{row}")
        builder.sample([place], value=10 + row)
        builder.sample([place], event=1, value=1000 * (3 - row))
    profile = builder.build()
    assert Pprof(max_samples=2).notes(profile) == (
        "2 of 3 samples are summed up as [other stacks]: 63.6% of the value",
    )
    assert stacks(message(profile, max_samples=2)) == {("f2",): [2, 1000, 12], ("[other stacks]",): [4, 5000, 21]}


class TestLimitedPprofContract(TestPprofContract):
    def emitter(self) -> Pprof:
        return Pprof(max_samples=3, inline="frames")
