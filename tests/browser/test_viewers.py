"""The viewers themselves open what we write: our HTML page, and Speedscope's released page, in headless Chromium.

Needs Chromium, Node, and ``npm ci --prefix tests/browser`` (or PERF2X_BROWSER_MODULES, a folder with node_modules).
"""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters.flame.diff_page import DifferencePage
from perf2x.kernel.registry import build_emitter
from perf2x.model.profile.profile import Profile, Wait
from perf2x.testing import ODD_NAMES, ProfileBuilder
from tests.browser.opened import opened

pytestmark = pytest.mark.browser

MS = 1_000_000


def demo(timeline: bool) -> Profile:
    """Two threads, two events, kernel frames, inlining, an unresolved frame, a pause."""
    builder = ProfileBuilder()
    clock, faults = (
        builder.event("cpu-clock", "nanoseconds", frequency=1000),
        builder.event("page-faults", "count", 1, 0),
    )
    main, worker = builder.thread("demo", 100, 100), builder.thread("worker é", 100, 101, "demo")
    program = builder.mapping("/usr/bin/demo", build_id="c0ffee")
    library = builder.mapping("/usr/lib/libfoo.so.1", 0x7F0000000000)
    start = builder.location(0x400010, program, [("main", "demo.c", 3)], is_caller=True)
    outer = builder.location(
        0x400100, program, [("inner_inlined", "demo.c", 10), ("outer_work", "demo.c", 20)], is_caller=True
    )
    sleepy = builder.location(0x400200, program, [("wait_for_it", "demo.c", 30)])
    unknown = builder.location(0x7F0000000010, library)
    kernel = builder.function("sys_read", CpuMode.KERNEL)
    for step in range(60):
        builder.sample([start, outer, kernel] if step % 3 else [start, outer], main, clock, MS, time=step * MS)
    for step in range(40):
        builder.sample([unknown, sleepy], worker, clock, MS, time=(100 + step) * MS)
        builder.sample([unknown, sleepy], worker, faults, 1, time=(100 + step) * MS)
    return builder.build(timeline=timeline)


def odd(timeline: bool) -> Profile:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    builder.thread("odd", 5, 5)
    for step, name in enumerate(ODD_NAMES):
        builder.sample([builder.function("root"), builder.function(name)], time=step * MS)
    return builder.build(timeline=timeline)


def waiting(timeline: bool) -> Profile:
    """A thread that runs for a millisecond and waits for nine."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    waited, kinds = builder.event("off-cpu", "nanoseconds", is_wait=True), [Wait.RAN, Wait.BLOCKED]
    thread, main = builder.thread("app", 7), [builder.function("main")]
    for event, value, kind in zip((0, waited), (MS, 9 * MS), kinds, strict=True):
        builder.sample(main, thread, event, value, time=MS, wait=kind)
    return builder.build(timeline=timeline)


def shared_time(timeline: bool) -> Profile:
    """Ten samples that ran alone, thirty that ran beside another thread."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    thread, costs = builder.thread("app", 7), {"alone": (10, MS), "beside": (30, MS // 2)}
    latency = [share for count, share in costs.values() for _ in range(count)]
    names = [name for name, (count, _) in costs.items() for _ in range(count)]
    for at, name in enumerate(names):
        builder.sample([builder.function(name)], thread, value=MS, time=MS * (at + 1))
    profile = builder.build(timeline=timeline)
    return replace(profile, samples=replace(profile.samples, latency=np.array(latency, np.int64)))


def changed() -> list[Profile]:
    """Before and after: steady stays, slower doubles, faster halves, old goes, fresh comes."""
    sides = []
    for pid, costs in ((7, {"steady": 400, "slower": 100, "faster": 200, "old": 100}),
                       (9, {"steady": 400, "slower": 200, "faster": 100, "fresh": 300})):  # fmt: skip
        builder = ProfileBuilder()
        builder.event("cpu-clock", "nanoseconds", frequency=1000)
        thread = builder.thread("app", pid)
        for name, count in costs.items():
            for _ in range(count):
                builder.sample([builder.function("main"), builder.function(name)], thread, value=MS)
        sides.append(builder.build())
    return sides


BOXES = "layout.lanes.flatMap(({ levels }) => levels.flat())"
CHOSEN = "[state.shown, state.scale, state.colour]"
FORMATS = {
    "pprof": ("pprof", {"inline": "frames"}),
    "pprof of locations": ("pprof", {}),
    "chrome": ("chrome", {}),
    "collapsed": ("collapsed", {}),
    "speedscope": ("speedscope", {}),
}


def write(folder: Path, stem: str, name: str, options: dict[str, object], profile) -> Path:
    emitter = build_emitter(name, options)
    target = folder / (stem + emitter.suffix)
    with target.open("wb") as out:
        emitter.emit(profile(emitter.needs.timeline), out)
    return target


