"""A real cluster: a scheduler and workers in processes of their own, over TCP, which are killed meanwhile."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from perf2x.fleet.cluster import connected
from tests.support.clusters import command
from tests.support.fleet_kills import rounds
from tests.support.fleets import write_fleet

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")
pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]

COUNT = 10


def test_kills_neither_lose_nor_double(tmp_path: Path) -> None:
    assert rounds(tmp_path, COUNT, kills=2, seed=int.from_bytes(os.urandom(2), "big")) >= 1


def test_errors_are_counted_and_no_scheduler_is_one_sentence(tmp_path: Path) -> None:
    write_fleet(tmp_path / "fleet", 4)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB")}
    words = [word for word in command(tmp_path / "fleet", tmp_path / "data", "--workers", "1") if word != "-q"]
    ran = subprocess.run([*words, "--fail-above-errors", "20"], capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 3, ran.stderr
    assert "4 recordings; Dask's dashboard: http://127.0.0.1:" in ran.stderr
    assert f"{tmp_path / 'data'}: 3 recordings added with 120 samples\nnot read: " in ran.stderr
    assert "25.0 % of the recordings cannot be read, more than 20 %" in ran.stderr
    gone = subprocess.run([*words, "--scheduler", "tcp://127.0.0.1:9"], capture_output=True, text=True, check=False)
    assert gone.returncode == 1
    assert gone.stderr.startswith("perf2x: tcp://127.0.0.1:9: ")
    assert gone.stderr.count("\n") == 1


def test_workers_keep_no_profiles_of_themselves() -> None:
    """Dask's grow by a call tree a second; a worker's memory must not depend on how long it has worked."""
    with connected(None, 1) as client:
        (found,) = client.run(_callbacks).values()
    assert found and not [name for name in found if "profile" in name]


def _callbacks(dask_worker: Any) -> list[str]:
    return sorted(dask_worker.periodic_callbacks)
