"""The page by keyboard, for screen readers, with less motion, on a phone, and with more threads than fit a list."""

from pathlib import Path

import pytest

from perf2x.emitters.flame.diff_page import DifferencePage
from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder
from tests.browser.opened import opened
from tests.browser.test_viewers import MS, changed, demo, write

pytestmark = pytest.mark.browser

LONG = "std::_Hashtable<std::basic_string<char>, std::allocator<char>, std::hash<char>>::_M_insert_unique"
THREADS = 400
PHONE = {"width": 390, "height": 760}


def crowd(timeline: bool) -> Profile:
    """Many threads, of which the last costs most, an event without samples, and a long name."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    builder.event("page-faults", "count", 1, 0)
    stack = [builder.function(LONG), builder.function("work")]
    for number in range(THREADS):
        thread = builder.thread(f"worker-{number % 10}", 100, 100 + number, "crowd")
        builder.sample(stack[: 1 + number % 2], thread, value=MS * (number + 1), time=number * MS)
    return builder.build(timeline=timeline)


def system(timeline: bool) -> Profile:
    """Five processes that cost as much as each other."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    for pid in range(5):
        thread = builder.thread(f"daemon-{pid}", 100 + pid)
        builder.sample([builder.function("main")], thread, value=MS, time=MS)
    return builder.build(timeline=timeline)