def jobs(folder: Path) -> dict[str, dict]:
    """Steps of the browser, by name. Key 3 is Speedscope's table of functions, which is text, not canvas."""
    made = {}
    for kind, (name, options) in FORMATS.items():
        file = write(folder, kind, name, options, demo)
        made[kind] = {"viewer": "speedscope", "file": str(file), "steps": [["key", "3"]], "shot": f"{kind}.png"}
        file = write(folder, f"odd-{kind}", name, options, odd)
        made[f"odd {kind}"] = {"viewer": "speedscope", "file": str(file), "steps": [["key", "3"]]}
    page = {"viewer": "page", "file": str(write(folder, "page", "html", {}, demo))}
    strange = str(write(folder, "odd", "html", {}, odd))
    empty = str(write(folder, "empty", "html", {}, lambda _: ProfileBuilder().build()))
    boxes, span = f"{BOXES}.length", "[painter.from, painter.to]"
    click, out, walk = ["click", 300, 155], ["key", "Escape"], ["key", "ArrowDown"]
    link, bad_link = "#thread=split&colour=mode&search=main", "#thread=99&event=77&order=up&colour="
    moves = [["thread", "demo"], click, ["key", "/"], ["type", "sys_read"], ["key", "Escape"], ["key", "c"]]
    place = f"[state.thread, {span}, state.search, state.colour, location.hash]"
    choices = {
        "page": {"evaluate": boxes, "shot": "page.png"},
        "page over time": {"steps": [["key", "o"]], "evaluate": boxes, "shot": "time.png"},
        "page flame": {"scheme": "dark", "steps": [["key", "f"], ["key", "c"]], "evaluate": "state.direction"},
        "page searched": {"steps": [["key", "/"], ["type", "sys_read"]], "evaluate": "$('matched').textContent"},
        "page worker": {"steps": [["thread", "worker"]], "evaluate": boxes},
        "page faults": {"steps": [["choose", "#event", "1"]], "evaluate": "total"},
        "page zoomed": {"steps": [click], "evaluate": span},
        "page zoomed out": {"steps": [click, out], "evaluate": span},
        "page zoomed out and chosen": {
            "steps": [click, ["run", "zoomOut(); choose('weight', 'count')"]],
            "evaluate": span,
        },
        "page walked": {"steps": [walk] * 4, "evaluate": "frameName(selected)"},
        "page linked": {"hash": link, "evaluate": "[state.thread, state.colour]"},
        "page moved": {"steps": moves, "evaluate": place},
        "page moved back": {"steps": [*moves, *[["back"]] * 2], "evaluate": place},
        "page moved to the start": {"steps": [*moves, *[["back"]] * 4], "evaluate": place},
        "page moved forward": {"steps": [*moves, *[["back"]] * 4, *[["forward"]] * 4], "evaluate": place},
        "page bad link": {"hash": bad_link, "evaluate": "state.thread"},
        "page odd": {"file": strange, "evaluate": boxes},
        "page empty": {"file": empty},
    }
    arrows = [["key", "ArrowRight"], ["key", "Shift+ArrowRight"], ["key", "Shift+ArrowDown"]]
    bursts, chosen = [["key", "h"], ["focus", "#heat"]], "[state.range, total, $('range').textContent]"
    drag = [["key", "h"], ["down", "#heat", 0.2, 0.3], ["up", "#heat", 0.3, 0.5]]
    ends = "[state.range[0] < state.range[1], total, rows.length, $('range').textContent.includes('--time')]"
    choices |= {
        "page bursts": {"steps": bursts + arrows, "evaluate": chosen, "shot": "bursts.png"},
        "page bursts dragged": {"steps": drag, "evaluate": ends, "scheme": "dark", "shot": "bursts-dark.png"},
        "page bursts left": {"steps": [*bursts, *arrows, ["key", "Escape"]], "evaluate": "[state.range, total]"},
        "page bursts linked": {"hash": "#bursts=on&range=0-30000&order=time", "evaluate": span},
        "page bursts small": {
            "size": {"width": 390, "height": 760},
            "steps": bursts,
            "evaluate": "document.body.scrollWidth",
        },
    }
    waits = str(write(folder, "waits", "html", {}, waiting))
    waited = f"[{BOXES}.filter((box) => layout.wait[box]).length, {BOXES}.map(sizeOf), $('legend').innerText]"
    choices["page waits"] = {"file": waits, "hash": "#order=time", "evaluate": waited, "shot": "waits.png"}
    latency = {"file": str(write(folder, "latency", "html", {}, shared_time)), "evaluate": "$('side').innerText"}
    choices |= {"page latency": latency | {"shot": "latency.png"}, "page periods": latency | {"hash": "#weight=value"}}
    compared = folder / "diff.html"
    with compared.open("wb") as out:
        DifferencePage().emit(*changed(), out)
    strengths = "[...layout.change.entries()].map(([box, one]) => one && [frameName(box), one.total.strength])"
    difference = {"viewer": "page", "file": str(compared)}
    made |= {
        "page diff": difference | {"evaluate": strengths, "shot": "diff.png"},
        "page diff before": difference | {"steps": [["key", "b"]], "evaluate": "layout.width"},
        "page diff shares": difference | {"steps": [["key", "n"]], "evaluate": "layout.width"},
        "page diff tip": difference | {"steps": [["move", 300, 125]], "evaluate": "$('tip').innerText"},
        "page diff linked": difference | {"hash": "#shown=before&scale=shares&colour=own", "evaluate": CHOSEN},
        "page diff colours": difference | {"steps": [["key", "c"]] * 5, "evaluate": CHOSEN},
        "page diff threads": difference | {"steps": [["thread", "side"]], "evaluate": boxes},
        "page no diff": page | {"hash": "#shown=before&colour=change", "evaluate": CHOSEN},
    }
    return made | {name: page | choice for name, choice in choices.items()}


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> dict[str, dict]:
    """Every job's outcome, from one run of one browser."""
    folder = tmp_path_factory.mktemp("viewers")
    return opened(folder, jobs(folder))


