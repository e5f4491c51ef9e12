"""kill -9 of commands that change a dataset: it answers, and is clean or can be mended (a few of many)."""

import os
from pathlib import Path

import pytest

from tests.support.upkeep_kills import rounds

pytest.importorskip("duckdb")
pytest.importorskip("deltalake")


@pytest.mark.slow
def test_kills_and_damage_leave_a_dataset_that_can_be_mended(tmp_path: Path) -> None:
    told = rounds(tmp_path, 6, kills=3, seed=int.from_bytes(os.urandom(2), "big"))
    assert sum(count for name, count in told.items() if name.startswith("kill")) == 3
