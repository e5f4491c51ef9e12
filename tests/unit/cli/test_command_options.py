"""Options that other commands share with ``convert``: each shows in what they print, or is refused or harmless."""

import pytest

from tests.support.command_options import VIEWS, pairs
from tests.support.option_pairs import Place


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("pairs"))


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_no_option_is_dropped(name: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("capstone")
    monkeypatch.chdir(place.folder)
    assert [(words, found) for _, words, found in pairs(place, (name,)) if found.startswith("DROPPED")] == []
