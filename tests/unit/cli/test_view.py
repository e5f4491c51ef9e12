"""``perf2x view``: a page in the browser, from a file or served."""

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import urllib.request
import webbrowser
from pathlib import Path

import pytest

from tests.support.command import perf2x, recording
from tests.support.recordings import ROOT
from tests.unit.cli.diff_inputs import forged

LISTED = ROOT / "tests" / "unit" / "features" / "annotate" / "data"
QUICK = (recording("calls"), "--no-symbols")
NO_SCREEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
SCREEN = {**NO_SCREEN, "DISPLAY": ":7"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """URLs that the browser was asked to open."""
    urls: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: urls.append(url) or True)
    return urls


def test_the_page_is_opened_and_stays(folder: Path, visited: list[str]) -> None:
    ran = perf2x("view", *QUICK, "--title", "What is hot", env=SCREEN)
    page = Path(ran.out.removesuffix("\n"))
    assert (ran.code, visited) == (0, [page.as_uri()])
    assert re.fullmatch("hint: There are only 335 samples: .*\n", ran.err)
    assert page.parent.parent == folder and page.name == "perf.html"
    assert "What is hot" in page.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert perf2x("view", *QUICK, env=SCREEN).out != ran.out and page.exists()


def test_the_page_is_that_of_convert(folder: Path, visited: list[str], tmp_path: Path) -> None:
    """Filters and symbol options apply as in convert: the bytes are equal."""
    filtered = (*QUICK, "--max-stack", "3", "--frames", "user")
    listed = (LISTED / "inlines.data", "--symfs", LISTED, "--source-dir", LISTED, "-q")
    for words in (filtered, listed):
        page = Path(perf2x("view", *words, env=SCREEN).out.strip())
        assert perf2x("convert", *words, "-q", "-o", tmp_path / "same.html").code == 0
        assert page.read_bytes() == (tmp_path / "same.html").read_bytes()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there is always a browser")
def test_without_a_screen_the_path_is_said(folder: Path, visited: list[str]) -> None:
    ran = perf2x("view", *QUICK, env=NO_SCREEN)
    assert ran.code == 0 and visited == [] and Path(ran.out.strip()).exists()
    assert "no browser can be opened here" in ran.err and "perf2x view --serve" in ran.err


def test_a_browser_that_cannot_be_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(url: str) -> bool:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "open", fails)
    ran = perf2x("view", *QUICK, env=SCREEN)
    assert ran.code == 0 and "no browser can be opened here" in ran.err


def test_names_of_recordings_are_made_harmless(folder: Path, visited: list[str], tmp_path: Path) -> None:
    odd = tmp_path / "a \x1b[2J.data"
    odd.symlink_to(recording("calls"))
    assert perf2x("view", str(odd), "--no-symbols", env=SCREEN).code == 0
    assert "\x1b" not in visited[0] and "%1B" not in visited[0]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--port", "8000"), 2, "--port needs --serve"),
        (("--serve", "--port", "65536"), 2, "65535"),
        (("--event", "cycles"), 2, "cycles"),
    ],
)
def test_usage(folder: Path, visited: list[str], words: tuple[str, ...], code: int, sentence: str) -> None:
    ran = perf2x("view", *QUICK, *words, env=SCREEN)
    assert (ran.code, ran.out, visited) == (code, "", []) and sentence in ran.err
    assert list(folder.iterdir()) == []


def test_nothing_is_left_of_a_page_that_fails(
    folder: Path, visited: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from perf2x.emitters.flame.html import Html

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Html, "emit", full)
    ran = perf2x("view", *QUICK, env=SCREEN)
    assert (ran.code, ran.out, visited) == (1, "", []) and "No space left on device" in ran.err
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_serving_until_interrupted() -> None:
    """Read the URL, get the page and press Ctrl-C, as a user would."""
    # background jobs of a shell ignore SIGINT
    code = "from signal import *; signal(SIGINT, default_int_handler); from perf2x.cli import main; main()"
    words = [sys.executable, "-c", code, "view", *QUICK, "--serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        try:
            url = server.stdout.readline().strip()
            port = url.split("/")[2].split(":")[1]
            assert server.stderr.readline().startswith("hint: There are only 335 samples")
            assert f"ssh -N -L {port}:127.0.0.1:{port} " in server.stderr.readline()
            assert server.stderr.readline() == "serving until Ctrl-C\n"
            with urllib.request.urlopen(url, timeout=10) as answer:
                assert answer.headers["Content-Type"] == "text/html; charset=utf-8" and b"<html" in answer.read()
            server.send_signal(signal.SIGINT)
            assert server.wait(20) == 0
            assert (server.stdout.read(), server.stderr.read()) == ("", "")
        finally:
            server.kill()  # leaving the block waits for it


def test_several_recordings_are_chosen_on_the_page(folder: Path, visited: list[str], tmp_path: Path) -> None:
    """All together come first; options hold for each alone, and one that they leave nothing of is no choice."""
    others = [tmp_path / name / "perf.data" for name in ("<b>", "c")]
    for path in others:
        path.parent.mkdir()
    forged(others[0], [0x1010] * 3, comm="app", hostname="one")
    forged(others[1], [0x1010] * 5, comm="other", hostname="two")
    ran = perf2x("view", *others, "--no-symbols", "--comm", "app", "--title", "T", env=SCREEN)
    assert ran.code == 0 and [url.rpartition("/")[2] for url in visited] == ["perf.html"]
    assert f"{others[1]} cannot be chosen: no thread called 'app'" in ran.err
    whole = Path(ran.out.strip())
    alone = whole.parent / "1-perf.html"
    assert sorted(whole.parent.iterdir()) == [alone, whole]
    name = str(others[0]).replace("<", "&lt;").replace(">", "&gt;")
    for page, chosen, title in ((whole, 0, "T"), (alone, 1, f"T: {name}")):
        assert f"<title>{title}</title>" in page.read_text()
        choices = re.search(r'<select id="recording">(.*?)</select>', page.read_text()).group(1)
        marks = ["", ""]
        marks[chosen] = " selected"
        assert choices == (
            f'<option value="perf.html"{marks[0]}>All together</option>'
            f'<option value="1-perf.html"{marks[1]}>{name}</option>'
        )
    assert '<select id="recording"></select>' in Path(perf2x("view", *QUICK, env=SCREEN).out.strip()).read_text()


def test_many_recordings_are_shown_together(folder: Path, visited: list[str], tmp_path: Path) -> None:
    several = [forged(tmp_path / f"{number}.data", [0x1010]) for number in range(21)]
    ran = perf2x("view", *several, "--no-symbols", env=SCREEN)
    assert "21 recordings are shown together; only up to 20 can be chosen one by one" in ran.err
    assert len(list(Path(ran.out.strip()).parent.iterdir())) == 1
