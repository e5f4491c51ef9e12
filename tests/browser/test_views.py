"""Search, legend, call tree, hidden runtimes and the small picture of the whole."""

from pathlib import Path

import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder
from tests.browser.opened import opened
from tests.browser.test_viewers import MS, demo, waiting, write

pytestmark = pytest.mark.browser


def runtimes(timeline: bool) -> Profile:
    """Python calls C, a compiler's code in memory, a kernel; some of it has no name."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    thread = builder.thread("app", 7)
    python, made = builder.mapping("/usr/bin/python3.11"), builder.mapping("/tmp/perf-7.map", 0x7F0000000000)
    loop = builder.location(0x400010, python, [("_PyEval_EvalFrameDefault", "ceval.c", 3)])
    listed = builder.location(0x400100, python, [("list_sort", "listobject.c", 9)])
    nameless = builder.location(0x400200, python)
    fast = builder.location(0x7F0000000010, made, [("~fast", "", 0)])
    kernel = builder.function("vfs_read", CpuMode.KERNEL)
    for step, stack in enumerate([[loop, listed]] * 5 + [[loop, fast]] * 2 + [[loop, nameless, kernel]] * 3):
        builder.sample(stack, thread, value=MS, time=step * MS)
    return builder.build(timeline=timeline)


LEGEND = "[...document.querySelectorAll('#legend button')].map((one) => one.textContent)"
ROWS = "[...$('rows').rows].map((row) => row.querySelector('[data-name]').dataset.name.split('\\n')[0])"
TREE = """[...$('rows').rows].map((row) => [row.style.getPropertyValue("--depth"),
  row.querySelector("[data-name]").dataset.name.split("\\n")[0], row.querySelector(".arrow").textContent])"""
CHIPS = "[...document.querySelectorAll('.chip b')].map((one) => one.textContent)"
SEARCH = "[$('matched').textContent, selected < 0 ? '' : frameName(selected)]"


def asked(folder: Path) -> dict[str, dict]:
    page, mixed, waits = (
        {"viewer": "page", "file": str(write(folder, profile.__name__, "html", {}, profile))}
        for profile in (demo, runtimes, waiting)
    )
    kernel = ["run", "choose('colour', 'mode'); toggleGroup('only', 'kernel')"]
    click = ["run", "document.querySelector('#legend button').click()"]
    hide = (
        "$('hide').value = [...$('hide').options].find(({{ text }}) => text.includes('{}')).value; $('hide').onchange()"
    )
    look, enter = [["key", "/"], ["type", "["]], ["key", "Enter"]
    drag = [["down", "#overview", 0.25, 0.5], ["up", "#overview", 0.5, 0.5]]
    seen = f"[total / {MS}, {ROWS}, {CHIPS}]"
    down, left = [["press", "#tree"], ["focus", "#rows button"]], ["key", "ArrowLeft"]
    steps = [*look[:1], ["type", "i"], enter, enter]
    return {
        "legend": mixed | {"evaluate": LEGEND, "shot": "legend.png"},
        "only kernel": page | {"steps": [kernel], "evaluate": seen, "axe": True},
        "only kernel, linked": page | {"steps": [kernel, ["reload"]], "evaluate": seen},
        "only kernel, no longer": page | {"steps": [kernel, click, click], "evaluate": f"[total / {MS}, {CHIPS}]"},
        "hidden": mixed | {"steps": [["run", hide.format("python")]], "evaluate": f"[{seen}, {LEGEND}]"},
        "hidden, copied": mixed
        | {"steps": [["run", hide.format("python")]], "evaluate": "document.querySelector('.chip .word').title"},
        "nameless": mixed | {"steps": [["run", hide.format("without a name")]], "evaluate": seen},
        "tree": page | {"steps": down, "evaluate": TREE, "shot": "tree.png", "axe": True},
        "tree, folded": page | {"steps": [*down, left], "evaluate": TREE},
        "tree, unfolded": page
        | {"steps": [*down, left, ["key", "ArrowRight"]], "evaluate": f"[{TREE}, document.activeElement.innerText]"},
        "tree, bottom up": page | {"hash": "#order=bottom&tree=on", "evaluate": TREE},
        "plain": page | {"steps": look, "evaluate": SEARCH},
        "expression": page | {"steps": [*look[:1], ["type", "^(main|sys)"], ["press", "#regex"]], "evaluate": SEARCH},
        "no expression": page | {"steps": [*look, ["press", "#regex"]], "evaluate": SEARCH},
        "next": page | {"steps": steps, "evaluate": SEARCH},
        "before": page | {"steps": [*steps, ["key", "Shift+Enter"]], "evaluate": SEARCH},
        "small picture": page | {"steps": drag, "evaluate": "[painter.from, painter.to, layout.width]"},
        "moment": waits
        | {
            "hash": "#order=time&open=",
            "steps": [["run", "choose('thread', 'split'); state.open = ''; showLanes('')"], ["move", 230, 110]],
            "evaluate": "$('tip').innerText",
        },
        "nothing selected": page | {"steps": [["key", "x"]], "evaluate": "$('status').innerText"},
    }  # fmt: skip


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("views")
    return opened(folder, asked(folder))


def test_nothing_fails_and_axe_finds_nothing(seen) -> None:
    assert [name for name, told in seen.items() if told["errors"] or told.get("complaints")] == []


def test_the_legend_has_every_colour_by_area(seen) -> None:
    """The interpreter's loop costs nothing itself, and is the largest colour."""
    assert seen["legend"]["value"] == [
        "python runtime  0 %", "python3.11  50.0 %", "[unknown]  30.0 %", "JIT code  20.0 %",
    ]  # fmt: skip


