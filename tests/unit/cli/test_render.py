"""Tables in every format: they fit the terminal, and no name can break them."""

import csv
import io
import json
import os
import re
import sys
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from perf2x.cli.render.csv_table import csv_text, flattened
from perf2x.cli.render.fit_text import cell_width, divide_width, shorten
from perf2x.cli.render.markdown_table import (
    MAX_BYTES,
    Section,
    code,
    escape_tildes,
    markdown_document,
    sentence_with_code,
)
from perf2x.cli.render.report_formats import Report, print_report
from perf2x.cli.render.screen import WIDTH_WITHOUT_TERMINAL, Screen, line_width
from perf2x.cli.render.text_table import Column, Layout, name_column, table_lines
from perf2x.model.printable_text import escaped

RUST = "<core::iter::adapters::" + "map::Map<I,F> as " * 30 + "Iterator>::fold"
HOSTILE = [
    "operator||", "a|b", "`rm -rf`", "a\\|b", "\\", "<script>alert(1)</script>", "@everyone", "#1", "**bold**", "a_b_c",
    "[x](http://e.example)", "&lt;", "\x1b[31mred\x1b[0m", "line\nbreak", "\u202etxt", "käfer", "名前::函数", "", " ",
    RUST,
]  # fmt: skip
CHARACTERS = st.characters(exclude_categories=["Cs"])  # by a codec, hypothesis tries each of them
TEXTS = st.text(CHARACTERS, max_size=60).map(escaped)


def layout(cells: list[str]) -> Layout:
    return [
        Column("self", ["1,234.56 ms"] * len(cells)),
        name_column("object", cells),
        name_column("function", cells[::-1]),
    ]


@given(TEXTS, st.integers(1, 40))
def test_shortened_fits_and_keeps_beginning_and_end(text: str, cells: int) -> None:
    short = shorten(text, cells)
    assert cell_width(short) <= cells
    if cell_width(text) <= cells:
        assert short == text
    elif cells > 0:
        head, _, tail = short.rpartition("…") if short.count("…") == 1 else (short[: short.index("…")], "", "")
        assert text.startswith(head) and text.endswith(tail)


def test_shortened_by_cells_not_characters() -> None:
    assert shorten("abcdefghij", 5) == "ab…ij"
    assert shorten("名前名前名前", 7) == "名…前" and cell_width("名…前") == 5
    assert shorten("abcdefe\u0301", 4) == "ab…e\u0301"
    assert shorten("abcdef名\u0301", 3) == "a…"
    assert shorten("abc", 0) == ""


def test_piled_marks_do_not_grow_a_cell() -> None:
    pile = "a" + "\u0301" * 10_000
    assert cell_width(pile) == 1 and len(shorten(pile, 10)) < 100


@given(st.lists(st.integers(0, 100), min_size=1, max_size=4), st.integers(0, 200))
def test_columns_share_the_width(wanted: list[int], cells: int) -> None:
    shares = divide_width(wanted, cells)
    assert all(share <= want for share, want in zip(shares, wanted, strict=True))
    if sum(wanted) <= cells:
        assert shares == wanted
    elif cells >= 8 * len(wanted):
        assert sum(shares) <= cells
        cut = [share for share, want in zip(shares, wanted, strict=True) if share < want]
        assert max(shares) - min(cut) <= 1


@given(st.lists(TEXTS, min_size=1, max_size=5), st.integers(40, 120))
def test_a_table_fits(cells: list[str], most: int) -> None:
    lines = list(table_lines([layout(cells)], Screen(most)))
    assert len(lines) == len(cells) + 1
    assert all(cell_len(line) <= most for line in lines)


def test_columns_are_aligned() -> None:
    lines = list(table_lines([layout(["名前", "ab"])], Screen(80)))
    assert lines == [
        "       self  object  function",
        "1,234.56 ms  名前    ab",
        "1,234.56 ms  ab      名前",
    ]


def test_the_widest_layout_with_room_for_names_is_taken() -> None:
    name = name_column("function", [RUST])
    wide, slim = (
        [Column("before", ["1" * 20]), Column("after", ["2" * 20]), name],
        [Column("after", ["2" * 20]), name],
    )
    assert "before" in next(table_lines([wide, slim], Screen(100)))
    assert "before" not in next(table_lines([wide, slim], Screen(80)))
    assert list(table_lines([wide, slim], Screen()))[1].endswith(RUST)


def test_markdown_holds_every_name() -> None:
    """A reader of GitHub's Markdown finds one table with the names as they are, and nothing else."""
    text = "\n".join(markdown_document("perf2x top", [Section("words", layout(HOSTILE))]))
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    kinds = {token.type for token in tokens}
    assert not kinds & {"html_block", "fence", "bullet_list_open", "hr"}
    assert [token.type for token in tokens].count("table_open") == 1
    cells = [
        tokens[place + 1] for place, token in enumerate(tokens) if token.type in ("td_open", "th_open")
    ]  # fmt: skip
    assert len(cells) == 3 * (len(HOSTILE) + 1)
    shown = [_shown(cell) for cell in cells[4::3]]
    assert shown == [shorten(escaped(name), 80) or "–" for name in HOSTILE]
    assert max(map(len, shown)) == 80


