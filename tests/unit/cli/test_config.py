"""Defaults from [tool.perf2x], and the manual page."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import perf2x, recording


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_common_defaults_and_those_of_one_command(here: Path) -> None:
    (here / "pyproject.toml").write_text(
        '[tool.perf2x]\nno-symbols = true\nquiet = true\n[tool.perf2x.convert]\nto = "collapsed"\nroot = "process"\n'
        'fail_if_lost = 100\nevent = ["cpu-*"]\n[tool.perf2x.top]\nlimit = 1\n'
    )
    assert perf2x("convert", recording("calls")).code == 0
    assert (here / "perf.folded").read_text().startswith("calls-21926;")
    assert len(perf2x("top", recording("calls")).out.splitlines()) == 3


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(here: Path) -> None:
    (here / "perf2x.toml").write_text('to = "pprof"\nno-symbols = true\n')
    calls = recording("calls")
    assert "wrote pprof" in perf2x("convert", calls).err
    assert "wrote svg" in perf2x("convert", calls, env={"PERF2X_TO": "svg"}).err
    assert "wrote collapsed" in perf2x("convert", calls, "--to", "collapsed", env={"PERF2X_TO": "svg"}).err


def test_the_nearest_file_counts_and_none_outside_the_repository(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "perf2x.toml").write_text('to = "pprof"\n')
    inner = here / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    words = ("convert", recording("calls"), "--no-symbols")
    assert "wrote pprof" in perf2x(*words).err
    (inner / "pyproject.toml").write_text('[tool.perf2x]\nto = "svg"\n')
    assert "wrote svg" in perf2x(*words).err
    (inner / "pyproject.toml").unlink()
    (inner / ".git").mkdir()
    assert "no --to: writing pprof" in perf2x(*words).err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kernl-suffix = true", "there is no option 'kernl-suffix'; did you mean kernel-suffix?"),
        ("as-json = true", "there is no option 'as-json'"),
        ("[convert]\nlimit = 3", "perf2x convert has no option 'limit'"),
        ("[convrt]\nto = 'svg'", "there is no option 'convrt'"),
        ("convert = 3", "convert is a command"),
        ("to = {a = 1}", "is neither a text"),
        ("to = true", "is neither a text"),
        ("to = ['svg']", "takes one value"),
        ("quiet = 'yes'", "is a switch"),
        ("to = ", "perf2x.toml: "),
    ],
)
def test_mistakes_in_the_file_are_usage_errors(here: Path, text: str, sentence: str) -> None:
    (here / "perf2x.toml").write_text(text)
    ran = perf2x("convert", recording("calls"))
    assert ran.code == 2
    assert sentence in ran.err
    assert "Traceback" not in ran.err


def test_the_manual_page_has_every_command_and_option() -> None:
    text = perf2x("man").out
    plain = text.replace("\\-", "-").replace("\\&", "")
    for command in ("convert", "top", "diff", "info", "formats"):
        assert f".SH {command.upper()}\n" in text
        helped = perf2x(command, "--help", env={"COLUMNS": "200", "NO_COLOR": "1"}).out
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", helped):
            assert option in plain or option == "--help", option


def test_the_manual_page_lists_environment_variables() -> None:
    _, _, environment = perf2x("man").out.partition(".SH ENVIRONMENT\n")
    named = environment.partition(".SH ")[0].splitlines()
    assert {"PERF2X_OPTION", "PERF2X_SYSROOT", "DEBUGINFOD_URLS", "NO_COLOR"} <= set(named)


def test_the_help_of_symfs_names_the_directories_it_does_not_read() -> None:
    helped = " ".join(perf2x("top", "--help-all", env={"COLUMNS": "300", "NO_COLOR": "1"}).out.split())
    assert "~/.debug and /usr/lib/debug of this machine are not read" in helped
    assert "[default: (~/.debug, with --symfs DIR/.debug)]" in helped


def test_man_renders_it_without_warnings(tmp_path: Path) -> None:
    page = tmp_path / "perf2x.1"
    page.write_text(perf2x("man").out)
    readers = {"mandoc": ("-Tlint", "-Wwarning"), "groff": ("-man", "-ww", "-Tascii", "-z")}
    tool = next((tool for tool in readers if shutil.which(tool)), None)
    if tool is None:
        pytest.skip("neither mandoc nor groff is here")
    words = [tool, *readers[tool], str(page)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
@pytest.mark.parametrize(("env", "bold"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_headings_of_help_are_bold_on_a_terminal_unless_switched_off(env: dict[str, str], bold: bool) -> None:
    import pty

    main_end, terminal = pty.openpty()
    words = [sys.executable, "-c", "from perf2x.cli import main; main()", "convert", "--help"]
    with subprocess.Popen(words, stdout=terminal, env={**os.environ, "TERM": "xterm", **env}) as process:
        os.close(terminal)
        seen = b""
        with contextlib.suppress(OSError):  # EIO: the other end was closed
            while part := os.read(main_end, 1 << 16):
                seen += part
    assert process.returncode == 0
    headings = [b"\r\nOutput:\r\n", b"\r\nExamples:\r\n"]
    strong = [b"\r\n\x1b[1mOutput\x1b[0m:\r\n", b"\r\n\x1b[1mExamples\x1b[0m:\r\n"]
    assert all(heading in seen for heading in (strong if bold else headings))
    assert seen.count(b"\x1b") == (2 * seen.count(b"\x1b[1m") if bold else 0)


def test_help_in_a_file_has_no_escape_sequence() -> None:
    assert "\x1b" not in perf2x("convert", "--help").out
