"""What the page's scripts compute, asked under Node."""

import json

from perf2x.tables.waits import Wait
from tests.support.page_scripts import answers


def laid_out(moments: dict[str, list[int]]) -> list[list[int]]:
    """[node, start, end, kind of wait] of each box of one track; node 1 is called by node 0."""
    profile = {"parent": [-1, 0], "moments": moments, "firstMoment": [0, len(moments["start"])], "duration": 9}
    return answers(
        ("layout.js",),
        "((laid) => laid.node.map((node, box) => [node, laid.start[box], laid.end[box], laid.wait[box] || 0]))"
        f"(overTime(Object.assign({json.dumps(profile)}, {{ threads: [{{}}] }}), [0], false))",
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
        ("draw.js",),
        "[WAITS, Object.keys(WAITS).map((kind) => [waitColour(kind, true, false), waitColour(kind, false, false)])]",
    )
    assert sorted(names) == drawn
    assert all(light != dark and "undefined" not in light + dark for light, dark in colours)
