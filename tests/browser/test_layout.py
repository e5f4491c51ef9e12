"""The graph has most of every screen, and what was clicked stays under the pointer."""

from pathlib import Path

import pytest

from tests.browser.opened import opened
from tests.browser.test_lanes import turns
from tests.browser.test_viewers import demo, write

pytestmark = pytest.mark.browser

SIZES = {
    "desktop": {"width": 1440, "height": 900},
    "wide": {"width": 3440, "height": 1440},
    "phone": {"width": 390, "height": 844},
    "phone on its side": {"width": 844, "height": 390},
    "twice as large": {"width": 720, "height": 450},
}
"""The last one is 1440 × 900 at 200 %."""
PLACE = """((place) => [place.top, place.height / innerHeight,
  $("legend").getBoundingClientRect().bottom <= innerHeight, document.documentElement.scrollWidth <= innerWidth,
  document.querySelector("header").scrollWidth <= innerWidth])
  ($("scroll").getBoundingClientRect())"""
CLICKED = """(() => {
  const moved = [];
  const words = (one) => one?.textContent.replace("▾", "▸").split("  ")[0];
  const controls = () => [...document.querySelectorAll(
    "nav > button, nav .group button, #rows button, th button, #legend button, #gutter button",
  )].filter((one) => one.offsetParent && one.id !== "toggle");
  for (let at = 0; at < controls().length; at += 1) {
    const one = controls()[at];
    one.scrollIntoView({ block: "nearest", inline: "nearest" });
    const { left, top, width, height } = one.getBoundingClientRect();
    const [x, y] = [left + Math.min(width, 20) / 2, top + height / 2];
    if (y > innerHeight || document.elementFromPoint(x, y)?.closest("button") !== one) continue;
    one.click();
    document.querySelector("dialog[open]")?.close();
    document.querySelector(":popover-open")?.hidePopover();
    const under = document.elementFromPoint(x, y)?.closest("button");
    const place = under?.getBoundingClientRect();
    moved.push([words(one), words(under) === words(one) && place.top === top && place.left === left]);
    if (one.dataset.order) choose("order", "heavy");
    openFunction("");
  }
  return moved;
})()"""
MOST = "nav > button, nav .group button, #rows button, th button, "
WATCH = """window.stops = [];
addEventListener("focusin", ({ target }) => stops.push(target.getBoundingClientRect()))"""
TOPS = {"phone": 205, "phone on its side": 105, "twice as large": 105}
"""Of the second level of boxes; 135 on a desktop."""


def asked(folder: Path) -> dict[str, dict]:
    page, many = (
        {"viewer": "page", "file": str(write(folder, profile.__name__, "html", {}, profile))}
        for profile in (demo, turns)
    )
    under = "frameName(boxAt({ clientX: 200, clientY: %d }))"
    made = {}
    for name, size in SIZES.items():
        look = page | {"size": size}
        for order in ("heavy", "time"):
            made[f"{name}, {order}"] = look | {"hash": f"#order={order}", "evaluate": PLACE, "axe": True}
        made[f"{name}, clicked"] = look | {"evaluate": CLICKED}
        made[f"{name}, table"] = look | {"steps": [["run", "$('side').hidden && togglePanel()"]], "evaluate": CLICKED}
        below = TOPS.get(name, 135)
        made[f"{name}, box"] = look | {
            "steps": [["run", f"window.was = {under % below}"], ["click", 200, below]],
            "evaluate": f"[was, {under % below}, $('acts').innerText !== '']",
        }
    long = str(write(folder, "long", "html", {"title": "perf record " + "-F 99 " * 40}, demo))
    return made | {
        "desktop, long title": page | {"file": long, "size": SIZES["desktop"], "evaluate": PLACE},
        "lanes": many
        | {"hash": "#order=time", "evaluate": CLICKED.replace(MOST, "")},
        "order of stops": page
        | {
            "steps": [
                ["run", WATCH],
                *[["key", "Tab"]] * 9,
            ],
            "evaluate": "stops.slice(1).map(({ left, top }) => [Math.floor(top / 36), left])",
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("layout")
    return opened(folder, asked(folder))


def test_nothing_fails_and_axe_finds_nothing(seen) -> None:
    assert [name for name, told in seen.items() if told["errors"] or told.get("complaints")] == []


@pytest.mark.parametrize("size", SIZES)
def test_the_graph_has_most_of_the_height(seen, size: str) -> None:
    for order in ("heavy", "time"):
        top, share, has_legend, fits, has_toolbar = seen[f"{size}, {order}"]["value"]
        assert share >= 0.6 and has_legend and fits and has_toolbar, (size, order, share)
        assert top <= 100 or size == "phone", top


@pytest.mark.parametrize("size", SIZES)
def test_what_was_clicked_stays_under_the_pointer(seen, size: str) -> None:
    for name in (f"{size}, clicked", f"{size}, table"):
        moved = seen[name]["value"]
        assert len(moved) >= 6 and [words for words, stays in moved if not stays] == [], name
    before, after, has_actions = seen[f"{size}, box"]["value"]
    assert before == after and has_actions


def test_a_long_title_gives_way(seen) -> None:
    assert seen["desktop, long title"]["value"][0] <= 100


def test_lanes_stay_under_the_pointer(seen) -> None:
    moved = seen["lanes"]["value"]
    assert len([words for words, _ in moved if words.startswith("▸")]) >= 10
    assert [words for words, stays in moved if not stays] == []


def test_tab_goes_in_reading_order(seen) -> None:
    stops = [tuple(stop) for stop in seen["order of stops"]["value"]]
    assert stops[:6] == sorted(stops[:6])
