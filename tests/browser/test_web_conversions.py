"""The page of ``perf2x web`` with the Pyodide that PERF2X_PYODIDE names: its downloads are the command's own bytes."""

import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from perf2x.cli.web.write_folder import write_folder
from tests.browser.dropped import Step, dropped
from tests.browser.other_engines import ENGINES
from tests.browser.pyodide_folder import pyodide_folder
from tests.support.command import perf2x
from tests.support.pinned_pyodide import pin
from tests.support.recordings import CORPUS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FORMATS = {"html": ".html", "pprof": ".pb.gz", "chrome": ".trace.json", "collapsed": ".folded"}
ZSTD = {"family", "pipe_zstd", "zstd"}  # CPython unpacks it from 3.14 on
RECORDINGS = [path for path in sorted(CORPUS.glob("*/perf.data*")) if path.parent.name not in ZSTD][:20]
CALLS = CORPUS / "calls" / "perf.data"
PROGRAMS = CORPUS / "common" / "symfs" / "demo"
SHOWN = "^Shown"
STATUS = "return document.querySelector('#status').textContent"
SAVE = "document.querySelector('#format').value = arguments[0]; document.querySelector('#save').click()"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without telling the terminal."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    with pytest.MonkeyPatch.context() as patch:
        pin(patch, pyodide_folder(folder / "pyodide"))
        write_folder(folder / "site", str(folder / "pyodide"))
    return folder / "site"


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def native(recording: Path, out: Path, form: str, *words: object) -> bytes:
    """Return the command's output, when called as by the page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(recording.parent)
        ran = perf2x("convert", recording.name, "--to", form, "--output", out, "--names", "short", *words)
    assert ran.code == 0, ran.err
    return out.read_bytes()


def saved(files: list[Path], name: str) -> list[Step]:
    """Steps that save these files in all formats."""
    steps: list[Step] = [("files", files), ("until", SHOWN)]
    steps += [("save", form, f"{name}{suffix}") for form, suffix in FORMATS.items()]
    return [*steps, ("click", "#clear")]


def test_downloads_are_the_bytes_of_the_command(site: Path, tmp_path: Path) -> None:
    assert len(RECORDINGS) == 20
    steps: list[Step] = [("open",), ("until", "Ready"), ("asked",)]
    for number, recording in enumerate(RECORDINGS):
        steps += saved([recording], str(number))
    told, errors = dropped(site, tmp_path, [*steps, ("asked",)])
    assert errors == []
    assert not [url for url in told[2] if url.startswith("http")] and told[-1] == [], "a request to another origin"
    for number, recording in enumerate(RECORDINGS):
        for form, suffix in FORMATS.items():
            expected = native(recording, tmp_path / f"native{suffix}", form)
            assert (tmp_path / f"{number}{suffix}").read_bytes() == expected, (recording, form)


@pytest.mark.parametrize(
    ("recorded", "program", "name"), [("calls", "calls", b"descend"), ("unwind", "frames", b"recurse;spin")]
)
def test_names_come_from_files(site: Path, tmp_path: Path, recorded: str, program: str, name: bytes) -> None:
    recording, original = CORPUS / recorded / "perf.data", PROGRAMS / program
    (tmp_path / "another name").write_bytes(original.read_bytes())
    steps: list[Step] = [("open",), ("until", "Ready"), *saved([recording, tmp_path / "another name"], "named")]
    _, errors = dropped(site, tmp_path, steps)
    assert errors == []
    only = tmp_path / "only"
    only.mkdir()
    (only / program).write_bytes(original.read_bytes())
    for form, suffix in FORMATS.items():
        expected = native(recording, tmp_path / f"native{suffix}", form, "--symfs", f"{only},flat")
        assert (tmp_path / f"named{suffix}").read_bytes() == expected, form
    assert name in (tmp_path / "named.folded").read_bytes()


def test_a_bundle_has_its_names(site: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "calls.tar.gz"
    assert perf2x("bundle", CALLS, "--symfs", PROGRAMS.parent, "--output", bundle).code == 0
    _, errors = dropped(site, tmp_path, [("open",), ("until", "Ready"), *saved([bundle], "bundled")])
    assert errors == []
    for form, suffix in FORMATS.items():
        assert (tmp_path / f"bundled{suffix}").read_bytes() == native(bundle, tmp_path / f"native{suffix}", form), form
    assert b"descend" in (tmp_path / "bundled.folded").read_bytes()


def test_the_next_visit_needs_no_network(site: Path, tmp_path: Path) -> None:
    told, errors = dropped(
        site, tmp_path,
        [("open",), ("until", "Ready"), ("offline", True), ("asked",), ("open",), ("until", "Ready"),
         ("files", [CALLS]), ("until", SHOWN), ("inside", "#title"), ("state",)],
    )  # fmt: skip
    assert errors == [] and told[8]
    assert told[9]["lines"][0].startswith("335 samples of 1 event")


@pytest.mark.parametrize("engine", ENGINES)
def test_other_engines_save_the_same_bytes(
    engine: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "calls.tar.gz"
    assert perf2x("bundle", CALLS, "--symfs", PROGRAMS.parent, "--output", bundle).code == 0
    (folder := tmp_path / "browser").mkdir()
    monkeypatch.setenv("XDG_DOWNLOAD_DIR", str(folder))
    with ENGINES[engine](folder) as browser:
        browser.call("url", {"url": address})
        for recording in (CALLS, bundle):
            browser.until_script(f"{STATUS} === 'Ready.'")
            browser.choose("#files", recording)
            browser.until_script(f"{STATUS}.startsWith('Shown')")
            browser.enter("#result")
            assert browser.until_script("return document.querySelectorAll('#rows tr').length") >= 4
            browser.enter()
            for form, suffix in FORMATS.items():
                browser.script(SAVE, form)
                expected = native(recording, tmp_path / f"native{suffix}", form)
                assert downloaded(folder, f"{recording.name}{suffix}", len(expected)) == expected, (recording, form)
            browser.script("document.querySelector('#clear').click()")


def downloaded(folder: Path, name: str, size: int) -> bytes:
    """A file that the browser saves somewhere in the folder, when it has this size, or after half a minute."""
    end = time.monotonic() + 30
    while True:
        content = next((path.read_bytes() for path in folder.rglob(name)), b"")
        if len(content) == size or time.monotonic() > end:
            return content
        time.sleep(0.1)
