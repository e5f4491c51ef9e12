"""Slices of Chrome traces: which boxes are drawn, and when."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters.chrome import chrome as emitter
from perf2x.emitters.chrome import chrome_slices
from perf2x.emitters.chrome.chrome import Chrome
from perf2x.emitters.chrome.chrome_slices import drawings_of
from perf2x.emitters.timeline.shown_samples import in_ticks, shown_samples
from perf2x.emitters.timeline.tracks import tracks_of
from perf2x.errors import OptionError
from perf2x.testing import EmitterContract, ProfileBuilder
from tests.support.chrome_traces import MS, check_trace, slices, speedscope_import, stacks, trace


class TestChromeContract(EmitterContract):
    def emitter(self) -> Chrome:
        return Chrome()

    def output(self, profile) -> bytes:
        output = super().output(profile)
        check_trace(json.loads(output))
        return output


def test_common_callers_are_one_slice(builder) -> None:
    for row, stack in enumerate(stacks(builder, "abc", "ab", "ad")):
        builder.sample(stack, time=row * MS)
    expected = [("a", 0, 3000), ("b", 0, 2000), ("c", 0, 1000), ("d", 2000, 1000)]
    assert slices(trace(builder.build(timeline=True))) == expected


def test_sleep_is_not_drawn_as_work(builder) -> None:
    (stack,) = stacks(builder, "a")
    for time in (0, 1, 500):
        builder.sample(stack, time=time * MS)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 2000), ("a", 500_000, 1000)]


def test_a_slice_begins_and_ends_at_the_switches(builder) -> None:
    (stack,) = stacks(builder, "a")
    for time in (0, 4_000_000, 5_100_000):
        builder.sample(stack, time=time)
    builder.switch(300_250)
    builder.switch(3_900_000, is_out=False)
    builder.switch(5_700_000)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 1300.25), ("a", 4900, 1800)]


def test_samples_of_other_events_stand_for_their_typical_interval(builder) -> None:
    cycles = builder.event("cycles", "count", period=1_000_000, frequency=0)
    (stack,) = stacks(builder, "a")
    for time in (0, 2, 4, 90):
        builder.sample(stack, event=cycles, time=time * MS)
    assert slices(trace(builder.build(timeline=True))) == [("a", 0, 6000), ("a", 90_000, 2000)]


def test_rare_events_do_not_draw_sleep_as_work(builder) -> None:
    faults = builder.event("page-faults", "count", period=1, frequency=0)
    first, second = stacks(builder, "a", "b")
    for time in (0, 400, 800):
        builder.sample(first, event=faults, time=time * MS)
    profile = builder.build(timeline=True)
    assert [one[2] for one in slices(trace(profile))] == [10_000] * 3  # ten milliseconds at most
    builder.sample(second, time=1000 * MS)
    with_clock = builder.build(timeline=True)
    assert slices(trace(with_clock)) == [("b", 999_000, 1000)]


def test_samples_that_cannot_all_be_placed_are_cut_at_the_beginning(builder) -> None:
    for row, stack in enumerate(stacks(builder, "a", "b", "c")):
        builder.sample(stack, time=row * 500)
    assert slices(trace(builder.build(timeline=True))) == [("b", 0, 1), ("c", 1, 1000)]


def test_guards(builder) -> None:
    for row, stack in enumerate(stacks(builder, "ab", "ac")):
        builder.sample(stack, time=row * MS)
    profile = builder.build(timeline=True)
    assert slices(trace(profile, min_duration=1200)) == [("a", 0, 2000)]
    with pytest.raises(OptionError, match="3 slices are more than max_events=2"):
        trace(profile, max_events=2)
    trace(profile, max_events=3)


def test_one_event_only(builder) -> None:
    other = builder.event("page-faults", "count", period=1)
    first, second = stacks(builder, "a", "b")
    builder.sample(first, time=0)
    builder.sample(second, event=other, time=MS // 2)
    profile = builder.build(timeline=True)
    for event, name in ((None, "a"), ("cpu-clock", "a"), ("page-faults", "b")):
        assert [drawn for drawn, _, _ in slices(trace(profile, event=event))] == [name]


def test_text_is_raw_utf8(builder) -> None:
    builder.sample([builder.function("🔥\udcff\u2028")])
    out = io.BytesIO()
    Chrome().emit(builder.build(timeline=True), out)
    assert "🔥\\\\xff\u2028".encode() in out.getvalue()
    assert b"\\ud83d" not in out.getvalue()


STACKS = st.lists(st.sampled_from("abc"), max_size=4)


ROWS = st.lists(st.tuples(STACKS, st.integers(0, 2), st.integers(0, 6_000_000)), max_size=30)


@given(ROWS, st.lists(st.tuples(st.integers(0, 6_000_000), st.integers(0, 2)), max_size=4))
def test_slices_show_the_stacks_of_samples(rows, switches) -> None:
    """At the time of a drawn sample, the open slices of its track are its stack."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    threads = [builder.thread(f"t{row}", 1, 1 + row) for row in range(3)]
    for stack, thread, time in rows:
        builder.sample([builder.function(name) for name in stack], threads[thread], time=time)
    for time, thread in switches:
        builder.switch(time, thread)
    profile = builder.build(timeline=True)
    parsed, tracks = trace(profile), tracks_of(profile)
    ordered = sorted(rows, key=lambda row: row[2])
    drawn = in_ticks(shown_samples(profile, tracks[1], np.arange(len(rows))), 125)
    for track, sample, start, end in zip(drawn.track, drawn.sample, drawn.start, drawn.end, strict=True):
        moment, tid = (start + end - 1) / 16, int(tracks[0].tid[track])
        shown = [
            one["name"]
            for one in parsed["traceEvents"]
            if one["ph"] == "X" and one["tid"] == tid and one["ts"] <= moment < one["ts"] + one["dur"]
        ]
        assert shown == list(ordered[sample][0])
    assert speedscope_import(parsed) == []


