"""``with_pairs`` on forged tracepoints whose durations are known."""

import struct
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perf2x.base.errors import OptionError
from perf2x.model.diagnostics import Severity
from perf2x.model.profile.profile import Wait
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.pipeline.load_result import Loaded
from perf2x.transforms.filters.choice import Choice
from perf2x.transforms.merge_profiles import merge_profiles
from perf2x.transforms.pairs.pair_spec import Pair, Rule, is_event, parse_pair
from tests.forge import Comm, Event, Features, Mmap2, Record, Sample, Session, write_file
from tests.forge import kernel as k
from tests.forge.features import TRACING_DATA

USER = 0xFFFFFFFFFFFFFE00
TYPE = Event().sample_type | k.RAW | k.IDENTIFIER | k.CPU
FORMATS = {
    "contention_begin": (
        "void * lock_addr;\toffset:8;\tsize:8;\tsigned:0",
        "u32 flags;\toffset:16;\tsize:4;\tsigned:0",
    ),
    "contention_end": ("void * lock_addr;\toffset:16;\tsize:8;\tsigned:0", "int ret;\toffset:8;\tsize:4;\tsigned:1"),
    "my_entry": ("char name[4];\toffset:8;\tsize:4;\tsigned:0", "int depth;\toffset:12;\tsize:4;\tsigned:1"),
    "my_exit": ("char name[4];\toffset:8;\tsize:4;\tsigned:0", "long depth;\toffset:16;\tsize:8;\tsigned:1"),
}
NUMBERS = {name: 300 + row for row, name in enumerate(FORMATS)}
EVENTS = (
    *(
        Event(name=f"{'lock' if 'cont' in name else 'my'}:{name}", type=2, config=NUMBERS[name], period=1,
              sample_type=TYPE, ids=(row + 1,))
        for row, name in enumerate(FORMATS)
    ),
    Event(name="cpu-clock", period=1, sample_type=TYPE, ids=(9,)),
)  # fmt: skip


def tracing_data(order: str) -> bytes:
    """The container of one system that has all formats."""

    def sized(body: bytes) -> bytes:
        return struct.pack(order + "Q", len(body)) + body

    head = b"\x17\x08\x44tracing" + b"0.6\0" + bytes([order == ">", 8]) + struct.pack(order + "I", 4096)
    pages = b"header_page\0" + sized(b"") + b"header_event\0" + sized(b"") + struct.pack(order + "I", 0)
    texts = [
        f"name: {name}\nID: {NUMBERS[name]}\nformat:\n" + "".join(f"\tfield:{field};\n" for field in fields)
        for name, fields in FORMATS.items()
    ]
    system = b"all\0" + struct.pack(order + "I", len(texts)) + b"".join(sized(text.encode()) for text in texts)
    return head + pages + struct.pack(order + "I", 1) + system + struct.pack(order + "II", 0, 0)


def traced(event: str, tid: int, time: int, raw: bytes, cpu: int = 0) -> Sample:
    number = next(each.ids[0] for each in EVENTS if each.name.endswith(event))
    chain = (USER, 0x1000 * tid)
    return Sample(id=number, pid=tid, tid=tid, ip=chain[1], time=time, chain=chain, raw=raw, cpu=cpu)


def begin(tid: int, time: int, lock: int = 0xFFFF_8881_0000_0010, order: str = "<", cpu: int = 0) -> Sample:
    return traced("contention_begin", tid, time, struct.pack(order + "8xQI", lock, 1), cpu)


def end(tid: int, time: int, lock: int = 0xFFFF_8881_0000_0010, order: str = "<", cpu: int = 0) -> Sample:
    return traced("contention_end", tid, time, struct.pack(order + "8xi4xQ", 0, lock), cpu)


def entry(tid: int, time: int, name: bytes, depth: int = 0) -> Sample:
    return traced("my_entry", tid, time, struct.pack("<8x4si", name, depth))


