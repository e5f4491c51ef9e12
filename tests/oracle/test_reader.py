"""The reader's columns are what the scalar decoder reads, for every recording there is."""

from pathlib import Path

import pytest

from tests.support.reader_oracle import assert_reads_alike
from tests.support.recordings import SHARED, corpus_cases, deferred_cases, quick_first

PUBLIC = sorted(path for path in (SHARED / "recordings" / "public").glob("*data*") if not path.name.endswith(".xz"))
CASES = quick_first(corpus_cases(), lambda case: case.data) + [
    pytest.param(case.data, id=case.name, marks=[pytest.mark.shared, pytest.mark.slow]) for case in deferred_cases()
]


@pytest.mark.parametrize("path", CASES)
def test_reads_like_the_reference(path: Path) -> None:
    assert_reads_alike(path)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.name)
def test_reads_public_recordings_like_the_reference(path: Path) -> None:
    assert_reads_alike(path)
