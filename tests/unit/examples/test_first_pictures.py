"""README's moving picture shows what perf2x prints, and its first command has no advice on its recording."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from tests.support.command import perf2x
from tests.support.recordings import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="pseudo-terminals of Linux")
def test_the_moving_picture_is_what_a_terminal_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(sys.modules["perf2x"].__path__[0]).parent))
    script = runpy.run_path(str(ROOT / "docs" / "terminal_picture.py"))
    shown = script["PICTURE"].read_text(encoding="utf-8")
    assert script["picture"]() == shown, "python docs/terminal_picture.py writes it anew"
    assert len(shown) < 1_000_000
    assert shown.count("://") == 1, "no address but that of SVG: it is shown where nothing else is loaded"
    assert README.index("terminal.svg") < README.index("\n## ")


def test_the_first_command_finds_nothing_to_advise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (words,) = re.findall(r"^python3 .* \.venv/bin/perf2x (convert .*) -o flame.html$", README, re.MULTILINE)
    monkeypatch.chdir(ROOT)
    ran = perf2x(*words.split(), "-o", tmp_path / "flame.html")
    assert ran.code == 0
    assert ran.err.splitlines()[1:3] == [
        "100 % of 1,221 user stack dumps fully unwound",
        "100 % of the samples and 100 % of 5,347 frames have names",
    ]
    assert not re.search("hint:|lost", ran.err)
