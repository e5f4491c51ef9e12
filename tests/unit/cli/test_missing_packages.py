"""Datasets want packages that a plain installation has not, and a process that can write: else a sentence says so.

Nothing is written then."""

import sys
from pathlib import Path

import pytest

from tests.support.command import perf2x, recording

INGESTS = (("fleet", "ingest", "--workers", "1"),)


@pytest.mark.parametrize("words", INGESTS, ids=" ".join)
@pytest.mark.parametrize("package", ["pyarrow", "deltalake"])
def test_a_missing_package_is_named(
    package: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package == "deltalake":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'perf2x[fleet]')")
    monkeypatch.setitem(sys.modules, package, None)
    ran = perf2x(*words, recording("calls"), "-o", tmp_path / "profiles")
    assert ran.code != 0
    assert f"{package}: pip install 'perf2x[fleet]'" in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "profiles").exists()
