"""Pairs of recordings that ``perf2x diff`` compares."""

from pathlib import Path

import pytest

from tests.unit.cli.diff_inputs import forged


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Ten samples before and twelve after: o1 grew from 2 to 5, o2 shrank from 8 to 6, o3 is new with 1."""
    before = forged(tmp_path / "before.data", [0x1010] * 2 + [0x2010] * 8)
    return before, forged(tmp_path / "after.data", [0x1010] * 5 + [0x2010] * 6 + [0x3010])


@pytest.fixture
def grown(tmp_path: Path) -> tuple[Path, Path]:
    """200 samples before and 280 after: o1 grew from 100 to 160, o2 from 100 to 120."""
    before = forged(tmp_path / "before.data", [0x1010] * 100 + [0x2010] * 100)
    return before, forged(tmp_path / "after.data", [0x1010] * 160 + [0x2010] * 120)


@pytest.fixture
def renamed_pair(tmp_path: Path) -> tuple[Path, Path]:
    """200 samples before and 250 after: a library of another version grew from 100 to 150."""
    before, after = (
        forged(tmp_path / f"{name}.data", [0x1010] * count + [0x2010] * 100, names={1: f"libz.so.{version}", 5: "app"})
        for name, count, version in (("before", 100, "1.2"), ("after", 150, "1.3"))
    )
    return before, after
