"""The README as PyPI shows it, and what the project's metadata claim."""

import re
import tomllib

import pytest

from tests.support.recordings import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOME = PROJECT["urls"]["Homepage"]
RAW = HOME.replace("github.com", "raw.githubusercontent.com")
OURS = re.compile(rf"{re.escape(HOME)}/(?:blob|tree)/main/([^#]+)(?:#.*)?|{re.escape(RAW)}/main/(.+)")
README = (ROOT / "README.md").read_text()
LINKS = [match[1] or match[2] for match in re.finditer(r"\]\(([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"", README)]


@pytest.mark.parametrize("link", sorted(set(LINKS)))
def test_a_link_of_the_readme_works_on_pypi(link: str) -> None:
    """PyPI shows README.md far from the other files: links and images are absolute, those to this repository exist."""
    assert link.startswith(("https://", "#")), f"write {HOME}/blob/main/{link} (images: raw.githubusercontent.com)"
    if match := OURS.fullmatch(link):
        assert (ROOT / (match[1] or match[2])).exists()
    else:
        assert not link.startswith(HOME + "/"), "not a file or directory of the main branch"


def test_links_are_found() -> None:
    assert any(OURS.fullmatch(link) for link in LINKS)


def test_no_dependency_has_an_upper_bound() -> None:
    extras = PROJECT["optional-dependencies"].values()
    for line in [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]:
        requirement = line.partition(";")[0]
        assert re.fullmatch(r"[\w.-]+(\[[\w,]+\])?( *>= *[\w.]+)?", requirement.strip()), line
        assert ">=" in requirement or requirement.startswith("perf2x["), f"{line}: no lowest version"
