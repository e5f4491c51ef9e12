"""Datasets want packages that a plain installation has not, and a process that can write: else a sentence says so.

Nothing is written then."""

import os
import sys
from pathlib import Path

import pytest

from perf2x.storage.dataset import table_log
from tests.support.command import perf2x, recording

INGESTS = (("convert", "-t", "parquet"), ("fleet", "ingest", "--workers", "1"))


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


def test_a_fork_of_a_process_that_wrote_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("deltalake", reason="deltalake is not installed (pip install 'perf2x[fleet]')")
    monkeypatch.setattr(table_log, "_first_process", [os.getpid() + 1])
    ran = perf2x("convert", "-t", "parquet", recording("calls"), "-o", tmp_path / "profiles")
    assert (ran.code, "after a fork" in ran.err) == (1, True)
    assert not (tmp_path / "profiles").exists()
