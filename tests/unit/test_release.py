"""Workflows, forms and recipes that make a release; packaging/build, which .ci/run calls, makes the packages."""

import ast
import importlib.util
import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from perf2x import __version__
from tests.support.recordings import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
METADATA = """Metadata-Version: 2.4
Name: perf2x
Version: 1.2.3
Summary: Converts recordings
Requires-Dist: numpy>=2.0; python_version < "3.13"
Requires-Dist: numpy>=2.1; python_version == "3.13"
Requires-Dist: rich>=14
Requires-Dist: capstone>=5; extra == "assembly"
"""


def recipes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recipes", ROOT / "packaging" / "recipes.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def sdist(tmp_path: Path) -> Path:
    path = tmp_path / "perf2x-1.2.3.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in (("PKG-INFO", METADATA), ("pyproject.toml", (ROOT / "pyproject.toml").read_text())):
            member = tarfile.TarInfo(f"perf2x-1.2.3/{name}")
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def test_a_conda_recipe_has_what_the_metadata_say(sdist: Path) -> None:
    made = recipes()
    recipe = yaml.safe_load(made.filled((made.TEMPLATES / "recipe.yaml").read_text(), made.values_of(sdist)))
    assert recipe["context"]["version"] == "1.2.3"
    assert recipe["requirements"]["run"][1:] == ["numpy >=2.0", "rich >=14"]
    assert recipe["source"]["url"].endswith("/p/perf2x/perf2x-1.2.3.tar.gz")
    assert re.fullmatch(r"[0-9a-f]{64}", recipe["source"]["sha256"])
    assert "perf2x = perf2x.cli:main" in recipe["build"]["python"]["entry_points"]


def test_a_formula_has_no_gap(sdist: Path) -> None:
    made = recipes()
    formula = made.filled((made.TEMPLATES / "perf2x.rb").read_text(), made.values_of(sdist))
    assert "perf2x-1.2.3.tar.gz" in formula and not re.search(r"@[A-Z0-9_]+@", formula)
    with pytest.raises(KeyError):
        made.filled("@NOTHING@", made.values_of(sdist))


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("dependabot", [GITHUB / "dependabot.yml"]),
        ("github-issue-forms", [GITHUB / "ISSUE_TEMPLATE" / name for name in ("bug.yml", "feature.yml")]),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_schema_takes_it(schema: str, files: list[Path]) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("no check-jsonschema here: pip install 'perf2x[dev]'")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_workflows_try_every_python_that_is_claimed() -> None:
    """All on Linux, some of them in the job that runs .ci/run; the newest on every system."""
    jobs = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text())["jobs"]
    matrix = jobs["quick"]["strategy"]["matrix"]
    tried = {(system, version) for system in matrix["os"] for version in matrix["python"]}
    tried |= {(entry["os"], entry["python"]) for entry in matrix["include"]}
    whole = [
        step["with"]["python-version"] for step in jobs["everything"]["steps"] if "setup-python" in step.get("uses", "")
    ]
    tried |= {(jobs["everything"]["runs-on"], version) for text in whole for version in text.split()}
    claimed = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert {version for system, version in tried if system == "ubuntu-latest"} == set(claimed)
    assert {system for system, version in tried if version == claimed[-1]} == {
        "ubuntu-latest",
        "macos-latest",
        "windows-latest",
    }


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_may_write_only_what_they_say(workflow: Path) -> None:
    """The token may read; a job that needs more says so, and none runs for ever on our account."""
    text = yaml.safe_load(workflow.read_text())
    assert text["permissions"] == {"contents": "read"}
    assert not re.search(r"\$\{\{[^}]*github\.(event|head_ref)[^}]*\}\}", "".join(run_steps(text))), (
        "a script from outside"
    )


def run_steps(workflow: dict[str, dict[str, dict[str, list[dict[str, str]]]]]) -> list[str]:
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


USERS = [ROOT / "action.yml", *sorted((ROOT / "examples" / "ci").glob("git*.yml"))]


@pytest.mark.parametrize("file", [*WORKFLOWS, *USERS], ids=lambda path: path.name)
def test_actions_are_pinned_and_keep_no_credentials(file: Path) -> None:
    """A tag can move; dependabot moves a commit, and the comment that says which version it is."""
    text = file.read_text()
    used = re.findall(r"uses: ([^./\s]\S*)(.*)", text)
    for action, comment in used:
        assert re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert bool(used) == (file.name != "gitlab.yml")


def test_one_commit_for_one_action() -> None:
    used = {
        pin for file in (*WORKFLOWS, *USERS) for pin in re.findall(r"uses: ([\w-]+/[\w-]+)\S*@(\w+)", file.read_text())
    }
    assert len(used) == len({action for action, _ in used})


def test_what_is_published_was_tested() -> None:
    """Packages are built once; no job that publishes begins before those files passed."""
    jobs = yaml.safe_load((GITHUB / "workflows" / "release.yml").read_text())["jobs"]
    assert jobs["test"]["needs"] == "build" and jobs["pypi"]["needs"] == "test"
    assert {jobs[name]["needs"] for name in ("release", "docs")} == {"pypi"}
    assert [name for name in jobs if "packaging/build" in str(jobs[name])] == ["build"]
    for name in ("test", "pypi", "release"):
        assert jobs[name]["steps"][0]["with"] == {"name": "packages", "path": "packages/"}
    assert "pytest" in str(jobs["test"]["steps"][-1]["run"])


def test_scripts_that_workflows_call_exist() -> None:
    called = {word for path in WORKFLOWS for word in re.findall(r"bash (\S+/\S+)", path.read_text())}
    assert called == {".ci/run", ".ci/long", "packaging/build"}
    assert all((ROOT / name).is_file() for name in called)


def test_the_image_has_what_the_packages_are_built_from() -> None:
    """Everything that .dockerignore lets in exists, and pyproject.toml asks for nothing else."""
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in kept)
    assert {"converter", "pyproject.toml", "README.md", "LICENSE"} <= set(kept)
    users = [line for line in (ROOT / "packaging" / "Dockerfile").read_text().splitlines() if line.startswith("USER ")]
    assert users == ["USER 1000"]


def test_the_version_is_one() -> None:
    """Of the last tag, or of a checkout that was never installed."""
    assert re.fullmatch(r"\d+\.\d+.*|0\+unknown", __version__)
    tree = ast.parse((ROOT / "converter" / "perf2x" / "__init__.py").read_text())
    assigned = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
    ]
    assert [ast.unparse(node.value) for node in assigned] == ["'0+unknown'"]


def test_the_changelog_is_kept() -> None:
    """Keep a Changelog: versions with dates below what is unreleased, kinds of change below versions."""
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    versions = [line for line in lines if line.startswith("## ")]
    assert versions[0] == "## [Unreleased]"
    assert all(re.fullmatch(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line) for line in versions[1:])
    kinds = {line for line in lines if line.startswith("### ")}
    assert kinds <= {f"### {kind}" for kind in ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")}
