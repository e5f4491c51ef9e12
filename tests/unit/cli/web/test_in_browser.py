"""Commands as the page runs them: what they say, their errors, and files that are found by their build id."""

from pathlib import Path

import pytest

from perf2x.cli import progress
from perf2x.cli.web.in_browser import link_by_build_id, prepare, run
from tests.support.command import folded, perf2x, recording
from tests.support.recordings import CORPUS


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "listener", None)


def ignore(*_: object) -> None:
    pass


def test_what_is_imported_beforehand_exists() -> None:
    prepare()


def test_errors_are_the_sentences_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no recording")
    words = ["convert", str(tmp_path / "text"), "--to", "html", "-o", str(tmp_path / "out")]
    ran = perf2x(*words)
    assert run(words, ignore) == (ran.code, ran.err) and ran.code == 1
    assert run(["convert", "--evnet", "x"], ignore)[0] == 2


def test_objects_are_found_under_any_name(tmp_path: Path) -> None:
    dropped, cache = tmp_path / "dropped", tmp_path / "cache"
    dropped.mkdir()
    (dropped / "text").write_text("no object")
    for number, path in enumerate(path for path in (CORPUS / "common/symfs").rglob("*") if path.is_file()):
        (dropped / f"file{number}").write_bytes(path.read_bytes())
    link_by_build_id(str(dropped), str(cache))
    link_by_build_id(str(dropped), str(cache))  # again, over the links of before
    where = ("--symfs", f"{dropped},flat", "--buildid-dir")
    assert not any("descend" in stack for stack in folded(recording("calls"), *where, tmp_path, symbols=True))
    assert any("descend" in stack for stack in folded(recording("calls"), *where, cache, symbols=True))