def leave(tid: int, time: int, name: bytes, depth: int = 0) -> Sample:
    return traced("my_exit", tid, time, struct.pack("<8x4s4xq", name, depth))


def loaded(folder: Path, records: Iterable[Record], *pairs: str, order: str = "<", **options: object) -> Loaded:
    features = Features(extra={TRACING_DATA: tracing_data(order)})
    path = folder / "pairs.data"
    names: list[Record] = [Comm(pid=tid, tid=tid, comm=f"t{tid}") for tid in (7, 8)]
    names += [Mmap2(pid=tid, tid=tid, addr=0x1000 * tid, len=0x1000, filename=f"{tid}") for tid in (7, 8)]
    path.write_bytes(write_file(Session(events=EVENTS, order=order, features=features), [*names, *records]))
    asked: dict[str, object] = {"timeline": True, **options}
    found = load(str(path), LoadOptions(pairs=pairs or ("locks",), **asked))  # type: ignore[arg-type]
    found.profile.check()
    return found


def durations(found: Loaded, event: str = "contention_begin:contention_end") -> list[tuple[int, int, int]]:
    """(thread, since, duration) of an event's rows, in order of time."""
    profile = found.profile
    samples = profile.samples
    assert samples.time is not None
    rows = np.flatnonzero(samples.event == [each.name for each in profile.events].index(event))
    tid = profile.threads.tid[samples.thread[rows]].tolist()
    return list(zip(tid, samples.time[rows].tolist(), samples.value[rows].tolist(), strict=True))


def unpaired(found: Loaded) -> tuple[int, int]:
    return found.diagnostics["begins_without_end"], found.diagnostics["ends_without_begin"]


@pytest.mark.parametrize("order", ["<", ">"])
def test_an_end_belongs_to_the_beginning_of_its_lock_and_thread(tmp_path: Path, order: str) -> None:
    """Locks differ in the upper half of their address alone; the end of 7's second lock comes first."""
    other = 0xFFFF_8882_0000_0010
    records = [
        begin(7, 100, order=order), begin(8, 110, order=order), begin(7, 120, other, order), end(7, 150, other, order),
        end(8, 155, order=order), end(7, 170, order=order),
    ]  # fmt: skip
    found = loaded(tmp_path, records, order=order)
    assert durations(found) == [(7, 100, 70), (8, 110, 45), (7, 120, 30)]
    assert unpaired(found) == (0, 0)
    assert [(one.pairs, one.paired_ns) for one in found.pairs] == [(3, 145)]
    leaves = found.profile.stacks.location[found.profile.samples.stack]
    assert found.profile.locations.address[leaves].tolist() == [0x7000, 0x8000, 0x7000]


def test_a_mutex_says_again_that_it_is_contended(tmp_path: Path) -> None:
    """It spun, slept, spun again: the wait began with the first of these, and nothing is left without an end."""
    found = loaded(tmp_path, [begin(7, 100), begin(7, 110), begin(7, 130), end(7, 150), end(7, 160)])
    assert durations(found) == [(7, 100, 50)]
    assert unpaired(found) == (0, 1)
    assert found.diagnostics.counts["ends_without_begin"].severity is Severity.INFO


def test_records_in_any_order_of_cpus(tmp_path: Path) -> None:
    """Buffers of CPUs stand one behind the other in a file: time counts, not place."""
    found = loaded(tmp_path, [end(7, 150, cpu=1), begin(7, 200, cpu=1), begin(7, 100), end(7, 230)])
    assert durations(found) == [(7, 100, 50), (7, 200, 30)]


def test_what_has_no_partner_is_counted_and_in_no_sum(tmp_path: Path) -> None:
    found = loaded(tmp_path, [end(7, 50), begin(8, 60), begin(7, 100), end(7, 130), begin(7, 140)])
    assert durations(found) == [(7, 100, 30)]
    assert unpaired(found) == (2, 1)
    assert (found.pairs[0].begins, found.pairs[0].ends) == (2, 1)


