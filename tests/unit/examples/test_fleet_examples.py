"""The commands of examples/fleet are ones that perf2x takes; systemd takes the unit, and the job has a job's fields."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.command import perf2x
from tests.support.fleets import recording_of
from tests.support.recordings import ROOT

FOLDER = ROOT / "examples" / "fleet"


def command_of_unit() -> list[str]:
    text = (FOLDER / "perf2x-ingest.service").read_text()
    found = re.search(r"^ExecStart=/usr/bin/env perf2x (.*)$", text, re.MULTILINE)
    assert found
    return shlex.split(found[1])


def command_of_job() -> list[str]:
    (found,) = re.findall(r"args:\n((?: +- .*\n)+)", (FOLDER / "cronjob.yaml").read_text())
    return [line.strip().removeprefix("- ") for line in found.splitlines()]


@pytest.mark.parametrize("words", [command_of_unit(), command_of_job()], ids=["systemd", "kubernetes"])
def test_the_command_runs(words: list[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "perf" / "recordings" / "web" / "1" / "perf.data.20261122.data"
    file.parent.mkdir(parents=True)
    file.write_bytes(recording_of(1))
    here = [re.sub(r"/var/lib/perf2x|s3://perf/profiles", str(tmp_path / "ds"), word) for word in words]
    here = [re.sub(r"/var/lib/perf/|s3://perf/recordings/", f"{tmp_path}/perf/", word) for word in here]
    ran = perf2x(*here)
    assert (ran.code, ran.said) == (0, "")
    assert list(tmp_path.glob("ds/**/recordings/date=*"))


def test_systemd_takes_the_unit() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = str(FOLDER / "perf2x-ingest.service")
    ran = subprocess.run([program, "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_job_mounts_what_it_writes_to() -> None:
    """Its root file system cannot be written to: temporary files need a volume."""
    job = yaml.safe_load((FOLDER / "cronjob.yaml").read_text())
    assert (job["apiVersion"], job["kind"], job["spec"]["concurrencyPolicy"]) == ("batch/v1", "CronJob", "Forbid")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert {one["name"] for one in pod["volumes"]} == mounted.keys() and "/tmp" in mounted.values()
