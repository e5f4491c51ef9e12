"""The page of ``perf2x web`` with a stand-in for its worker: what it shows, asks the network for, and keeps."""

from importlib.resources import files as files_of
from pathlib import Path
from typing import Any

import pytest

from perf2x.cli.web import write_folder
from tests.browser.dropped import dropped
from tests.support.command import perf2x
from tests.support.pinned_pyodide import packages, pin
from tests.support.recordings import CORPUS

pytestmark = pytest.mark.browser

WORKER = """
postMessage({ ready: true });
const refused = new Promise((done) => {
  addEventListener("securitypolicyviolation", ({ effectiveDirective }) => done(effectiveDirective));
});
const failed = new Promise((done) => { setTimeout(done, 5000, "failed"); });
const asked = fetch("https://example.com/", { mode: "no-cors" }).then(() => "came", () => failed);
const foreign = await Promise.race([refused, asked]);
addEventListener("message", async ({ data: { files, words, output } }) => {
  const texts = await Promise.all(files.map(({ file }) => file.text()));
  postMessage({ stage: "reading", done: 1, total: 2 });
  if (texts[0] === "slow") return;
  const bad = "a remark\\nperf2x: bad.data: it is bad\\n";
  if (texts[0] === "bad") return postMessage({ code: 1, said: bad, content: null });
  if (texts[0] === "thrown") return setTimeout(() => { throw new Error("\\nTypeError: it\\n"); });
  if (texts[0] === "broken") return postMessage({ failed: "perf2x failed: KeyError" });
  const page = texts[0].split("PAGE ")[1] ?? `<!doctype html><title>made</title><p>${words.join(" ")} ${foreign}`;
  const content = new TextEncoder().encode(page);
  const said = `40 % of the samples and 99 % of 10 frames have names\\nwrote html to /output/${output}\\n`;
  postMessage({ code: 0, said, content, facts: { events: [{ name: "cycles" }] } });
});
"""
SHOWN = "^Shown"
TAKES = "document.querySelector('#kinds').checkVisibility()"
REFUSED = """new Promise((done) => {
  addEventListener("securitypolicyviolation", ({ effectiveDirective }) => done(effectiveDirective));
  fetch("https://example.com/", { mode: "no-cors" }).then(() => done("came"), () => setTimeout(done, 2000, "failed"));
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder, with files of Pyodide that nobody opens."""
    folder = tmp_path_factory.mktemp("web")
    pyodide = folder / "pyodide"
    pyodide.mkdir()
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "python_stdlib.zip", "some.whl"):
        (pyodide / name).write_text(name)
    some = ", ".join(f'"{name}": {{"file_name": "some.whl"}}' for name in packages())
    (pyodide / "pyodide-lock.json").write_text(f'{{"info": {{}}, "packages": {{{some}}}}}')
    with pytest.MonkeyPatch.context() as patch:
        pin(patch, pyodide)
        real = write_folder._page_file
        patch.setattr(write_folder, "_sources", lambda: b"sources")
        patch.setattr(write_folder, "_page_file", lambda name: WORKER.encode() if name == "worker.js" else real(name))
        assert perf2x("web", folder / "site", "--pyodide", pyodide).code == 0
    return folder / "site"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    texts = {"one.data": "PERFILE2 one", "two.data": "PERFILE2 two", "slow.data": "slow", "bad.data": "bad"}
    for name, text in {**texts, "broken.data": "broken", "thrown.data": "thrown", "perf-7.map": "1 2 f"}.items():
        (folder / name).write_text(text)
    (folder / "app").write_bytes(b"\x7fELF")
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n")
    (folder / "page.html").write_text("<!DOCTYPE html>\n<html>")
    return {path.name: path for path in folder.iterdir()}


def opened(site: Path, folder: Path, *steps: tuple[object, ...]) -> list[Any]:
    """Return the results of the steps after the page was ready; the console must show only refusals of the policy."""
    told, errors = dropped(site, folder, [("open",), ("until", "Ready"), *steps])
    assert [error for error in errors if "https://example.com/" not in error] == []
    return told[2:]


