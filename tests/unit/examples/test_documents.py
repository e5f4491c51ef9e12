"""README and docs: commands and Python blocks run as they stand, links and paths lead somewhere, words are usual."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import pytest

from perf2x.cli.app import HELP_LINES
from tests.support.command import perf2x, recording
from tests.support.phone_recording import write_phone
from tests.support.recordings import ROOT
from tests.unit.model.transforms.test_replace_samples import recorded as loads
from tests.unit.model.transforms.test_replace_samples import sample as load

ARCHITECTURE = ROOT / "converter" / "ARCHITECTURE.md"
SKILL = ROOT / "converter" / "perf2x" / "cli" / "agents" / "SKILL.md"
PAGES = sorted([ROOT / "README.md", SKILL, *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
OURS = re.compile(
    r"https://(?:github\.com/perf2x/perf2x/(?:blob|tree)|raw\.githubusercontent\.com/perf2x/perf2x)/main/"
)
RECORDING = ROOT / "examples" / "deferred" / "perf.data"
SWITCHES = ROOT / "tests" / "laws" / "schedules" / "switches.data"
"""A recording with context switches, which waits and latencies need."""
LISTED = ROOT / "tests" / "unit" / "features" / "annotate" / "data"
"""A recording, and its program with debug info, which listings need."""
PROGRAM = ROOT / "tests" / "corpus" / "common" / "symfs" / "demo" / "calls"
ELSEWHERE = ("--debuginfod", "--install-completion", "--vmlinux", "/srv/", "s3://", "perf2x view", "perf2x mcp")
"""Commands that need a network, a browser, a client or another machine's files."""
OPTIONAL = ("pandas", "polars", "pyarrow")


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


