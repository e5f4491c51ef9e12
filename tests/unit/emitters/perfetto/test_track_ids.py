import io
from collections import Counter

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.emitters.perfetto.perfetto import Perfetto
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile.profile import Losses, Meta, Profile, Wait
from perf2x.testing import ProfileBuilder
from tests.support.command import recording
from tests.support.perfetto_trace import Trace, read_trace

BEGIN, END, INSTANT = 1, 2, 3


def written(profile: Profile) -> Trace:
    profile.check()
    out = io.BytesIO()
    Perfetto().emit(profile, out)
    return read_trace(out.getvalue())


def with_waits() -> Profile:
    """Three waits of one thread and a sample, and a wait without a place in time."""
    builder = ProfileBuilder()
    builder.event("off-cpu", "nanoseconds", period=1, frequency=0)
    one, other = builder.thread("worker", 100, 101), builder.thread("other", 100, 102)
    place = [builder.function("main"), builder.function("read")]
    builder.sample(place[:1], one, value=5, time=10, wait=Wait.BLOCKED)
    builder.sample(place, one, value=10, time=15, wait=Wait.PREEMPTED)
    builder.sample(place[:1], other, value=7, time=20, wait=Wait.UNKNOWN)
    builder.sample(place, one, value=3, time=40, wait=Wait.RAN)
    builder.sample(place, one, value=6, time=50, wait=Wait.UNPLACED)
    return builder.build(timeline=True)


def tracks(trace: Trace) -> dict[int, tuple[int, str]]:
    """Thread and name of each track."""
    found: dict[int, tuple[int, str]] = {}
    for packet in trace.of("track_descriptor"):
        one = packet.track_descriptor
        tid = one.thread.tid if one.HasField("thread") else found.get(one.parent_uuid, (0, ""))[0]
        found[one.uuid] = (tid, one.name)
    return found


def test_waits_are_slices_with_their_stacks() -> None:
    trace = written(with_waits())
    named = tracks(trace)
    names: dict[int, str] = {}
    stacks: dict[int, tuple[int, ...]] = {}
    for packet in trace.packets:
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        stacks |= {entry.iid: tuple(entry.frame_ids) for entry in packet.interned_data.callstacks}
    open_on: dict[int, tuple[int, str, int]] = {}
    slices = []
    for packet in trace.of("track_event"):
        event = packet.track_event
        if event.type == BEGIN:
            assert event.track_uuid not in open_on, "a slice begins within another"
            open_on[event.track_uuid] = (packet.timestamp, names[event.name_iid], len(stacks[event.callstack_iid]))
        else:
            slices.append((*open_on.pop(event.track_uuid), packet.timestamp, *named[event.track_uuid]))
    assert slices == [
        (10, "blocked", 1, 15, 101, "off-cpu"),
        (15, "preempted", 2, 25, 101, "off-cpu"),
        (20, "waiting", 1, 27, 102, "off-cpu"),
    ]
    assert not open_on
    assert [sample.weight for sample in trace.samples] == [5, 10, 7, 3, 6], "waits are samples of their event, too"


def test_losses_are_instants() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.sample([builder.function("main")], builder.thread(), time=100)
    profile = builder.build(timeline=True, meta=Meta(start_ns=100, duration_ns=50))
    assert not written(profile).of("track_event")
    lost = Losses(
        np.array([0, 120], np.uint64),
        np.array([-1, 3], np.int32),
        np.array([2**40, 7], np.uint64),
        np.array([True, False]),
    )
    trace = written(replace(profile, losses=lost))
    (track,) = tracks(trace).values()
    assert track == (0, "lost")
    told = []
    for packet in trace.of("track_event"):
        facts = {one.name_iid: one.uint_value for one in packet.track_event.debug_annotations}
        told.append((packet.timestamp, packet.track_event.type, packet.track_event.name_iid, facts))
    assert told == [(150, INSTANT, 2, {1: 2**40}), (120, INSTANT, 1, {1: 7, 2: 3})]
    (tables,) = (packet.interned_data for packet in trace.packets if packet.interned_data.event_names)
    assert [entry.name for entry in tables.event_names] == ["lost records", "lost samples"]
    assert [entry.name for entry in tables.debug_annotation_names] == ["count", "cpu"]


def test_a_recording_tells_what_it_lost() -> None:
    profile = load(str(recording("events")), LoadOptions(timeline=True)).profile
    assert profile.losses is not None and profile.parents is not None
    assert load(str(recording("events")), LoadOptions()).profile.losses is None


def test_the_tree_says_who_forked_whom() -> None:
    profile = load(str(recording("family")), LoadOptions(timeline=True)).profile
    parents = {pid: process.ppid for pid, process in written(profile).processes.items() if process.HasField("ppid")}
    pids = set(profile.threads.pid.tolist())
    assert parents and set(parents) | set(parents.values()) <= pids
    counted = Counter(parents.values())
    assert max(counted.values()) >= 1 and not any(pid == parent for pid, parent in parents.items())


def test_the_first_process_forks_others() -> None:
    """Its id is 0."""
    builder = ProfileBuilder()
    builder.event()
    rows = [builder.thread("swapper", 0), builder.thread("init", 1)]
    for row in rows:
        builder.sample([builder.function("main")], row, time=1)
    profile = replace(builder.build(timeline=True), parents=np.array([-1, 0], np.int32))
    processes = written(profile).processes
    assert processes[1].HasField("ppid") and processes[1].ppid == 0
    assert not processes[0].HasField("ppid")


@pytest.mark.parametrize("chosen", [["main"], ["other"]])
def test_parents_follow_their_threads(chosen: list[str]) -> None:
    from perf2x.model.transforms.drop_unused import compact

    builder = ProfileBuilder()
    builder.event()
    rows = [builder.thread("main", 100), builder.thread("idle", 150), builder.thread("other", 200)]
    for row, name in zip(rows, ("main", "idle", "other"), strict=True):
        if name in [*chosen, "main"]:
            builder.sample([builder.function("f")], row)
    profile = replace(builder.build(timeline=True), parents=np.array([-1, 0, 0], np.int32))
    cut = compact(profile)
    assert cut.parents is not None
    assert cut.parents.tolist() == [-1] + [0] * (len(cut.threads) - 1)
