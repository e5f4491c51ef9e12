"""Columns of other events, and ratios of two, with limits that hold."""

import math

import numpy as np
import pytest

from perf2x.errors import SettingError
from perf2x.model.profile.profile import Profile
from perf2x.model.totals.event_columns import Cell, cell_text, event_columns, selected_columns
from perf2x.model.totals.sampling_noise import SampledSum, quantile, ratio_interval
from perf2x.model.totals.totals import totals
from perf2x.testing import ProfileBuilder
from perf2x.tools.tables.top_rows import TopTable

PERIOD = 1000


def profile_of(**counts: dict[str, int]) -> Profile:
    """Samples of PERIOD each by function, of events named by the keyword (``_`` for ``-``)."""
    builder = ProfileBuilder()
    thread = builder.thread()
    for event, functions in counts.items():
        row = builder.event(event.replace("_", "-"), "count", period=PERIOD)
        for name, number in functions.items():
            stack = [builder.function("main"), builder.function(name)]
            for _ in range(number):
                builder.sample(stack, thread, row, value=PERIOD)
    return builder.build()


CPU = profile_of(
    cycles={"slow": 400, "fast": 100, "rare": 3},
    instructions={"slow": 200, "fast": 300},
    cache_misses={"slow": 40, "cold": 5},
    branches={"slow": 100, "fast": 100},
    branch_misses={"slow": 10},
)


def cell_of(name: str, function: str, sort: str = "self", profile: Profile = CPU) -> Cell:
    """A cell of one column."""
    column = event_columns(profile, "function", "period", [name])[0]
    key = next((row.name, row.object) for table in column.tables for row in table.rows if row.name == function)
    return column.cells([key], sort)[0]


@pytest.mark.parametrize(
    ("name", "slow", "whole"),
    [
        ("ipc", 0.5, 500 / 503),
        ("mpki", 200, 90),
        ("mispredicts", 0.1, 0.05),
        ("instructions/cycles", 0.5, 500 / 503),
        ("cache-misses/instructions", 0.2, 0.09),
    ],
)
def test_ratios(name: str, slow: float, whole: float) -> None:
    column = event_columns(CPU, "function", "period", [name])[0]
    for cell, value in ((cell_of(name, "slow"), slow), (column.overall, whole)):
        assert isinstance(cell, tuple)
        assert cell[0] == pytest.approx(value, rel=1e-5)
        assert cell[1] < cell[0] < cell[2]


def test_totals_have_ratios_of_all_that_is_called() -> None:
    assert cell_of("ipc", "main", "total") == event_columns(CPU, "function", "period", ["ipc"])[0].overall


def test_few_samples_tell_no_ratio() -> None:
    """Seven samples have limits that reach beyond twice their number; eight do not."""
    deviations = quantile(0.95)
    for number, is_told in ((0, False), (1, False), (7, False), (8, True), (9, True)):
        part, whole = (SampledSum(count, count, 1.0) for count in (20, number))
        assert (ratio_interval(part, whole, deviations) is not None) == is_told
    assert cell_of("ipc", "rare") is cell_of("mpki", "cold") is None
    assert cell_text(None, None) == "–"


def test_nothing_counted_is_not_nothing() -> None:
    profile = profile_of(cycles={"f": 100}, cache_misses={"g": 1})
    cell = cell_of("cache-misses/cycles", "f", profile=profile)
    assert isinstance(cell, tuple) and cell[0] == cell[1] == 0
    assert 0.03 < cell[2] < 0.06  # the rule of three: 3.7 of 100


def test_limits_hold() -> None:
    """Of a thousand recordings, the limits of 95 % miss the true ratio in about fifty."""
    draw = np.random.default_rng(7)
    for mean_part, mean_whole in ((30, 60), (400, 50), (5, 200)):
        pairs = zip(draw.poisson(mean_part, 1000).tolist(), draw.poisson(mean_whole, 1000).tolist(), strict=True)
        truth, missed = mean_part / mean_whole, 0
        for part, whole in pairs:
            limits = ratio_interval(SampledSum(part, part, 1), SampledSum(whole, whole, 1), quantile(0.95))
            assert limits is not None and 0 <= limits[0] <= part / whole <= limits[1] < math.inf
            missed += not limits[0] <= truth <= limits[1]
        assert 20 <= missed <= 65


def test_names() -> None:
    builder = ProfileBuilder()
    for name in ("cycles:P", "cpu_core/instructions/", "cpu/event=0x3c,umask=1/", "page-faults/period=50/"):
        builder.event(name, "count")
    builder.event("task-clock", "nanoseconds")
    builder.sample([builder.function("f")], builder.thread(), 0)
    builder.sample([builder.function("f")], builder.thread(), 3)
    profile = builder.build()

    def events(name: str) -> list[tuple[int, ...]]:
        return [one.events for one in selected_columns(profile, [name])]

    assert events("ipc") == [(1, 0)]
    assert events("cycles") == [(0,)]
    assert events("instructions") == events("cpu_core/instructions/") == [(1,)]
    assert events("cpu/event=0x3c,umask=1//cycles:P") == [(2, 0)]
    assert events("page-faults/task-clock") == [(3, 4)]
    assert selected_columns(profile, ["page-faults/task-clock"])[0].factor == 10**9  # a second
    assert [(one.name, one.events) for one in selected_columns(profile, ["all"])] == [("page-faults", (3,))]


MISSING = "is not in this recording"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bogus", MISSING), ("cycles/bogus", MISSING), ("/", MISSING), ("cycles/", MISSING),
        ("mpki", "needs cache-misses or LLC-load-misses, and instructions"),
    ],
)  # fmt: skip
def test_what_there_is_not(name: str, said: str) -> None:
    profile = profile_of(cycles={"f": 1}, instructions={"f": 1})
    with pytest.raises(SettingError, match=f" {name} {said}; the recording has cycles, instructions"):
        selected_columns(profile, [name])


def test_an_event_of_two_cores_must_be_told() -> None:
    builder = ProfileBuilder()
    for name in ("cpu_core/cycles/", "cpu_atom/cycles/", "instructions"):
        builder.event(name, "count")
    for event in (0, 1):
        builder.sample([builder.function("f")], builder.thread(), event)
    with pytest.raises(SettingError, match="matches several events"):
        selected_columns(builder.build(), ["ipc"])


def test_tables_have_rows_for_what_only_other_events_have() -> None:
    table = TopTable(CPU, "function", "self", "period", 0, ["cache-misses"])
    found = dict(zip(table.columns["name"], table.columns["self_cache-misses"], strict=True))
    assert found == {"slow": 40 * PERIOD, "cold": 5 * PERIOD, "fast": 0, "rare": 0, "main": 0}
    assert sum(found.values()) == totals(CPU, "cache-misses").cost
    assert next(iter(table.columns["name"])) == "slow"


def test_ratios_divide_periods_alone() -> None:
    with pytest.raises(SettingError, match="shows counts of events"):
        TopTable(CPU, "function", "self", "samples", 0, ["ipc"])
