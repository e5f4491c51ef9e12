"""Results of the page's scripts, run in Node."""

import json
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from perf2x.model.filters.time_ranges import parse_times
from perf2x.model.profile.profile import Wait
from tests.support.page_scripts import answers


def laid_out(moments: dict[str, list[int]]) -> list[list[int]]:
    """[node, start, end, kind of wait] of each box of one track; node 1 is called by node 0."""
    first = [0, len(moments["start"])]
    profile = {"parent": [-1, 0], "threads": [{}], "moments": moments, "firstMoment": first, "duration": 9}
    return answers(
        ("trees.js", "layout.js", "moments.js"),
        "((laid) => (laid.fill(0), laid.lanes[0].levels.flat().sort((one, other) => one - other)"
        ".map((box) => [laid.node[box], laid.start[box], laid.end[box], laid.wait[box]])))"
        f"(overTime(Object.assign({json.dumps(profile)}, {{ shownNode: (node) => node }}), [0], false))",
    )


def test_neighbouring_stacks_share_the_boxes_of_their_common_callers() -> None:
    moments = {"start": [0, 2], "duration": [2, 3], "node": [1, 0]}
    assert laid_out(moments) == [[0, 0, 5, 0], [1, 0, 2, 0]]


def test_a_wait_has_boxes_of_its_own_as_long_as_it_lasted() -> None:
    blocked = int(Wait.BLOCKED)
    moments = {"start": [0, 2, 5], "duration": [2, 3, 1], "node": [1, 1, 1], "wait": [0, blocked, 0]}
    boxes = [[0, 0, 2, 0], [1, 0, 2, 0], [0, 2, 5, blocked], [1, 2, 5, blocked], [0, 5, 6, 0], [1, 5, 6, 0]]
    assert laid_out(moments) == boxes


def test_every_kind_of_wait_that_is_drawn_has_a_name_and_a_colour() -> None:
    drawn = [str(int(kind)) for kind in Wait if kind not in (Wait.RAN, Wait.UNPLACED)]
    names, colours = answers(
        (
            "colours.js",
            "draw.js",
        ),
        "[WAITS, Object.keys(WAITS).map((kind) => [waitColour(kind, true, false), waitColour(kind, false, false)])]",
    )
    assert sorted(names) == drawn
    assert all(light != dark and "undefined" not in light + dark for light, dark in colours)


def bursts(expression: str, *made: Any, **more: Any) -> object:
    """The value of an expression on ``bursts`` of `made_of`."""
    return answers(("bursts.js",), f"((bursts) => {expression})({made_of(*made, **more)})")


def made_of(
    times: list[int],
    rows: list[int],
    duration: int | str = 0,
    origin: int = 0,
    lasts: Sequence[int] = (),
    latency: Sequence[int] = (),
) -> str:
    """An expression for ``Bursts``; rows 0 to 2 hold 10, 20 and 30 a sample, waits their length."""
    steps, row_steps = ([later - sooner for sooner, later in pairwise([0, *column])] for column in (times, rows))
    held: dict[str, object] = {"origin": str(origin), "time": steps, "row": row_steps}
    if lasts:
        held |= {"lasts": lasts, "value": [1000 * length or 10 for length in lasts]}
    if latency:
        held["latency"] = latency
    counts = [rows.count(row) for row in range(3)]
    table = {"value": [10 * (row + 1) * count for row, count in enumerate(counts)], "count": counts}
    return f"new Bursts({json.dumps(held)}, {json.dumps(table)}, {duration})"


