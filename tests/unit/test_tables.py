"""Tables of the library: the numbers of the commands, for pandas, Arrow and notebooks."""

import csv
import io
import json
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import perf2x
from perf2x.tools.tables import result_table
from tests.support.command import perf2x as run
from tests.support.command import recording
from tests.unit.cli.diff_inputs import QUICK, forged
from tests.unit.cli.test_per_work import with_requests

CALLS = recording("calls")
EVIL = '<b>&"\x1b[2J\u202e\udc80'


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    before = forged(tmp_path / "before.data", [0x1010] * 100 + [0x2010] * 100)
    return before, forged(tmp_path / "after.data", [0x1010] * 160 + [0x2010] * 120)


def printed(*words: object) -> list[dict[str, str]]:
    """The rows that a command prints as CSV, without the columns that say the same in all of them."""
    ran = run(*words, "--format", "csv", "-n", 0)
    assert ran.code == 0, ran.err
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    return [{key: value for key, value in row.items() if key not in ("event", "unit")} for row in rows]


def texts(table: Any) -> list[dict[str, str]]:
    """The rows of a table as CSV would have them."""
    rows = zip(*table.columns.values(), strict=True)
    shown = (["true" if cell is True else "false" if cell is False else str(cell) for cell in row] for row in rows)
    return [dict(zip(table.columns, row, strict=True)) for row in shown]


@pytest.mark.parametrize("options", [{}, {"by": "object"}, {"by": "thread", "value": "samples"}, {"sort": "total"}])
def test_top_is_what_the_command_prints(options: dict[str, Any]) -> None:
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    assert texts(perf2x.top(CALLS, symbols=None, **options)) == printed("top", CALLS, "--no-symbols", "-q", *words)


def test_options_of_the_values_reach_the_recording() -> None:
    clocked = Path(__file__).parent / "cli" / "data" / "sleepers.data"
    latencies = perf2x.top(clocked, symbols=None, value="latency")
    assert texts(latencies) == printed("top", clocked, "--no-symbols", "-q", "--value", "latency")
    assert "self_period" in latencies.columns
    with pytest.raises(perf2x.Perf2xError, match="latency='beside'"):
        perf2x.top(perf2x.read(clocked, symbols=None), value="latency")


@pytest.mark.parametrize(
    "options",
    [{}, {"normalize": True}, {"unmoved": True}, {"by": "object", "sort": "total"}, {"per": (1000, 1600)},
     {"map": {"o1.so": "o2.so"}}],
)  # fmt: skip
def test_diff_is_what_the_command_prints(pair: tuple[Path, Path], options: dict[str, Any]) -> None:
    names = {"normalize": ["--normalize"], "unmoved": ["--all"], "per": ["--per", "1000,1600"],
             "map": ["--map", "o1.so=o2.so"]}  # fmt: skip
    words = [word for key, value in options.items() for word in names.get(key, [f"--{key}", value])]
    table = perf2x.diff(*pair, symbols=None, **options)
    assert texts(table) == printed("diff", *pair, *QUICK, *words)
    again = perf2x.diff(*(perf2x.read(one, symbols=None) for one in pair), **options)
    assert again.columns == table.columns


def test_an_event_can_count_the_work(tmp_path: Path) -> None:
    pair = with_requests(tmp_path / "a.data", 100, 500), with_requests(tmp_path / "b.data", 210, 1000)
    for options in ({}, {"events": ("cpu-clock",)}):
        table = perf2x.diff(*pair, symbols=None, per_value="requests", **options)
        assert table.work == (500, 1000)
        assert "+5.0 %); per unit of work: 500 before, 1,000 after, scaled to 500" in repr(table)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"per": (1, 2), "normalize": True}, "^normalize and per are two ways to compare; choose one$"),
        ({"per": (0, 1)}, "^per 0,1: expected the units of work"),
        ({"per_value": "requests", "value": "weight"}, "^per_value adds up periods, which value weight replaces"),
        ({"per_value": "requests"}, "before.data: per_value: event 'requests' is not in this recording"),
        ({"map": {"o1.so": "none.so"}}, "no object 'none.so'"),
    ],
)
def test_what_cannot_be_compared_is_named(pair: tuple[Path, Path], options: dict[str, Any], words: str) -> None:
    with pytest.raises(perf2x.Perf2xError, match=words):
        perf2x.diff(*pair, symbols=None, **options)