def aided(folder: Path) -> dict[str, dict]:
    """Steps of the browser, by name."""
    page, many = (
        {"viewer": "page", "file": str(write(folder, profile.__name__, "html", {}, profile))}
        for profile in (demo, crowd)
    )
    difference = folder / "diff.html"
    with difference.open("wb") as out:
        DifferencePage().emit(*changed(), out)
    diff = {"viewer": "page", "file": str(difference)}
    focus = "document.activeElement"
    looks = {
        "plain": page,
        "keys": page | {"steps": [["key", "?"]]},
        "over time": page | {"hash": "#order=time&bursts=on"},
        "threads": many | {"steps": [["focus", "#thread"], ["key", "ArrowDown"]]},
        "difference": diff,
    }
    made = {
        f"{name}, {scheme}, {width}": look | {"axe": True, "scheme": scheme, "size": {"width": width, "height": 760}}
        for name, look in looks.items()
        for scheme, width in (("light", 1280), ("dark", 390))
    }
    table = [["focus", "#rows button"], ["key", "ArrowDown"], ["key", "ArrowDown"], ["key", "ArrowUp"]]
    open_list = [["focus", "#thread"], ["key", "ArrowDown"]]
    listed = "[...document.querySelectorAll('#thread-list li')].slice(0, 5).map((one) => one.innerText.split('\\n'))"
    boxes = [["focus", "#canvas"], ["key", "ArrowDown"], ["key", "ArrowDown"]]
    ring = f"[{focus}.id, getComputedStyle({focus}).outlineStyle, $('status').innerText, $('status').ariaLive]"
    left = [["thread", "worker-8"], ["key", "x"], ["key", "Escape"]]
    over, tip = ["move", 300, 155], "[$('tip').hidden, hovered >= 0]"
    zoom = "requestAnimationFrame = (step) => (window.next = step); goTo(1, 2); next(0); [painter.from, painter.to]"
    names = "[...document.querySelectorAll('.long')]"
    watch = ["run", "window.stops = []; addEventListener('focusin', ({ target }) => stops.push(target.id))"]
    bare = {"viewer": "page", "file": str(write(folder, "bare", "html", {}, lambda _: demo(timeline=False)))}
    busy = page | {"hash": "#bursts=on&range=0-90000&edits=focus%0Amain%0Ademo"}
    sides, place = (
        [["key", "x"], ["key", "ArrowDown"], ["key", "ArrowDown"]],
        "[layout.lane[selected], frameName(selected)]",
    )
    controls = (
        "[...document.querySelectorAll('button, select, input, summary')].filter((one) => one.offsetParent)"
        ".map((one) => one.getBoundingClientRect()).filter(({ width, height }) => width < 44 || height < 44).length"
    )
    sheet = [["press", "#toggle"], ["run", "document.querySelector('#rows button').click()"]]
    tall = "[$('bar').offsetHeight, $('side').offsetHeight / innerHeight, $('scroll').clientHeight / innerHeight]"
    group, said = [["focus", "[data-order]"], ["key", "End"], ["key", "ArrowLeft"]], "$('status').textContent"
    kept = "[one.lastChild.textContent, one.scrollWidth <= one.clientWidth, one.parentElement.ariaLabel]"
    long_event = "[eventOption({ name: 'syscalls:sys_enter_copy_file_range' }, '59,751', 0)]"
    return made | {
        "rows": page | {"steps": table, "evaluate": f"[{focus}.innerText.split(' ')[0], {focus}.tabIndex]"},
        "row chosen": page | {"steps": [*table, ["key", "Enter"]], "evaluate": f"[{focus}.tagName, state.function]"},
        "boxes": page | {"steps": boxes, "evaluate": ring},
        "tip": page | {"steps": [over], "evaluate": tip},
        "tip, then keys": page | {"steps": [over, ["key", "ArrowDown"]], "evaluate": tip},
        "tip, then another view": page | {"steps": [over, ["run", "choose('weight', 'count')"]], "evaluate": tip},
        "motion": page | {"evaluate": zoom},
        "less motion": page | {"evaluate": zoom, "motion": "reduce"},
        "list": many | {"steps": open_list, "evaluate": f"[{listed}, $('thread-note').innerText]"},
        "filter": many | {"steps": [["press", "#thread"], ["type", "400 worker"]], "evaluate": listed},
        "thread": many
        | {"steps": left, "evaluate": "[state.thread, total, $('thread').value, $('thread').ariaExpanded]"},
        "events": many
        | {"hash": "#event=1", "evaluate": "[state.event, [...$('event').options].map((one) => one.text)]"},
        "long event": page | {"evaluate": f"{long_event}.map((one) => [one.text, one.title])"},
        "stops": busy | {"steps": [watch, *[["key", "Tab"]] * 10], "evaluate": "stops"},
        "skipped": page | {"steps": [["key", "Tab"], ["key", "Enter"]], "evaluate": f"{focus}.id"},
        "group": page
        | {
            "steps": group,
            "evaluate": f"[{focus}.id, buttonsOf(GROUPS[1]).filter((one) => one.tabIndex === 0).length]",
        },
        "sides": page | {"hash": "#function=outer_work%0Ademo", "steps": sides[1:2], "evaluate": f"[{place}, {said}]"},
        "sides, end": page | {"hash": "#function=outer_work%0Ademo", "steps": sides[1:], "evaluate": place},
        "sides, back": page
        | {"hash": "#function=outer_work%0Ademo", "steps": [*sides[1:], ["key", "PageUp"]], "evaluate": place},
        "level": page
        | {
            "steps": [*boxes[:2], ["key", "PageDown"], ["key", "Home"], ["key", "End"]],
            "evaluate": "frameName(selected)",
        },
        "range left": page | {"hash": "#order=time&range=0-30000", "steps": [["key", "Escape"]], "evaluate": said},
        "no times": bare
        | {
            "steps": [["run", "document.querySelector('[data-order=time]').click()"]],
            "evaluate": f"[{said}, state.order]",
        },
        "no bursts": bare | {"steps": [["key", "h"]], "evaluate": said},
        "phone": busy | {"size": PHONE, "steps": sheet, "evaluate": f"[{controls}, {tall}]", "shot": "phone.png"},
        "phone, open": page | {"size": PHONE, "steps": sheet, "evaluate": tall},
        "system": {"viewer": "page", "file": str(write(folder, "system", "html", {}, system))}
        | {"evaluate": "[state.thread, layout.lanes[0].levels[1].length, location.hash]"},
        "long name, status": many
        | {
            "size": PHONE,
            "steps": boxes,
            "evaluate": "[...$('status').querySelectorAll('.long')].map((one) => "
            "[one.lastChild.textContent, one.getBoundingClientRect().right <= innerWidth])",
        },
        "long names": many | {"size": PHONE, "steps": [["key", "l"]], "evaluate": f"{names}.map((one) => {kept})"},
    }


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("aids")
    return opened(folder, aided(folder))


