"""``--for go-pgo``: the calls that Go's compiler counts are those of the whole profile, and nothing else is written."""

import gzip
import io
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x import write
from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters.pprof import profile_pb2
from perf2x.emitters.pprof.pprof import Pprof
from perf2x.model.profile.profile import Meta, Profile, Wait
from perf2x.testing import ProfileBuilder
from tests.support.command import perf2x
from tests.support.recordings import ROOT

Frame = tuple[str, int]
"""Function and line."""


def recorded(timeline: bool = False) -> Profile:
    builder = ProfileBuilder()
    clock = builder.event("cpu-clock", "nanoseconds")
    faults = builder.event("page-faults", "count", period=1, frequency=0)
    threads = [builder.thread("prog", 7), builder.thread("prog", 7, 8)]
    mapping = builder.mapping("/prog")
    outer = builder.location(0x400100, mapping, [("main.main", "m.go", 30)], is_caller=True)
    middle = builder.location(0x400200, mapping, [("main.small", "m.go", 8), ("main.sum", "m.go", 20)], is_caller=True)
    leaf = builder.location(0x400300, mapping, [("main.area", "m.go", 12)])
    kernel = builder.location(0xFFFFFFFF81000010, -1, ["do_page_fault"], mode=CpuMode.KERNEL)
    for thread, stack in [
        (threads[0], [outer, middle, leaf]), (threads[1], [outer, middle, leaf]), (threads[0], [outer, middle]),
        (threads[0], [outer]), (threads[0], [outer, middle, leaf, kernel]), (threads[0], [kernel]),
    ]:  # fmt: skip
        builder.sample(stack, thread, clock, value=10, time=5)
    builder.sample([outer, middle, leaf], threads[0], faults, value=1, time=6)
    if timeline:
        builder.sample([outer, leaf], threads[0], clock, value=99, time=7, wait=Wait.BLOCKED)
    profile = builder.build(timeline=timeline, meta=Meta(hostname="secret", duration_ns=9, command_line=("perf",)))
    starts = {"main.main": 25, "main.small": 7, "main.sum": 15, "main.area": 10}
    lines = [starts.get(profile.strings[name], 0) for name in profile.functions.name.tolist()]
    return replace(profile, functions=replace(profile.functions, start_line=np.array(lines, np.int32)))


def written(profile: Profile, **options: object) -> profile_pb2.Profile:
    out = io.BytesIO()
    Pprof(**options).emit(profile, out)
    return profile_pb2.Profile.FromString(gzip.decompress(out.getvalue()))


def calls(parsed: profile_pb2.Profile) -> Counter[tuple[str, int, str]]:
    """Count (caller, line behind its start, callee) as NewGraph of Go's internal/profile does, kernel frames aside."""
    texts, found = parsed.string_table, Counter[tuple[str, int, str]]()
    functions = {each.id: each for each in parsed.function}
    locations = {each.id: each for each in parsed.location}
    for sample in parsed.sample:
        places = [locations[number] for number in sample.location_id]
        places = [place for place in places if texts[functions[place.line[0].function_id].name] != "do_page_fault"]
        frames = [(functions[line.function_id], line.line) for place in places[:2] for line in place.line]
        for (callee, _), (caller, line) in pairwise(frames):
            found[texts[caller.name], line - caller.start_line, texts[callee.name]] += sample.value[0]
    return found


def test_the_counted_calls_are_those_of_the_whole_profile() -> None:
    profile = recorded()
    only_clock = replace(
        profile, samples=replace(profile.samples, count=profile.samples.count * (profile.samples.event == 0))
    )
    found = calls(written(profile, reader="go-pgo"))
    assert found == calls(written(only_clock)) - Counter()
    assert found["main.sum", 5, "main.small"] == 4
    assert found["main.small", 1, "main.area"] == 3


def test_types_are_those_that_go_looks_for_and_nothing_tells_of_the_machine() -> None:
    parsed = written(recorded(), reader="go-pgo")
    texts = list(parsed.string_table)
    assert [(texts[kind.type], texts[kind.unit]) for kind in parsed.sample_type] == [
        ("samples", "count"), ("cpu", "nanoseconds"),
    ]  # fmt: skip
    assert not {"secret", "do_page_fault", "perf", "prog", "tid"} & set(texts)
    assert max(len(sample.location_id) for sample in parsed.sample) == 2
    assert not any(sample.label for sample in parsed.sample)
    assert sum(sample.value[0] for sample in parsed.sample) == 5  # user stacks of the clock
    assert parsed.duration_nanos == 9


def test_waits_are_not_counted() -> None:
    assert sum(sample.value[1] for sample in written(recorded(timeline=True), reader="go-pgo").sample) == 50


def test_waits_of_a_timeline_are_not_counted_either_where_it_is_summed_for_the_file(tmp_path: Path) -> None:
    write(recorded(timeline=True), tmp_path / "default.pgo", to=Pprof(reader="go-pgo"))
    parsed = profile_pb2.Profile.FromString(gzip.decompress((tmp_path / "default.pgo").read_bytes()))
    assert sum(sample.value[1] for sample in parsed.sample) == 50


@pytest.mark.parametrize("how", ["apart", "beside", "merged"])
def test_waiting_time_is_refused(how: str) -> None:
    """Merged with the clock it would be counted as calls of code that ran."""
    words = "--to", "pprof", "--off-cpu", how, "--for", "go-pgo", "-o", "-"
    ran = perf2x("convert", ROOT / "tests/laws/schedules/switches.data", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "pprof cannot take --off-cpu: go build -pgo reads only calls of code that ran" in ran.said


@pytest.mark.parametrize(("keep", "said"), [(True, 0), (False, 1)])
def test_says_what_go_will_refuse(keep: bool, said: int) -> None:
    profile = recorded()
    functions = replace(profile.functions, start_line=profile.functions.start_line * keep)
    notes = Pprof(reader="go-pgo").notes(replace(profile, functions=functions))
    assert len(notes) == said
    assert all("go build -pgo refuses" in note for note in notes)