def test_a_recording_is_shown_and_saved(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    told = opened(
        site, tmp_path, ("drop", [files["one.data"]]), ("until", SHOWN), ("inside", "p"), ("state",),
        ("complaints",), ("save", "pprof", "saved"), ("shot", "page.png"),
    )  # fmt: skip
    assert told[2] == "convert one.data --to html --output /output/one.data.html --names short connect-src"
    assert (told[3]["files"], told[3]["bundle"]) == (["one.data recording"], "perf2x bundle one.data")
    assert told[3]["lines"][-1] == "wrote html to one.data.html" and not told[3]["cancel"]
    assert told[4] == []
    assert told[5] == "one.data.pb.gz"
    assert "--to pprof --output /output/one.data.pb.gz" in (tmp_path / "saved").read_text()


def test_the_graph_runs_under_the_policy(site: Path, tmp_path: Path) -> None:
    page, recording = tmp_path / "page.html", tmp_path / "page.data"
    assert perf2x("convert", "-q", CORPUS / "calls" / "perf.data", "--to", "html", "--output", page).code == 0
    recording.write_bytes(b"PERFILE2 PAGE " + page.read_bytes())
    told = opened(
        site, tmp_path, ("files", [recording]), ("until", SHOWN), ("inside", "#rows tr"),
        ("click", "#clear"), ("files", [recording]), ("until", SHOWN), ("click", "#clear"),  # hidden while it starts
        ("evaluate", "new Promise((done) => setTimeout(done, 500))"),
    )  # fmt: skip
    assert "%" in told[2]


def test_the_drop_zone_says_which_files_it_takes(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    told = opened(site, tmp_path, ("evaluate", TAKES), ("files", [files["one.data"]]), ("until", SHOWN),
                  ("evaluate", TAKES))  # fmt: skip
    assert (told[0], told[3]) == (True, False)


FOLDER = """(() => {
  const file = (name, text) => ({ isFile: true, name, file: (done) => done(new File([text], name)) });
  const folder = (name, entries) => {
    const parts = [entries, []];
    return { isDirectory: true, name, createReader: () => ({ readEntries: (done) => done(parts.shift()) }) };
  };
  const dropped = FOLDER;
  const transfer = { items: [{ kind: "file", webkitGetAsEntry: () => dropped }], files: [new File([], dropped.name)] };
  document.body.dispatchEvent(Object.assign(new Event("drop", { bubbles: true }), { dataTransfer: transfer }));
})()"""
"""Drops a folder as a browser shows it: scripts cannot make the real thing."""


def test_a_folder_is_taken_apart(site: Path, tmp_path: Path) -> None:
    inner = 'folder("lib", [file("libc.so.6", "\x7fELF"), file("notes.txt", "no")])'
    whole = f'folder("run", [file("one.data", "PERFILE2 one"), {inner}, file("perf.data.tar.bz2", "BZh9")])'
    told = opened(site, tmp_path, ("evaluate", FOLDER.replace("FOLDER", whole)), ("until", SHOWN), ("state",),
                  ("inside", "p"))  # fmt: skip
    assert sorted(told[2]["files"]) == ["libc.so.6 object", "one.data recording", "perf.data.tar.bz2 archive"]
    assert "--symfs symbols,flat" in told[3] and "--archive symbols/perf.data.tar.bz2" in told[3]


@pytest.mark.parametrize(
    ("whole", "said"),
    [
        ('folder("perf.data", [file("data", "PERFILE2"), file("data.0", "")])', "of them: perf2x bundle perf.data"),
        ('folder("src", [file("main.c", "int main")])', "There is no recording in the folder"),
        ('folder("all", Array(2001).fill(file("f", "")))', "all has more than 2000 files"),
    ],
)
def test_a_folder_that_is_of_no_use_is_refused(whole: str, said: str, site: Path, tmp_path: Path) -> None:
    told = opened(site, tmp_path, ("evaluate", FOLDER.replace("FOLDER", whole)), ("evaluate", WAITS), ("state",))
    assert said in told[-1]["problem"]


WAITS = """new Promise((done) => {
  const look = () => document.getElementById("problem").hidden ? setTimeout(look, 50) : done("");
  look();
})"""


def test_nothing_else_is_asked_for(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    own = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()} | {""}
    told = opened(site, tmp_path, ("files", [files["one.data"]]), ("until", SHOWN), ("asked",))
    assert set(told[2]) <= own | {"https://example.com/"}, "the worker's own attempt, which the policy refuses"
    assert opened(site, tmp_path, ("evaluate", REFUSED)) == ["connect-src"]


def test_the_next_visit_needs_no_server(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    told = opened(
        site, tmp_path, ("asked",), ("offline", True), ("open",), ("until", "Ready"), ("drop", [files["one.data"]]),
        ("until", SHOWN), ("inside", "p"),
    )  # fmt: skip
    assert "convert one.data" in told[6]


def test_a_damaged_file_is_not_kept(site: Path, tmp_path: Path) -> None:
    own = tmp_path / "site"
    own.mkdir()
    for path in site.rglob("*"):
        target = own / path.relative_to(site)
        target.mkdir() if path.is_dir() else target.write_bytes(path.read_bytes())
    (own / "pyodide/python_stdlib.zip").write_text("another")
    told, _ = dropped(own, tmp_path, [("open",), ("until", "nothing"), ("state",)])
    assert "could not be loaded" in told[2]["problem"] and "python_stdlib.zip" in told[2]["problem"]


def test_two_recordings_are_compared(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    told = opened(
        site, tmp_path, ("files", [files["one.data"]]), ("until", SHOWN), ("files", [files["two.data"]]),
        ("until", "Reading|Shown"), ("until", SHOWN), ("inside", "p"), ("state",), ("choose", "#together", "add"),
        ("until", SHOWN), ("inside", "p"),
    )  # fmt: skip
    assert told[5].startswith("diff one.data two.data --to html --output /output/one.data.diff.html")
    assert told[6]["files"] == ["one.data before", "two.data after"]
    assert told[9].startswith("convert one.data two.data --to html")


def test_options_and_files_with_names(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    several = [files[name] for name in ("one.data", "app", "perf-7.map")]
    told = opened(
        site, tmp_path, ("files", several), ("until", SHOWN), ("click", "#more summary"),
        ("fill", "#event", "cycles"), ("fill", "#threads", "a*"),
        ("choose", "#off-cpu", "apart"), ("choose", "#names", "full"), ("press", "Enter"), ("click", "#show"),
        ("until", SHOWN), ("inside", "p"),
    )  # fmt: skip
    words = "--event cycles --comm a* --off-cpu apart --names full --symfs symbols,flat --buildid-dir /objects"
    assert words + " --perf-map-dir symbols" in told[10]


def test_errors_are_sentences(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    told = opened(
        site, tmp_path, ("files", [files["bad.data"]]), ("until", "Nothing"), ("state",), ("click", "#clear"),
        ("files", [files["broken.data"]]), ("until", "Nothing"), ("state",), ("click", "#clear"),
        ("until", "Ready"), ("files", [files["one.data"]]), ("until", SHOWN), ("state",),
    )  # fmt: skip
    assert (told[2]["problem"], told[2]["lines"]) == ("bad.data: it is bad", ["a remark"])
    assert told[2]["instead"] == "perf2x convert bad.data --to html --output bad.data.html --names short"
    assert told[6]["problem"] == "perf2x failed: KeyError"
    assert told[11]["problem"] == ""  # the worker was started again


def test_an_error_that_nobody_catches_is_told(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    steps: list[tuple[object, ...]] = [("open",), ("until", "Ready"), ("files", [files["thrown.data"]])]
    told, errors = dropped(site, tmp_path, [*steps, ("until", "Nothing"), ("state",)])
    assert told[-1]["problem"] == "perf2x failed: TypeError: it" and len(errors) <= 2


def test_what_is_no_recording_is_said(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    told = opened(
        site, tmp_path, ("files", [files["photo.png"]]), ("evaluate", WAITS), ("state",),
        ("files", [files["one.data"], files["page.html"]]), ("until", SHOWN), ("state",),
    )  # fmt: skip
    assert (told[2]["problem"], told[2]["files"]) == ("photo.png is a picture, not a recording.", [])
    assert told[5]["files"] == ["one.data recording"]


def test_an_example_is_a_click_away(site: Path, tmp_path: Path) -> None:
    told = opened(site, tmp_path, ("click", "#example"), ("until", SHOWN), ("inside", "p"), ("state",))
    assert told[2].startswith("convert example --to html") and told[3]["files"] == ["example recording"]


def test_the_example_is_a_recording(tmp_path: Path) -> None:
    example = files_of("perf2x.cli.web") / "page" / "example.gzipped"
    ran = perf2x("top", str(example), "-n", "1")
    assert ran.code == 0 and ran.out.startswith("cpu-clock: 482 samples")


def test_plain_http_without_pyodide_says_what_helps(site: Path, tmp_path: Path) -> None:
    for path in site.rglob("*"):
        target = tmp_path / "site" / path.relative_to(site)
        target.mkdir(parents=True) if path.is_dir() else target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.name != "pyodide.mjs":
            target.write_bytes(path.read_bytes())
    script = tmp_path / "site/drop.js"
    script.write_text(script.read_text().replace("navigator.serviceWorker", "undefined"))
    told, _ = dropped(tmp_path / "site", tmp_path, [("open",), ("evaluate", WAITS), ("state",)])
    assert "without https, a page cannot load Pyodide from its CDN" in told[2]["problem"]


def test_work_is_cancelled_and_files_removed_by_keyboard(site: Path, files: dict[str, Path], tmp_path: Path) -> None:
    told = opened(
        site, tmp_path, ("files", [files["slow.data"]]), ("until", "Reading"), ("state",), ("focus", "#cancel"),
        ("press", "Enter"), ("until", "Ready"), ("state",), ("focus", "#list button"), ("press", "Enter"), ("state",),
    )  # fmt: skip
    assert told[2]["cancel"] and not told[6]["cancel"]
    assert (told[9]["files"], told[9]["focus"]) == ([], "files")
