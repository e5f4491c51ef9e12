"""The line beside the heading: what was lost, elapsed time beside CPU time, names, and what helps."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from perf2x.model.advice import Advice
from perf2x.model.profile.profile import Meta, Profile
from perf2x.testing import ProfileBuilder
from tests.browser.opened import opened
from tests.browser.test_viewers import MS, waiting, write
from tests.support.command import perf2x

pytestmark = pytest.mark.browser

ADVICE = (
    Advice("unnamed", "Half of it has no name."),
    Advice("cut_stacks", "41 % of the user stacks end early."),
    Advice("undated", "When was that?", concerns_dates=True),
)
NARROW = {"size": {"width": 390, "height": 844}}
IN_SIGHT = """[...document.querySelectorAll('#trust button')].filter((one) => {
  const { left, right } = one.getBoundingClientRect();
  return left >= 0 && right <= innerWidth;
}).map((one) => one.textContent)"""
SIDE = {"size": {"width": 844, "height": 390}}
PLACE = """((box, button) => [box.top >= 0, box.bottom <= button.top, box.right <= innerWidth])(
  ...['#trust :popover-open', '#trust .wrong'].map((one) => document.querySelector(one).getBoundingClientRect()))"""
LINE = "[...document.querySelectorAll('#trust button')].map((one) => [one.textContent, one.className])"
OPEN = "[...document.querySelectorAll('#trust :popover-open')].map((one) => one.innerText.split('\\n\\n'))"


def lossy(lost: int, *more: str, missing: int = 0) -> Profile:
    """A hundred milliseconds on a CPU in two seconds; a quarter of the time has no name."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    builder.thread("app", 7)
    names, library = [builder.function("main")], builder.mapping("/usr/lib/libfoo.so.1", 0x7F0000000000)
    cut = [builder.function("[user stack missing]"), *names]
    for step in range(100):
        stack = cut if step < missing else names if step >= 25 else [builder.location(0x7F0000000010, library)]
        builder.sample(stack, value=MS, time=step * 20 * MS)
    comments = tuple(f"perf2x-{name}" for name in (*[f"lost_samples:{lost}"] * (lost > 0), *more))
    return builder.build(
        timeline=True,
        meta=Meta(hostname="host", duration_ns=2000 * MS, comments=comments, advice=ADVICE if more or lost else ()),
    )


