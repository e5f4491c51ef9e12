"""Comparisons of two tables, and the limits held against them, on profiles whose numbers are known."""

from collections.abc import Mapping

import pytest

from perf2x.cli.diff.fail_above import GrowthGate, GrowthVerdict
from perf2x.cli.options.diff_options import GrowthFlags, read_confidence, read_limit
from perf2x.errors import OptionError
from perf2x.model.profile.profile import Profile
from perf2x.model.totals.totals import totals
from perf2x.testing import ProfileBuilder
from perf2x.tools.diff.changes import Change, Comparison, difference, excludes_zero, normalized


def profile(counts: Mapping[str, int], weight: int = 1, other: int = 0) -> Profile:
    """So many samples in each function, each of the given weight; ``other`` samples of a second event."""
    made = ProfileBuilder()
    made.event("cycles", "count", period=weight)
    made.event("faults", "count", period=1)
    made.thread()
    for name, count in counts.items():
        made.sample([made.function(name)], value=count * weight, count=count)
    if other:
        made.sample([made.function("f")], event=1, value=other, count=other)
    return made.build()


def compared(before: Profile, after: Profile, normalize: bool = False) -> Comparison:
    return Comparison(totals(before), totals(after), normalize)


def verdict(
    bar: str, before: Mapping[str, int], after: Mapping[str, int], *, any_change: bool = False
) -> GrowthVerdict:
    comparison = compared(profile(before), profile(after))
    asked = GrowthFlags((read_limit(bar),), any_change=any_change)
    return GrowthGate(asked, "self").verdict("function", lambda kind: comparison)


@pytest.mark.parametrize(
    ("many", "names"), [(3, "f0, f1, f2 grew"), (4, "f0, f1, f2 and 1 more grew"), (5, "f0, f1, f2 and 2 more grew")]
)
def test_three_changes_that_noise_explains_are_named(many: int, names: str) -> None:
    before = {f"f{row}": 100 for row in range(many)}
    found = verdict("function=1", before, dict.fromkeys(before, 110))
    assert not found.failures
    assert [note.partition(" by more")[0] for note in found.notes] == [names]


def test_growth_of_a_share_of_nothing_closes_no_gate() -> None:
    """Neither the whole nor any line; a limit that is reached exactly does not close it either."""
    for bar in ("5", "total=5", "function=5", "function:f=5"):
        assert not verdict(bar, {}, {"f": 1000}, any_change=True).failures
    assert not verdict("function=50", {"f": 100}, {"f": 150}, any_change=True).failures
    assert len(verdict("function=50", {"f": 100}, {"f": 151}, any_change=True).failures) == 1


def test_normalized_wholes_are_equal_and_lines_are_not() -> None:
    """A plain limit holds for the lines and the whole; of shares only for the lines."""
    before, after = profile({"f": 100, "g": 100}), profile({"f": 1000, "g": 10})
    for normalize, subjects in ((False, ["the total", "f"]), (True, ["f"])):
        comparison = compared(before, after, normalize)
        gate = GrowthGate(GrowthFlags((read_limit("1"),)), "self")
        found = gate.verdict("function", lambda kind, held=comparison: held)
        assert [sentence.partition(" grew")[0] for sentence in found.failures.values()] == subjects


def test_the_surest_growth_that_is_less_than_a_sample_counts() -> None:
    """100 to 131 has limits of 0.4 to 62: more than nothing is enough."""
    found = verdict("function=5", {"f": 100}, {"f": 131})
    (limits,) = found.intervals.values()
    assert 0 < limits[0] < 1
    assert len(found.failures) == 1


@pytest.mark.parametrize("text", ["0", "1", "0%", "100%", "-1", "1.5", "sure", ""])
def test_a_confidence_is_between_nothing_and_certainty(text: str) -> None:
    with pytest.raises(OptionError, match="between 0 and 1"):
        read_confidence("confidence", text)


@pytest.mark.parametrize(("text", "value"), [("0.95", 0.95), (" 95% ", 0.95), ("0.5%", 0.005)])
def test_confidences(text: str, value: float) -> None:
    assert read_confidence("confidence", text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["function:=5", "thing=5", "functions=5", "=5", "function:f=101", "x"])
def test_limits_that_are_none(text: str) -> None:
    with pytest.raises(OptionError, match="--fail-above"):
        read_limit(text)


def test_an_interval_that_touches_nothing_does_not_exclude_it() -> None:
    limits = ((0.0, 1.0), (-1.0, 0.0), (0.5, 1.0), (-1.0, -0.5), (-1.0, 1.0))
    assert [excludes_zero(pair) for pair in limits] == [False, False, True, True, False]


