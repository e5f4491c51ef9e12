import io
import json

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters.firefox.firefox import Firefox
from perf2x.model.profile.profile import Meta, Profile, RunningThreads, Wait
from perf2x.model.profile.tracepoint_fields import FieldColumn, TracepointFields
from perf2x.testing import EmitterContract, ProfileBuilder

MS = 1_000_000
SHARED = ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources", "sourceLocationTable")


def written(profile: Profile, **options: object) -> dict:
    out = io.BytesIO()
    Firefox(**options).emit(profile, out)
    return check(out.getvalue())


def check(output: bytes) -> dict:
    """Tables of one length, indices in range, and Perfetto's demands."""
    assert output.startswith(b'{"meta":')
    parsed = json.loads(output)
    shared, meta = parsed["shared"], parsed["meta"]
    for name in SHARED:
        check_columns(shared[name])
    stacks, frames, functions = (shared[name] for name in SHARED[:3])
    assert all(row is None or row < at for at, row in enumerate(stacks["prefix"]))
    check_rows(stacks["frame"], frames["length"])
    check_rows(frames["func"], functions["length"])
    check_rows(frames["category"], len(meta["categories"]))
    check_rows(
        functions["name"] + shared["resourceTable"]["name"] + shared["sources"]["filename"], len(shared["stringArray"])
    )
    check_rows([row for row in functions["resource"] if row != -1], shared["resourceTable"]["length"])
    check_rows([row for row in functions["source"] if row is not None], shared["sources"]["length"])
    check_rows([row for row in shared["resourceTable"]["lib"] if row is not None], len(parsed["libs"]))
    for thread in parsed["threads"]:
        check_thread(thread, parsed)
    for counter in parsed["counters"]:
        check_columns(counter["samples"])
        assert parsed["threads"][counter["mainThreadIndex"]]["pid"] == counter["pid"]
    return parsed


def check_columns(table: dict) -> None:
    columns = [value for value in table.values() if isinstance(value, list)]
    assert {len(column) for column in columns} <= {table["length"]}


def check_rows(rows: list[int], count: int) -> None:
    assert all(0 <= row < count for row in rows)


def check_thread(thread: dict, parsed: dict) -> None:
    samples, markers = thread["samples"], thread["markers"]
    check_columns(samples)
    check_columns(markers)
    check_rows([row for row in samples["stack"] if row is not None], parsed["shared"]["stackTable"]["length"])
    assert samples["time"] == sorted(samples["time"])
    assert all(delta >= 0 for delta in samples["threadCPUDelta"])
    assert all(end >= start for start, end in zip(markers["startTime"], markers["endTime"], strict=True))
    check_rows(markers["name"], len(parsed["shared"]["stringArray"]))
    check_rows(markers["category"], len(parsed["meta"]["categories"]))
    schemas = {schema["name"] for schema in parsed["meta"]["markerSchema"]}
    assert {data["type"] for data in markers["data"]} <= schemas


def path(parsed: dict, row: int | None) -> list[str]:
    """Names of a stack, the outermost first."""
    shared, names = parsed["shared"], []
    while row is not None:
        func = shared["frameTable"]["func"][shared["stackTable"]["frame"][row]]
        names.append(shared["stringArray"][shared["funcTable"]["name"][func]])
        row = shared["stackTable"]["prefix"][row]
    return names[::-1]


def category(parsed: dict, row: int) -> tuple[str, str]:
    """Category and subcategory of a stack's innermost frame."""
    frames, frame = parsed["shared"]["frameTable"], parsed["shared"]["stackTable"]["frame"][row]
    found = parsed["meta"]["categories"][frames["category"][frame]]
    return found["name"], found["subcategories"][frames["subcategory"][frame]]


class TestFirefoxContract(EmitterContract):
    def emitter(self) -> Firefox:
        return Firefox()

    def output(self, profile: Profile) -> bytes:
        output = super().output(profile)
        threads = check(output)["threads"]
        counted = sum(sum(thread["samples"]["weight"]) + thread["markers"]["length"] for thread in threads)
        assert counted == (profile.samples.count.sum() if len(profile.events) == 1 else len(profile.samples))
        return output


