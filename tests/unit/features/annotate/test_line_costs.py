"""Costs of lines beside a loop over samples, stacks and frames."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.features.annotate.line_costs import frames_of_listed, line_sums, self_and_total_by_group, stack_weights
from perf2x.features.annotate.make_listings import function_of_frame, measures_of
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import location_frames
from perf2x.testing import ProfileBuilder
from tests.support.examples import examples

NAMES = ("f", "g", "h")
LINES = st.tuples(st.sampled_from(NAMES), st.sampled_from(("a.c", "b.c")), st.integers(0, 2))
LOCATION = st.tuples(st.integers(0, 5), st.lists(LINES, max_size=3))
SAMPLE = st.tuples(st.integers(0, 1), st.lists(LOCATION, max_size=4), st.integers(0, 2**40), st.integers(1, 3))


def profile_of(samples) -> Profile:
    builder = ProfileBuilder()
    builder.event()
    builder.event("cycles", "count")
    builder.thread()
    mappings = [builder.mapping("/bin/one"), builder.mapping("/bin/two", start=0x800000)]
    for event, stack, value, count in samples:
        locations = [
            builder.location((0x400000, 0x800000)[number % 2] + number, mappings[number % 2], lines=lines)
            for number, lines in stack
        ]
        builder.sample(locations, event=event, value=value, count=count)
    return builder.build()


def slowly(samples, chosen) -> tuple[Counter, Counter, Counter, Counter]:
    """Self and total by (function, file, line, event), and by (function, event), as numbers of samples."""
    own, total, all_own, all_total = Counter(), Counter(), Counter(), Counter()
    for event, stack, _, count in samples:
        lines, functions = set(), set()
        for depth, (number, frames) in enumerate(stack):
            for inner, (name, file, line) in enumerate(frames):
                key = (name, ("one", "two")[number % 2])
                if key not in chosen:
                    continue
                lines.add((key, file, line, event))
                functions.add((key, event))
                if depth == len(stack) - 1 and inner == 0:
                    own[key, file, line, event] += count
                    all_own[key, event] += count
        total.update(dict.fromkeys(lines, count))
        all_total.update(dict.fromkeys(functions, count))
    return +own, +total, +all_own, +all_total


@settings(max_examples=examples(25))
@given(
    st.lists(SAMPLE, max_size=8),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(("one", "two"))), unique=True),
)
def test_sums(samples, chosen) -> None:
    profile = profile_of(samples)
    measures = [one for one in measures_of(profile, "") if one.value == "samples"]
    frames, stacks = location_frames(profile), stack_weights(profile, tuple(measures))
    entries = frames_of_listed(profile, frames, function_of_frame(frames, chosen))
    sums = line_sums(profile, entries, stacks)
    own, total = Counter(), Counter()
    columns = (
        sums.function.tolist(),
        sums.file.tolist(),
        sums.line.tolist(),
        sums.self_cost.tolist(),
        sums.total_cost.tolist(),
    )
    for function, file, line, self_cost, total_cost in zip(*columns, strict=True):
        for measure, one, all_of_it in zip(measures, self_cost, total_cost, strict=True):
            own[chosen[function], profile.strings[file], line, measure.event] = one
            total[chosen[function], profile.strings[file], line, measure.event] = all_of_it
    by_function = self_and_total_by_group(profile, entries, stacks, entries.function, len(chosen))
    whole = [
        Counter(
            {
                (chosen[row], m.event): costs
                for row, each in enumerate(table.tolist())
                for m, costs in zip(measures, each, strict=True)
            }
        )
        for table in by_function
    ]
    assert (+own, +total, +whole[0], +whole[1]) == slowly(samples, chosen)


def test_periods_of_one_event_are_exact() -> None:
    """Beyond 2**53, where floating-point numbers leave some out."""
    large = 2**60 + 1
    profile = profile_of([(0, [(0, [("f", "a.c", 1)])], large, 1), (1, [(0, [("f", "a.c", 1)])], 5, 1)])
    stacks = stack_weights(profile, measures_of(profile, "period"))
    assert stacks.weight.tolist() == [[large]]
