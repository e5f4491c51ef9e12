"""OpenTelemetry profiles, read back with OpenTelemetry's own classes and held against pprof and against loops."""

import gzip
import io
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x import read
from perf2x.emitters.otlp.otlp import Otlp
from perf2x.emitters.otlp.otlp_profiles import group_samples
from perf2x.errors import OptionError
from perf2x.model.profile.profile import Meta, Profile, Wait, plain_names
from perf2x.testing import EmitterContract, ProfileBuilder
from tests.support import outputs
from tests.support.otlp_profiles import Profile as Read
from tests.support.otlp_profiles import Sample, Value, message_of, read_profiles, written
from tests.support.recordings import corpus_cases

CASES = [case for case in corpus_cases() if case.name in {"events", "compat32", "calls"}]
DATED = Meta(start_ns=5_000, wall_start_ns=1_700_000_000_000_000_000, duration_ns=9_000_000)


class TestSums(EmitterContract):
    timestamps = False

    def emitter(self) -> Otlp:
        return Otlp(timestamps=self.timestamps, label=("pid", "tid", "comm", "process", "cpu", "mode"))

    def profile(self, builder: ProfileBuilder) -> Profile:
        return builder.build(timeline=self.timestamps, meta=DATED)

    def total(self, output: bytes) -> int:
        return sum(sum(sample.values) for profile in read_profiles(output) for sample in profile.samples)


class TestTimestamps(TestSums):
    timestamps = True


def attributes(**known: Value) -> tuple[tuple[str, Value], ...]:
    keys = {"pid": "process.pid", "tid": "thread.id", "comm": "thread.name"}
    return tuple((keys[name], value) for name, value in known.items())


def pprof_stacks(profile: Profile) -> dict[str, Counter[object]]:
    """By sample type: values by stack, outermost first, and labels, from what the pprof emitter writes."""
    found = outputs.read_pprof(outputs.emitted(profile, "pprof", label=("pid", "tid", "comm")))
    text, functions = found.string_table, {one.id: one for one in found.function}
    mappings = {one.id: one for one in found.mapping}
    frames: dict[int, list[tuple[object, ...]]] = {}
    for place in found.location:
        mapping = mappings.get(place.mapping_id)
        file = (text[mapping.filename], text[mapping.build_id]) if mapping else ("", "")
        frames[place.id] = [
            (text[functions[line.function_id].name], text[functions[line.function_id].system_name],
             text[functions[line.function_id].filename], functions[line.function_id].start_line, line.line,
             place.address, *file)
            for line in reversed(place.line)
        ]  # fmt: skip
    sums: dict[str, Counter[object]] = defaultdict(Counter)
    for sample in found.sample:
        stack = tuple(frame for place in reversed(sample.location_id) for frame in frames[place])
        labels = tuple((text[one.key], text[one.str] if one.str else one.num) for one in sample.label)
        for kind, value in zip(found.sample_type, sample.value, strict=True):
            sums[text[kind.type]][stack, labels] += value
    return {name: +sums[name] for name in sums}


def otlp_stacks(read: Read) -> Counter[object]:
    short = {"process.pid": "pid", "thread.id": "tid", "thread.name": "comm"}
    found: Counter[object] = Counter()
    for sample in read.samples:
        stack = tuple(
            (one.name, one.system_name, one.source, one.start_line, one.line, one.address, one.file, one.build_id)
            for one in sample.stack
        )
        found[stack, tuple((short[key], value) for key, value in sample.attributes)] += sum(sample.values)
    return +found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_stacks_and_values_are_those_of_pprof(case) -> None:
    profile = outputs.profile_of(case.data, symbols=outputs.symbols_of(case))
    expected = pprof_stacks(profile)
    read = written(profile, label=("pid", "tid", "comm"))
    assert {one.sample_type[0]: otlp_stacks(one) for one in read} == {
        name: sums for name, sums in expected.items() if name != "samples"
    }
    counted = sum(
        (otlp_stacks(one) for one in written(profile, label=("pid", "tid", "comm"), value="samples")), Counter()
    )
    assert counted == expected["samples"]


def test_every_sample_keeps_its_time_when_asked() -> None:
    case = CASES[0]
    profile = outputs.profile_of(case.data, timeline=True, symbols=None)
    wall = 1_700_000_000_000_000_000
    profile = replace(profile, meta=replace(profile.meta, wall_start_ns=wall))
    samples, threads = profile.samples, profile.threads
    expected: Counter[object] = Counter()
    for row in range(len(samples)):  # the scalar twin
        thread = int(samples.thread[row])
        event = profile.events[int(samples.event[row])]
        time = int(samples.time[row]) - profile.meta.start_ns + wall
        expected[event.name, int(threads.tid[thread]), time, int(samples.value[row])] += 1
    found: Counter[object] = Counter()
    names = dict(zip(plain_names(profile.events), (event.name for event in profile.events), strict=True))
    for one in written(profile, timestamps=True, label=("tid",)):
        for sample in one.samples:
            assert all(before <= after for before, after in pairwise(sample.times))
            tid = dict(sample.attributes)["thread.id"]
            for time, value in zip(sample.times, sample.values, strict=True):
                found[names[one.sample_type[0]], tid, time, value] += 1
    assert found == expected


