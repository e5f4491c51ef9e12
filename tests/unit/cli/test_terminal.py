"""Output on a terminal: it fits, has colours and bars, and is the plain text without them."""

import errno
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.color import ColorSystem
from rich.text import Text

from perf2x.cli import progress
from perf2x.cli.render import screen as screens
from perf2x.cli.render.screen import Screen, change_style, heat, standard_output
from perf2x.cli.render.text_table import Column, bar_column, name_column, table_lines, without_bars
from tests.support.command import perf2x, recording
from tests.support.recordings import CORPUS
from tests.unit.cli.diff_inputs import QUICK, forged

SYMBOLS = ("--symfs", CORPUS / "common" / "symfs", "--kallsyms", CORPUS / "calls" / "kallsyms.xz", "-q")
CALLS = (recording("calls"), *SYMBOLS)
LISTED = Path(__file__).parents[1] / "features" / "annotate" / "data"
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
HOSTILE = "evil\x1b[2J\x1b]0;title\x07\r\u202e"
COMMANDS: dict[str, tuple[object, ...]] = {
    "top": ("top", *CALLS),
    "graph": ("top", *CALLS, "--graph"),
    "report": ("report", *CALLS),
    "info": ("info", recording("calls")),
    "annotate": ("annotate", "walk", LISTED / "inlines.data", "--symfs", LISTED, "--source-dir", LISTED, "-q"),
    "explain": ("explain", LISTED / "demo" / "inlines"),
}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Standard output is a terminal with all colours, whatever takes it."""
    monkeypatch.setattr(screens, "is_terminal", lambda: True)
    monkeypatch.setattr(screens, "_colors", lambda: None if os.environ.get("NO_COLOR") else ColorSystem.TRUECOLOR)
    yield monkeypatch


def plain(text: str) -> str:
    return Text.from_ansi(text).plain


@pytest.mark.parametrize("columns", [60, 100, 200])
@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"info", "explain"}))
def test_lines_fit(name: str, columns: int, terminal: Any) -> None:
    ran = perf2x(*COMMANDS[name], env={"COLUMNS": str(columns)})
    assert ran.code == 0 and "\x1b[" in ran.out
    assert max(len(line) for line in plain(ran.out).splitlines()) <= columns


@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_gets_no_escape_sequence(name: str) -> None:
    ran = perf2x(*COMMANDS[name], env={"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm-256color"})
    assert ran.code == 0 and "\x1b" not in ran.out and "█" not in ran.out


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"report"}))
def test_without_colours_a_terminal_gets_the_bytes_of_a_pipe(name: str, terminal: Any) -> None:
    env = {"COLUMNS": "100"}
    on_terminal = perf2x(*COMMANDS[name], env={**env, "NO_COLOR": "1"}).out
    terminal.setattr(screens, "is_terminal", lambda: False)
    assert on_terminal == perf2x(*COMMANDS[name], env=env).out


@pytest.mark.parametrize("name", ["info", "explain", "annotate"])
def test_colours_change_no_text(name: str, terminal: Any) -> None:
    coloured = perf2x(*COMMANDS[name], env={"COLUMNS": "100"}).out
    plain_text = perf2x(*COMMANDS[name], env={"COLUMNS": "100", "NO_COLOR": "1"}).out
    shown = ESCAPE.sub("", coloured)
    assert "\x1b[1m" in coloured
    assert [line.rstrip() for line in shown.splitlines()] == plain_text.splitlines()


def test_every_format_for_programs_is_the_same_on_a_terminal(terminal: Any) -> None:
    for shape in ("json", "csv", "markdown"):
        assert "\x1b" not in perf2x("top", *CALLS, "--format", shape).out
    for shape in ("json", "markdown"):
        on_terminal = perf2x("report", *CALLS, "--format", shape).out
        assert "\x1b" not in on_terminal
    assert on_terminal.startswith("### perf2x report")


def test_a_report_has_the_same_names_and_shares_as_its_markdown(terminal: Any) -> None:
    markdown = perf2x("report", *CALLS, "--format", "markdown").out
    page = plain(perf2x("report", *CALLS, env={"COLUMNS": "400"}).out)
    assert "|" not in page and "`" not in page and "####" not in page
    for title in re.findall(r"^#### (.*)", markdown, re.MULTILINE):
        assert f"\n{title}\n" in page
    rows = re.findall(r"^\| .*?([\d.]+ %) \| (.*?) \| ([\d.]+ %) \| `(.*?)` \|", markdown, re.MULTILINE)
    assert len(rows) > 20
    for own, amount, total, name in rows:
        wanted = rf"{own} +{re.escape(amount)} +{total}  {re.escape(name)}( |$)"
        assert re.search(wanted, page, re.MULTILINE), (own, total, name)
    words = " ".join(page.split())
    for line in re.findall(r"^- (.*)", markdown, re.MULTILINE):
        assert " ".join(re.sub(r"&#(\d+);", lambda one: chr(int(one[1])), line).replace("`", "").split()) in words


def test_growth_is_red_and_shrinking_green(tmp_path: Path, terminal: Any) -> None:
    before = forged(tmp_path / "before.data", [0x1010] * 1000 + [0x2010] * 1000 + [0x3010] * 400)
    after = forged(tmp_path / "after.data", [0x1010] * 1600 + [0x2010] * 600 + [0x3010] * 405)
    for words in (("diff", before, after), ("report", after, "--before", before)):
        lines = perf2x(*words, *QUICK).out.partition("Hottest")[0].splitlines()
        rows = {name: line for line in lines for name in ("o1", "o2", "o3") if f"[{name}.so]" in line and "µs" in line}
        shares = (("o1", 31, r"\+25\.0"), ("o2", 32, r"-16\.7"), ("o3", 2, r"~\+0\.2"))
        assert all(re.search(rf"\x1b\[{style}m *{share} %", rows[name]) for name, style, share in shares)
        assert "\x1b[2mo3.so" in rows["o3"]


def test_a_report_on_a_terminal_begins_with_the_verdict(tmp_path: Path, terminal: Any) -> None:
    names = {1: "app-1.1"}
    before = forged(tmp_path / "before.data", [0x1010] * 100 + [0x2010] * 300, names={1: "app-1.0"})
    after = forged(tmp_path / "after.data", [0x1010] * 260 + [0x2010] * 540, names=names)
    words = ("report", after, "--before", before, *QUICK, "--per", "1000,1600")
    for limit, verdict in (("total=10", "\x1b[1;31mperf2x: failed"), ("total=90", "\x1b[1;32mperf2x: passed")):
        for columns in (60, 120):
            ran = perf2x(*words, "--fail-above", limit, env={"COLUMNS": str(columns)})
            lines = plain(ran.out).splitlines()
            assert ran.out.startswith(verdict) and max(map(len, lines)) <= columns
            said = " ".join(" ".join(lines).split())
            assert "- the total grew by +25.0 %" in said or limit == "total=90"
            assert "per unit of work: 1,000 before, 1,600 after, scaled to 1,000" in said
            assert "- treating app-1.1 as the renamed app-1.0" in said
    assert perf2x(*words, "--fail-above", "total=10", "--fail-if", "lost=0").out.startswith("\x1b[1;31mperf2x: failed")


def test_styles_say_how_much() -> None:
    assert [heat(part, 100) for part in (50, 10, 5, 1, 0.05, 0)] == ["bold red", "bold red", "yellow", "", "dim", "dim"]
    assert heat(0, 0) == "dim"
    assert [change_style(1, True), change_style(-1, True), change_style(1, False), change_style(0, True)] == [
        "red", "green", "dim", "dim",
    ]  # fmt: skip


def test_bars_are_in_proportion() -> None:
    bars = bar_column([100, 50, 6, 1, 0])
    assert [bar.rstrip() for bar in bars.texts] == ["████████", "████", "▌", "▏", ""]
    assert {len(bar) for bar in bars.texts} == {8}
    assert set(bar_column([0, 0]).texts) == {" " * 8} and bar_column([]).texts == []


def test_pictures_are_for_coloured_terminals_alone() -> None:
    words, bars = [Column("self", ["1", "2"]), name_column("name", ["a", "b"])], bar_column([1, 2])
    layouts = [[bars, *words], words]
    assert without_bars(layouts) == [words]
    assert list(table_lines(layouts, Screen(80))) == list(table_lines([words], Screen(80)))
    assert "█" in "".join(table_lines(layouts, Screen(80, ColorSystem.STANDARD)))


def test_no_name_reaches_the_terminal_as_it_is() -> None:
    rows = [Column("self", ["1"], ["bold red"]), name_column("name", [HOSTILE], "dim")]
    for room in (None, 30, 80):
        text = "".join(table_lines([rows], Screen(room, ColorSystem.STANDARD)))
        assert set(ESCAPE.findall(text)) == {"1", "1;31", "2", "0"}
        assert ESCAPE.sub("", text).isprintable()


def on_terminal(words: list[str], **env: str) -> str:
    """Output of a process whose terminal has 70 columns."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    given = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "TERM")}
    with subprocess.Popen(
        [sys.executable, *words],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**given, "TERM": "xterm-256color", **env},
    ):
        os.close(theirs)
        text = b""
        while part := _read(ours):
            text += part
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError as error:  # Linux, when the other side is closed
        assert error.errno == errno.EIO
        return b""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pseudoterminals of POSIX")
