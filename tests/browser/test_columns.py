"""Other events and ratios as columns of the page: its numbers are those of ``perf2x top --column`` and ``annotate``."""

import json
import random
import re
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.model.profile.listings import FunctionListing, LineCost, Listings, SourceListing
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.stack_tree import keep_samples
from perf2x.model.totals.event_columns import Cell, LineColumns, cell_text, column_measures, event_columns
from perf2x.testing import ProfileBuilder
from perf2x.tools.tables.top_rows import TopTable
from tests.browser.commands_numbers import percent
from tests.browser.opened import opened
from tests.browser.test_viewers import write
from tests.support.command import perf2x
from tests.support.recordings import CORPUS

pytestmark = pytest.mark.browser

EVENTS = ("cycles", "instructions", "cache-misses", "branches", "branch-misses")
COLUMNS = ("instructions", "ipc", "mpki", "mispredicts", "branches/cycles")
PERIOD = 1000
ROWS = (
    "[...$('rows').rows].map((row) => [row.querySelector('button').dataset.name, "
    "[...row.cells].slice(4).map((cell) => cell.textContent), row.title.split('\\n').slice(-{0})])"
)
LINES = "[...document.querySelectorAll('#code tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"


def counted(timeline: bool) -> Profile:
    """Five events of functions that call each other and themselves, in two threads; some have few samples."""
    draw, builder = random.Random(5), ProfileBuilder()
    threads = [builder.thread("one", 7), builder.thread("two", 8)]
    places = [builder.function(f"f{number}") for number in range(9)]
    stacks = [[places[0], *(draw.choice(places[1:]) for _ in range(draw.randint(1, 4)))] for _ in range(14)]
    for number, name in enumerate(EVENTS):
        event = builder.event(name, "count", period=PERIOD)
        for at, stack in enumerate(stacks[number % 2 :]):
            for _ in range(draw.randint(0, 30) // (1 + at // 6)):
                builder.sample(stack, draw.choice(threads), event, PERIOD, time=draw.randrange(10**9))
    profile = builder.build(timeline=timeline)
    measures = tuple(column_measures(profile, EVENTS))
    source = SourceListing("/f.c", tuple(_line(number, len(measures)) for number in range(1, 9)), {3: "three"}, "")
    one = FunctionListing("f0", "", (), (), sources=(source,))
    return replace(profile, listings=Listings(measures, (one,)))


def _line(number: int, columns: int) -> LineCost:
    costs = [number * (at % 5) for at in range(columns)]
    return LineCost(number, tuple(costs), tuple(2 * cost for cost in costs))


def shown(cell: Cell, whole: Cell, *, is_long: bool) -> str:
    """The page's text of a cell."""
    if isinstance(cell, tuple):
        return cell_text(cell if is_long else (cell[0],) * 3, whole)
    return "–" if cell is None else percent(cell, whole if isinstance(whole, int) else 0)


def expected(profile: Profile, sort: str) -> dict[str, list[Any]]:
    """Cells and lines of the tooltip by function."""
    table = TopTable(profile, "function", sort, "period", 0, COLUMNS)
    keys = [(row.name, row.object) for row in table.rows]
    cells = [(one, one.cells(keys, sort)) for one in table.other_columns]
    return {
        "\n".join(key): [
            [shown(column[row], one.overall, is_long=False) for one, column in cells],
            [f"{one.name} {shown(column[row], one.overall, is_long=True)}" for one, column in cells],
        ]
        for row, key in enumerate(keys)
    }


def same(found: object, wanted: object) -> bool:
    """Equal words, and numbers as near as two ways to round a half to three digits are."""
    (words, numbers), (other_words, others) = map(_split, (found, wanted))
    return words == other_words and numbers == pytest.approx(others, rel=2e-3)


def _split(texts: object) -> tuple[list[str], list[float]]:
    text = json.dumps(texts, ensure_ascii=False, sort_keys=True)
    parts = re.split(r"((?<![\w.])\d[\d,]*(?:\.\d+)?)(?=[ )–\"])", text)
    return parts[::2], [float(number.replace(",", "")) for number in parts[1::2]]


def of_thread(profile: Profile, tid: int) -> Profile:
    return keep_samples(profile, profile.threads.tid[profile.samples.thread] == tid)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("columns")
    page = {"viewer": "page", "file": str(write(folder, "columns", "html", {"columns": list(COLUMNS)}, counted))}
    plain = {"viewer": "page", "file": str(write(folder, "plain", "html", {}, counted))}
    rows = ROWS.format(len(COLUMNS))
    heads = "[...document.querySelectorAll('#heads th.beside')].map((one) => one.textContent)"
    add = [["choose", "#column", "mpki"], ["choose", "#column", "ipc"]]
    recorded = folder / "recorded.html"
    assert perf2x("convert", CORPUS / "events/perf.data", "--column", "all", "-o", recorded, "-q").code == 0
    select = (
        "select([...Array(layout.next).keys()].find((box) => layout.frameOf(box) >= 0 && frameName(box) === 'f0'));"
    )
    jobs = {
        "self": page | {"evaluate": rows, "shot": "columns.png", "size": {"width": 1500, "height": 900}},
        "total": page | {"hash": "#sort=total", "evaluate": rows},
        "thread": page | {"hash": "#thread=1", "evaluate": f"[profile.threads[1].tid, {rows}]"},
        "lines": page | {"evaluate": f"{select} [{LINES}, $('detail').innerText]", "shot": "lines.png"},
        "chosen": plain | {"steps": [*add], "evaluate": f"[{heads}, location.hash]"},
        "removed": plain | {"steps": [*add, ["press", "#heads .beside button"]], "evaluate": heads},
        "back": plain | {"steps": [*add, ["back"]], "evaluate": heads},
        "plain": plain | {"evaluate": "[...$('column').options].map((one) => one.text)"},
        "another event": plain | {"hash": "#event=1&columns=cycles", "evaluate": ROWS.format(1)},
        "recorded": {"viewer": "page", "file": str(recorded), "evaluate": ROWS.format(2)},
    }
    for scheme, width in (("light", 1280), ("dark", 390)):
        look = {"axe": True, "scheme": scheme, "size": {"width": width, "height": 760}, "evaluate": "1"}
        jobs[f"seen, {width}"] = page | look | {"shot": f"columns-{scheme}.png"}
    return opened(folder, jobs)


@pytest.mark.parametrize("sort", ["self", "total"])
def test_the_table_says_what_top_says(seen: dict[str, dict[str, Any]], sort: str) -> None:
    found = {name: [cells, lines] for name, cells, lines in seen[sort]["value"]}
    assert same(found, expected(counted(False), sort))
    assert any("(" in line for _, _, lines in seen[sort]["value"] for line in lines)
    assert any("–" in cells for _, cells, _ in seen[sort]["value"])


def test_columns_are_of_the_chosen_thread(seen: dict[str, dict[str, Any]]) -> None:
    tid, rows = seen["thread"]["value"]
    found = {name: [cells, lines] for name, cells, lines in rows}
    assert same(found, expected(of_thread(counted(False), tid), "self"))


def test_functions_that_only_other_events_have_are_rows(seen: dict[str, dict[str, Any]]) -> None:
    profile = counted(False)
    rows = {name: lines[0] for name, _, lines in seen["another event"]["value"]}
    whole = np.sum(profile.samples.value[profile.samples.event == 0])
    for row in TopTable(profile, "function", "self", "period", 0).rows:
        assert rows[f"{row.name}\n{row.object}"] == f"cycles {percent(row.self, whole)}"


def test_lines_have_the_columns_of_annotate(seen: dict[str, dict[str, Any]]) -> None:
    profile = counted(False)
    assert profile.listings is not None
    columns = event_columns(profile, "thread", "period", COLUMNS)
    beside = LineColumns(columns, profile.listings.measures)
    rows, detail = seen["lines"]["value"]
    lines = profile.listings.functions[0].sources[0].lines
    for line, row in zip(lines, rows, strict=True):
        cells = beside.cells(line.self_costs)
        assert same(row[2:-2], [shown(cells[one.name], one.overall, is_long=True) for one in beside.columns])
    assert [name for name in COLUMNS if name in detail.split("\n")] == list(COLUMNS)


def test_columns_are_chosen_on_the_page_and_in_the_link(seen: dict[str, dict[str, Any]]) -> None:
    assert seen["chosen"]["value"] == [["ipc", "mpki"], "#columns=mpki%0Aipc"]
    assert seen["removed"]["value"] == ["mpki"]
    assert seen["back"]["value"] == ["mpki"]
    assert seen["plain"]["value"] == ["add", *EVENTS, "ipc", "mpki", "mispredicts"]


def test_a_recording_says_what_top_says(seen: dict[str, dict[str, Any]]) -> None:
    ran = perf2x("top", CORPUS / "events/perf.data", "--column", "all", "--format", "json", "-n", "0", "-q")
    assert ran.code == 0
    top = json.loads(ran.out)
    wanted = {
        f"{row['name']}\n{row['object']}": [
            percent(row[f"self_{name}"], whole) for name, whole in top["columns"].items()
        ]
        for row in top["rows"]
    }
    assert {name: cells for name, cells, _ in seen["recorded"]["value"]} == wanted


@pytest.mark.parametrize("width", [1280, 390])
def test_it_reads_well(seen: dict[str, dict[str, Any]], width: int) -> None:
    one = seen[f"seen, {width}"]
    assert one["complaints"] == [] and one["errors"] == []
