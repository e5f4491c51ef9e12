"""The page of a difference sorts functions by significance and says who calls what changed."""

from pathlib import Path

import pytest

from perf2x.emitters.flame.diff_page import DifferencePage
from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder
from tests.browser.opened import opened
from tests.browser.test_viewers import MS

pytestmark = pytest.mark.browser

BEFORE = {"parse;copy": 100, "write;copy": 100, "read;copy": 30, "parse": 400, "few": 4}
AFTER = {"parse;copy": 290, "write;copy": 40, "parse": 410, "write": 60, "few": 7}

WIDTHS = """[document.querySelector('td').offsetWidth, $('side').offsetWidth, $('side').offsetHeight,
  Number($('grip').getAttribute('aria-valuenow')), painter.width === $('scroll').clientWidth]"""


LINE = "[...document.querySelectorAll('#trust button')].map((one) => one.textContent)"


def side(costs: dict[str, int], pid: int) -> Profile:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    thread = builder.thread("app", pid)
    for names, count in costs.items():
        stack = [builder.function(name) for name in ("main", *names.split(";"))]
        for _ in range(count):
            builder.sample(stack, thread, value=MS)
    return builder.build()


def asked(folder: Path) -> dict[str, dict]:
    """Steps of the browser, by name."""
    target = folder / "changes.html"
    with target.open("wb") as out:
        DifferencePage(notes=("treating app2 as the renamed app",)).emit(side(BEFORE, 7), side(AFTER, 9), out)
    few = folder / "few.html"
    with few.open("wb") as out:
        DifferencePage().emit(side(BEFORE, 7), side({"few": 9}, 9), out)
    page = {"viewer": "page", "file": str(target)}
    table = "[...$('rows').rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
    called = (
        "[...document.querySelectorAll('.callers li')].map((line) => [...line.children].map((one) => one.innerText))"
    )
    opens = [["focus", "#rows button"], ["key", "ArrowDown"], ["key", "Enter"]]
    follow = [*opens, ["focus", ".callers button"], ["key", "Enter"]]
    drag = [["down", "#grip", 0.5, 0.5], ["move", 400, 300], ["up", "#chart", 0.1, 0.5]]
    return {
        "table": page | {"evaluate": table, "shot": "changes.png"},
        "note": page | {"evaluate": "$('detail').innerText"},
        "by total": page | {"hash": "#sort=total", "evaluate": table},
        "opened": page | {"steps": opens, "evaluate": f"[nameOf(state.function), {called}]", "axe": True},
        "line": page | {"evaluate": LINE},
        "line, shares": page | {"steps": [["key", "n"]], "evaluate": LINE},
        "line, few": {"viewer": "page", "file": str(few), "evaluate": LINE},
        "gone": page | {"hash": "#shown=before&function=copy%0A", "evaluate": called, "axe": True, "scheme": "dark"},
        "wide": page | {"evaluate": WIDTHS},
        "wider": page | {"steps": [["focus", "#grip"], ["key", "ArrowLeft"], ["key", "ArrowLeft"]], "evaluate": WIDTHS},
        "dragged": page | {"steps": drag, "evaluate": WIDTHS},
        "taller": page
        | {"steps": [["press", "#toggle"], ["focus", "#grip"], ["key", "End"]], "evaluate": WIDTHS}
        | {"size": {"width": 390, "height": 760}, "axe": True},
        "followed": page | {"steps": follow, "evaluate": "nameOf(state.function)"},
    }


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("changes")
    return opened(folder, asked(folder))


def test_names_have_room_and_the_panel_can_be_made_wider(seen) -> None:
    """By keys and by pointer; on a phone it is taller."""
    name, width, _, share, is_drawn = seen["wide"]["value"]
    assert name > 300 and width == 560 and share == 44 and is_drawn
    assert seen["wider"]["value"][3:] == [48, True] and seen["wider"]["value"][0] > name + 40
    assert seen["dragged"]["value"][1] > 800 and seen["dragged"]["value"][4]
    assert seen["taller"]["value"][3] == 85 and seen["taller"]["complaints"] == []


def test_what_is_taken_for_the_same_is_said(seen) -> None:
    assert "treating app2 as the renamed app" in seen["note"]["value"]


def test_nothing_fails_and_axe_finds_nothing(seen) -> None:
    assert [name for name, told in seen.items() if told["errors"]] == []
    assert seen["opened"]["complaints"] == seen["gone"]["complaints"] == []


def test_the_surest_change_comes_first_not_the_largest(seen) -> None:
    """60 of 0 is 7.7 standard deviations, 330 of 230 is 4.2; what may be chance comes behind them, largest first."""
    assert [(row[0], row[3]) for row in seen["table"]["value"]] == [
        ("write", "7.75"), ("copy", "4.23"), ("parse", "~0.35"), ("few", "~0.9"), ("main", "0"), ("read", "0"),
    ]  # fmt: skip
    assert [row[0] for row in seen["by total"]["value"]] == ["parse", "main", "copy", "read", "few", "write"]


def test_the_line_says_how_large_the_sides_are_and_what_is_compared(seen) -> None:
    whole = ["634 → 807 samples", "634 ms → 807 ms"]
    assert seen["line"]["value"] == whole
    assert seen["line, shares"]["value"] == [*whole, "shares compared, after ×0.79"]
    assert seen["line, few"]["value"] == ["634 → 9 samples", "634 ms → 9 ms", "too few samples"]


def test_callers_share_the_change_of_a_function(seen) -> None:
    lines = [
        ["+30.0 %", "parse", "100 ms → 290 ms"],
        ["−9.46 %", "write", "100 ms → 40 ms"],
        ["−4.73 %", "read", "30 ms → 0 ns"],
    ]
    assert seen["opened"]["value"] == ["copy", lines]
    assert seen["gone"]["value"] == lines
    assert seen["followed"]["value"] == "parse"