def grouped_by_loop(keys: Any, columns: Any, values: Any, times: Any) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    found: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for row in range(len(values)):
        key = tuple(int(column[row]) for column in (*keys, *columns))
        found.setdefault(key, []).append((int(values[row]), -1 if times is None else int(times[row])))
    if times is None:
        found = {key: [(sum(value for value, _ in held), -1)] for key, held in found.items()}
    return dict(sorted(found.items()))


@pytest.mark.parametrize("with_times", [True, False])
def test_grouping_is_that_of_a_loop(with_times) -> None:
    chance = np.random.default_rng(7)
    for count in (0, 1, 2, 300):
        keys = tuple(chance.integers(0, 3, count) for _ in range(3))
        columns = [chance.integers(0, 2, count)]
        values, times = chance.integers(-5, 2**60, count), chance.integers(0, 2**60, count).astype(np.uint64)
        made = group_samples(keys, columns, values, times if with_times else None)
        found = {}
        for row in range(len(made.stack)):
            held = slice(int(made.offsets[row]), int(made.offsets[row + 1]))
            key = (made.resource[row], made.event[row], made.stack[row], *(column[row] for column in made.attributes))
            times_of = [-1] * (held.stop - held.start) if made.times is None else made.times[held].tolist()
            found[tuple(map(int, key))] = list(zip(made.values[held].tolist(), times_of, strict=True))
        expected = grouped_by_loop(keys, columns, values, times if with_times else None)
        assert list(found.items()) == list(expected.items())


def test_timestamps_need_the_time_of_day() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.sample([builder.function("main")], builder.thread())
    with pytest.raises(OptionError, match="add start_time TIME, or start_time file"):
        written(builder.build(timeline=True), timestamps=True)
    with pytest.raises(OptionError, match="timeline=True"):
        written(builder.build(meta=DATED), timestamps=True)
    assert (Otlp(timestamps=True).needs.times, Otlp().needs.times) == (True, False)
    assert (Otlp(timestamps=True).needs.timeline, Otlp().needs.timeline) == (True, False)


def test_columns_are_those_of_the_attributes_and_the_tags() -> None:
    assert Otlp().needs.columns == frozenset()
    assert Otlp(label=("cpu", "cgroup", "tid")).needs.columns == {"cpu", "cgroup"}


def one_of_each() -> ProfileBuilder:
    """A clock, a counter whose frequency was asked for, one with a fixed period, and waits."""
    builder = ProfileBuilder()
    clock = builder.event("cpu-clock/freq=999/", "nanoseconds", frequency=999)
    cycles = builder.event("cycles:P", "count", frequency=999)
    faults = builder.event("page-faults", "count", period=7, frequency=0)
    waits = builder.event("off-cpu", "nanoseconds", is_wait=True, frequency=0)
    thread = builder.thread()
    for event, value in ((clock, 1_001_001), (cycles, 30), (cycles, 41), (faults, 7)):
        builder.sample([builder.function("main")], thread, event, value, time=10_000)
    builder.sample([builder.function("sleep")], thread, waits, 500, time=6_000, wait=Wait.BLOCKED)
    return builder


def test_types_and_periods() -> None:
    read = written(one_of_each().build(meta=DATED))
    assert [(one.sample_type, one.period_type, one.period) for one in read] == [
        (("cpu-clock", "nanoseconds"), ("cpu-clock", "nanoseconds"), 1_001_001),
        (("cycles:P", "count"), ("cycles:P", "count"), 35),
        (("page-faults", "count"), ("page-faults", "count"), 7),
        (("off_cpu", "nanoseconds"), ("", ""), 0),
    ]
    counted = written(one_of_each().build(meta=DATED), value="samples")
    assert [(one.sample_type, one.period_type, one.period) for one in counted] == [
        (("samples", "count"), ("cpu", "nanoseconds"), 1_001_001),
        (("samples", "count"), ("cycles:P", "count"), 35),
        (("samples", "count"), ("page-faults", "count"), 7),
        (("samples", "count"), ("", ""), 0),
    ]
    assert [[sample.values for sample in one.samples] for one in counted] == [[(1,)], [(2,)], [(1,)], [(1,)]]


def test_the_default_event_comes_first() -> None:
    profile = replace(one_of_each().build(), default_event=2)
    assert [one.sample_type[0] for one in written(profile)] == ["page-faults", "cpu-clock", "cycles:P", "off_cpu"]


def test_a_profile_lasts_from_its_first_sample_to_behind_its_last() -> None:
    (clock, *_) = written(one_of_each().build(meta=DATED))
    assert (clock.start, clock.duration) == (DATED.wall_start_ns, DATED.duration_ns + 1)
    assert [(one.start, one.duration) for one in written(one_of_each().build())] == [(0, 0)] * 4
    short = replace(DATED, start_ns=9_000, duration_ns=0)
    assert written(one_of_each().build(timeline=True, meta=short), timestamps=True)[0].duration == 1_001
    long = replace(DATED, start_ns=8_000)
    *_, waits = written(one_of_each().build(timeline=True, meta=long), timestamps=True)
    assert waits.start == DATED.wall_start_ns - 2_000, "a wait began before the first sample"
    assert waits.start + waits.duration == DATED.wall_start_ns + DATED.duration_ns + 1


