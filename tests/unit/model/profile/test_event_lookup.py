"""Events by the names that users write, and names short enough for sample types."""

import pytest
from msgspec.structs import replace

from perf2x.errors import OptionError
from perf2x.model.profile.profile import Profile, are_samples, find_event, plain_names
from perf2x.testing import ProfileBuilder


def profile_of(*names: str) -> Profile:
    builder = ProfileBuilder()
    for name in names:
        builder.event(name, "count")
    return builder.build()


@pytest.mark.parametrize(("wanted", "row"), [("cycles:P", 0), ("cycles", 0), ("cpu-clock", 1), ("faults", 2)])
def test_a_name_without_modifiers_or_terms_finds_its_event(wanted: str, row: int) -> None:
    assert find_event(profile_of("cycles:P", "cpu-clock/freq=99/", "faults"), wanted) == row


def test_an_exact_name_wins_over_a_short_one() -> None:
    assert find_event(profile_of("cycles:u", "cycles"), "cycles") == 1


def test_no_name_is_the_default_event() -> None:
    profile = profile_of("faults", "cycles")
    assert find_event(profile, None) == profile.default_event


def test_an_unknown_event_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(OptionError, match="'instructions' is not in this recording; it has cycles:P, faults"):
        find_event(profile_of("cycles:P", "faults"), "instructions")
    with pytest.raises(OptionError, match="it has none"):
        find_event(profile_of(), "instructions")


def test_a_name_of_several_events_is_refused() -> None:
    with pytest.raises(OptionError, match="'cycles' names several events; it has cycles:u, cycles:k"):
        find_event(profile_of("cycles:u", "cycles:k"), "cycles")


def test_plain_names_drop_terms_of_the_recording_unless_two_events_would_share_a_name() -> None:
    events = profile_of("cpu-clock/freq=499/", "cycles/freq=9/u", "cpu/event=1/").events
    assert plain_names(events) == ["cpu-clock", "cycles:u", "cpu/event=1/"]
    assert plain_names(profile_of("a/freq=1/", "a/freq=2/").events) == ["a/freq=1/", "a/freq=2/"]


def test_what_perf_stat_read_is_no_sample() -> None:
    builder = ProfileBuilder()
    builder.thread()
    for name in ("cycles", "instructions"):
        builder.sample([builder.function("main")], event=builder.event(name, "count"))
    profile = builder.build()
    cycles, instructions = profile.events
    mixed = replace(profile, events=(cycles, replace(instructions, is_count=True)))
    assert (are_samples(profile).tolist(), are_samples(mixed).tolist()) == ([True, True], [True, False])
    assert are_samples(profile_of("cycles")).tolist() == []
