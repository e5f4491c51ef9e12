"""The CI examples: they are what their services take, and every perf2x line in them runs."""

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import perf2x, recording
from tests.support.recordings import ROOT

CI = ROOT / "examples" / "ci"
GITHUB_STEP = {"name", "id", "if", "uses", "with", "run", "env", "shell", "working-directory"}


def github() -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load((CI / "github.yml").read_text())
    return loaded


def gitlab() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CI / "gitlab.yml").read_text())
    return loaded


def steps() -> list[dict[str, Any]]:
    return [step for job in github()["jobs"].values() for step in job["steps"]]


def github_lines() -> list[str]:
    return [line for step in steps() for line in step.get("run", "").splitlines()]


def gitlab_lines() -> list[str]:
    return [str(line) for job in gitlab().values() for line in job["script"]]


def test_the_workflow_has_the_shape_that_github_takes() -> None:
    workflow = github()
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads the key "on" as true
    assert set(workflow[True]) <= {"push", "pull_request"}
    for step in steps():
        assert set(step) <= GITHUB_STEP
        assert ("run" in step) != ("uses" in step)
        assert step.get("uses", "a/b@v1").count("@") == 1


def test_the_job_has_the_shape_that_gitlab_takes() -> None:
    (job,) = gitlab().values()
    assert set(job) == {"image", "variables", "before_script", "script", "artifacts"}
    assert job["artifacts"]["when"] == "always"
    assert all(isinstance(value, str) for value in job["variables"].values())


@pytest.mark.parametrize(("lines", "env"), [(github_lines(), {}), (gitlab_lines(), gitlab()["profile"]["variables"])])
def test_every_line_runs(
    lines: list[str], env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(recording("calls"), tmp_path / "perf.data")
    (tmp_path / "base").mkdir()
    shutil.copy(recording("calls"), tmp_path / "base" / "perf.data")
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("perf2x ")]
    assert {words[0] for words in commands} >= {"convert", "top"}
    for words in commands:
        names = ("--symfs", ROOT / "tests/corpus/common/symfs", "--kallsyms", ROOT / "tests/corpus/calls/kallsyms.xz")
        ran = perf2x(*words, *names, env=env)
        assert ran.code == 0, (words, ran.err)
    kept = {"profile.html", "profile.pb.gz", "stats.json"}
    assert kept <= {path.name for path in tmp_path.iterdir()}
