"""A part of the time is chosen over time by mouse, keys and fingers, and graph, table, threads and totals follow."""

from pathlib import Path

import pytest

from tests.browser.opened import opened
from tests.browser.test_viewers import BOXES, MS, demo, write

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 760}
SPAN = "[painter.from, painter.to]"
TOLD = "[state.range, total, rows.reduce((sum, row) => sum + sums.count[row], 0), painter.from, painter.to]"

COUNT = [
    "run",
    "window.painted = 0; painter.paint = (view) => ((painted += 1), Painter.prototype.paint.call(painter, view))",
]


def asked(folder: Path) -> dict[str, dict]:
    """Steps of the browser, by name."""
    page = {"viewer": "page", "file": str(write(folder, "page", "html", {}, demo))}
    time = page | {"hash": "#order=time"}
    drag = [["down", "#canvas", 0.2, 0.5], ["up", "#canvas", 0.5, 0.5]]
    moves = [["move", 500 + 20 * step, 400] for step in range(4)]
    walk, further = ["key", "ArrowRight"], ["key", "ArrowRight"]
    keys = [["focus", "#canvas"], ["hold", "Shift"], walk, further, further]
    ends = f"['start', 'end'].map((side) => {BOXES}.map((box) => layout[side][box]))"
    cells = "[...row.cells].filter((cell) => cell.className !== 'object').map((cell) => cell.innerText.split(' ')[0])"
    table = f"[...$('rows').rows].map((row) => {cells})"
    listed = "threadList.choices.slice(3).map(({ value, share }) => [value, share])"
    followed = f"[{table}, {listed}, layout.width, $('chips').innerText, $('detail').innerText]"
    pinch = ["fingers", [[150, 420], [250, 420]], [[100, 420], [300, 420]]]
    swipe = ["fingers", [[300, 420]], [[260, 420]], [[200, 420]]]
    return {
        "dragged": time | {"steps": drag, "evaluate": TOLD, "shot": "range.png"},
        "dragging": time
        | {"steps": [*drag[:1], ["move", 500, 400]], "evaluate": "[isProposed, $('status').innerText]"},
        "drawn": time | {"steps": [COUNT, *drag[:1], *moves], "evaluate": "[painted, isProposed]"},
        "keys": time | {"steps": [*keys, ["release", "Shift"]], "evaluate": TOLD},
        "key held": time | {"steps": keys, "evaluate": "[isProposed, painter.to === layout.width]"},
        "given up": time | {"steps": [*keys, ["key", "Escape"]], "evaluate": TOLD},
        "left": time | {"steps": [*drag, ["key", "Escape"]], "evaluate": TOLD},
        "back": time | {"steps": [*drag, ["back"]], "evaluate": TOLD},
        "followed": page | {"hash": "#range=0-30000", "evaluate": followed},
        "over time": time | {"hash": "#order=time&range=500-30000", "evaluate": ends},
        "moved": time | {"steps": [["hold", "Shift"], *drag], "evaluate": TOLD},
        "wheel": page | {"steps": [["move", 300, 300], ["wheel", 0, -300]], "evaluate": SPAN},
        "pinch": page | {"size": PHONE, "steps": [pinch], "evaluate": SPAN},
        "swipe": page | {"size": PHONE, "steps": [pinch, swipe], "evaluate": f"[{SPAN}, state.range ?? null]"},
    }


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("ranges")
    return opened(folder, asked(folder))


def test_nothing_fails(seen) -> None:
    assert [name for name, told in seen.items() if told["errors"]] == []


def test_a_drag_over_time_chooses_what_it_passes(seen) -> None:
    """A sample each millisecond, of the first thread from 1 to 60; the second began later."""
    (start, end), total, count, *span = seen["dragged"]["value"]
    assert 20_000 < start < 40_000 and 60_000 < end < 100_000
    assert count == 61 - -(-start // 1000)
    assert total == count * MS
    assert span == [start, end]
    proposed, said = seen["dragging"]["value"]
    assert proposed and " ms to " in said


def test_the_graph_is_drawn_once_while_a_hand_chooses(seen) -> None:
    """Four moves lay four ranges over the same picture."""
    painted, is_proposed = seen["drawn"]["value"]
    assert is_proposed and painted <= 2


def test_shift_and_arrows_choose_a_range(seen) -> None:
    """From what is in sight on; a fiftieth of 140 ms is at most 5 ms."""
    assert seen["keys"]["value"] == [[0, 15_000], 14 * MS, 14, 0, 15_000]
    assert seen["key held"]["value"] == [True, True]


def test_a_range_can_be_left_and_gone_back_from(seen) -> None:
    for name in ("given up", "left", "back"):
        assert seen[name]["value"][:3] == [None, 100 * MS, 100], name
        assert seen[name]["value"][3] == 0


def test_table_threads_totals_and_graph_follow(seen) -> None:
    """Of 29 samples 19 are in the kernel; the second thread ran later."""
    table, threads, width, chips, detail = seen["followed"]["value"]
    rows = {row[0]: row[1:] for row in table}
    assert rows["sys_read"] == ["65.5", "65.5"]
    assert "wait_for_it" not in rows
    assert threads == [["0", "100 %"]]
    assert width == 29 * MS
    assert "29 samples" in detail
    assert "Time" in chips and "0 to 30" in chips
    starts, ends = seen["over time"]["value"]
    assert min(starts) == 500 and max(ends) == 30_000


def test_shift_and_drag_moves(seen) -> None:
    assert seen["moved"]["value"][:3] == [None, 100 * MS, 100]


def test_wheel_and_fingers_zoom(seen) -> None:
    """A point under the pointer stays; twice as far apart is half as much."""
    start, end = seen["wheel"]["value"]
    assert start > 0 and end < 100 * MS
    assert start / (start + 100 * MS - end) == pytest.approx(300 / 890, abs=0.02)
    start, end = seen["pinch"]["value"]
    assert end - start == pytest.approx(50 * MS, rel=0.01)
    (moved, _), chosen = seen["swipe"]["value"]
    assert moved > start
    assert chosen is None