def _shown(cell: object) -> str:
    """The text of a table's cell; fails for anything but text, code spans and ``<code>``."""
    children = cell.children  # type: ignore[attr-defined]
    kinds = [(one.type, one.content) for one in children]
    if kinds[0] == ("html_inline", "<code>"):
        assert kinds[-1] == ("html_inline", "</code>")
        kinds = kinds[1:-1]
    assert {kind for kind, _ in kinds} <= {"text", "code_inline", "text_special"}, kinds
    return unescape("".join(text for _, text in kinds)) if len(kinds) > 1 else kinds[0][1]


def test_a_backslash_escapes_nothing() -> None:
    assert code("a\\|b") == "<code>a&#92;&#124;b</code>"
    assert code("a`b") == "<code>a&#96;b</code>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sort_rows grew by +5.0 %, x::f<y>.", "`sort_rows` grew by +5.0 %, `x::f<y>`."),
        ("nothing exceeds its limit (total=25%, share=5%); e", "nothing exceeds its limit (total=25%, share=5%); e"),
        ("@user http://x w.e *x* a|b c\\d", "`@user` `http://x` `w.e` `*x*` `a|b` `c\\d`"),
        ("`a ``b`` `", "`` `a `` ``` ``b`` ``` `` ` ``"),
    ],
)
def test_sentences_quote_names_without_entities(text: str, shown: str) -> None:
    assert sentence_with_code(text) == shown


@given(st.text(CHARACTERS, max_size=40))
def test_code_has_no_pipe_that_ends_a_cell(name: str) -> None:
    found = code(name)
    assert not re.search(r"(?<!\\)(\\\\)*\|", found)
    assert "\n" not in found and (found.startswith("<code>") or found.count("`") in (0, 2))


def test_a_tilde_does_not_strike_out() -> None:
    assert escape_tildes("~+1.0 % ~-1.0 %") == "\\~+1.0 % \\~-1.0 %"
    rows = [Column("change", ["~+1.0 %"]), name_column("function", ["~Destructor"])]
    assert list(markdown_document("x", [Section("", rows)]))[-1] == "| \\~+1.0 % | `~Destructor` |"


def test_markdown_is_bounded() -> None:
    """GitHub refuses a comment of more than 65,536 characters and a summary of more than a mebibyte."""
    rows = 50_000
    text = "\n".join(markdown_document("x", [Section("", [name_column("function", ["名" * 40] * rows)])]))
    assert MAX_BYTES - 1000 < len(text.encode()) <= MAX_BYTES
    kept = text.count("\n| `")
    assert text.endswith(f"… and {rows - kept:,} more lines, left out to stay below 60,000 bytes.")


def test_csv_can_be_read_back() -> None:
    rows = [("name", "self"), *((name, number) for number, name in enumerate(HOSTILE))]
    read = list(csv.reader(io.StringIO(csv_text(rows))))
    assert read[1:] == [
        [f"'{name}" if name.startswith("@") else escaped(name), str(number)] for number, name in enumerate(HOSTILE)
    ]
    assert "\r" not in csv_text(rows)


@pytest.mark.parametrize("first", "=+-@＝＋－＠")
def test_no_cell_is_a_formula(first: str) -> None:
    assert csv_text([(True, None, 0.5)]) == "true,,0.5\n"
    assert csv_text([(f"{first}cmd|' /C calc'!A0", -1)]) == f"'{first}cmd|' /C calc'!A0,-1\n"


def test_flattened_values_have_their_path() -> None:
    facts = {"samples": 2, "events": [{"name": "a"}, {"name": "b", "flags": ["x"]}], "none": {}}
    assert list(flattened(facts)) == [
        ("samples", 2),
        ("events.0.name", "a"),
        ("events.1.name", "b"),
        ("events.1.flags.0", "x"),
    ]


def report(name: str) -> Report:
    rows = [Column("self", ["1 ms"]), name_column("function", [name])]
    return Report(
        lambda screen: table_lines([rows], screen),
        lambda: {"name": name},
        lambda: markdown_document("x", [Section("", rows)]),
        lambda: [("name",), (name,)],
    )


@pytest.mark.parametrize("shape", ["table", "json", "markdown", "csv"])
def test_no_format_lets_control_characters_through(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_report(report("a\x1b[2J\x07\x7f\x9b\u202e\ud800\rz"), shape)
    text = capsys.readouterr().out
    assert all(char.isprintable() for char in text.replace("\n", "")), text
    assert "a" in text and "z" in text
    if shape == "json":
        assert json.loads(text) == {"name": "a\x1b[2J\x07\x7f\x9b\u202e\ud800\rz"}


def test_characters_outside_the_encoding_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    print_report(report("käfer 名"), "table")
    assert raw.getvalue().splitlines()[1] == "1 ms  käfer \\u540d".encode("latin-1")


def test_the_width_of_lines_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert line_width() == WIDTH_WITHOUT_TERMINAL
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1, raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((97, 24)))
    assert line_width() == 97
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((0, 0)))
    assert line_width() == WIDTH_WITHOUT_TERMINAL
    for said, cells in (("72", 72), ("0", WIDTH_WITHOUT_TERMINAL), ("wide", WIDTH_WITHOUT_TERMINAL)):
        monkeypatch.setenv("COLUMNS", said)
        assert line_width() == cells