def tagged() -> Profile:
    builder = ProfileBuilder()
    builder.event()
    for pid in (100, 200):
        builder.sample([builder.function("main")], builder.thread("prog", pid), value=pid)
    meta = Meta(hostname="web1", os_release="7.2.0", arch="x86_64", perf_version="7.2", command_line=("perf", "record"))
    return builder.build(meta=meta)


@pytest.mark.parametrize("references", [False, True])
def test_a_resource_is_the_machine_and_the_tags(references) -> None:
    profile = replace(tagged(), labels={"service.name": "shop", "host.name": "other"})
    (one,) = written(profile, references=references)
    out = io.BytesIO()
    Otlp(references=references).emit(profile, out)
    attributes = message_of(out.getvalue()).resource_profiles[0].resource.attributes
    assert {bool(attribute.key_strindex) for attribute in attributes} == {references}
    assert one.resource == {
        "host.name": "other", "host.arch": "amd64", "os.type": "linux", "os.version": "7.2.0", "service.name": "shop",
    }  # fmt: skip
    assert one.attributes == {"pprof.profile.comment": ("perf-version:7.2", "perf-command:perf record")}


def test_inputs_with_tags_of_their_own_are_resources() -> None:
    profile = tagged()
    tags = ({"run": "a"}, {"run": "b"}, {"run": "nobody has it"})
    samples = replace(profile.samples, tags=np.array([1, 0], np.int32))
    first, second = written(replace(profile, tag_sets=tags, samples=samples), label=("pid",))
    assert (first.resource["run"], second.resource["run"]) == ("a", "b")
    assert [one.samples[0].values for one in (first, second)] == [(200,), (100,)]
    assert [one.samples[0].attributes for one in (first, second)] == [attributes(pid=200), attributes(pid=100)]


def test_what_is_unknown_is_left_out() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.sample([builder.function("main")], builder.thread("", -1, -1), cpu=-1)
    builder.sample([], builder.thread("unknown", 0, 0), cpu=0, value=5)
    (one,) = written(builder.build(timeline=True), label=("pid", "tid", "comm", "cpu", "mode", "cgroup"))
    found = {sample.names: dict(sample.attributes) for sample in one.samples}
    assert found == {
        ("main",): {"cpu.mode": "user"},
        (): {
            "process.pid": 0, "thread.id": 0, "thread.name": "unknown", "cpu.logical_number": 0,
        },
    }  # fmt: skip


def test_nothing_unused_is_written() -> None:
    """The reader refuses entries that nothing uses; here most of the profile is not used."""
    builder = one_of_each()
    library = builder.mapping("/usr/lib/unused.so", 0x7F0000000000, build_id="c0ffee")
    builder.thread("idle", 7, 7)
    builder.stack([builder.location(0x7F0000001000, library, [("unused", "unused.c", 1)])])
    (clock, *_) = written(builder.build())
    assert clock.samples == (Sample(clock.samples[0].stack, clock.samples[0].attributes, (1_001_001,), ()),)


@pytest.mark.parametrize("options", [{"schema": "v2"}, {"label": ("time",)}, {"value": "latency"}])
def test_options_that_are_none_are_refused(options) -> None:
    with pytest.raises(OptionError, match="choose from"):
        Otlp(**options)


def test_the_recording_itself_is_in_the_first_profile_when_asked(tmp_path: Path) -> None:
    (case,) = (case for case in CASES if case.name == "events")
    data = case.data.read_bytes()
    packed = tmp_path / "perf.data.gz"
    packed.write_bytes(gzip.compress(data))
    profile = read(packed, symbols=None, original=len(data)).profile
    out = io.BytesIO()
    Otlp(original_payload=1).emit(profile, out)
    (first, *others) = message_of(out.getvalue()).resource_profiles[0].scope_profiles[0].profiles
    assert (first.original_payload_format, first.original_payload) == ("linux_perf", data)
    assert others
    assert not any(one.original_payload_format or one.original_payload for one in others)
    plain, whole = written(profile), read_profiles(out.getvalue())
    assert plain == whole
    (tmp_path / "again").write_bytes(first.original_payload)
    assert written(read(tmp_path / "again", symbols=None).profile) == plain


def test_an_original_that_is_not_at_hand_is_refused() -> None:
    with pytest.raises(OptionError, match="without the recording's own bytes"):
        written(one_of_each().build(), original_payload=1)


@pytest.mark.parametrize(("size", "words"), [(-1, "at least 0"), (1025, "at most 1024")])
def test_payloads_have_a_limit(size: int, words: str) -> None:
    with pytest.raises(OptionError, match=f"original_payload={size}: it must be {words}"):
        Otlp(original_payload=size)
