"""Real clusters of either kind, in processes of their own that are killed meanwhile: nothing is lost, all is said."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from perf2x.cli.options.worker_options import WorkerFlags
from perf2x.fleet import cluster
from perf2x.fleet.cluster import Workers, is_open
from perf2x.fleet.local_processes import one_by_one
from tests.support.clusters import command, scheduler_address, start_scheduler, start_worker
from tests.support.fleet_kills import LocalRound, Round, rounds
from tests.support.fleets import write_fleet

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
CERTIFICATE = Path(__file__).parents[2] / "support" / "loopback.pem"


@pytest.mark.slow
@needs_kill
@pytest.mark.skipif(sys.platform != "linux", reason="finds workers in /proc")
def test_kills_neither_lose_nor_double(tmp_path: Path) -> None:
    assert rounds(tmp_path, 10, kills=3, seed=int.from_bytes(os.urandom(2), "big"), kind=LocalRound) >= 1


@pytest.mark.slow
@needs_kill
def test_kills_in_a_cluster_neither_lose_nor_double(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    assert rounds(tmp_path, 10, kills=2, seed=int.from_bytes(os.urandom(2), "big"), kind=Round) >= 1


@pytest.mark.slow
def test_errors_are_counted_and_no_scheduler_is_one_sentence(tmp_path: Path) -> None:
    write_fleet(tmp_path / "fleet", 4)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB")}
    words = [word for word in command(tmp_path / "fleet", tmp_path / "data", "--workers", "1") if word != "-q"]
    ran = subprocess.run([*words, "--fail-above-errors", "20"], capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 3, ran.stderr
    assert ran.stderr.startswith("4 recordings\n")
    assert f"{tmp_path / 'data'}: 3 recordings added with 120 samples\nhint: " in ran.stderr
    assert "\nnot read: " in ran.stderr
    assert "25.0 % of the recordings cannot be read, more than 20 %" in ran.stderr
    pytest.importorskip("distributed")
    gone = subprocess.run([*words, "--scheduler", "tcp://127.0.0.1:9"], capture_output=True, text=True, check=False)
    assert gone.returncode == 1
    assert gone.stderr.startswith("perf2x: tcp://127.0.0.1:9: ")
    assert gone.stderr.count("\n") == 1


@pytest.mark.slow
def test_clusters_with_certificates_take_those_of_dasks_settings_alone(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    write_fleet(tmp_path / "fleet", 3)
    tls = {f"DASK_DISTRIBUTED__COMM__TLS__{key}": str(CERTIFICATE) for key in
           ("CA_FILE", "SCHEDULER__CERT", "WORKER__CERT", "CLIENT__CERT")}  # fmt: skip
    scheduler = start_scheduler(tmp_path / "address", "tls", tls)
    try:
        address = scheduler_address(tmp_path / "address")
        worker = start_worker(address, tmp_path / "scratch", tls)
        words = [
            word for word in command(tmp_path / "fleet", tmp_path / "data", "--scheduler", address) if word != "-q"
        ]
        shown = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | tls)
        hidden = subprocess.run(
            [*words, "--no-dashboard"], capture_output=True, text=True, check=False, env=os.environ | tls
        )
        stranger = subprocess.run(words, capture_output=True, text=True, check=False)
        worker.kill()
    finally:
        scheduler.kill()
    assert (shown.returncode, hidden.returncode, stranger.returncode) == (0, 0, 1), (shown, hidden, stranger)
    assert shown.stderr.startswith("3 recordings; Dask's dashboard: http")
    assert hidden.stderr.startswith("3 recordings\n")
    assert stranger.stderr.startswith(f"perf2x: {address}: ")
    assert stranger.stderr.count("\n") == 1


@pytest.mark.parametrize(("scheduler", "expected"), [
    ("tcp://10.0.0.7:8786", True), ("scheduler:8786", True), ("ws://cluster.example:80", True),
    ("tls://10.0.0.7:8786", False), ("wss://cluster.example:443", False), ("tcp://127.0.0.1:8786", False),
    ("localhost:8786", False), ("tcp://[::1]:8786", False),
])  # fmt: skip
def test_plain_connections_to_other_hosts_are_told(scheduler: str, expected: bool) -> None:
    assert is_open(scheduler) == expected


@pytest.mark.parametrize("no_dashboard", [False, True])
def test_an_open_connection_is_told_once(
    no_dashboard: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "workers", lambda *_: nullcontext(Workers(one_by_one, "http://page")))
    for address in ("tcp://10.0.0.7:8786", "tls://10.0.0.7:8786"):
        with WorkerFlags(address, no_dashboard=no_dashboard).begin(1, "4 recordings", quiet=False):
            pass
    first = "4 recordings" + ("" if no_dashboard else "; Dask's dashboard: http://page") + "\n"
    told = "tcp://10.0.0.7:8786: not encrypted; whoever reaches it can run code there (docs/fleet.md: TLS)\n"
    assert capsys.readouterr().err == first + told + first