def test_idle_tasks_of_two_cpus_are_two_threads(tmp_path: Path) -> None:
    records = [begin(0, 100, cpu=0), begin(0, 110, cpu=1), end(0, 120, cpu=1), end(0, 150, cpu=0)]
    assert durations(loaded(tmp_path, records)) == [(0, 100, 50), (0, 110, 10)]


def test_samples_whose_bytes_end_before_a_key_have_no_partner(tmp_path: Path) -> None:
    short = replace(begin(7, 100), raw=bytes(12))
    found = loaded(tmp_path, [short, replace(end(7, 120), raw=bytes(12)), begin(7, 130), end(7, 140)])
    assert durations(found) == [(7, 130, 10)]
    assert unpaired(found) == (1, 1)


def test_calls_that_call_themselves_are_nested(tmp_path: Path) -> None:
    """Keys are all fields of one name and type: the name, not the depth, which is an int here and a long there."""
    records = [entry(7, 10, b"ab"), entry(7, 20, b"ab", 1), entry(7, 25, b"cd"), leave(7, 30, b"ab", 1),
               leave(7, 45, b"cd"), leave(7, 50, b"ab"), leave(8, 60, b"ab")]  # fmt: skip
    found = loaded(tmp_path, records, "my_entry:exit")
    assert durations(found, "my_entry:my_exit") == [(7, 10, 40), (7, 20, 10), (7, 25, 20)]
    assert unpaired(found) == (0, 1)


def test_keys_may_be_named(tmp_path: Path) -> None:
    """By the depth alone, 8 ends what 7 began."""
    records = [entry(7, 10, b"ab", 1), entry(7, 20, b"ab", 2), leave(8, 30, b"cd", 1), leave(8, 50, b"cd", 2)]
    found = loaded(tmp_path, records, "my:my_entry:my_exit/depth")
    assert durations(found, "my_entry:my_exit") == [(7, 10, 20), (7, 20, 30)]


def test_other_events_stay_and_the_tracepoints_go(tmp_path: Path) -> None:
    clock = Sample(id=9, pid=7, tid=7, ip=0x7000, time=120, period=5, chain=(USER, 0x7000), raw=b"")
    found = loaded(tmp_path, [begin(7, 100), clock, end(7, 150), entry(7, 160, b"ab")], "locks")
    counted = {event.name: (event.samples, event.value) for event in found.events if event.samples}
    assert counted == {"cpu-clock": (1, 5), "my:my_entry": (1, 1), "contention_begin:contention_end": (1, 50)}
    assert found.profile.events[found.profile.default_event].name == "contention_begin:contention_end"
    assert found.profile.samples.wait is not None
    assert sorted(found.profile.samples.wait.tolist()) == [Wait.RAN, Wait.RAN, Wait.TRACED]


def test_several_pairs_are_several_events(tmp_path: Path) -> None:
    records = [begin(7, 100), entry(7, 110, b"ab"), leave(7, 120, b"ab"), end(7, 150)]
    pairs = ("my_entry:my_exit", "locks", "my_entry:my_exit/name", "locks")
    found = loaded(tmp_path, records, *pairs, timeline=False)
    assert [(one.name, one.paired_ns) for one in found.pairs] == [
        ("my_entry:my_exit", 10), ("contention_begin:contention_end", 50), ("my_entry:my_exit/name", 10)
    ]  # fmt: skip
    assert found.profile.samples.time is None
    assert sorted(found.profile.samples.value.tolist()) == [10, 10, 50]


def test_filters_hold_for_the_beginning(tmp_path: Path) -> None:
    records = [begin(7, 100), begin(8, 110), end(7, 150), end(8, 160), begin(8, 170)]
    found = loaded(tmp_path, records, choice=Choice(tids=(8,)))
    assert durations(found) == [(8, 110, 50)]
    assert unpaired(found) == (1, 0)


