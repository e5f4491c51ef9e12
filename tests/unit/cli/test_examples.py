"""The CI examples: their services' schemas take them, and their shell steps really run, on a corpus recording."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.recordings import CORPUS, ROOT

CI = ROOT / "examples" / "ci"
SYMBOLS = {
    "PERF2X_SYMFS": str(CORPUS / "common" / "symfs"),
    "PERF2X_KALLSYMS": str(CORPUS / "calls" / "kallsyms.xz"),
    "PERF2X_BUILDID_DIR": str(CORPUS),
}
BENIGN = "#!/bin/sh\nexit 0\n"
PERF = f"#!/bin/sh\ncp {CORPUS}/calls/perf.data perf.data\n"
PYTHON = """#!/bin/sh
[ "$2" = venv ] && mkdir -p "$3/bin" && printf '#!/bin/sh\\n' > "$3/bin/pip" && chmod +x "$3/bin/pip"
exit 0
"""


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which perf records calls/perf.data, and installing anything is done at once."""
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    tools = tmp_path / "tools"
    tools.mkdir()
    stubs = {"perf": PERF, "sudo": BENIGN, "apt-get": BENIGN, "python": PYTHON, "python3": PYTHON}
    stubs["perf2x"] = f"#!{sys.executable}\nfrom perf2x.cli import main\nmain()\n"
    for name, text in stubs.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PERF2X_", "GITHUB_", "GITLAB_"))
    }
    return {**clean, **SYMBOLS, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}


def run(script: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


def load(name: str) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load((CI / name).read_text())
    return loaded


@pytest.mark.parametrize(("name", "schema"), [("github.yml", "github-workflows"), ("gitlab.yml", "gitlab-ci")])
def test_the_schema_takes_it(name: str, schema: str) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("no check-jsonschema here: pip install 'perf2x[dev]'")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(CI / name)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_schema_refuses_a_step_that_does_not_exist(tmp_path: Path) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("no check-jsonschema here: pip install 'perf2x[dev]'")
    broken = tmp_path / "github.yml"
    broken.write_text((CI / "github.yml").read_text().replace("        run: perf record", "        rum: perf record"))
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(broken)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1


@pytest.mark.slow
def test_the_workflow_runs(tmp_path: Path, shell: dict[str, str]) -> None:
    """Every step in turn; the bundle of the main branch is the one that was just made."""
    work, summary = tmp_path / "work", tmp_path / "summary.md"
    work.mkdir()
    shell |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    steps = [step for job in load("github.yml")["jobs"].values() for step in job["steps"]]
    for step in steps:
        if step.get("name") == "Compare":
            shutil.copytree(work / "bundle", work / "bundle-of-main")
        if "run" in step and "refs/heads/main" in step.get("if", ""):
            shutil.rmtree(work / "bundle-of-main", ignore_errors=True)
        if "run" in step:
            ran = run(step["run"], work, shell)
            assert ran.returncode == 0, (step, ran.stderr)
    assert "read_zero" in summary.read_text()
    assert (work / "bundle-of-main" / "profile.tar.gz").stat().st_size
    kept = next(step["with"]["path"] for step in steps if "upload-artifact" in step.get("uses", "")).split()
    assert {"profile.html", "profile.pb.gz", "stats.json", "diff.html", "diff.pb.gz"} == set(kept)
    assert all((work / name).stat().st_size for name in kept)


@pytest.mark.slow
def test_the_gate_of_the_workflow_closes(tmp_path: Path, shell: dict[str, str]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(CORPUS / "calls" / "perf.data", work / "perf.data")
    step = next(
        step for job in load("github.yml")["jobs"].values() for step in job["steps"] if step.get("name") == "Compare"
    )
    (work / "bundle-of-main").mkdir()
    shutil.copy(CORPUS / "zstd" / "perf.data", work / "bundle-of-main" / "profile.tar.gz")
    ran = run(step["run"], work, {**shell, "GITHUB_ACTIONS": "true"})
    assert ran.returncode == 3
    assert "::error title=perf2x::" in ran.stderr
    assert (work / "diff.html").exists()


@pytest.mark.slow
def test_the_gitlab_job_runs(tmp_path: Path, shell: dict[str, str]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (job,) = load("gitlab.yml").values()
    script = "\n".join(map(str, [*job["before_script"], *job["script"]]))
    ran = run(script, work, {**shell, **job["variables"], "GITLAB_CI": "true"})
    assert ran.returncode == 0, ran.stderr
    assert "read_zero" in ran.stdout
    assert all((work / name).stat().st_size for name in job["artifacts"]["paths"])