def test_a_new_frame_named_like_an_ending_one_comes_a_moment_later(builder) -> None:
    first, second = stacks(builder, "xab", "xb")
    builder.sample(first, time=0)
    builder.sample(second, time=MS)
    parsed = trace(builder.build(timeline=True))
    assert slices(parsed) == [("x", 0, 2000), ("a", 0, 999.875), ("b", 0, 999.875), ("b", 1000, 1000)]
    assert speedscope_import(parsed) == []


def test_categories_and_arguments(builder) -> None:
    library = builder.mapping("/usr/lib/libu.so")
    user = builder.location(0x400100, library, lines=[("u", "src/u.c", 7)])
    jit = builder.location(0x500100, builder.mapping("//anon", 0x500000), lines=["j"])
    builder.sample([user, jit, builder.function("k", CpuMode.KERNEL)])
    profile = builder.build(timeline=True)
    drawn = [one for one in trace(profile)["traceEvents"] if one["ph"] == "X"]
    assert [(one["name"], one["cat"]) for one in drawn] == [("u", "user"), ("j", "jit"), ("k", "kernel")]
    assert all("args" not in one for one in drawn)
    told = [one.get("args") for one in trace(profile, args=True)["traceEvents"] if one["ph"] == "X"]
    assert told == [{"object": "libu.so", "source": "src/u.c"}, {"object": "anon"}, None]


def test_a_warning_about_many_slices_counts_those_that_were_written(builder, monkeypatch) -> None:
    for row, stack in enumerate(stacks(builder, "ab", "ac")):
        builder.sample(stack, time=row * MS)
    profile, drawn = builder.build(timeline=True), []
    monkeypatch.setattr(emitter, "_SLOW_SLICES", 2)
    monkeypatch.setattr(emitter, "drawings_of", lambda *given: drawn.append(given) or drawings_of(*given))
    chrome, alone = Chrome(), Chrome().notes(profile)
    assert [note.partition(";")[::2] for note in alone] == [
        ("0.0 million slices make viewers slow",
         " min_duration leaves out the short ones, perfetto traces are about twenty times smaller")
    ]  # fmt: skip
    drawn.clear()
    chrome.emit(profile, io.BytesIO())
    assert (chrome.notes(profile), len(drawn)) == (alone, 1)
    assert Chrome(min_duration=1200).notes(builder.build(timeline=True)) == ()


def test_the_bound_of_slices_counts_the_threads_on_the_tracks_of_cpus(builder) -> None:
    for time in (1, 3, 5):
        builder.sample([builder.function("f")], time=time * MS, cpu=0, thread=builder.thread(tid=time))
    profile = builder.build(timeline=True)
    for drawing in drawings_of(profile, np.arange(3), per_cpu=True, with_arguments=False):
        assert drawing.slice_bound() >= drawing.slice_count(0) > 0


def test_events_are_the_same_however_many_are_written_together(builder, monkeypatch) -> None:
    for time in (1, 2, 3, 9, 10, 20, 21, 30):
        builder.sample([builder.function(f"f{time % 3}")], time=time * MS)
    profile = builder.build(timeline=True)
    (drawing,) = drawings_of(profile, np.arange(8), per_cpu=False, with_arguments=False)
    texts, pieces = [], []
    for size in (1, 1 << 16):
        for at_once in ("_MIN_SAMPLES_PER_BATCH", "_FRAMES_PER_BATCH"):
            monkeypatch.setattr(chrome_slices, at_once, size)
        monkeypatch.setattr(emitter, "_BYTES_PER_WRITE", size)
        pieces.append([len(shown) for shown, _ in drawing._batches()])
        out = io.BytesIO()
        Chrome().emit(profile, out)
        texts.append(out.getvalue())
    assert texts[0] == texts[1]
    assert pieces == [[3, 2, 2, 1], [8]]
    assert len(json.loads(texts[0])["traceEvents"]) > 8