def test_axe_finds_nothing(seen) -> None:
    looked_at = {name: told["complaints"] for name, told in seen.items() if "complaints" in told}
    assert len(looked_at) == 10
    assert all(found == [] for found in looked_at.values()), looked_at


def test_nothing_fails_or_leaves_the_machine(seen) -> None:
    assert all(told["errors"] == [] and told["outside"] == [] for told in seen.values())


def test_rows_of_the_table_are_reached_by_keys(seen) -> None:
    assert seen["rows"]["value"] == ["wait_for_it", 0]
    assert seen["row chosen"]["value"] == ["BUTTON", "wait_for_it\ndemo"]


def test_boxes_are_reached_by_keys_and_said(seen) -> None:
    focus, outline, status, live = seen["boxes"]["value"]
    assert (focus, outline, live) == ("canvas", "solid", "polite")
    assert status.startswith("main")


def test_the_tooltip_goes_with_what_it_tells_about(seen) -> None:
    assert seen["tip"]["value"] == [False, True]
    assert seen["tip, then keys"]["value"][0] is True
    assert seen["tip, then another view"]["value"] == [True, False]


def test_few_stops_lie_before_the_graph(seen) -> None:
    """With an event to choose, chips and bursts; arrows go from button to button."""
    assert seen["stops"]["value"].index("canvas") <= 9
    assert seen["skipped"]["value"] == "canvas"
    assert seen["group"]["value"] == ["more", 1]


def test_keys_walk_callers_and_callees(seen) -> None:
    assert seen["sides"]["value"][0] == [1, "outer_work"]
    assert seen["sides"]["value"][1].startswith("outer_work function: self 0 ns (0 %), total 60 ms (60.0 %)")
    assert seen["sides, end"]["value"] == [1, "inner_inlined"]
    assert seen["sides, back"]["value"] == [0, "main"]
    assert seen["level"]["value"] == "sys_read"


def test_the_line_below_says_what_is_chosen_and_why_something_is_not_there(seen) -> None:
    assert seen["range left"]["value"] == "100 ms"
    assert seen["no times"]["value"] == ["The recording has no times.", "heavy"]
    assert seen["no bursts"]["value"] == "The recording has no times."


def test_on_a_phone_fingers_meet_large_controls_and_the_graph_stays_in_sight(seen) -> None:
    small, (bar, sheet, _) = seen["phone"]["value"]
    assert small == 0
    assert bar < 60 and sheet < 0.5
    assert seen["phone, open"]["value"][2] > 0.3


def test_many_processes_open_by_process(seen) -> None:
    assert seen["system"]["value"] == ["process", 5, ""]


def test_who_wants_less_motion_sees_no_glide(seen) -> None:
    """After one frame."""
    assert seen["motion"]["value"] != [1, 2]
    assert seen["less motion"]["value"] == [1, 2]


def test_threads_come_dearest_first_and_can_be_filtered(seen) -> None:
    """As shares of 400 · 401 / 2 ms; the list shows what one can look through."""
    listed, note = seen["list"]["value"]
    assert [words[0] for words in listed[:3]] == ["All, merged", "Side by side", "By process"]
    assert listed[3:] == [["worker-9 (100/499)", "0.50 %"], ["worker-8 (100/498)", "0.50 %"]]
    assert note == "103 more: type a part of the name"
    assert seen["filter"]["value"] == [["worker-0 (100/400)", "0.38 %"]]
    assert seen["thread"]["value"] == ["398", 399 * MS, "worker-8 (100/498)", "false"]


def test_events_without_samples_are_no_choice(seen) -> None:
    assert seen["events"]["value"] == [0, [f"cpu-clock ({THREADS})"]]


def test_a_long_event_leaves_its_count_in_sight(seen) -> None:
    ((text, title),) = seen["long event"]["value"]
    assert text == "syscalls:…e_range (59,751)" and title == "syscalls:sys_enter_copy_file_range"


def test_long_names_keep_their_end_in_the_table_and_the_line_below(seen) -> None:
    assert seen["long name, status"]["value"] == [["_M_insert_unique", True]]
    assert seen["long names"]["value"] == [["_M_insert_unique", True, LONG]]
