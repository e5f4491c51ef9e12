"""Events that are read with another one are followers beside it."""

import io
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.abi.uapi import ReadFormat, SampleType
from perf2x.emitters.perfetto.perfetto import Perfetto
from perf2x.emitters.perfetto.samples.sample_sequences import sample_sequences
from perf2x.model.filters.profile_filters import keep_events
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Event
from perf2x.model.transforms.merge_profiles import merge_profiles
from perf2x.stitcher.profile_builder import profile_events
from perf2x.testing import ProfileBuilder
from tests.support import outputs
from tests.support.perfetto_trace import Trace, read_trace
from tests.support.recordings import corpus_cases


def written(profile: Profile) -> Trace:
    profile.check()
    out = io.BytesIO()
    Perfetto().emit(profile, out)
    return read_trace(out.getvalue())


def group() -> ProfileBuilder:
    """Events A and B, which is read with A, and C, which is sampled by itself."""
    builder = ProfileBuilder()
    builder.event("cycles", "count")
    builder.event("page-faults", "count", period=0, frequency=0, leader=0)
    builder.event("cache-misses", "count")
    return builder


def joined(profile: Profile) -> list[tuple[tuple[int, ...], list[tuple[int, tuple[int, ...]]]]]:
    """The scalar twin: events of each sequence, and its samples as first row and weights, for two groups at most."""
    samples, found = profile.samples, {}
    sampled = set(samples.event.tolist())
    for row, event in enumerate(samples.event.tolist()):
        leader = profile.events[event].leader
        leader = leader if leader in sampled else event
        counted = found.setdefault(leader, {})
        place = tuple(int(column[row]) for column in (samples.time, samples.thread, samples.stack, samples.cpu))
        repeats = 0
        while event in counted.get((*place, repeats), {}):
            repeats += 1
        counted.setdefault((*place, repeats), {})[event] = row
    streams = []
    for leader, counted in found.items():
        events = [leader, *sorted({event for rows in counted.values() for event in rows} - {leader})]
        weights = [
            (min(rows.values()), tuple(int(samples.value[rows[event]]) if event in rows else 0 for event in events))
            for rows in counted.values()
        ]
        streams.append((tuple(events), sorted(weights)))
    return sorted(streams)


@settings(max_examples=50)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(0, 1)), max_size=14))
def test_samples_are_joined(drawn: list[tuple[int, int, int, int]]) -> None:
    builder = group()
    thread, places = builder.thread(), [[builder.function(name)] for name in "fgh"]
    for value, (event, time, place, cpu) in enumerate(drawn, 1):
        builder.sample(places[place], thread, event, value=value, time=time, cpu=cpu)
    profile = builder.build(timeline=True)
    found = [
        (stream.events, list(zip(stream.rows.tolist(), zip(*map(list, stream.weights), strict=True), strict=True)))
        for stream in sample_sequences(profile)
    ]
    assert sorted(found) == joined(profile)
    assert [rows for _, rows in found] == [sorted(rows) for _, rows in found]


def test_a_recorded_group_is_one_sequence() -> None:
    (case,) = [case for case in corpus_cases() if case.name == "group_read"]
    profile = outputs.profile_of(case.data, timeline=True, symbols=outputs.symbols_of(case))
    leader, *members = [event.name for event in profile.events]
    assert [event.leader for event in profile.events] == [-1, *[0] * len(members)] and members
    trace, totals, grown = written(profile), Counter(), Counter()
    for sample in trace.samples:
        assert sample.event == leader and [name for name, _ in sample.followers] == members
        counted = {leader: sample.weight, **dict(sample.followers)}
        totals.update(counted)
        grown.update(name for name, weight in counted.items() if weight)
    names = [profile.events[row].name for row in profile.samples.event.tolist()]
    assert grown == Counter(names) and len(trace.samples) < len(names)
    for name in (leader, *members):
        rows = [row for row, found in enumerate(names) if found == name]
        assert totals[name] == int(profile.samples.value[rows].sum())


def test_units_of_followers_are_told() -> None:
    builder = group()
    for event in range(2):
        builder.sample([builder.function("f")], builder.thread(), event, value=7 + event)
    profile = builder.build(timeline=True)
    defaults = [
        packet.trace_packet_defaults for packet in written(profile).packets if packet.trusted_packet_sequence_id > 1
    ]
    (follower,) = defaults[0].stack_sample_defaults.follower_descriptors
    assert (follower.name, follower.unit, follower.scope) == ("page-faults", 5, 1)


def test_a_follower_without_its_leader_is_sampled_by_itself() -> None:
    builder = group()
    for event in range(2):
        builder.sample([builder.function("f")], builder.thread(), event, value=7 + event)
    profile = keep_events(builder.build(timeline=True), ("page-faults",))
    assert [(sample.event, sample.weight, sample.followers) for sample in written(profile).samples] == [
        ("page-faults", 8, ())
    ]


def leaders(*rows: tuple[int, int]) -> list[int]:
    """Leaders of events with these recorded leaders and periods, all of which are read as groups."""
    events = [
        Event(row, f"e{row}", 0, 0, period, SampleType.READ, ReadFormat.GROUP, frozenset(), group_leader=leader)
        for row, (leader, period) in enumerate(rows)
    ]
    return [event.leader for event in profile_events(events)]


def test_members_without_a_period_are_read_by_their_leader() -> None:
    assert leaders((0, 99), (0, 0), (0, 5), (-1, 0)) == [-1, 0, -1, -1]
    assert leaders((0, 99), (0, 0), (1, 0)) == [-1, 0, -1], "damaged: a leader that has one"
    assert profile_events([Event(0, "a", 0, 0, 0, 0, 0, frozenset(), group_leader=1)] * 2)[0].leader == -1


def test_leaders_of_merged_profiles() -> None:
    def profile(*events: tuple[str, int]) -> Profile:
        builder = ProfileBuilder()
        for row, (name, leader) in enumerate(events):
            builder.event(name, leader=leader)
            builder.sample([builder.function("f")], builder.thread(), row)
        return builder.build(timeline=True)

    grouped, other = profile(("a", -1), ("b", 0)), profile(("c", -1), ("a", -1), ("b", 1))
    assert [event.leader for event in merge_profiles([grouped, grouped]).events] == [-1, 0]
    assert [event.leader for event in merge_profiles([other, grouped]).events] == [-1, 0, -1]
    assert [event.leader for event in merge_profiles([grouped, profile(("b", -1))]).events] == [-1, -1]