def test_a_change_knows_its_two_columns() -> None:
    change = Change("f", "o", 1, 3, 10, 17, (0.5, 1.0), (-1.0, 1.0))
    assert (change.self, change.total) == (2, 7)
    assert [change.change(sort) for sort in ("self", "total")] == [2, 7]
    assert [change.before_and_after(sort) for sort in ("self", "total")] == [(1, 3), (10, 17)]
    assert [change.significant(sort) for sort in ("self", "total")] == [True, False]
    assert change.with_interval("total", (2.0, 3.0)).interval("total") == (2.0, 3.0)
    assert change.with_interval("total", (2.0, 3.0)).interval("self") == (0.5, 1.0)
    assert change.with_interval("self", (2.0, 3.0)).interval("self") == (2.0, 3.0)


def test_shares_scale_after_to_the_whole_of_before() -> None:
    (row,) = compared(profile({"f": 100}), profile({"f": 400}), normalize=True).changes()
    assert (row.self_before, row.self_after, row.total_after) == (100, 100, 100)
    assert compared(profile({"f": 100}), profile({"f": 400})).scale == 1.0
    assert compared(profile({"f": 100}), profile({}), normalize=True).scale == 1.0
    assert compared(profile({}), profile({"f": 100}), normalize=True).scale == 0.0


def test_lines_of_one_side_are_nothing_on_the_other() -> None:
    rows = compared(profile({"a": 5, "b": 5}), profile({"b": 5, "c": 7})).changes()
    assert [(row.name, row.self_before, row.self_after) for row in rows] == [("a", 5, 0), ("b", 5, 5), ("c", 0, 7)]
    assert all(row.self_interval[0] < row.self < row.self_interval[1] for row in rows)


def test_a_side_without_samples_is_as_uncertain_as_one_sample_of_the_other() -> None:
    """None before and 4 of weight 1000 after are no news, 5 are; and the other way round."""
    for count, known in ((4, False), (5, True)):
        some, none = profile({"f": count}, weight=1000), profile({})
        assert excludes_zero(compared(none, some).total_change(0.95).self_interval) is known
        low, high = compared(none, some).total_change(0.95).self_interval
        assert compared(some, none).total_change(0.95).self_interval == pytest.approx((-high, -low))


def test_the_difference_is_after_less_before() -> None:
    before, after = profile({"f": 5, "g": 2}, weight=10), profile({"f": 7}, weight=10)
    found = difference(before, after)
    assert sorted(zip(found.samples.value.tolist(), found.samples.count.tolist(), strict=True)) == [
        (-50, -5), (-20, -2), (70, 7),
    ]  # fmt: skip
    assert found.meta.duration_ns == after.meta.duration_ns
    marks = [dict(tags) for tags in found.tag_sets]
    assert sorted(marks, key=len) == [{}, {"pprof::base": "true"}]


def test_events_that_one_side_lacks_are_not_scaled() -> None:
    """``cycles`` is doubled, ``faults`` has no samples before."""
    scaled = normalized(profile({"f": 200}), profile({"f": 30, "g": 70}, other=9), "period")
    assert scaled.samples.value.tolist() == [60, 140, 9]
    assert scaled.samples.count.tolist() == [60, 140, 9]
    assert normalized(profile({}), profile({"f": 30}), "period").samples.value.tolist() == [30]
    heavy = normalized(profile({"f": 200}), profile({"f": 100}, weight=10), "samples")
    assert heavy.samples.value.tolist() == [2000]
    assert normalized(profile({"f": 200}), profile({"f": 100}, weight=10), "period").samples.value.tolist() == [200]


@pytest.mark.parametrize(
    "weights", [(2, 2), (1, 3), (10**6, *[1] * 999)], ids=["one period", "periods that vary", "waits"]
)
def test_squares_of_one_row_are_exact_for_equal_weights_and_too_small_for_others(
    weights: tuple[int, ...],
) -> None:
    """Samples of one stack are one row; counts are always exact."""
    made = ProfileBuilder()
    made.event("cycles", "count", period=1)
    made.thread()
    made.sample([made.function("f")], value=sum(weights), count=len(weights))
    found = totals(made.build())
    exact = sum(weight**2 for weight in weights)
    assert found.squares == found.rows[0].self_squares == sum(weights) ** 2 / len(weights)
    assert (found.squares == exact) if len(set(weights)) == 1 else (found.squares < exact)
    assert totals(made.build(), value="samples").squares == len(weights)
