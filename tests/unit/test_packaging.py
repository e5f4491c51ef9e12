"""The README in a clone and as PyPI shows it, and what the project's metadata claim."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.recordings import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOME = PROJECT["urls"]["Homepage"]
RAW = HOME.replace("github.com", "raw.githubusercontent.com")
OURS = re.compile(rf"{re.escape(HOME)}/(?:blob|tree)/main/([^#]+)(?:#.*)?|{re.escape(RAW)}/main/(.+)")
README = (ROOT / "README.md").read_text()
LINKS = [match[1] or match[2] for match in re.finditer(r"\]\(([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"", README)]


@pytest.mark.parametrize("link", sorted(set(LINKS)))
def test_a_link_of_the_readme_works(link: str) -> None:
    """In a clone; before a release they become absolute (CONTRIBUTING.md), and then they are of the main branch."""
    if link.startswith("https://"):
        match = OURS.fullmatch(link)
        assert match is None or (ROOT / (match[1] or match[2])).exists()
        assert match is not None or not link.startswith(HOME + "/"), "not a file or directory of the main branch"
    else:
        assert (ROOT / link.partition("#")[0]).exists()


def test_nothing_is_promised_that_is_not_published() -> None:
    """Words that a first release makes true; the list of what to do then is in CONTRIBUTING.md."""
    pages = [
        ROOT / "README.md",
        ROOT / "action.yml",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "examples").rglob("*.yml"),
    ]
    for page in pages:
        text = page.read_text("utf-8")
        assert not re.search(r"perf2x/perf2x@|raw\.githubusercontent|(pipx install|uvx) '?perf2x", text), page
        assert not re.search(r"pip install (-q )?[\"']?perf2x(\[dwarf|\b(?!\[))", text), page


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="GNU sed")
def test_the_checklist_makes_the_links_absolute(tmp_path: Path) -> None:
    """Its command, as it stands there, does what packaging/build asks for."""
    command = re.search(r"`(sed -i -E .*?README\.md)`", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert command is not None
    shutil.copy(ROOT / "README.md", tmp_path)
    subprocess.run(["bash", "-c", re.sub(r"\n\s*", " ", command[1])], cwd=tmp_path, check=True)
    text = (tmp_path / "README.md").read_text()
    links = [match[1] for match in re.finditer(r"\]\(([^)\s]+)", text)]
    assert len(links) > 20
    for link in links:
        match = OURS.fullmatch(link)
        assert link.startswith("https://") and (match is None or (ROOT / (match[1] or match[2])).exists())


def test_no_dependency_has_an_upper_bound() -> None:
    extras = PROJECT["optional-dependencies"].values()
    for line in [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]:
        requirement = line.partition(";")[0]
        assert re.fullmatch(r"[\w.-]+(\[[\w,]+\])?( *>= *[\w.]+)?", requirement.strip()), line
        assert ">=" in requirement or requirement.startswith("perf2x["), f"{line}: no lowest version"
