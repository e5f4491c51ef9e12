"""Order in which a journal's changes are made: readers find what they refer to at any moment."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'perf2x[fleet]')")

from perf2x.fleet.upkeep.journal import Changes, carry_out, staged
from perf2x.storage.dataset.dataset_folder import LocalFolder
from perf2x.storage.dataset.dataset_schema import TABLES


class Watched(LocalFolder):
    """A folder that notes what happens to files of tables."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.done: list[tuple[str, str]] = []

    def move(self, old: str, new: str) -> None:
        self.done.append(("move", new))
        super().move(old, new)

    def remove(self, name: str) -> None:
        self.done.append(("remove", name))
        super().remove(name)


def test_what_others_refer_to_comes_first_and_goes_last(tmp_path: Path) -> None:
    new, old = ([f"{table}/{word}.parquet" for table in TABLES] for word in ("new", "old"))
    for name in (*map(staged, new), *old):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    folder = Watched(tmp_path)
    carry_out(folder, Changes(tuple(reversed(new)), tuple(old)))
    moved, removed = ([name for kind, name in folder.done if kind == word] for word in ("move", "remove"))
    assert moved[-len(new) :] == new
    assert [name for name in removed if name in old] == old[::-1]
    assert folder.done.index(("move", new[-1])) < folder.done.index(("remove", old[-1]))
    assert folder.done[-1] == ("remove", "_upkeep/changes.json")
