import io
import json

from msgspec.structs import replace

from perf2x.emitters.speedscope import Speedscope
from perf2x.model.profile.profile import Profile
from perf2x.testing import EmitterContract


def written(profile: Profile, **options: object) -> dict:
    out = io.BytesIO()
    Speedscope(**options).emit(profile, out)
    return check(json.loads(out.getvalue()))


def check(parsed: dict) -> dict:
    """Assert what the format's schema demands."""
    for one in parsed["profiles"]:
        assert one["type"] == "sampled"
        assert len(one["samples"]) == len(one["weights"])
        assert one["endValue"] - one["startValue"] == sum(one["weights"])
        assert all(0 <= row < len(parsed["shared"]["frames"]) for stack in one["samples"] for row in stack)
    assert all(frame["name"] for frame in parsed["shared"]["frames"])
    return parsed


def stacks(parsed: dict, at: int = 0) -> list[tuple[list[str], int]]:
    one, frames = parsed["profiles"][at], parsed["shared"]["frames"]
    return [
        ([frames[row]["name"] for row in stack], weight)
        for stack, weight in zip(one["samples"], one["weights"], strict=True)
    ]


class TestSpeedscopeContract(EmitterContract):
    def emitter(self) -> Speedscope:
        return Speedscope()

    def total(self, output) -> int:
        return sum(sum(one["weights"]) for one in check(json.loads(output))["profiles"])


def test_samples_in_time_order_inlined_frames_included(builder) -> None:
    inlined = builder.location(0x400100, lines=[("inner", "a.c", 3), ("outer", "a.c", 9)])
    builder.sample([builder.function("main"), inlined], time=1, value=5)
    builder.sample([builder.function("main")], time=2, value=7)
    parsed = written(builder.build(timeline=True))
    assert stacks(parsed) == [(["main", "outer", "inner"], 5), (["main"], 7)]
    assert {"name": "inner", "file": "a.c"} in parsed["shared"]["frames"]
    assert (parsed["profiles"][0]["name"], parsed["profiles"][0]["unit"]) == ("my prog (7/8)", "nanoseconds")


def test_busiest_thread_first_default_event_first(builder) -> None:
    other, faults = builder.thread("busy", 9, 9), builder.event("page-faults", "count", period=1)
    main = builder.function("main")
    builder.sample([main], time=1, value=5)
    builder.sample([main], other, time=2, value=50)
    builder.sample([main], event=faults, time=3, value=1)
    names = [one["name"] for one in written(builder.build(timeline=True))["profiles"]]
    assert names == ["busy (9): cpu-clock", "my prog (7/8): cpu-clock", "my prog (7/8): page-faults"]
    chosen = written(builder.build(timeline=True), event="page-faults")["profiles"]
    assert [(one["name"], one["unit"]) for one in chosen] == [("my prog (7/8)", "none")]


def test_events_that_are_not_the_default_follow_in_their_order(builder) -> None:
    """The default one is not the first here; the heaviest is not ahead of the others."""
    others = [builder.event(name, "count", period=1) for name in ("page-faults", "cycles", "faults")]
    main = builder.function("main")
    for time, event in enumerate((*reversed(others), 0)):
        builder.sample([main], event=event, time=time, value=time + 1)
    profile = replace(builder.build(timeline=True), default_event=others[1])
    names = [one["name"].partition(": ")[2] for one in written(profile)["profiles"]]
    assert names == ["cycles", "cpu-clock", "page-faults", "faults"]


def test_many_samples_span_pieces(builder) -> None:
    main = builder.function("main")
    for time in range(20_000):
        builder.sample([main] if time % 2 else [], time=time, value=1)
    one = written(builder.build(timeline=True))["profiles"][0]
    assert one["samples"] == [[], [0]] * 10_000
