"""TypeScript and a linter have nothing to say about the page's scripts; needs ``npm ci --prefix tests/browser``."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.page_scripts import FOLDER

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
MODULES = Path(os.environ.get("PERF2X_BROWSER_MODULES", HERE))
TYPES, RULES = HERE / "tsconfig.json", HERE / "oxlint.json"
DROPPED = HERE.parents[1] / "converter/perf2x/cli/web/page"


def told(name: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """The outcome of a program of node_modules."""
    program = MODULES / "node_modules" / ".bin" / name
    if shutil.which("node") is None or not program.exists():
        pytest.skip(f"no Node or no {name} here: npm ci --prefix tests/browser")
    return subprocess.run([program, *words], cwd=HERE, capture_output=True, text=True, timeout=120, check=False)


def copied(folder: Path, mistake: str) -> Path:
    """The scripts in a folder of their own, with a line that should not be."""
    shutil.copytree(str(FOLDER), folder / "page")
    with (folder / "page" / "input.js").open("a") as script:
        script.write(mistake)
    return folder / "page"


@pytest.mark.parametrize("config", [TYPES, HERE / "web.tsconfig.json"], ids=["flame graph", "web"])
def test_the_types_fit(config: Path) -> None:
    ran = told("tsc", "-p", config)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout


@pytest.mark.parametrize("mistake", ["profile.evnets;", "spoken('1', 2, 3);", "rebiuld();"])
def test_a_wrong_name_or_call_is_found(tmp_path: Path, mistake: str) -> None:
    page = copied(tmp_path, mistake)
    config = json.loads(TYPES.read_text()) | {"include": [str(page / "*.js"), str(page / "types.d.ts")]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    ran = told("tsc", "-p", tmp_path)
    assert ran.returncode != 0
    assert "input.js" in ran.stdout


def test_the_linter_has_no_complaint() -> None:
    ran = told(
        "oxlint",
        "-c",
        RULES,
        str(FOLDER),
        Path(str(FOLDER)).parent / "picture",
        DROPPED,
        HERE.parent / "unit/emitters/flame/page",
        *HERE.glob("*.mjs"),
    )
    assert ran.returncode == 0, ran.stdout


def test_a_sloppy_line_is_found(tmp_path: Path) -> None:
    ran = told("oxlint", "-c", RULES, copied(tmp_path, "if (total == 0) console.log(total);\n"))
    assert ran.returncode == 1
    assert "eqeqeq" in ran.stdout and "no-console" in ran.stdout