def test_a_colour_filters_graph_table_and_numbers(seen) -> None:
    kernel = [40, ["sys_read", "inner_inlined", "outer_work", "main"], ["kernel"]]
    for name in ("only kernel", "only kernel, linked"):
        total, rows, chips = seen[name]["value"]
        assert [total, sorted(rows), chips] == [kernel[0], sorted(kernel[1]), kernel[2]], name
    assert seen["only kernel, no longer"]["value"][0] in (100, 60, 40)


def test_runtimes_and_frames_without_a_name_are_hidden(seen) -> None:
    (total, rows, chips), legend = seen["hidden"]["value"]
    assert total == 10 and "_PyEval_EvalFrameDefault" not in rows and chips == ["python runtime"]
    assert not any(one.startswith("python runtime") for one in legend)
    assert seen["hidden, copied"]["value"] == "Copy --hide python"
    total, rows, _ = seen["nameless"]["value"]
    assert total == 10 and "[python3.11]" not in rows and "vfs_read" in rows


def test_the_call_tree_opens_along_the_most_expensive_path(seen) -> None:
    path = [["0", "main", "▾"], ["1", "outer_work", "▾"], ["2", "inner_inlined", "▾"], ["3", "sys_read", ""]]
    others = [["0", "[libfoo.so.1]", "▸"]]
    assert seen["tree"]["value"] == path + others
    assert seen["tree, folded"]["value"] == [["0", "main", "▸"], *others]
    assert seen["tree, unfolded"]["value"][0] == path + others
    assert seen["tree, unfolded"]["value"][1].startswith("main")
    assert [row[1] for row in seen["tree, bottom up"]["value"] if row[0] == "0"] == [
        "sys_read", "wait_for_it", "inner_inlined",
    ]  # fmt: skip


def test_search_is_plain_text_and_an_expression_where_wanted(seen) -> None:
    """A name with a bracket is that of libfoo; Enter goes from box to box, and round."""
    assert seen["plain"]["value"] == ["1 · 40.0 %", ""]
    assert seen["expression"]["value"][0] == "2 · 60.0 %"
    assert seen["no expression"]["value"][0] == "none"
    second, back = (seen[name]["value"][1] for name in ("next", "before"))
    assert second and back and second != back


def test_the_small_picture_chooses_what_is_in_sight(seen) -> None:
    start, end, width = seen["small picture"]["value"]
    assert start == pytest.approx(width / 4, rel=0.02) and end == pytest.approx(width / 2, rel=0.02)


def test_a_closed_lane_tells_what_it_did_then(seen) -> None:
    assert seen["moment"]["value"].splitlines()[0].startswith("app")


def test_keys_say_what_they_need(seen) -> None:
    assert seen["nothing selected"]["value"].startswith("Select a box first")
