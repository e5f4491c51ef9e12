"""A page of many different samples answers at once: a sign before the work, rows of the table frame by frame."""

import pytest

from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder
from tests.browser.opened import opened
from tests.browser.test_viewers import MS, write

pytestmark = pytest.mark.browser

FUNCTIONS, SAMPLES = 300, 4_500
PRESSED = "$('bar').querySelector('[aria-pressed=true]').textContent"
SIGN = f"(choose('order', 'bottom'), [$('status').textContent, layout.lanes[0].isTurned, waiting, {PRESSED}])"
ROWS = "(draw(), [$('rows').rows.length, haveAllRows(), $('rows').rows.length])"


def large(timeline: bool) -> Profile:
    """As many stacks as samples, of some hundred functions."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    builder.thread("app", 7)
    names = [builder.function(f"f{number}") for number in range(FUNCTIONS)]
    for step in range(SAMPLES):
        stack = [names[0], names[step % FUNCTIONS], names[step // FUNCTIONS], names[step * 7 % FUNCTIONS]]
        builder.sample(stack, value=MS, time=step * MS)
    return builder.build(timeline=timeline)


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("large")
    page = {"viewer": "page", "file": str(write(folder, "large", "html", {}, large))}
    end = [["focus", "#rows button"], ["key", "End"]]
    return opened(
        folder,
        {
            "sign": page | {"evaluate": SIGN},
            "done": page | {"steps": [["press", "[data-order=bottom]"]], "evaluate": "layout.lanes[0].isTurned"},
            "rows": page | {"evaluate": ROWS},
            "last": page | {"steps": [["run", "draw()"], *end], "evaluate": "document.activeElement.dataset.name"},
            "names": page | {"steps": [["press", "[data-sort=name]"], *end], "evaluate": "functions.length"},
        },
    )


def test_nothing_fails(seen) -> None:
    assert [one["errors"] for one in seen.values()] == [[]] * len(seen)


def test_a_sign_and_the_pressed_button_come_before_the_work(seen) -> None:
    assert seen["sign"]["value"] == ["Working …", False, True, "Bottom up"]
    assert seen["done"]["value"] is True


def test_rows_out_of_sight_come_later_and_all_of_them_do(seen) -> None:
    assert seen["rows"]["value"] == [60, None, FUNCTIONS]
    assert seen["names"]["value"] == FUNCTIONS
    assert seen["last"]["value"].startswith("f")