def commands() -> Iterator[tuple[str, str]]:
    """Each command line of perf2x, without its comment."""
    for page in PAGES:
        for block in blocks(page, "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                command = re.sub(r"\s+#.*", "", line).strip()
                if re.search(r"(^|\| )perf2x ", command) and not any(word in command for word in ELSEWHERE):
                    yield page.name, command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory with the recordings, the program and the questions that the pages speak of."""
    other = recording("calls")
    sources = {"perf.data": RECORDING, "before.data": RECORDING, "after.data": other, "prog": PROGRAM}
    sources |= {"web1.data": RECORDING, "web2.data": other}
    for name, source in sources.items():
        shutil.copy(source, tmp_path / name)
    for name in ("question.sql", "costs.sql"):
        (tmp_path / name).write_text(blocks(ROOT / "docs" / "fleet.md", "sql")[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def accesses(folder: Path) -> Path:
    """A recording of loads with their addresses."""
    return loads(folder, [load(1, 100, addr=0x50004070, weight=30, data_src=0x668100142)])


def run(command: str) -> tuple[int, str]:
    """Run perf2x's part of a pipe; the recording comes in for what would be recorded, viewers get nothing.

    A process of its own takes a pipe, or starts others; the rest needs none. Exit code, and standard error.
    """
    before, _, _ = command.partition("perf2x ")
    ours, _, given_file = command[len(before) :].partition(" |")[0].partition(" < ")
    words = shlex.split(ours)
    if not before and words[1] != "fleet":
        ran = perf2x(*words[1:])
        return ran.code, ran.err
    given = Path(given_file).read_bytes() if given_file else RECORDING.read_bytes() if before else b""
    done = subprocess.run([sys.executable, "-m", *words], input=given, capture_output=True, check=False)
    return done.returncode, done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command"), list(commands()))
def test_commands_run(page: str, command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "perf2x fleet" in command:
        pytest.importorskip("distributed")
    if any(word in command for word in ("fleet query", "fleet symbolize")):
        pytest.importorskip("duckdb")
    if "annotate" in command or page == "annotate.md":
        shutil.copy(LISTED / "inlines.data", "perf.data")
        shutil.copytree(LISTED / "demo", "src")
        monkeypatch.setenv("PERF2X_SYSROOT", str(LISTED))
    if page == "waiting.md":
        shutil.copy(SWITCHES, "perf.data")
    if page == "android.md":
        write_phone(folder / "perf.data")
        (folder / "binary_cache").mkdir()
    if page == "memory.md":
        shutil.copy(accesses(folder), "perf.data")
    if "run.tar.gz" in command and "bundle" not in command:
        assert run("perf2x bundle perf.data -o run.tar.gz")[0] == 0
    if "profiles/" in command:
        pytest.importorskip("pyarrow")
        for each in () if "fleet ingest" in command else commands():
            assert each[0] != "fleet.md" or "fleet ingest" not in each[1] or run(each[1])[0] == 0
    code, said = run(command)
    gated = "--fail-" in command or "--strict" in command
    assert code in ((0, 3) if gated else (0,)), f"{page}: {said}"


def test_there_are_commands_to_run() -> None:
    assert len(list(commands())) > 20


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_runs(page: Path, folder: Path) -> None:
    names: dict[str, object] = {}
    missing: set[str] = set()
    for block in blocks(page, "python"):
        lacking = {name for name in OPTIONAL if f"import {name}\n" in block and find_spec(name) is None}
        missing |= lacking
        if not lacking:
            exec(compile(block, page.name, "exec"), names)
    if missing:
        pytest.skip(f"{', '.join(sorted(missing))} not installed (pip install 'perf2x[dev]'); all other blocks ran")


def anchors(page: Path) -> set[str]:
    """Ids that GitHub and Sphinx give to the headings of a page."""
    titles = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        ours = OURS.match(link)
        if ours or not link.startswith("https://"):
            path, _, anchor = link[ours.end() if ours else 0 :].partition("#")
            target = (ROOT if ours else page.parent) / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_documents_that_the_product_names_exist() -> None:
    """With their sections: ``docs/fleet.md: Workers``."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "converter").rglob("*.py"))
    named = set(re.findall(r"\b(docs/[\w-]+\.md)(?:: ([A-Z]\w+))?", sources))
    assert len(named) > 5
    missing = [path for path, title in named if title and title.lower() not in anchors(ROOT / path)]
    assert [*missing, *(path for path, _ in named if not (ROOT / path).exists())] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_have_a_text(page: Path) -> None:
    """Sphinx fills in a title; GitHub, where most people read, shows nothing."""
    assert not re.findall(r"(?<!!)\[\]\([^)]*\)", page.read_text(encoding="utf-8"))


def test_the_tutorial_quotes_its_program() -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    source = (ROOT / "examples" / "tutorial" / "requests.cpp").read_text(encoding="utf-8").splitlines()
    quoted = re.findall(r"^[ \d.,a-z%]*  (\d\d)  (\S.*|    .*|})$", page, re.MULTILINE)
    assert [number for number, _ in quoted] == ["19", "20", "21"]
    assert [text for _, text in quoted] == [source[int(number) - 1] for number, _ in quoted]


def test_the_reference_has_every_command() -> None:
    pytest.importorskip("docutils")
    settings = run_path(str(ROOT / "docs" / "conf.py"))
    named = settings["command_names"](settings["_help"]())
    assert [name for name in named if name.startswith("fleet")] == [name for name in HELP_LINES if "fleet" in name]
    assert {"convert", "top", "diff", "mcp"} < set(named)


def test_the_spine_is_read_in_an_hour() -> None:
    spine = ARCHITECTURE.read_text(encoding="utf-8").partition("## The spine")[2].partition("\n## ")[0]
    files = re.findall(r"^\| `([\w/]+\.py)` \|", spine, re.MULTILINE)
    lines = [len((ROOT / "converter" / "perf2x" / file).read_text(encoding="utf-8").splitlines()) for file in files]
    assert 10 <= len(lines) <= 12 and sum(lines) < 8000


def test_documentation_is_short() -> None:
    """A page that grows takes words from another."""
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES if page.parent.name == "docs") <= 19_500


def test_architecture_is_short() -> None:
    assert len(ARCHITECTURE.read_text(encoding="utf-8").split()) < 4000


OWN_WORDS = {
    r"(?<!procedure )linkage tables?": "PLT",
    r"copied stacks?|stack cop(y|ies)": "user stack dump",
    r"code objects?": "object",
    r"gates? (that )?closed": "a CI limit was exceeded",
    r"met nothing": "matched nothing",
    r"as many (cores )?as pay": "auto",
    r"\b(missed )?wish(es)?\b": "unmatched filter",
    r"\bdear(er|est)?\b": "expensive",
}


@pytest.mark.parametrize("page", [*PAGES, ARCHITECTURE], ids=lambda page: page.name)
def test_words_are_those_of_the_field(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    found = {own: usual for own, usual in OWN_WORDS.items() if re.search(own, text, re.IGNORECASE)}
    assert found == {}
