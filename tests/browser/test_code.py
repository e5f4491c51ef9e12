"""Source lines and instructions in the page, for the selected function."""

import pytest

from tests.browser.opened import opened
from tests.support.command import perf2x
from tests.support.recordings import ROOT

pytestmark = pytest.mark.browser

DATA = ROOT / "tests" / "unit" / "features" / "annotate" / "data"
EVIL = "<img src=x onerror=\"document.title='run'\">"
SELECT = (
    "((name) => select([...Array(layout.next).keys()]"
    ".find((box) => layout.frameOf(box) >= 0 && frameName(box) === name)))"
)
ROWS = "[...document.querySelectorAll('#code tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
PRESS = "((word) => [...document.querySelectorAll('#code button')].find((one) => one.innerText === word).click())"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    pytest.importorskip("capstone")
    folder = tmp_path_factory.mktemp("code")
    (folder / "src").mkdir()
    source = (DATA / "demo" / "inlines.cpp").read_text().splitlines(keepends=True)
    (folder / "src" / "inlines.cpp").write_text("".join([*source[:18], f"    // {EVIL}\n", *source[19:]]))
    words = ("convert", DATA / "inlines.data", "--symfs", DATA, "--source-dir", folder / "src", "--assembly", "-q")
    assert perf2x(*words, "-o", folder / "page.html").code == 0
    page = {"viewer": "page", "file": str(folder / "page.html")}
    both = f"{SELECT}('walk'), {PRESS}('Instructions')"
    jobs = {
        "lines": page | {"evaluate": f"{SELECT}('walk'); [{ROWS}, $('code').hidden, document.title]"},
        "instructions": page | {"evaluate": f"{both}; {ROWS}"},
        "samples": page | {"hash": "#weight=count", "evaluate": f"{SELECT}('(anonymous namespace)::scramble'); {ROWS}"},
        "none": page | {"evaluate": f"{SELECT}('walk'); {SELECT}('main'); $('code').innerText"},
        "closed": page
        | {
            "evaluate": f"{SELECT}('walk'); {PRESS}('×'); const was = $('code').hidden;"
            " $('detail').querySelector('button').click(); [was, $('code').hidden]"
        },
    }
    looked = "const look = (text) => ((state.search = text), searched(), $('matched').textContent);"
    press = "$('regex').click()"
    jobs["search"] = page | {
        "evaluate": f"{looked} [look('tree'), look('tree('), look('tree[(]'), "
        f"({press}, look('tree[(]')), location.hash]"
    }
    for scheme, width in (("light", 1280), ("dark", 390)):
        script = {"steps": [["focus", "#canvas"], *[["key", "ArrowDown"]] * 7]}
        size = {"width": width, "height": 760}
        look = {"axe": True, "scheme": scheme, "size": size, "evaluate": "$('code').hidden"}
        jobs[f"{scheme}, {width}"] = page | script | look
    return opened(folder, jobs)


def test_lines_of_the_selected_function(told: dict[str, dict]) -> None:
    rows, is_hidden, title = told["lines"]["value"]
    assert not is_hidden
    by_number = {row[2]: row for row in rows if len(row) == 4}
    assert by_number["21"][0] and by_number["21"][3] == "            odd += state % 7;"
    assert by_number["19"][3] == f"    // {EVIL}"  # text, not an element
    assert title != "run"
    assert told["lines"]["errors"] == []


def test_instructions(told: dict[str, dict]) -> None:
    rows = told["instructions"]["value"]
    assert rows[1][2:] == ["401150", "testl %edi, %edi"]
    assert ["▸40119c", "addl %ecx, %eax"] in [row[2:] for row in rows]
    assert any(row[3].startswith("inlines.cpp:6 (anonymous namespace)::scramble") for row in rows)


def test_numbers_follow_the_page(told: dict[str, dict]) -> None:
    costs = {row[2]: row[0] for row in told["samples"]["value"] if len(row) == 4 and row[0]}
    assert costs == {"6": "22 samples", "7": "27 samples", "8": "23 samples"}


def test_functions_without_a_listing(told: dict[str, dict]) -> None:
    assert told["none"]["value"] == "No lines of this function are in this page."
    assert told["closed"]["value"] == [True, False]


def test_search_looks_at_full_names_where_a_sign_is_theirs(told: dict[str, dict]) -> None:
    """Plain text first, an expression where that is wanted."""
    name, full, plain, expression, link = told["search"]["value"]
    assert full == expression == "1 · 95.7 %", (name, full)
    assert plain == "none"
    assert "regex=on" in link


@pytest.mark.parametrize("look", ["light, 1280", "dark, 390"])
def test_it_can_be_read_by_all(look: str, told: dict[str, dict]) -> None:
    assert told[look]["value"] is False
    assert told[look]["complaints"] == []
