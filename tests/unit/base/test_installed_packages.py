"""Packages are those that importlib.metadata finds, which is the oracle here."""

import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest

from perf2x.base import installed_packages
from perf2x.base.installed_packages import EntryPoint, entry_points

POINTS = "[perf2x.emitters]\n# one = a:b\n\n one =  pack.age : Class.inner [extra]\ntwo=other\n[else]\nthree = a:b\n"


@pytest.fixture(autouse=True)
def read_anew() -> Iterator[None]:
    installed_packages._entry_point_texts.cache_clear()
    yield
    installed_packages._entry_point_texts.cache_clear()


def package(folder: Path, about: str, points: str = POINTS) -> None:
    (folder / about).mkdir(parents=True)
    (folder / about / "METADATA").write_text("Name: some-pack\nVersion: 1.2\n")
    (folder / about / "entry_points.txt").write_text(points)


def both(group: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    ours = sorted((one.name, one.value) for one in entry_points(group))
    return ours, sorted((one.name, one.value) for one in metadata.entry_points(group=group))


def test_all_groups_of_this_environment_are_as_the_library_has_them() -> None:
    groups = {point.group for point in chain.from_iterable(one.entry_points for one in metadata.distributions())}
    assert {"perf2x.emitters", "perf2x.symbol_sources"} <= groups
    for group in groups:
        ours, theirs = both(group)
        assert ours == theirs, group


@pytest.mark.parametrize("about", ["some_pack-1.2.dist-info", "Some.Pack-1.2-py3.11.egg-info"])
def test_the_first_package_of_a_name_counts(about: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "a", about)
    package(tmp_path / "b", "some_pack-1.1.dist-info", "[perf2x.emitters]\nold = a:b\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / name) for name in ("missing", "a", "b")])
    ours, theirs = both("perf2x.emitters")
    assert ours == theirs == [("one", "pack.age : Class.inner [extra]"), ("two", "other")]


def test_lines_before_the_first_group_belong_to_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "a", "a-1.dist-info", "[perf2x.emitters]\none = a:b\n")
    package(tmp_path / "b", "b-1.dist-info", "two = b:c\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert [one.name for one in entry_points("perf2x.emitters")] == ["one"]


def test_packages_in_archives_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "a", "some_pack-1.2.dist-info")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for file in sorted((tmp_path / "a").rglob("*")):
            archive.write(file, file.relative_to(tmp_path / "a"))
    library = sysconfig.get_path("stdlib")  # some of which importlib.metadata imports late
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a.zip"), library])
    assert [one.name for one in entry_points("perf2x.emitters")] == ["one", "two"]


def test_damaged_packages_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("some_pack-1.2.dist-info/entry_points.txt", POINTS)
    (tmp_path / "b" / "some_pack-1.2.dist-info").mkdir(parents=True)
    for path in ("a.zip", "b"):
        monkeypatch.setattr(sys, "path", [str(tmp_path / path)])
        installed_packages._entry_point_texts.cache_clear()
        assert entry_points("perf2x.emitters") == []


def test_a_package_without_metadata_is_left_out_when_the_library_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from Python 3.15 on: its MetadataNotFound is a FileNotFoundError."""

    class Damaged:
        @property
        def name(self) -> str:
            raise FileNotFoundError("no METADATA")

    monkeypatch.setattr(metadata, "distributions", lambda: [Damaged()])
    monkeypatch.setattr(installed_packages, "_may_miss_packages", lambda: True)
    installed_packages._entry_point_texts.cache_clear()
    assert entry_points("perf2x.emitters") == []


def test_packages_that_a_finder_knows_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, "some_pack-1.2.dist-info")

    class Finder:
        @staticmethod
        def find_distributions(*_: object) -> list[metadata.Distribution]:
            return [metadata.Distribution.at(tmp_path / "some_pack-1.2.dist-info")]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert {"one", "two"} <= {one.name for one in entry_points("perf2x.emitters")}


@pytest.mark.parametrize(
    ("value", "found"), [("os.path:join", "join"), ("os.path : PurePath [a]", ""), ("pathlib:Path.home [a, b]", "home")]
)
def test_an_entry_point_is_imported(value: str, found: str) -> None:
    if found:
        assert EntryPoint("x", value).load().__name__ == found == metadata.EntryPoint("x", value, "g").load().__name__
    else:
        with pytest.raises(AttributeError):
            EntryPoint("x", value).load()


def test_a_module_may_be_an_entry_point() -> None:
    assert EntryPoint("x", "os.path").load() is __import__("os").path
