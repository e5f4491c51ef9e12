"""One function on the page: callers and callees, bottom up, chips that focus, hide and fold."""

from pathlib import Path
from typing import Any

import pytest

from perf2x.emitters.flame.diff_page import DifferencePage
from perf2x.model.profile.profile import Profile, Wait
from perf2x.testing import ProfileBuilder
from tests.browser.opened import opened
from tests.browser.test_viewers import MS, changed, write

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 760}


def calls(timeline: bool) -> Profile:
    """A function with two callers and two callees, one that calls itself."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    thread = builder.thread("app", 7)
    counts = {"main left both deep": 6, "main right both flat": 3, "main right both": 1, "main again again again": 10}
    for at, (stack, count) in enumerate(counts.items()):
        names = [builder.function(name) for name in stack.split()]
        for step in range(count):
            builder.sample(names, thread, value=MS, time=(20 * at + step) * MS)
    return builder.build(timeline=timeline)


def waited(timeline: bool) -> Profile:
    """A thread that runs for a millisecond and waits for three, in one event."""
    builder = ProfileBuilder()
    clock, thread = builder.event("wall-clock", "nanoseconds", frequency=1000), builder.thread("app", 7)
    for value, wait in ((MS, Wait.RAN), (3 * MS, Wait.BLOCKED)):
        builder.sample([builder.function("main")], thread, clock, value, time=MS, wait=wait)
    return builder.build(timeline=timeline)


# names and sizes in ms, lane by lane, level by level
LANES = (
    "layout.lanes.map(({ levels }) => levels.map((level) => level.map((box) => [frameName(box), sizeOf(box) / 1e6])))"
)
STATE = f"[state.function.split('\\n')[0], state.edits.map(([kind, key]) => [kind, key.split('\\n')[0]]), {LANES}]"
OFF = "[layout.lanes[0].levels.flat().map(colourOf), $('legend').innerText.split('\\n').map((one) => one.trim())]"
# the picture's names and tooltips, and the size of the other one
SAVED = """(async () => {
  const svg = new DOMParser().parseFromString(svgText(), "image/svg+xml");
  const png = await createImageBitmap(await pngBlob());
  const { width, height } = svg.documentElement;
  const all = (selector) => [...svg.querySelectorAll(selector)];
  return {
    complaints: all("parsererror").length,
    texts: all("text").map((one) => one.textContent),
    tips: all("rect > title").map((one) => one.textContent),
    colours: all("rect[y]").every((one) => /^#[0-9a-f]{6}$/.test(one.getAttribute("fill"))),
    scale: [png.width / width.baseVal.value, png.height / height.baseVal.value],
  };
})()"""
COPIES = """window.copies = [];
Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => copies.push(text) } });"""


def jobs(folder: Path) -> dict[str, dict[str, Any]]:
    page = {"viewer": "page", "file": str(write(folder, "calls", "html", {}, calls))}
    waits = {"viewer": "page", "file": str(write(folder, "waits", "html", {}, waited))}
    compared = folder / "diff.html"
    with compared.open("wb") as out:
        DifferencePage().emit(*changed(), out)
    diff = {"viewer": "page", "file": str(compared)}
    name = "document.querySelector('#rows [data-name^=\"{}\"]').click()"
    table = [["run", name.format("both")]]
    box = ["click", 300, 155]
    chips = [*table, ["key", "k"], ["key", "Escape"], ["run", name.format("main")], ["key", "i"]]
    sides = "[painter.sides.map(({ from, to }) => [from / 1e6, to / 1e6]), state.zoom, $('reset').hidden]"
    zoom = [["run", "zoomTo(layout.lanes[0].levels[1][1])"], ["run", "zoomTo(layout.lanes[1].levels[1][0])"]]
    changes = "layout.lanes.map(({ levels }) => levels.flat().map((box) => layout.change[box].total.strength))"
    made = {
        "from the table": page | {"steps": table, "evaluate": STATE, "shot": "callers.png"},
        "from the graph": page | {"steps": [box, box], "evaluate": STATE},
        "closed": page | {"steps": [*table, ["key", "Escape"]], "evaluate": "[state.function, layout.isSandwich]"},
        "two sides": page | {"steps": [*table, *zoom], "evaluate": sides},
        "two sides linked": page | {"steps": [*table, *zoom, ["reload"]], "evaluate": sides},
        "two sides left": page | {"steps": [*table, *zoom, ["key", "Escape"]], "evaluate": sides},
        "chips": page | {"steps": chips, "evaluate": f"[{STATE}, $('chips').innerText.split('\\n'), total / 1e6]"},
        "chip removed": page | {"steps": [*chips, ["press", "#chips [aria-label]"]], "evaluate": STATE},
        "from the bar and back": page
        | {"steps": [box, ["press", "#acts button"], ["back"], ["back"]], "evaluate": STATE},
        "folded": page | {"steps": [["run", name.format("again")], ["key", "r"], ["key", "Escape"]], "evaluate": STATE},
        "over time": page | {"hash": "#order=time&edits=focus%0Adeep%0A", "evaluate": LANES},
        "bottom up": page | {"steps": [["key", "u"]], "evaluate": LANES},
        "difference": diff | {"steps": [["run", name.format("main")]], "evaluate": changes},
        "saved": page | {"steps": [*table, ["key", "k"]], "evaluate": SAVED},
        "saved over time": page | {"hash": "#order=time", "evaluate": SAVED},
        "copied": page
        | {
            "steps": [
                *table,
                *zoom,
                ["run", COPIES],
                ["press", "#more"],
                ["press", "#link"],
                ["key", "Escape"],
                ["key", "y"],
            ],
            "evaluate": "copies",
        },
        "off the CPU": waits | {"hash": "#colour=cpu", "evaluate": OFF},
        "off the CPU over time": waits | {"hash": "#colour=cpu&order=time", "evaluate": OFF},
        "bad": page | {"hash": "#function=nobody&edits=focus%0Anobody%0A&order=bottom", "evaluate": STATE},
    }
    for scheme, width in (("light", 1280), ("dark", 390)):
        look = {
            "axe": True,
            "scheme": scheme,
            "size": {"width": width, "height": 760},
            "evaluate": "document.body.scrollWidth",
        }
        made[f"seen, {width}"] = page | look | {"steps": [*table, ["key", "k"]], "shot": f"callers-{scheme}.png"}
    return made


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("functions")
    return opened(folder, jobs(folder))


BOTH = (
    [[["both", 10]], [["left", 6], ["right", 4]], [["main", 6], ["main", 4]]],
    [[["both", 10]], [["deep", 6], ["flat", 3]]],
)
TREE = [["again", 10], ["left", 6], ["right", 4]], [["both", 6], ["both", 4]], [["deep", 6], ["flat", 3]]


def test_nothing_fails_and_axe_has_no_complaint(seen) -> None:
    for name, told in seen.items():
        assert told["errors"] == [] and told["outside"] == [], name
    assert [seen[f"seen, {width}"]["complaints"] for width in (1280, 390)] == [[], []]
    assert [seen[f"seen, {width}"]["value"] for width in (1280, 390)] == [1280, 390]


def test_a_click_opens_callers_and_callees(seen) -> None:
    """On a line of the table, or again on the box that one zoomed into."""
    assert seen["from the table"]["value"] == ["both", [], list(BOTH)]
    assert seen["from the graph"]["value"][0] == "again"
    for words in ("Callers and callees of", "10 ms 50.0 %"):
        assert words in seen["from the table"]["text"].replace("\n", " "), words


def test_a_function_is_left_by_key_and_by_the_browsers_button(seen) -> None:
    assert seen["closed"]["value"] == ["", False]
    assert seen["from the bar and back"]["value"][0] == ""
    assert seen["from the bar and back"]["value"][2][0][1] == [["main", 20]]


def test_sides_are_zoomed_apart_and_linked(seen) -> None:
    zoomed = [[[6, 10], [0, 6]], [[6 * MS, 10 * MS], [0, 6 * MS]], False]
    assert seen["two sides"]["value"] == seen["two sides linked"]["value"] == zoomed
    assert seen["two sides left"]["value"] == [[[0, 10], [0, 10]], [], True]


def test_chips_say_what_is_shown_and_are_removed(seen) -> None:
    (function, edits, (levels,)), words, total = seen["chips"]["value"]
    assert (function, edits, total) == ("", [["focus", "both"], ["hide", "main"]], 10)
    assert levels[1:] == [[["left", 6], ["right", 4]], *TREE[1:]]
    assert words == [
        "Only stacks with", "both", "Copy --focus", "×", "Hidden", "main", "Copy --hide", "×", "50.0 % of all samples",
    ]  # fmt: skip
    assert seen["chip removed"]["value"][1] == [["hide", "main"]]
    assert seen["chip removed"]["value"][2][0][1:] == [TREE[0], [["again", 10], *TREE[1]], [["again", 10], *TREE[2]]]
    assert seen["folded"]["value"][2][0][2:] == list(TREE)


def test_the_view_over_time_follows(seen) -> None:
    assert seen["over time"]["value"] == [[[[name, 0.006]] for name in ("main", "left", "both", "deep")]]


def test_bottom_up_begins_with_self(seen) -> None:
    levels = seen["bottom up"]["value"][0]
    assert levels[1:3] == [[["again", 10], ["deep", 6], ["flat", 3], ["both", 1]],
                           [["again", 10], ["both", 6], ["both", 3], ["right", 1]]]  # fmt: skip


def test_a_difference_has_both_sides(seen) -> None:
    """main; main, then steady, fresh, slower and faster as wide as they are after."""
    assert seen["difference"]["value"] == [[0.2], [0.2, 0, 1, 0.5, -0.5]]


def test_colours_tell_what_ran_and_what_waited(seen) -> None:
    """A mix where stacks are merged; over time, boxes of waits have their own."""
    (_, mixed), legend = seen["off the CPU"]["value"]
    assert (mixed, legend) == ("#adbad6", ["on CPU 25.0 %", "half of each", "off CPU 75.0 %"])
    (ran, blocked), legend = seen["off the CPU over time"]["value"]
    assert (ran, legend[-1]) == ("#f0b894", "blocked")
    assert blocked.startswith("hsl(222 ")


def test_the_graph_is_saved_as_a_picture(seen) -> None:
    """All boxes with their tooltips in one, twice as many pixels in the other."""
    both, time = seen["saved"]["value"], seen["saved over time"]["value"]
    for one in (both, time):
        assert (one["complaints"], one["colours"], one["scale"]) == (0, True, [2, 2])
    words = "cpu-clock, 10 ms · All, merged · callers and callees of both · Only stacks with both"
    lanes = [[name for level in side[::-1] for name, _ in level] for side in BOTH]
    names = ["Callers: who calls it", *lanes[0][::-1], "Callees: what it calls"]
    assert both["texts"][:2] == ["app", words]
    assert set(names) <= set(both["texts"])
    assert both["tips"][0] == "both\nfunction: self 1 ms (10.0 %), total 10 ms (100 %)"
    assert len(both["tips"]) == sum(len(level) for side in BOTH for level in side)
    assert {"main", "again", "20 ms"} & set(time["texts"]) and len(time["tips"]) > 10


def test_links_and_stacks_are_copied(seen) -> None:
    link, stack = seen["copied"]["value"]
    assert link.startswith("file:") and link.split("#")[1].startswith(
        "function=both%0A&zoom=6000000-10000000_0-6000000"
    )
    assert stack == "deep\nboth\n"


def test_functions_that_are_not_there_are_no_view(seen) -> None:
    assert seen["bad"]["value"][:2] == ["", []]
