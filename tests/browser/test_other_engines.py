"""The page in Firefox and WebKitGTK: every view opens, says the same numbers, keeps its place, and nothing throws."""

from collections.abc import Iterator

import pytest

from tests.browser.other_engines import ENGINES, Engine
from tests.browser.test_layout import PLACE, SIZES
from tests.browser.test_viewers import demo, write

pytestmark = pytest.mark.browser

READY = "typeof layout !== 'undefined' && !!layout && !waiting && gliding === 0"
VIEWS = {
    "flame": "order=heavy",
    "bottom up": "order=bottom",
    "time": "order=time",
    "bursts": "order=time&bursts=on",
    "callers": "function=outer_work%0Ademo",
}
WATCH = "addEventListener('error', ({ message }) => { document.title += ` ERROR ${message}`; })"
NUMBERS = """(() => {
  const rows = [...$("rows").rows].map((one) => one.textContent);
  return [rows.length, rows.find((one) => one.includes("wait_for_it")) || "", layout.size > 0, document.title];
})()"""


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with ENGINES[request.param](tmp_path_factory.mktemp(request.param)) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("page"), "demo", "html", {}, demo).as_uri()


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens_and_says_the_numbers(engine: Engine, page: str, view: str) -> None:
    engine.resize(1440, 900)
    engine.open(f"{page}#{VIEWS[view]}")
    engine.until(READY)
    engine.run(f"{WATCH} || 1")
    for key in "ftht":
        engine.run(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }}))")
        engine.until(READY)
    rows, row, has_boxes, title = engine.run(NUMBERS)
    assert "ERROR" not in title and has_boxes
    assert rows >= 5 and row.endswith("40 ms 40.0 %40 ms 40.0 %"), row


@pytest.mark.parametrize("size", SIZES)
def test_the_graph_has_most_of_the_height(engine: Engine, page: str, size: str) -> None:
    engine.resize(SIZES[size]["width"], SIZES[size]["height"])
    engine.open(page)
    engine.until(READY)
    top, share, has_legend, fits, has_toolbar = engine.run(PLACE)
    assert share >= 0.6 and has_legend and fits and has_toolbar
    assert top <= 100 or size == "phone"
