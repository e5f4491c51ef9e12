"""Events of two recordings are paired by name."""

from collections.abc import Mapping

import pytest

from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder
from perf2x.tools.diff.matching_objects import with_matching_events


def made(samples: Mapping[str, int]) -> Profile:
    """So many samples of each event."""
    builder = ProfileBuilder()
    builder.thread()
    for name in samples:
        builder.event(name, "count")
    for row, count in enumerate(samples.values()):
        if count:
            builder.sample([builder.function(f"f{row}")], value=count, count=count, event=row)
    return builder.build()


def names(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[list[str], list[str]]:
    profile, notes = with_matching_events(made(before), made(after))
    return [event.name for event in profile.events], notes


@pytest.mark.parametrize("other", ["cpu-clock:pppH", "cpu-clock/freq=99/", "cpu-clock:P"])
def test_either_way_round(other: str) -> None:
    assert names({"cpu-clock": 1}, {other: 1}) == (["cpu-clock"], [])
    assert names({other: 1}, {"cpu-clock": 1}) == ([other], [])


def test_equal_names_come_first() -> None:
    assert names({"cycles:P": 1, "cycles": 1}, {"cycles": 1, "cycles:P": 1}) == (["cycles", "cycles:P"], [])


def test_a_choice_is_said() -> None:
    """The event with more samples is meant, and the other one is named; an event without samples is no choice."""
    hybrid = {"cpu_atom/cycles/": 1, "cpu_core/cycles/": 2}
    said = "comparing cycles with cpu_core/cycles/; cpu_atom/cycles/ could be meant, too (select with --event)"
    assert names({"cycles": 1}, hybrid) == (["cpu_atom/cycles/", "cycles"], [said])
    assert names({"cycles": 1}, {**hybrid, "cpu_atom/cycles/": 0})[1] == []
    found, notes = names({**hybrid, "instructions": 4}, {"cycles": 1, "instructions:u": 1})
    assert found == ["cpu_atom/cycles/", "instructions"]
    assert notes == [
        "comparing cpu_atom/cycles/ with cycles; cpu_core/cycles/ could be meant, too (select with --event)"
    ]


def test_the_same_pmu_and_modes_come_first() -> None:
    found, notes = names({"cpu_core/cycles/": 1}, {"cpu_atom/cycles/P": 9, "cpu_core/cycles/P": 1})
    assert found == ["cpu_atom/cycles/P", "cpu_core/cycles/"]
    assert "cpu_atom/cycles/P could be meant, too" in notes[0]
    assert names({"cycles:u": 1}, {"cycles:P": 9, "cycles:uP": 1})[0] == ["cycles:P", "cycles:u"]


def test_of_events_that_are_alike_the_one_with_most_samples_is_meant() -> None:
    """On either side, unless one of them is what ``before`` shows first."""
    hybrid = {"cpu_atom/cycles/": 1, "cpu_core/cycles/": 5}
    _, notes = names({"cycles": 9}, hybrid)
    assert notes[0].startswith("comparing cycles with cpu_core/cycles/;")
    assert names({"instructions": 1, **hybrid}, {"cycles": 1})[0] == ["cpu_core/cycles/"]
    assert names(hybrid, {"cycles": 1})[0] == ["cpu_atom/cycles/"]


def test_modes_that_differ_are_said() -> None:
    found, (note,) = names({"cycles": 1}, {"cycles:u": 1})
    assert found == ["cycles"]
    assert note.startswith("comparing cycles with cycles:u, which count in different modes")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cpu-clock:ppp", "task-clock:ppp"), ("task-clock", "cpu-clock:pppH"), ("cpu-clock/freq=99/", "task-clock:P"),
    ],
)  # fmt: skip
def test_the_two_clocks_of_cpu_time_are_one(before: str, after: str) -> None:
    assert names({before: 1}, {after: 1}) == ([before], [f"comparing {before} with {after}: both measure CPU time"])
    both = {after: 9, before: 1}
    assert names({before: 1}, both) == ([after, before], [])  # an equal name comes first


def test_what_counts_something_else_keeps_its_name() -> None:
    assert names({"cycles": 1}, {"instructions": 1}) == (["instructions"], [])
    assert with_matching_events(ProfileBuilder().build(), made({"cycles": 1}))[1] == []


def test_the_same_clock_comes_before_the_other() -> None:
    assert names({"cpu-clock": 1}, {"task-clock": 9, "cpu-clock:u": 1})[0] == ["task-clock", "cpu-clock"]
