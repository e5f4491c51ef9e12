"""Over time, many threads: closed lanes, which open; all of them on demand; an overview; when a function ran."""

import re
from pathlib import Path

import pytest

from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder
from tests.browser.opened import opened
from tests.browser.test_viewers import MS, waiting, write

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 760}
THREADS = 400
CLOSED = "layout.lanes.filter(({ closed }) => closed).length"
HEIGHT = "parseInt($('room').style.height)"
CHIPS = "$('chips').innerText.split('\\n').filter(Boolean)"
HEAT = "heat.cells.some(Boolean), $('heat-scale').innerText"
MARKED = f"""[state.mark.split('\\n')[0], layout.isTime, {CHIPS}, $('detail').innerText.split('\\n')[0],
  layout.lanes.some(({{ use }}) => use && use.when.some(Boolean))]"""
HEAT_ROWS = """heat.labels.map((label, row) =>
  [label, heat.cells.reduce((sum, cell, at) => sum + (at % heat.labels.length === row ? cell : 0), 0)])"""
INK = "$('overview').getContext('2d').getImageData(0, 0, $('overview').width, $('overview').height).data.some(Boolean)"


def turns(timeline: bool, processes: int = 1) -> Profile:
    """Many threads that run one after another, the last one for longest."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    stack = [builder.function("main"), builder.function("work")]
    time = 0
    for number in range(THREADS):
        pid = 100 + number % processes
        thread = builder.thread(f"worker-{number % 10}", pid, 100 + number, "crowd")
        for _ in range(20 if number == THREADS - 1 else 2):
            time += 1
            builder.sample(stack[: 1 + number % 2], thread, value=MS, time=time * MS, cpu=number % 3)
    return builder.build(timeline=timeline)


def asked(folder: Path) -> dict[str, dict]:
    many = {"viewer": "page", "file": str(write(folder, "turns", "html", {}, turns)), "hash": "#order=time"}
    several = many | {"file": str(write(folder, "system", "html", {}, lambda timeline: turns(timeline, 5)))}
    sums_of_several = several | {
        "file": str(write(folder, "few", "html", {"max_moments": 1}, lambda timeline: turns(timeline, 5)))
    }
    crowd = many | {"file": str(write(folder, "crowd", "html", {}, lambda timeline: turns(timeline, 30)))}
    two = many | {"file": str(write(folder, "two", "html", {}, waiting))}
    press = "[...document.querySelectorAll('#chips button')].find((one) => one.innerText === '{}').click()"
    row = ["run", "document.querySelector('#rows button').click()"]
    drag = [["down", "#overview", 0.25, 0.5], ["up", "#overview", 0.5, 0.5]]
    click = ["click", 300, 146]
    looks = {
        f"{name}, {width}": many
        | {"axe": True, "scheme": scheme, "size": {"width": width, "height": 760}, "steps": [row]}
        for name, scheme, width in (("light", "light", 1280), ("dark", "dark", PHONE["width"]))
    }
    sums = many | {"file": str(write(folder, "sums", "html", {"max_moments": 1}, turns))}
    return looks | {
        "saved": many
        | {
            "evaluate": "(async () => [svgText().includes('worker-9 (100/499)'), "
            "svgText().split('<rect').length > 60, (await pngBlob()).size > 1000])()"
        },
        "sums": sums
        | {"hash": "#order=time&bursts=on&range=10000-90000", "axe": True, "shot": "sums.png"}
        | {"evaluate": f"[{CLOSED}, {INK}, {CHIPS}, {HEAT}, painter.from, painter.to]"},
        "sums, pressed": sums | {"steps": [click], "evaluate": "$('status').innerText"},
        "sums, table": sums | {"steps": [row], "evaluate": "layout.isSandwich"},
        "first": many
        | {"evaluate": f"[{CLOSED}, {HEIGHT}, {CHIPS}, layout.lanes[0].label, {INK}]", "shot": "lanes.png"},
        "all": many | {"steps": [["run", press.format("Show all")]], "evaluate": f"[{CLOSED}, {CHIPS}, state.lanes]"},
        "opened": many
        | {"steps": [click], "evaluate": f"[{CLOSED}, layout.lanes.flatMap(({{ levels }}) => levels.flat()).length]"},
        "closed": many | {"steps": [click, ["key", "e"]], "evaluate": f"[{CLOSED}, state.open]"},
        "linked": many | {"steps": [click, ["reload"]], "evaluate": CLOSED},
        "marked": many | {"steps": [row], "evaluate": MARKED},
        "unmarked": many | {"steps": [row, row], "evaluate": "[state.mark, layout.isTime]"},
        "dragged": many | {"steps": drag, "evaluate": "[state.range, painter.from, painter.to, profile.duration]"},
        "processes": several | {"evaluate": "layout.lanes.map(({ label }) => label)"},
        "processes, narrow": several
        | {
            "size": {"width": 390, "height": 844},
            "evaluate": "[...$('gutter').children].slice(0, 2).map((one) => [one.textContent, one.title])",
        },
        "by process": several | {"hash": "#bursts=on&rows=process", "evaluate": HEAT_ROWS, "shot": "processes.png"},
        "by process, sums": sums_of_several | {"hash": "#bursts=on&rows=process", "evaluate": HEAT_ROWS},
        "many processes": crowd | {"hash": "#bursts=on&rows=process", "evaluate": "heat.labels"},
        "by CPU": several | {"hash": "#bursts=on&rows=cpu", "evaluate": HEAT_ROWS, "axe": True},
        "by CPU, dragged": several
        | {"hash": "#bursts=on&rows=cpu", "evaluate": f"[{HEAT_ROWS}, state.range, total, $('range').innerText]"}
        | {"steps": [["down", "#heat", 0.5, 0.2], ["up", "#heat", 0.75, 0.9]]},
        "by CPU, keys": several
        | {"hash": "#bursts=on&rows=cpu", "evaluate": "$('range').innerText"}
        | {"steps": [["focus", "#heat"], ["key", "ArrowDown"], ["key", "ArrowRight"]]},
        "one": two | {"evaluate": f"[{CLOSED}, layout.lanes.length]"},
    }


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("lanes")
    return opened(folder, asked(folder))


def test_nothing_fails_and_axe_finds_nothing(seen) -> None:
    assert [name for name, told in seen.items() if told["errors"] or told.get("complaints")] == []


def test_the_dearest_threads_fit_the_screen(seen) -> None:
    lanes, height, chips, dearest, has_overview = seen["first"]["value"]
    assert (lanes, chips, dearest) == (16, [f"16 of {THREADS} threads", "Show all"], "worker-9 (100/499)")
    assert height < 760 and has_overview
    assert seen["all"]["value"] == [THREADS, [f"{THREADS} of {THREADS} threads", "Only 16"], "all"]


def test_a_click_opens_a_lane_and_links_keep_it(seen) -> None:
    lanes, boxes = seen["opened"]["value"]
    assert lanes == 15 and boxes in (1, 2)
    assert seen["closed"]["value"] == [16, ""]
    assert seen["linked"]["value"] == 15
    assert seen["one"]["value"] == [0, 1]


def test_a_function_of_the_table_shows_when_it_ran(seen) -> None:
    name, is_time, chips, head, is_drawn = seen["marked"]["value"]
    assert is_time and is_drawn and chips[0] == "When on the stack:" and name == head
    assert seen["unmarked"]["value"] == ["", True]


def test_a_drag_over_the_overview_chooses_a_range(seen) -> None:
    (start, end), *span, duration = seen["dragged"]["value"]
    assert [start, end] == span
    assert start == pytest.approx(duration / 4, rel=0.02) and end == pytest.approx(duration / 2, rel=0.02)


def test_closed_lanes_are_saved_in_pictures(seen) -> None:
    assert seen["saved"]["value"] == [True, True, True]


def test_too_many_samples_leave_lanes_and_heat_map(seen) -> None:
    lanes, has_overview, chips, is_hot, scale, *span = seen["sums"]["value"]
    assert lanes <= 16 and has_overview and is_hot and "µs" in scale
    assert "Copy --time" in chips and "the graph and the table are of all of the time" in chips
    assert span == [10_000, 90_000]
    assert seen["sums, pressed"]["value"].startswith("Stacks over time are left out: 818 samples exceed")
    assert seen["sums, table"]["value"] is True


def test_numbers_of_threads_come_first_on_a_phone(seen) -> None:
    (process, header), (thread, whole) = seen["processes, narrow"]["value"]
    assert re.fullmatch(r"\d+ \S+", process) and re.fullmatch(r"▸ \d+ worker-\d", thread)
    assert header == " ".join([process.split()[1], f"({process.split()[0]})"]) and whole.startswith("worker-")


def test_threads_stand_below_their_processes(seen) -> None:
    labels = seen["processes"]["value"]
    heads = [at for at, label in enumerate(labels) if label.startswith("crowd (")]
    assert len(labels) == 16 + len(heads) and len(set(labels)) == len(labels)
    assert labels[:2] == ["crowd (104)", "worker-9 (104/499)"]


def test_rows_of_the_heat_map_are_processes_or_cpus(seen) -> None:
    """Every sample is in the row of its process, or CPU; columns are time, whatever rows are."""
    costs = {f"crowd ({100 + first})": (160 + (18 if first == 4 else 0)) * MS for first in range(5)}
    assert dict(seen["by process"]["value"]) == dict(seen["by process, sums"]["value"]) == costs
    assert seen["by process"]["value"][0][0] == "crowd (104)"
    labels = seen["many processes"]["value"]
    assert len(labels) == 24 and labels[-1] == "7 others"
    cpus = dict(seen["by CPU"]["value"])
    assert cpus == {"CPU 0": (2 * 134 + 18) * MS, "CPU 1": 2 * 133 * MS, "CPU 2": 2 * 133 * MS}
    rows, (start, end), total, said = seen["by CPU, dragged"]["value"]
    assert dict(rows) == cpus and 0.4 < start / 818_000 < 0.5 and 0.6 < end / 818_000 < 0.8
    assert total == pytest.approx((end - start) / 1000 * MS, rel=0.01) and "--time" in said
    assert seen["by CPU, keys"]["value"].startswith("CPU 1 at 2 ms: ")
