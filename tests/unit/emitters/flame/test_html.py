import base64
import gzip
import io
import json
import re
from itertools import accumulate

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.emitters.flame.html import Html
from perf2x.errors import SettingError
from perf2x.model.profile.profile import Meta, Profile, Wait
from perf2x.testing import EmitterContract

MS = 1_000_000


def page(profile: Profile, **options: object) -> str:
    out = io.BytesIO()
    Html(**options).emit(profile, out)
    return out.getvalue().decode()


def data(text: str) -> dict:
    held = re.search(r'<script id="data" type="text/plain">(.*?)</script>', text, re.DOTALL).group(1).strip()
    return json.loads(held if held.startswith("{") else gzip.decompress(base64.b64decode(held)))


def stacks(held: dict) -> dict[tuple[str, ...], int]:
    """Function names, root first, to values: the tree read back as the page does."""
    found: dict[tuple[str, ...], int] = {}
    parent, frame = held["nodes"]["parent"], held["nodes"]["frame"]
    names = [held["strings"][row] for row in held["frames"]["name"]]
    for node, value in zip(held["rows"]["node"], held["rows"]["value"], strict=True):
        path = []
        while node >= 0:
            path.append(names[frame[node]])
            node = parent[node]
        key = tuple(reversed(path))
        found[key] = found.get(key, 0) + value
    return found


class TestHtmlContract(EmitterContract):
    def emitter(self) -> Html:
        return Html()

    def total(self, output) -> int:
        return sum(data(output.decode())["rows"]["value"])


class TestPlainHtmlContract(TestHtmlContract):
    def emitter(self) -> Html:
        return Html(compress=False)


def test_tree_and_moments(builder) -> None:
    main, work = builder.function("main"), builder.function("work")
    for time, stack in enumerate(([main, work], [main, work], [main])):
        builder.sample(stack, time=time * MS, value=MS)
    held = data(page(builder.build(timeline=True)))
    assert stacks(held) == {("main", "work"): 2 * MS, ("main",): MS}
    assert held["moments"]["duration"] == [2000, 1000]
    assert held["moments"]["start"] == [0, 2000]  # differences: the second run starts 2 ms behind the first
    assert held["threads"] == [{"name": "my prog", "process": "leader", "pid": 7, "tid": 8}]


def test_unknown_ids_are_no_numbers(builder) -> None:
    builder.sample([builder.function("main")])
    profile = builder.build()
    unknown = np.full(1, -1, np.int32)
    for changed in ({"pid": unknown, "tid": unknown}, {"tid": unknown}):
        threads = replace(profile, threads=replace(profile.threads, **changed))
        (row,) = data(page(threads))["threads"]
        assert (row["pid"], row["tid"]) == (-1 if "pid" in changed else 7, -1)
        assert data(page(threads))["facts"] == ["1 sample"]
    assert data(page(profile))["facts"] == ["1 sample", "1 thread"]


def test_a_wait_is_a_moment_as_long_as_it_lasted(builder) -> None:
    main, waited = [builder.function("main")], builder.event("off-cpu", "nanoseconds", frequency=0, is_wait=True)
    builder.sample(main, time=0, value=MS)
    assert "wait" not in data(page(builder.build(timeline=True)))["moments"]
    builder.sample(main, time=0, event=waited, value=9 * MS, wait=Wait.BLOCKED)
    moments = data(page(builder.build(timeline=True)))["moments"]
    assert (moments["duration"], moments["wait"]) == ([1000, 9000], [Wait.RAN, Wait.BLOCKED])


def test_rows_say_what_was_off_the_cpu(builder) -> None:
    """Waits of a merged event have rows of their own."""
    main, clock = [builder.function("main")], builder.event("wall-clock", "nanoseconds")
    for wait in (Wait.RAN, Wait.BLOCKED, Wait.PREEMPTED, Wait.UNPLACED, Wait.RAN):
        assert "off" not in data(page(builder.build(timeline=True)))["rows"] or wait is not Wait.BLOCKED
        builder.sample(main, event=clock, value=MS, time=MS, wait=wait)
    rows = data(page(builder.build(timeline=True)))["rows"]
    assert (rows["off"], rows["count"], rows["value"]) == ([0, 1], [2, 3], [2 * MS, 3 * MS])


