"""Processes, threads and CPUs of Chrome traces: their names and their order."""

from perf2x.emitters.chrome.chrome import Chrome
from perf2x.emitters.timeline.tracks import FIRST_CPU_ID, UNKNOWN_ID
from tests.support.chrome_traces import MS, names, slices, stacks, trace


def test_names_of_processes_and_threads(builder) -> None:
    worker = builder.thread("worker", 7, 9, "leader")
    unknown = builder.thread("", -1, -1)
    for row, thread in enumerate((0, worker, unknown)):
        builder.sample(stacks(builder, "a")[0], thread, time=row * MS)
    parsed = trace(builder.build(timeline=True))
    threads = {(7, 8): "my prog", (7, 9): "worker", (UNKNOWN_ID, UNKNOWN_ID): ""}
    assert names(parsed, "thread_name") == threads
    assert names(parsed, "process_name") == {(7, 8): "leader", (UNKNOWN_ID, UNKNOWN_ID): ""}
    assert "cat" not in parsed["traceEvents"][0]


def test_idle_threads_are_told_apart_by_cpu(builder) -> None:
    idle = builder.thread("swapper", 0, 0)
    for cpu in (0, 1, 0, 1):
        builder.sample(stacks(builder, "i")[0], idle, time=cpu * 1000, cpu=cpu)
    parsed = trace(builder.build(timeline=True))
    assert names(parsed, "thread_name") == {(0, 1): "swapper/0", (0, 2): "swapper/1"}


def test_a_thread_that_renames_itself_is_one_track(builder) -> None:
    renamed = builder.thread("new name", 7, 8, "leader")
    (stack,) = stacks(builder, "a")
    builder.sample(stack, time=0)
    builder.sample(stack, renamed, time=1 * MS)
    parsed = trace(builder.build(timeline=True))
    assert slices(parsed) == [("a", 0, 2000)]
    assert names(parsed, "thread_name") == {(7, 8): "new name"}


def test_cpu_tracks_show_who_ran(builder) -> None:
    other = builder.thread("other", 9, 9)
    (stack,) = stacks(builder, "a")
    for time, (thread, cpu) in enumerate(((0, 0), (other, 0), (0, 1))):
        builder.sample(stack, thread, time=time * MS, cpu=cpu)
    parsed = trace(builder.build(timeline=True), per_cpu=True)
    cpus = {(FIRST_CPU_ID, FIRST_CPU_ID): "CPU 0", (FIRST_CPU_ID + 1, FIRST_CPU_ID + 1): "CPU 1"}
    assert {ids: name for ids, name in names(parsed, "process_name").items() if ids[0] >= FIRST_CPU_ID} == cpus
    assert set(names(parsed, "thread_name").values()) == {"my prog", "other", "CPU 0", "CPU 1"}
    drawn = [one for one in parsed["traceEvents"] if one["ph"] == "X" and one["pid"] >= FIRST_CPU_ID]
    mine, others = (0, "my prog (8)", 0), (0, "other (9)", 1000)
    expected = [mine, (0, "a", 0), others, (0, "a", 1000), (1, "my prog (8)", 2000), (1, "a", 2000)]
    assert [(one["tid"] - FIRST_CPU_ID, one["name"], one["ts"]) for one in drawn] == expected


def test_a_recording_without_cpus_has_no_tracks_of_them_and_says_so(builder) -> None:
    builder.sample(stacks(builder, "a")[0], cpu=-1)
    profile = builder.build(timeline=True)
    assert all(one["pid"] < FIRST_CPU_ID for one in trace(profile, per_cpu=True)["traceEvents"])
    assert ["the samples have no CPU" in note for note in Chrome(per_cpu=True).notes(profile)] == [True]
    assert Chrome().notes(profile) == ()


def test_busiest_process_first(builder) -> None:
    busy = builder.thread("busy", 9, 9)
    (stack,) = stacks(builder, "a")
    for time, thread in enumerate((0, busy, busy)):
        builder.sample(stack, thread, time=time * MS)
    parsed = trace(builder.build(timeline=True))
    order = {
        one["pid"]: one["args"]["sort_index"] for one in parsed["traceEvents"] if one["name"] == "process_sort_index"
    }
    assert order == {9: 0, 7: 1}