def test_a_real_terminal() -> None:
    words = ["-m", "perf2x", "top", recording("calls"), "--no-symbols", "-q", "-n", "3"]
    shown = on_terminal(words)
    assert "\x1b[1mcpu-clock: 335 samples" in shown and "█" in shown
    assert max(map(len, plain(shown).splitlines())) <= 70
    piped = perf2x(*words[2:], env={"COLUMNS": "70"}).out
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "latin-1"}):
        assert on_terminal(words, **env) == piped, env
    assert "\n### " not in "\n" + on_terminal(["-m", "perf2x", "report", recording("calls"), "--no-symbols"])


@pytest.mark.slow
def test_a_pipe_loads_no_rich() -> None:
    code = (
        "import sys; from perf2x.cli import main\n"
        f"sys.argv = ['perf2x', 'top', {recording('calls')!r}, '--no-symbols', '-q']\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "sys.exit(' '.join({'rich.console', 'rich.style'} & set(sys.modules)) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_bar_draws_without_a_thread(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Workers are forked while it is shown, and a lock that a thread holds then is never freed in them."""
    monkeypatch.setattr(progress, "_BAR_DELAY_S", 0.0)
    monkeypatch.setattr(progress, "_REDRAW_INTERVAL_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    before = threading.active_count()
    with progress.progress_bar(quiet=False) as update:
        assert update is not None
        for done in (1, 2):
            update("indexing", done, 4)
            assert threading.active_count() == before
    said = capsys.readouterr().err
    assert "25%" in said and "50%" in said


def test_standard_output_that_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert standard_output(wide=True) == Screen(None, None)
    assert standard_output().colors is None
    assert standard_output().room in (screens.WIDTH_WITHOUT_TERMINAL, int(os.environ.get("COLUMNS") or 160))
    _ = capsys


def test_boxes_of_a_graph_are_their_shares() -> None:
    """Each box begins and ends where its share of the width does, and lies below its caller."""
    ran = perf2x("top", *CALLS, "--graph", "-n", 0, env={"COLUMNS": "150"})
    levels = ran.out.splitlines()[1:]
    assert len(levels) > 5 and all(len(line) <= 150 for line in levels)
    for line in levels:
        for box in re.finditer(r"\|[^|]*? ([\d.]+) %[ ]*(?=\||$)", line):
            if box.end() < len(line):  # trailing spaces are not printed
                assert abs((box.end() - box.start()) - 1.5 * float(box[1])) <= 30, (line, box[0])