def table(text: str) -> dict[str, tuple[str, str]]:
    """Speedscope's table of functions: name to total and self, as it prints them."""
    lines = [line.strip() for line in text.split("Symbol Name")[1].splitlines() if line.strip()]
    return {lines[row + 2]: (lines[row].split()[0], lines[row + 1].split()[0]) for row in range(0, len(lines) - 2, 3)}


IMPORTERS = {
    "pprof": "protobuf encoded pprof file",
    "pprof of locations": "protobuf encoded pprof file",
    "chrome": "Trace Event Format",
    "collapsed": "collapsed stack format",
    "speedscope": "speedscope json file",
}


@pytest.mark.parametrize("kind", FORMATS)
def test_speedscope_takes_it_with_the_right_importer_and_no_complaint(shown, kind) -> None:
    for name in (kind, f"odd {kind}"):
        told = shown[name]
        assert told["errors"] == []
        assert any(IMPORTERS[kind] in line for line in told["console"]), told["console"]
        complaints = [
            line for line in told["console"] if "Tried to end" in line or "still open" in line or "rror" in line
        ]
        assert complaints == []


@pytest.mark.parametrize(
    ("kind", "total", "own"),
    [
        ("pprof", "40.00ms", "20.00ms"),
        ("collapsed", "40,000,000", "20,000,000"),
        ("speedscope", "40.00ms", "20.00ms"),
        ("chrome", "40.00ms", "20.00ms"),
    ],
)
def test_speedscope_shows_functions_and_weights(shown, kind, total, own) -> None:
    shows = table(shown[kind]["text"])
    assert {"main", "outer_work", "inner_inlined", "sys_read"} <= set(shows)
    assert shows["sys_read"] == (total, total)
    assert shows["inner_inlined"][1] == own


@pytest.mark.parametrize("kind", FORMATS)
def test_speedscope_is_recommended_where_it_shows_inlined_functions(shown, kind) -> None:
    name, options = FORMATS[kind]
    viewer = build_emitter(name, options).needs.viewer
    is_recommended = "speedscope.app" in viewer and "--to speedscope" not in viewer
    assert is_recommended == ("inner_inlined" in table(shown[kind]["text"]))


@pytest.mark.parametrize(
    ("kind", "title"),
    [("chrome", "demo (pid 100), demo (tid 100)"), ("speedscope", "demo (100): cpu-clock")],
)
def test_speedscope_shows_threads(shown, kind, title) -> None:
    assert title in shown[kind]["text"]


@pytest.mark.parametrize("kind", ["pprof", "collapsed"])
def test_merged_formats_show_unresolved_frames_by_object(shown, kind) -> None:
    assert "[libfoo.so.1]" in shown[kind]["text"]
    assert "wait_for_it" in shown[kind]["text"]


def test_page_opens_without_network_and_errors(shown) -> None:
    for name, told in shown.items():
        assert told["outside"] == [], name
        if name.startswith("page"):
            assert told["errors"] == [], name


def test_page_shows_the_profile(shown) -> None:
    told = shown["page"]
    assert told["title"] == "demo"
    # all threads; main, outer_work, inner_inlined, sys_read; [libfoo.so.1], wait_for_it
    assert told["value"] == 7
    for words in ("140 samples", "100 ms CPU", "sys_read", "40.0 %", "cpu-clock"):
        assert words in told["text"], words