def test_samples_have_times_in_milliseconds_and_stacks(builder: ProfileBuilder) -> None:
    builder.sample([builder.function("main"), builder.location(0x10, lines=["inner", "outer"])], time=5 * MS)
    builder.sample([], time=6_250_000)
    parsed = written(builder.build(timeline=True))
    (thread,) = parsed["threads"]
    assert thread["samples"]["time"] == [0.0, 1.25, 2.25]
    assert [path(parsed, row) for row in thread["samples"]["stack"]] == [["main", "outer", "inner"], [], []]
    assert (thread["name"], thread["processName"], thread["pid"], thread["isMainThread"]) == (
        "my prog",
        "leader",
        "7",
        False,
    )


def test_a_thread_that_sleeps_between_samples_is_idle_there(builder: ProfileBuilder) -> None:
    """Rows without stack and weight stand where it begins to run and where it stops.

    Times count from the first sample; what ran before it is the CPU time of the first row.
    """
    for time in (0, 1, 2, 100):
        builder.sample([builder.function("main")], time=time * MS)
    parsed = written(builder.build(timeline=True))
    samples = parsed["threads"][0]["samples"]
    assert samples["time"] == [0, 1, 2, 3, 99, 100, 101]
    assert [row is None for row in samples["stack"]] == [False, False, False, True, True, False, True]
    assert samples["weight"] == [1, 1, 1, 0, 0, 1, 0]
    assert samples["threadCPUDelta"] == [MS, MS, MS, 0, 0, MS, 0]
    assert parsed["meta"]["sampleUnits"] == {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"}


def test_waits_weigh_as_long_as_they_last_and_take_no_cpu_time(builder: ProfileBuilder) -> None:
    waited = builder.event("off-cpu", "nanoseconds", frequency=0, is_wait=True)
    stack = [builder.function("main"), builder.function("read")]
    builder.sample(stack, time=0)
    builder.sample(stack, event=waited, value=8 * MS, time=1 * MS, wait=Wait.BLOCKED)
    builder.sample(stack, time=10 * MS)
    builder.sample(stack, event=waited, value=2 * MS, time=12 * MS, wait=Wait.PREEMPTED)
    profile = builder.build(timeline=True)
    parsed = written(profile)
    samples = parsed["threads"][0]["samples"]
    assert samples["weightType"] == "tracing-ms"
    assert samples["weight"] == [1, 8, 0, 1, 0, 2, 0]
    assert samples["time"] == [0, 1, 9, 10, 11, 12, 14]
    assert samples["threadCPUDelta"] == [MS, 0, 0, MS, 0, 0, 0]
    rows = [row for row in samples["stack"] if row is not None]
    assert [path(parsed, row) for row in rows] == [["main", "read"]] * 4
    assert [category(parsed, row) for row in rows] == [
        ("User", "Other"),
        ("Off-CPU", "Blocked"),
        ("User", "Other"),
        ("Off-CPU", "Preempted"),
    ]
    assert Firefox().notes(profile) == ()
    assert Firefox(event="cpu-clock").notes(profile) == ("samples are cpu-clock; markers are off-cpu",)
    alone = written(profile, event="cpu-clock")["threads"][0]
    assert alone["samples"]["weightType"] == "samples"
    assert (alone["markers"]["startTime"], alone["markers"]["endTime"]) == ([1, 12], [9, 14])
    assert alone["markers"]["phase"] == [1, 1]


def test_other_events_are_markers_with_a_cause(builder: ProfileBuilder) -> None:
    faults = builder.event("page-faults", "count", period=1)
    builder.sample([builder.function("main")], time=0)
    builder.sample([builder.function("touch")], event=faults, time=3 * MS)
    builder.sample([], event=faults, time=4 * MS)
    profile = builder.build(timeline=True)
    parsed = written(profile)
    markers = parsed["threads"][0]["markers"]
    assert [parsed["shared"]["stringArray"][row] for row in markers["name"]] == ["page-faults", "page-faults"]
    assert markers["startTime"] == markers["endTime"] == [3.0, 4.0]
    assert markers["phase"] == [0, 0]
    assert markers["data"][0]["cause"]["time"] == 3.0
    assert path(parsed, markers["data"][0]["cause"]["stack"]) == ["touch"]
    assert markers["data"][1] == {"type": "page-faults"}
    assert [schema["name"] for schema in parsed["meta"]["markerSchema"]] == ["page-faults"]
    assert {parsed["meta"]["categories"][row]["name"] for row in markers["category"]} == {"page-faults"}
    assert written(profile, markers=False)["threads"][0]["markers"]["length"] == 0
    assert Firefox().notes(profile) == ("samples are cpu-clock; markers are page-faults",)
    assert Firefox(markers=False).notes(profile) == ("samples are cpu-clock; counters are page-faults",)


def test_a_clock_makes_the_samples_whatever_was_recorded_first() -> None:
    """CPU time is known of a clock alone; waits stay what they are, and a name that was given holds."""
    builder = ProfileBuilder()
    switches, clock = builder.event("sched:sched_switch", "count", 1), builder.event("cpu-clock", "nanoseconds")
    builder.thread("app", 7)
    builder.sample([builder.function("schedule")], event=switches, time=1 * MS)
    builder.sample([builder.function("main")], event=clock, value=2 * MS, time=3 * MS)
    profile = builder.build(timeline=True)
    assert Firefox().notes(profile) == ("samples are cpu-clock; markers are sched:sched_switch",)
    assert sum(written(profile)["threads"][0]["samples"]["threadCPUDelta"]) == 2 * MS
    named = "samples are sched:sched_switch; markers are cpu-clock"
    assert Firefox(event="sched:sched_switch").notes(profile) == (named,)


def test_how_many_threads_ran_is_a_counter(builder: ProfileBuilder) -> None:
    """Time 0 is the first sample; a change stands behind a row of none, so that steps are drawn; at 4 ms is none."""
    builder.sample([builder.function("main")], builder.thread("b", 9, 10), time=2 * MS)
    times = np.array([0, 3 * MS, 4 * MS, 4 * MS + 1, 5 * MS], np.uint64)
    curve = RunningThreads(times, np.array([2, 3, 4, 3, 1], np.int32))
    profile = replace(builder.build(timeline=True), running=curve)
    (counter,) = written(profile)["counters"]
    assert counter["samples"] == {"length": 6, "time": [0, 0, 1, 1, 3, 3], "count": [0, 2, 0, 1, 0, -2]}
    assert (counter["name"], counter["pid"], counter["mainThreadIndex"]) == ("threads running", "9", 0)
    assert counter["display"]["graphType"] == "line-accumulated"
    assert written(profile, counters=False)["counters"] == []


def test_other_events_are_counters_of_their_process_but_tracepoints_are_not(builder: ProfileBuilder) -> None:
    faults = builder.event("page-faults:u", "count", period=1)
    traced = builder.event("sched:sched_switch", "count", period=1)
    main = [builder.function("main")]
    builder.sample(main, builder.thread("b", 9, 10), time=0)
    for time, value in ((3, 5), (4, 7)):
        builder.sample(main, builder.thread("b", 9, 10), faults, value, time=time * MS)
    builder.sample(main, builder.thread("b", 9, 9), traced, time=5 * MS)
    builder.sample(main, builder.thread("a", 8, 8), faults, 1, time=6 * MS)
    profile = builder.build(timeline=True)
    one, two = written(profile)["counters"]
    assert (one["pid"], one["mainThreadIndex"], two["pid"], two["mainThreadIndex"]) == ("8", 0, "9", 1)
    assert (two["name"], two["samples"]["time"], two["samples"]["count"]) == ("page-faults:u", [3, 4], [5, 7])
    assert written(profile, counters=False)["counters"] == []
    names = [entry["name"] for entry in written(profile)["meta"]["categories"]]
    assert names[-2:] == ["page-faults", "sched"]


def test_context_switches_are_markers(builder: ProfileBuilder) -> None:
    main, idle = [builder.function("main")], builder.thread("swapper", 0, 0)
    for time in (0, 50):
        builder.sample(main, time=time * MS)
    for time, thread, is_out in ((2, 0, True), (40, 0, False), (44, idle, True), (60, 0, True)):
        builder.switch(time * MS, thread, is_out)
    parsed = written(builder.build(timeline=True))
    markers = parsed["threads"][0]["markers"]
    assert (markers["startTime"], markers["endTime"], markers["phase"]) == ([2, 60], [40, 60], [1, 0])
    assert [parsed["meta"]["categories"][row]["name"] for row in markers["category"]] == ["Context switch"] * 2


def test_stacks_are_shared_by_threads(builder: ProfileBuilder) -> None:
    stack = [builder.function("main"), builder.function("work")]
    for tid in (7, 8, 9):
        builder.sample(stack, builder.thread("leader", 7, tid), time=tid * MS)
    parsed = written(builder.build(timeline=True))
    assert parsed["shared"]["stackTable"]["length"] == 2
    assert len(parsed["threads"]) == 3


def test_categories_and_interval(builder: ProfileBuilder) -> None:
    """A frame without a name has the mode that its CPU was in, and so the colour."""
    library = builder.mapping("/usr/lib/libc.so.6", 0x7F0000000000)
    places = [
        builder.function("main"),
        builder.function("sys_read", CpuMode.KERNEL),
        builder.location(0x7F0000000001, library),
        builder.location(0x7F0000000002, library, mode=CpuMode.UNKNOWN),
    ]
    builder.sample(places, time=0)
    parsed = written(builder.build(timeline=True))
    shared = parsed["shared"]
    names = [parsed["meta"]["categories"][row]["name"] for row in shared["frameTable"]["category"]]
    assert sorted(names) == ["Kernel", "Other", "User", "User"]
    assert parsed["meta"]["interval"] == 1.0
    assert [shared["stringArray"][row] for row in shared["resourceTable"]["name"]] == ["libc.so.6"]


def test_libraries_have_build_ids(builder: ProfileBuilder) -> None:
    build_id = "0123456789abcdef0011223344556677deadbeef"
    library = builder.mapping("/usr/lib/libc.so.6", 0x7F0000000000, build_id=build_id)
    memory = builder.mapping("//anon", 0x7E0000000000)
    line = ("read", "/src/read.c", 12)
    builder.sample(
        [builder.location(0x7E0000000001, memory), builder.location(0x7F0000000001, library, [line])], time=0
    )
    parsed = written(builder.build(timeline=True, meta=Meta(arch="x86_64")))
    (entry,) = parsed["libs"]
    assert (entry["name"], entry["path"], entry["arch"]) == ("libc.so.6", "/usr/lib/libc.so.6", "x86_64")
    assert (entry["codeId"], entry["breakpadId"]) == (build_id, "67452301AB89EFCD00112233445566770")
    assert sorted(parsed["shared"]["resourceTable"]["lib"], key=str) == [0, None]
    sources = parsed["shared"]["sources"]
    assert [parsed["shared"]["stringArray"][row] for row in sources["filename"]] == ["/src/read.c"]


def test_threads_stand_by_process_leaders_first(builder: ProfileBuilder) -> None:
    for comm, pid, tid in (("b", 9, 10), ("leader", 7, 7), ("a", 9, 9)):
        builder.sample([builder.function("main")], builder.thread(comm, pid, tid), time=tid * MS)
    builder.sample([builder.function("main")], 0, time=99 * MS)
    threads = written(builder.build(timeline=True))["threads"]
    assert [(one["pid"], one["tid"]) for one in threads] == [("7", "7"), ("7", "8"), ("9", "9"), ("9", "10")]


def test_fields_of_tracepoints_are_in_their_markers_and_schema(builder: ProfileBuilder) -> None:
    """A tracepoint that makes the samples is drawn as markers, too."""
    traced = builder.event("sched:sched_switch", "count", period=1)
    for time in range(3):
        builder.sample([builder.function("main")], event=traced, time=time * MS)
    columns = (
        FieldColumn("prev_pid", "integer", np.array([7, -8])),
        FieldColumn("type", "text", np.array([1, 0]), ['a "b"\n', "swapper"]),
    )
    profile = builder.build(timeline=True)
    samples = replace(profile.samples, fields=np.array([1, 0, -1], np.int32))
    profile = replace(profile, samples=samples, fields=(TracepointFields(2, columns),), default_event=traced)
    parsed = written(profile)
    first, second = parsed["threads"][0]["markers"]["data"]
    assert (first["prev_pid"], first["type_"], first["cause"]["stack"]) == (-8, 'a "b"\n', 0)
    assert (second["prev_pid"], second["type_"]) == (7, "swapper")
    (schema,) = parsed["meta"]["markerSchema"]
    formats = [(field["key"], field["format"]) for field in schema["fields"]]
    assert (schema["name"], formats) == ("sched:sched_switch", [("prev_pid", "integer"), ("type_", "string")])
    assert schema["tableLabel"] == "prev_pid={marker.data.prev_pid} type_={marker.data.type_}"