def test_a_column_is_a_second_where_that_makes_enough_columns_and_not_too_many() -> None:
    columns = {
        3: 50, 10_000: 1000, 79_999: 1000, 80_000: 10_000, 2_000_000: 100_000, 8_000_000: 1_000_000,
        600_000_000: 1_000_000, 600_000_001: 10_000_000, 10**11: 10**9,
    }  # fmt: skip
    expression = "((bursts) => [bursts.column, bursts.columns, bursts.cell])"
    found = answers(
        ("bursts.js",), f"{json.dumps([*columns])}.map((length) => {expression}({made_of([], [], 'length')}))"
    )
    assert found == [[column, -(-duration // column), column / 50] for duration, column in columns.items()]


@pytest.mark.parametrize("kind", ["value", "count"])
def test_cells_sum_the_samples_of_the_wanted_rows(kind: str) -> None:
    chance = random.Random(7)
    times = [chance.randrange(1_999_999) for _ in range(400)]
    rows = [chance.randrange(3) for _ in times]
    wanted = [0.0] * 20 * 50
    for time, row in zip(times, rows, strict=True):
        if row != 1:
            wanted[time // 2000] += 1 if kind == "count" else 10 * (row + 1)
    assert bursts(f"[...bursts.grid(new Set([0, 2]), '{kind}')]", times, rows, 2_000_000) == wanted


def test_sums_of_a_range_are_those_of_the_samples_in_it() -> None:
    """From its first microsecond until before its end."""
    times, rows = [0, 99, 100, 199, 300, 150, 200], [0, 1, 1, 1, 0, 2, 0]
    found = bursts("((s) => [[...s.value], [...s.count]])(bursts.sums([100, 200]))", times, rows, 1000)
    assert found == [[0, 40, 30], [0, 2, 1]]


def test_latencies_are_summed_as_values_are() -> None:
    times, rows, latency = [0, 99, 100, 199, 150], [0, 1, 1, 1, 2], [5, 7, 11, 13, 17]
    expression = "[[...bursts.sums([100, 200]).latency], [...bursts.grid(new Set([1]), 'latency')].filter(Boolean)]"
    assert bursts(expression, times, rows, 2500, latency=latency) == [[0, 24, 17], [7, 11, 13]]


@pytest.mark.parametrize("kind", ["value", "count"])
def test_waits_fill_the_cells_that_they_cover(kind: str) -> None:
    chance = random.Random(8)
    times = sorted(chance.randrange(1_900_000) for _ in range(60))
    lasts = [chance.choice([0, 1, 1999, 2000, 60_000]) for _ in times]
    wanted = [0] * 20 * 50
    for time, length in zip(times, lasts, strict=True):
        for cell in range(time // 2000, (time + max(length, 1) - 1) // 2000 + 1):
            inside = min(time + length, 2000 * (cell + 1)) - max(time, 2000 * cell)
            wanted[cell] += 1 if kind == "count" else 1000 * inside if length else 10
    grids = [f"bursts.grid(new Set([0]), '{kind}', {of_waits})" for of_waits in ("true", "false")]
    expression = f"((waits, ran) => [...waits.map((sum, cell) => sum + ran[cell])])({', '.join(grids)})"
    assert bursts(expression, times, [0] * len(times), 2_000_000, 0, lasts) == wanted


def test_sums_of_a_range_hold_the_parts_of_waits_in_it() -> None:
    """Whole, before, across its start, across all of it, at its end, behind it."""
    times, lasts = [0, 50, 50, 120, 199, 200], [100, 100, 400, 10, 2, 5]
    found = bursts("((s) => [s.value[0], s.count[0]])(bursts.sums([100, 200]))", times, [0] * 6, 1000, 0, lasts)
    assert found == [1000 * (50 + 100 + 10 + 1), 4]


def test_cells_and_their_range_are_each_others_inverse() -> None:
    asked = [(0, 0), (3, 3), (3, 260), (999, 999)]
    expression = f"((bursts) => {json.dumps(asked)}.map(([one, other]) => bursts.cells(bursts.range(other, one))))"
    durations = [777, 123_457, 2_000_000, 60_000_000]
    made = made_of([], [], "length")
    found = answers(("bursts.js",), f"{durations}.map((length) => {expression}({made}))")
    assert found == [[list(cells) for cells in asked]] * len(durations)


def test_a_range_is_the_option_of_the_command_line_that_takes_the_same_samples() -> None:
    """Beyond 2⁵³ ns, too; both ends of --time are included."""
    origin = 9_123_456_789_123_456_789
    option = bursts("bursts.option([1500, 2000000])", [], [], 3_000_000, origin)
    assert option == "--time 9123456789.124956789,9123456791.123456788"
    assert bursts("bursts.option([0, 2000])", [], [], 0, -1_000_000) == "--time 0.000000000,0.000999999"
    assert parse_times(str(option).removeprefix("--time "), 0, 2**63) == (
        (origin + 1_500_000, origin + 2_000_000_000 - 1),
    )


def test_classes_of_cells_are_steps_of_the_same_size() -> None:
    """Each sum of its own where they are few; nothing where nothing is. 54 and 60 are of one class beside 1."""
    cells = "Float64Array.from({ length: 1000 }, (_, at) => (at < 100 ? 0 : at < 900 ? 50 + (at % 40) : 1000 + at))"
    many, few, none, near = answers(
        ("bursts.js",),
        f"[heatClasses({cells}), heatClasses(Float64Array.of(4, 0, 2, 4)), heatClasses(Float64Array.of(0)),"
        " heatClasses(Float64Array.of(1, 2, 3, 4, 5, 54, 60, 7))]",
    )
    assert (few, none) == ([2, 4], [])
    assert many == [89, 1999]
    assert near == [7, 60]