def test_durations_are_cut_to_the_time_that_is_asked_for(tmp_path: Path) -> None:
    records = [begin(7, 100), end(7, 150), begin(7, 170), end(7, 190), begin(7, 300), end(7, 310)]
    wanted = Choice(times=("0.000000120,0.000000179",))
    assert durations(loaded(tmp_path, records, choice=wanted)) == [(7, 120, 30), (7, 170, 10)]
    with pytest.raises(OptionError, match="no sample and no pair in that time"):
        loaded(tmp_path, records, choice=Choice(times=("5,6",)))


def test_overlapping_durations_lie_on_lanes_beside_their_thread(tmp_path: Path) -> None:
    """7 runs, waits for two locks at once, then for one; two recordings have no lane in common."""
    clock = Sample(id=9, pid=7, tid=7, ip=0x7000, time=110, period=5, chain=(USER, 0x7000), raw=b"")
    records = [begin(7, 100), clock, begin(7, 120, 1), end(7, 150), end(7, 160, 1), begin(7, 170), end(7, 180)]
    found = loaded(tmp_path, records)
    assert found.profile.samples.lane is not None
    assert found.profile.samples.lane.tolist() == [1, 0, 2, 2]
    merged = merge_profiles([found.profile, found.profile])
    merged.check()
    assert merged.samples.lane is not None
    assert sorted(merged.samples.lane.tolist()) == [0, 0, 1, 2, 2, 3, 4, 4]


def test_samples_of_some_tracepoints_are_a_loss(tmp_path: Path) -> None:
    """-F holds for tracepoints, too."""
    events = tuple(replace(one, flags=one.flags | {"freq"}, sample_type=TYPE | k.PERIOD) for one in EVENTS)
    path = tmp_path / "some.data"
    records = [replace(begin(7, 100), period=3), end(7, 150)]
    features = Features(extra={TRACING_DATA: tracing_data("<")})
    path.write_bytes(write_file(Session(events=events, features=features), records))
    found = load(str(path), LoadOptions(pairs=("locks",)))
    assert found.diagnostics["tracepoints_not_sampled"] == 2
    assert found.diagnostics.counts["tracepoints_not_sampled"].severity is Severity.LOSS


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        ("block", r"pairs=block: the recording has no event 'block:block_rq_issue'; .*-e block:block_rq_complete -g"),
        ("lock:contention_begin:nothing", "pairs=lock:.*: the recording has no event 'lock:nothing'; it has lock:"),
        ("my_entry:my_exit/flags", "no key 'flags' in both events; they have name, depth; or tid, pid, cpu"),
        ("my_entry", "expected BEGIN:END"),
        ("my_entry:my_exit/", "expected BEGIN:END"),
        ("my_entry:my_entry", "both are the same event"),
    ],
)
def test_pairs_that_cannot_be_had(tmp_path: Path, pair: str, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        loaded(tmp_path, [begin(7, 100), end(7, 120)], pair)


def test_waits_and_pairs_do_not_mix(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="choose one"):
        loaded(tmp_path, [begin(7, 100), end(7, 120)], off_cpu="apart")


def test_pairs_as_users_write_them() -> None:
    assert parse_pair("contention_begin:contention_end") == Pair(
        "contention_begin", "contention_end", ("lock_addr", "tid"), Rule.FIRST
    )
    assert parse_pair("irq:softirq_entry:softirq_exit").keys == ("vec", "cpu")
    assert parse_pair("a:b:c:d/x,cpu") == Pair("a:b", "c:d", ("x", "cpu"), Rule.NESTED)
    assert parse_pair("raw_syscalls:sys_enter:sys_exit/tid") == Pair(
        "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", ("tid",), Rule.LAST
    )
    assert is_event("contention_begin", "lock:contention_begin:u")
    assert is_event("lock:contention_begin", "lock:contention_begin")
    assert not is_event("other:contention_begin", "lock:contention_begin")
