"""Entry points read here against those that importlib.metadata reads."""

import importlib
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from perf2x.installed import Point, entry_points

GROUPS = ("perf2x.emitters", "perf2x.symbol_sources", "console_scripts", "pytest11", "no.such.group")
LISTED = """; a comment
[other]
a = b:c

[ours]
# another
first = pack.first:make
second=pack.second:Outer.Inner [extra]
"""


def theirs(group: str) -> set[Point]:
    return {Point(point.name, point.value) for point in metadata.entry_points(group=group)}


def install(place: Path, folder: str, listed: str) -> Path:
    (place / folder).mkdir(parents=True)
    (place / folder / "METADATA").write_text(f"Name: {folder.partition('-')[0]}\nVersion: 1\n")
    (place / folder / "entry_points.txt").write_text(listed)
    return place


@pytest.mark.parametrize("group", GROUPS)
def test_everything_here(group: str) -> None:
    assert set(entry_points(group)) == theirs(group)


def test_sections_comments_and_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = install(tmp_path, "pack_age-1.dist-info", LISTED)
    monkeypatch.setattr(sys, "path", [str(place), str(tmp_path / "absent"), ""])
    found = {point.name: point for point in entry_points("ours")}
    assert set(found.values()) == theirs("ours")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "second.py").write_text("class Outer:\n    class Inner: ...\n")
    importlib.invalidate_caches()
    assert found["second"].load().__name__ == "Inner"


def test_of_one_project_installed_twice_the_first_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [install(tmp_path / name, f"Pack.Age-{name}.dist-info", f"[ours]\nx = pack:{name}\n") for name in "ab"]
    monkeypatch.setattr(sys, "path", [str(place) for place in places])
    assert set(entry_points("ours")) == theirs("ours") == {Point("x", "pack:a")}


def test_archives_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "pack.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("pack-1.dist-info/METADATA", "Name: pack\nVersion: 1\n")
        packed.writestr("pack-1.dist-info/entry_points.txt", LISTED)
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert {point.name for point in entry_points("ours")} == {"first", "second"}