def test_an_event_of_waits_is_off_the_cpu_without_a_timeline(builder) -> None:
    for event in (builder.event("cpu-clock", "nanoseconds"), builder.event("off-cpu", "nanoseconds", is_wait=True)):
        builder.sample([builder.function("main")], event=event, value=MS)
    assert data(page(builder.build()))["rows"]["off"] == [0, 1]


def test_bursts_hold_each_samples_moment_and_row(builder) -> None:
    """Times are whole microseconds since the first period began; values are said where they differ within a row."""
    main = [builder.function("main")]
    for time in (5_000_999, 7_000_000, 9_500_001):
        builder.sample(main, time=time, value=MS)
    bursts = data(page(builder.build(timeline=True)))["bursts"]
    assert bursts == {"origin": "4000999", "time": [1000, 1999, 2500], "row": [0, 0, 0]}
    builder.sample(main, time=9_500_002, value=3)
    assert data(page(builder.build(timeline=True)))["bursts"]["value"] == [MS, MS, MS, 3]


def test_too_many_samples_leave_sums_by_thread_and_time(builder) -> None:
    """As much in each part of the time as the moments that they stand for."""
    one, other = builder.thread("app", 7, 7), builder.thread("app", 7, 8)
    for thread, time, lasted in ((one, 3, 2), (other, 4, 1), (one, 11, 6), (other, 12, 1), (one, 30, 1)):
        builder.sample([builder.function("main")], thread, value=lasted * MS, time=time * MS)
    builder.sample([builder.function("main")], other, builder.event("off-cpu", "nanoseconds", is_wait=True),
                   value=9 * MS, time=15 * MS, wait=Wait.BLOCKED)  # fmt: skip
    profile = builder.build(timeline=True)
    held, whole = data(page(profile, max_moments=1)), data(page(profile))["moments"]
    assert (held["moments"], "bursts" in held, held["lanes"]["origin"]) == (
        None,
        False,
        data(page(profile))["bursts"]["origin"],
    )
    length, parts = held["lanes"]["length"], held["lanes"]["parts"]
    wanted = {"ran": [0] * 2 * parts, "waited": [0] * 2 * parts}
    starts = list(accumulate(whole["start"]))
    for track, start, lasted, wait in zip(whole["track"], starts, whole["duration"], whole["wait"], strict=True):
        for time in range(start, start + lasted):
            wanted["waited" if wait else "ran"][track * parts + time // length] += 1
    assert {name: held["lanes"][name] for name in wanted} == wanted
    assert sum(wanted["waited"]) == 9000 and sum(wanted["ran"]) > 5000


def test_bursts_say_their_cpu_where_several_are_known(builder) -> None:
    main = [builder.function("main")]
    for time, cpu in ((1, 3), (2, -1), (3, 3)):
        builder.sample(main, time=time * MS, cpu=cpu)
    assert "cpu" not in data(page(builder.build(timeline=True)))["bursts"]
    builder.sample(main, time=4 * MS, cpu=1)
    assert data(page(builder.build(timeline=True)))["bursts"]["cpu"] == [3, -4, 4, -2]  # differences


def test_bursts_stand_thread_by_thread(builder) -> None:
    one, other = builder.thread("app", 7, 7), builder.thread("app", 7, 8)
    for thread, time in ((one, 1 * MS), (other, 2 * MS), (one, 3 * MS), (other, 4 * MS)):
        builder.sample([builder.function("main")], thread, value=MS, time=time)
    bursts = data(page(builder.build(timeline=True)))["bursts"]
    assert (bursts["time"], bursts["row"]) == ([1000, 2000, -1000, 2000], [0, 0, 1, 0])


def test_waits_are_bursts_as_the_time_option_takes_them(builder) -> None:
    """Parts of those that switches tell, measured ones whole at their end; none where a wait has no place."""
    main, clock = [builder.function("main")], builder.event("cpu-clock", "nanoseconds")
    waits, thread = builder.event("off-cpu", "nanoseconds", is_wait=True), builder.thread("app", 7)
    for event, value, kind in ((clock, MS, Wait.RAN), (waits, 9 * MS, Wait.BLOCKED), (waits, 5 * MS, Wait.UNPLACED)):
        builder.sample(main, thread, event, value, time=MS, wait=kind)
    made = builder.build(timeline=True)
    assert data(page(made))["bursts"] == {"origin": "0", "time": [1000, 0], "row": [0, 1],
                                          "value": [MS, 9 * MS], "lasts": [0, 9000]}  # fmt: skip
    events = tuple(replace(event, name="offcpu-time") if event.is_wait else event for event in made.events)
    measured = data(page(replace(made, events=events)))["bursts"]
    assert (measured["time"], "lasts" in measured) == ([1000, 9000], False)


def test_summed_profiles_have_no_view_over_time(builder) -> None:
    builder.sample([builder.function("main")])
    held = data(page(builder.build()))
    assert held["moments"] is None
    assert held["noMoments"] == "The recording has no times."


def test_large_recordings_leave_the_view_over_time_out_and_say_so(builder) -> None:
    for time in range(4):
        builder.sample([builder.function("main")], time=time * MS)
    profile = builder.build(timeline=True)
    assert data(page(profile, max_moments=3))["moments"] is None
    assert "left out: 4 samples exceed max_moments=3" in Html(max_moments=3).notes(profile)[0]
    assert Html().notes(profile) == ()


def test_nothing_is_fetched_from_anywhere(builder) -> None:
    builder.sample([builder.function("main")])
    text = page(builder.build(timeline=True), compress=False)
    assert "function leftHeavy" in text
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?\s*(https?:)?//""", text)
    assert "default-src 'none'" in text
    assert "fetch(" not in text
    assert "XMLHttpRequest" not in text


def test_names_cannot_leave_their_place_in_the_page(builder) -> None:
    odd = "</script><script>alert(1)</script><!--"
    builder.sample([builder.function(odd)])
    text = page(builder.build(meta=Meta(command_line=("perf", odd))), compress=False)
    assert odd not in text
    assert stacks(data(text)) == {(odd,): 1_000_000}


def test_heading(builder) -> None:
    builder.sample([builder.function("main")])
    assert "<title>leader</title>" in page(builder.build())
    assert "<title>perf record -g ./prog</title>" in page(
        builder.build(meta=Meta(command_line=("/usr/bin/perf", "record", "-g", "./prog")))
    )
    assert "<title>nightly &lt;1&gt;</title>" in page(builder.build(), title="nightly <1>")


def test_numbers_of_samples_are_exact(builder) -> None:
    builder.sample([], value=1, count=(1 << 53) + 1)
    assert data(page(builder.build()))["events"][0]["samples"] == (1 << 53) + 1


def test_several_events_are_offered_as_columns(builder) -> None:
    main, thread = [builder.function("main")], builder.thread()
    events = [builder.event(name, "count") for name in ("cycles", "instructions", "page-faults")]
    for event in events:
        assert ("columns" in data(page(builder.build(timeline=True)))) == (event > events[1])
        builder.sample(main, thread, event)
    profile = builder.build(timeline=True)
    held = {one["name"]: one for one in data(page(profile, columns=("ipc", "page-faults/cycles")))["columns"]}
    assert list(held) == ["cycles", "instructions", "page-faults", "ipc", "page-faults/cycles"]
    assert [name for name, one in held.items() if one["shown"]] == ["ipc", "page-faults/cycles"]
    assert held["ipc"] == {"name": "ipc", "events": [2, 1], "factor": 1, "exact": False, "shown": True}
    with pytest.raises(SettingError, match="mpki needs cache-misses or LLC-load-misses, and instructions"):
        page(profile, columns=("mpki",))
