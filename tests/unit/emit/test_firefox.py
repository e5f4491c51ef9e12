import io
import json

from perf2x.abi.uapi import CpuMode
from perf2x.emit.firefox.emitter import Firefox
from perf2x.plugins.contracts import EmitterContract
from perf2x.tables.profile import Profile

MS = 1_000_000


def written(profile: Profile, **options: object) -> dict:
    out = io.BytesIO()
    Firefox(**options).emit(profile, out)
    return check(out.getvalue())


def check(output: bytes) -> dict:
    """Tables of one length, indices in range, and Perfetto's two demands."""
    assert output.startswith(b'{"meta":')
    parsed = json.loads(output)
    for thread in parsed["threads"]:
        assert "time" in thread["samples"]
        for name in ("samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable"):
            table = thread[name]
            columns = {key: value for key, value in table.items() if isinstance(value, list)}
            assert {len(column) for column in columns.values()} == {table["length"]}, name
        stacks, frames = thread["stackTable"], thread["frameTable"]
        assert all(row is None or row < at for at, row in enumerate(stacks["prefix"]))
        assert all(row < frames["length"] for row in stacks["frame"])
        assert all(row < len(thread["stringArray"]) for row in thread["funcTable"]["name"])
        assert all(row < thread["resourceTable"]["length"] for row in thread["funcTable"]["resource"])
        assert all(row is None or row < stacks["length"] for row in thread["samples"]["stack"])
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
    return parsed


def path(thread: dict, row: int | None) -> list[str]:
    names = []
    while row is not None:
        func = thread["frameTable"]["func"][thread["stackTable"]["frame"][row]]
        names.append(thread["stringArray"][thread["funcTable"]["name"][func]])
        row = thread["stackTable"]["prefix"][row]
    return names[::-1]


class TestFirefoxContract(EmitterContract):
    def emitter(self) -> Firefox:
        return Firefox()

    def output(self, profile) -> bytes:
        output = super().output(profile)
        parsed = check(output)
        rows = sum(thread["samples"]["length"] + thread["markers"]["length"] for thread in parsed["threads"])
        assert rows == len(profile.samples)
        return output


def test_samples_have_times_in_milliseconds_and_stacks(builder) -> None:
    builder.sample([builder.function("main"), builder.location(0x10, lines=["inner", "outer"])], time=5 * MS)
    builder.sample([], time=7_250_000)
    (thread,) = written(builder.build(timeline=True))["threads"]
    assert thread["samples"]["time"] == [0.0, 2.25]
    assert [path(thread, row) for row in thread["samples"]["stack"]] == [["main", "outer", "inner"], []]
    assert (thread["name"], thread["processName"], thread["pid"], thread["isMainThread"]) == (
        "my prog",
        "leader",
        "7",
        False,
    )


def test_other_events_are_markers_with_a_cause(builder) -> None:
    faults = builder.event("page-faults", "count", period=1)
    builder.sample([builder.function("main")], time=0)
    builder.sample([builder.function("touch")], event=faults, time=3 * MS)
    builder.sample([], event=faults, time=4 * MS)
    profile = builder.build(timeline=True)
    (thread,) = written(profile)["threads"]
    markers = thread["markers"]
    assert [thread["stringArray"][row] for row in markers["name"]] == ["page-faults", "page-faults"]
    assert markers["startTime"] == [3.0, 4.0]
    assert path(thread, markers["data"][0]["cause"]["stack"]) == ["touch"]
    assert markers["data"][1] == {"type": "event"}
    assert written(profile, markers=False)["threads"][0]["markers"]["length"] == 0
    assert Firefox().notes(profile) == ("samples are cpu-clock; markers are page-faults",)


def test_categories_and_interval(builder) -> None:
    library = builder.mapping("/usr/lib/libc.so.6", 0x7F0000000000)
    places = [
        builder.function("main"),
        builder.function("sys_read", CpuMode.KERNEL),
        builder.location(0x7F0000000001, library),
    ]
    builder.sample(places, time=0)
    parsed = written(builder.build(timeline=True))
    (thread,) = parsed["threads"]
    names = [parsed["meta"]["categories"][row]["name"] for row in thread["stackTable"]["category"]]
    assert sorted(names) == ["Kernel", "Other", "User"]
    assert parsed["meta"]["interval"] == 1.0
    assert [thread["stringArray"][row] for row in thread["resourceTable"]["name"]] == ["libc.so.6"]


def test_threads_stand_by_process_leaders_first(builder) -> None:
    for comm, pid, tid in (("b", 9, 10), ("leader", 7, 7), ("a", 9, 9)):
        builder.sample([builder.function("main")], builder.thread(comm, pid, tid), time=tid * MS)
    builder.sample([builder.function("main")], 0, time=99 * MS)
    threads = written(builder.build(timeline=True))["threads"]
    assert [(one["pid"], one["tid"]) for one in threads] == [("7", "7"), ("7", "8"), ("9", "9"), ("9", "10")]