def test_a_confidence_is_a_probability(pair: tuple[Path, Path]) -> None:
    with pytest.raises(perf2x.Perf2xError, match=r"confidence=95: it must be between 0 and 1"):
        perf2x.diff(*pair, symbols=None, confidence=95)


def test_the_first_rows_can_be_asked_for(pair: tuple[Path, Path]) -> None:
    whole, some = perf2x.top(CALLS, symbols=None), perf2x.top(CALLS, symbols=None, limit=2)
    assert len(whole) > 2 == len(some)
    assert some.rows == whole.rows[:2] and some.whole.rows == whole.whole.rows


def test_short_forms_have_three_lines(pair: tuple[Path, Path]) -> None:
    loaded = perf2x.read(CALLS)
    forms = [loaded, perf2x.top(loaded), perf2x.top(loaded, limit=1), perf2x.diff(*pair), perf2x.diff(CALLS, CALLS)]
    for one in map(repr, forms):
        assert one.count("\n") == 2 and len(one) < 700, one
    assert "335 of 335 samples" in repr(loaded) and "cpu-clock 335" in repr(loaded)
    assert len(repr(loaded.profile)) < 200 and "\n" not in repr(loaded.profile)
    assert "no rows" in repr(perf2x.diff(CALLS, CALLS))


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


class Evil(result_table.ResultTable):
    totals_note = EVIL  # type: ignore[assignment]
    heading = EVIL  # type: ignore[assignment]
    columns = {"name": [EVIL] * 30}  # type: ignore[assignment]  # noqa: RUF012
    display_cells = {EVIL: [EVIL] * 30}  # type: ignore[assignment]  # noqa: RUF012


def test_notebooks_show_the_first_rows_and_no_name_is_markup() -> None:
    page = Cells()
    page.feed(Evil()._repr_html_())
    page.close()
    assert set(page.tags) == {"p", "table", "tr", "th", "td"}
    assert page.tags.count("td") == 20 and page.cells[-1] == "… and 10 more rows"
    assert page.cells[0] == page.cells[1] == '<b>&"\\x1b[2J\\u202e\\udc80'
    assert repr(Evil()).isascii() or "…" in repr(Evil())
    assert "\x1b" not in repr(Evil())


@pytest.mark.parametrize("rows", [0, 2])
def test_columns_keep_their_types(pair: tuple[Path, Path], rows: int) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    table = perf2x.diff(*pair, symbols=None) if rows else perf2x.diff(pair[0], pair[0], symbols=None)
    arrow = pyarrow.table(table.to_arrow())
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == arrow.num_rows == len(table) == rows
    kinds = {"self_before": "int64", "total_change_low": "float64", "self_significant": "bool"}
    assert {name: str(frame[name].dtype) for name in kinds} == kinds
    assert [str(arrow.schema.field(name).type) for name in kinds] == ["int64", "double", "bool"]
    assert str(arrow.schema.field("name").type) == "dictionary<values=string, indices=int32, ordered=0>"
    assert arrow.to_pydict() == json.loads(json.dumps(frame.to_dict("list")))


def test_names_that_are_no_text_are_escaped_for_arrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    (name,) = set(pyarrow.table(Evil().to_arrow()).to_pydict()["name"])
    assert name.endswith("\\x80")


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        result_table, "is_installed", lambda module: module != "pandas" and find_spec(module) is not None
    )
    with pytest.raises(ImportError, match=r"^to_pandas needs pandas, which is not installed: pip install pandas$"):
        perf2x.top(CALLS, symbols=None).to_pandas()
