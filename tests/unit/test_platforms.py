"""packaging/platforms.py: its rows are those of docs/installation.md, and its Pythons those that are claimed."""

import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_document_has_the_rows_and_pythons_of_the_script() -> None:
    script = runpy.run_path(str(ROOT / "packaging/platforms.py"))
    document = (ROOT / "docs/installation.md").read_text(encoding="utf-8")
    for name in script["PLATFORMS"]:
        assert f"| {name} |" in document
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [one.rsplit(" ", 1)[1] for one in project["classifiers"] if " :: Python :: 3." in one]
    assert (versions[0], versions[-1]) == script["PYTHONS"]
    assert f"| platform | Python {versions[0]}–{versions[-1]} |" in document
