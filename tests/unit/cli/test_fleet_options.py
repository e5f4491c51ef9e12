"""Every option of the commands of fleets shows, is refused by name, or is harmless for a reason."""

from pathlib import Path

import pytest

from tests.support.fleet_options import CASES, pairs, parameters
from tests.support.option_pairs import Place


@pytest.mark.parametrize("name", CASES)
def test_every_option_has_a_case(name: str) -> None:
    assert parameters(name) == set(CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_option_is_dropped(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    place = Place(tmp_path)
    monkeypatch.chdir(place.folder)
    assert [found for found in pairs(place, name) if found[1].startswith("DROPPED")] == []