def test_page_over_time_has_a_lane_for_each_thread(shown) -> None:
    # main, outer_work, inner_inlined and twenty times sys_read; [libfoo.so.1] and wait_for_it
    assert shown["page over time"]["value"] == 3 + 20 + 2


def test_page_keys_choices_and_links(shown) -> None:
    assert shown["page flame"]["value"] == "flame"
    assert shown["page searched"]["value"] == "1 · 40.0 %"
    assert shown["page worker"]["value"] == 3
    assert shown["page faults"]["value"] == 40
    assert shown["page zoomed"]["value"] == [0, 60 * MS]
    assert shown["page zoomed out"]["value"] == [0, 100 * MS]
    assert shown["page zoomed out and chosen"]["value"] == [0, 100]
    assert shown["page walked"]["value"] == "inner_inlined"
    assert shown["page linked"]["value"] == ["split", "mode"]
    assert shown["page bad link"]["value"] == "merged"


def test_page_steps_back_and_forward(shown) -> None:
    """A thread, a zoom, a search, colours: four steps, however many letters were typed."""
    assert shown["page moved"]["value"][:4] == ["0", [0, 60 * MS], "sys_read", "mode"]
    assert shown["page moved back"]["value"][:4] == ["0", [0, 60 * MS], "", "object"]
    assert shown["page moved to the start"]["value"] == ["merged", [0, 100 * MS], "", "object", ""]
    assert shown["page moved forward"]["value"] == shown["page moved"]["value"]


def test_page_shows_bursts_and_a_part_of_the_time(shown) -> None:
    """Columns are 10 ms long: two steps to the right and one down end the range in the next column but one."""
    one, all_of_it = shown["page bursts"]["value"], 100 * MS
    assert one[0] == [10_000, 20_400]
    assert one[1] == 11 * MS
    assert one[2].startswith("10.0 ms to 20.4 ms: 11 ms · --time ")
    told = shown["page bursts dragged"]["value"]
    assert told[0] and 0 < told[1] < all_of_it and told[2] > 0 and told[3]
    assert shown["page bursts left"]["value"] == [None, all_of_it]
    assert shown["page bursts linked"]["value"] == [0, 30_000]
    assert shown["page bursts small"]["value"] == 390


def test_page_draws_waits_as_long_as_they_were(shown) -> None:
    assert shown["page waits"]["value"][:2] == [1, [1000, 9000]]
    assert "blocked" in shown["page waits"]["value"][2]


def test_page_has_a_column_of_the_other_number(shown) -> None:
    for name, column, beside, alone in (
        ("page latency", "Time", ["60.0 %", "60.0 %", "75.0 %"], ["40.0 %", "40.0 %", "25.0 %"]),
        ("page periods", "Latency", ["75.0 %", "75.0 %", "60.0 %"], ["25.0 %", "25.0 %", "40.0 %"]),
    ):
        lines = [line.split("\t") for line in shown[name]["value"].splitlines()]
        assert ["Function", "Self", "Total", column] in lines, name
        assert [line[1:] for line in lines if line[0].split() in (["beside"], ["alone"])] == [beside, alone]
    assert "Latency" not in shown["page"]["text"]


def test_page_with_odd_names_and_without_samples(shown) -> None:
    assert shown["page odd"]["value"] == 2 + len(ODD_NAMES)
    assert "holds no samples" in shown["page empty"]["text"]


def test_difference_says_and_colours_what_changed(shown) -> None:
    told = dict(filter(None, shown["page diff"]["value"]))
    assert told == {"main": 0.2, "steady": 0, "slower": 0.5, "faster": -0.5, "fresh": 1}
    for words in ("800 → 1,000", "+37.5 %", "−12.5 %", "gone", "pale: within the noise of sampling"):
        assert words in shown["page diff"]["text"], words
    assert "Bottom up\nTime" not in shown["page diff"]["text"]


def test_difference_widths_scale_and_tips(shown) -> None:
    assert shown["page diff before"]["value"] == 800 * MS
    assert shown["page diff shares"]["value"] == 800 * MS
    tip = shown["page diff tip"]["value"]
    assert tip.splitlines()[0] == "main"
    assert "total 800 ms (100 %) → 1 s (100 %), +25.0 % of the whole" in tip
    assert shown["page diff threads"]["value"] == 7


def test_difference_links_and_the_plain_page_has_none_of_it(shown) -> None:
    assert shown["page diff linked"]["value"] == ["before", "shares", "own"]
    assert shown["page diff colours"]["value"] == ["after", "absolute", "change"]
    assert shown["page no diff"]["value"][2] == "object"
    assert "Shares" not in shown["page"]["text"]