def truncated() -> Profile:
    """Eight of a hundred stacks were copied in part, two have no unwind information."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    builder.thread("app", 7)
    roots = [builder.location(0, lines=[name], synthetic=True) for name in ("[truncated stack]", "[no unwind info]")]
    main = builder.function("main")
    for step in range(100):
        builder.sample([roots[step < 2], main] if step < 10 else [main], value=MS, time=step * MS)
    return builder.build()


def waits() -> Profile:
    """One sample and one wait are left, one sample was lost."""
    return replace(waiting(timeline=True), meta=Meta(hostname="host", comments=("perf2x-lost_samples:1",)))


def folded(folder: Path) -> Path:
    """Weights of folded stacks, which need not be samples."""
    text = folder / "weights.folded"
    text.write_text("main;work 5189189184\nmain;wait 1234567890\n")
    page = folder / "weights.html"
    assert perf2x("convert", text, "-o", page, "-q").code == 0
    return page


def asked(folder: Path) -> dict[str, dict]:
    kinds = {
        "whole": lossy(0),
        "lost": lossy(34, missing=20),
        "a little": lossy(1),
        "cut": lossy(0, "file_cut:6657", "guessed_frames:9"),
        "truncated": truncated(),
        "waits": waits(),
    }
    pages = {
        kind: {"viewer": "page", "file": str(write(folder, kind, "html", {}, lambda _, one=one: one)), "axe": True}
        for kind, one in kinds.items()
    }
    press = ["press", "#trust .wrong"]
    ruler = "[...painted]"
    watched = [
        "run",
        "window.painted = []; CanvasRenderingContext2D.prototype.fillText = (text) => painted.push(text); resize()",
    ]
    made = {kind: page | {"evaluate": LINE} for kind, page in pages.items()}
    lost = pages["lost"]
    weights = {"viewer": "page", "file": str(folded(folder)), "axe": True}
    return made | {
        "opened": lost | {"steps": [press], "evaluate": OPEN, "shot": "trust.png"},
        "truncated, opened": pages["truncated"] | {"steps": [press], "evaluate": OPEN},
        "narrow": lost | NARROW | {"evaluate": IN_SIGHT},
        "on its side": lost | SIDE | {"evaluate": IN_SIGHT},
        "on its side, opened": lost | SIDE | {"steps": [press], "evaluate": PLACE},
        "weights": weights | {"evaluate": f"[{LINE}, document.querySelector('#detail p').textContent, frameName(0)]"},
        "left": lost | {"steps": [press, ["key", "Escape"]], "evaluate": OPEN},
        "again": lost | {"steps": [press, ["reload"]], "evaluate": OPEN},
        "dark": lost | {"steps": [["key", "t"], ["reload"]], "evaluate": "document.documentElement.dataset.theme"},
        "light": lost | {"steps": [["key", "t"], ["reload"]], "evaluate": "document.documentElement.dataset.theme"},
        "ruler": lost | {"steps": [watched], "evaluate": ruler},
        "ruler of a box": lost | {"hash": "#zoom=75000000-100000000", "steps": [watched], "evaluate": ruler},
        "ruler over time": lost | {"hash": "#order=time", "steps": [watched], "evaluate": ruler},
    }


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("trust")
    return opened(folder, asked(folder))


def test_nothing_fails_and_axe_finds_nothing(seen) -> None:
    assert [name for name, told in seen.items() if told["errors"] or told["complaints"]] == []


def test_losses_are_said_and_red_where_they_count(seen) -> None:
    """34 of 134 samples; a single one of 101 changes nothing, but a file without its end does."""
    time, names = ["100 ms CPU in 2 s", ""], ["names for 75.0 % of the time", ""]
    cut, samples = ["41 % of user stacks cut", ""], ["100 samples", ""]
    assert seen["whole"]["value"] == [samples, time, names]
    assert seen["lost"]["value"] == [
        samples, time, ["25.4 % lost", "wrong"], ["20.0 % without callers", "wrong"], cut,
        ["names for 95.0 % of the time", ""],
    ]  # fmt: skip
    assert seen["a little"]["value"] == [samples, time, ["0.99 % lost", ""], cut, names]
    assert seen["cut"]["value"] == [
        samples, time, ["6,657 bytes missing at the end of the file", "wrong"], cut, names,
    ]  # fmt: skip


def test_stacks_that_end_early_say_why(seen) -> None:
    assert seen["truncated"]["value"][2] == ["10.0 % in cut stacks", "wrong"]
    ((_, copied, unwound),) = seen["truncated, opened"]["value"]
    assert copied.startswith("8.00 % stand below [truncated stack]") and "--call-graph dwarf,65528" in copied
    assert unwound.startswith("2.00 % stand below [no unwind info]")


def test_what_is_wrong_is_in_sight_on_a_phone(seen) -> None:
    assert seen["narrow"]["value"][:1] == seen["on its side"]["value"][:1] == ["25.4 % lost"]
    assert seen["on its side, opened"]["value"] == [True, True, True]


def test_waits_were_not_recorded(seen) -> None:
    """So they do not lessen the share that was lost."""
    assert seen["waits"]["value"][2] == ["50.0 % lost", "wrong"]


def test_weights_of_folded_stacks_are_no_samples(seen) -> None:
    line, detail, root = seen["weights"]["value"]
    assert line == [["weights of 6.42G", ""], ["names for 100 % of the weight", ""]]
    assert (detail, root) == ("6.42G in all", "all")


def test_a_part_opens_what_it_means_and_stays_closed(seen) -> None:
    ((losses, advice),) = seen["opened"]["value"]
    assert losses == "34 lost samples" and "perf record -m" in advice
    assert seen["left"]["value"] == seen["again"]["value"] == []


def test_the_theme_is_kept(seen) -> None:
    assert [seen[theme]["value"] for theme in ("dark", "light")] == ["dark", "light"]


def test_the_ruler_says_which_time_it_measures(seen) -> None:
    """That of a box in the window begins at 0 and ends at the box's 25 ms."""
    assert {"CPU time", "80 ms"} <= set(seen["ruler"]["value"])
    assert {"CPU time", "20 ms"} <= set(seen["ruler of a box"]["value"])
    assert not {"75 ms", "80 ms"} & set(seen["ruler of a box"]["value"])
    assert {"elapsed", "1000 ms"} <= set(seen["ruler over time"]["value"])
