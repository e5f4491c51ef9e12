"""The CI examples: their services' schemas take them, and they run, push after push, on corpus recordings."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.recordings import CORPUS, ROOT
from tests.support.workflows import GitHub, GitLab, evaluated

CI = ROOT / "examples" / "ci"
SYMBOLS = {
    "PERF2X_SYMFS": str(CORPUS / "common" / "symfs"),
    "PERF2X_KALLSYMS": str(CORPUS / "calls" / "kallsyms.xz"),
    "PERF2X_BUILDID_DIR": str(CORPUS),
}
BENIGN = "#!/bin/sh\nexit 0\n"
PYTHON = """#!/bin/sh
[ "$2" = venv ] && mkdir -p "$3/bin" && printf '#!/bin/sh\\n' > "$3/bin/pip" && chmod +x "$3/bin/pip"
exit 0
"""
REAL = f"#!{sys.executable}\nfrom perf2x.cli import main\nmain()\n"
QUICK = """#!/bin/sh
# perf2x in short: a bundle is the recording, and two recordings that differ close the gate
command=$1; first=$2; second=$3
for word in "$@"; do
    case $previous in -o|--stats) echo "$first" > "$word"; [ "$command" = bundle ] && cp "$first" "$word";; esac
    case $word in --fail-above) gate=yes;; --before) changed=yes;; esac
    previous=$word
done
case $command in
    top) echo read_zero;;
    report) echo read_zero; [ -z "$changed" ] || echo "# What changed";;
    diff) if [ "$gate" = yes ] && ! cmp -s "$first" "$second"; then echo "perf2x: grew" >&2; exit 3; fi;;
esac
exit 0
"""
FILES = {"profile.html", "profile.pb.gz", "stats.json"}
ALL = FILES | {"diff.html", "diff.pb.gz"}


class Program:
    """The recording that the next run of perf copies from the corpus."""

    def __init__(self, folder: Path, perf2x: str) -> None:
        if shutil.which("bash") is None:
            pytest.skip("no bash here")
        self._recording, tools = folder / "recording", folder / "tools"
        tools.mkdir()
        stubs = {"sudo": BENIGN, "apt-get": BENIGN, "python": PYTHON, "python3": PYTHON, "perf2x": perf2x}
        stubs["perf"] = f'#!/bin/sh\ncp "{self._recording}" perf.data\n'
        for name, text in stubs.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("PERF2X_", "GITHUB_", "GITLAB_"))
        }
        self.env = {**clean, **SYMBOLS, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}

    def becomes(self, name: str) -> None:
        """Another version of the program, which costs as much as that recording says."""
        shutil.copy(CORPUS / name / "perf.data", self._recording)


SERVICES = {"github.yml": GitHub, "github-action.yml": GitHub, "gitlab.yml": GitLab}


@pytest.mark.parametrize("name", SERVICES)
def test_push_after_push(tmp_path: Path, name: str) -> None:
    """Three pushes, pull requests, a slower commit: what one run leaves behind is what the next one finds."""
    program, workflow = Program(tmp_path, QUICK), CI / name
    (tmp_path / "runs").mkdir()
    there = SERVICES[name](tmp_path / "runs", program.env)
    program.becomes("calls")
    first = there.push(workflow, "c1", "c0")
    assert (first.code, first.artifacts) == (0, {"profile": FILES}), first.said
    assert "read_zero" in first.summary and "What changed" not in first.summary
    for sha, before in (("c2", "c1"), ("c3", "c2")):
        later = there.push(workflow, sha, before)
        assert (later.code, later.artifacts) == (0, {"profile": ALL}), later.said
        assert ("What changed" in later.summary) == isinstance(there, GitHub)
    again = there.push(workflow, "c3", "c2")
    assert (again.code, again.artifacts) == (0, {"profile": ALL}), again.said
    assert there.pull_request(workflow, "p1", "c3").code == 0
    program.becomes("zstd")
    slow = there.pull_request(workflow, "p2", "c3")
    assert (slow.code, slow.artifacts) == (3, {"profile": ALL}), slow.said
    assert "grew" in slow.said
    program.becomes("calls")
    assert there.pull_request(workflow, "p3", "c3").code == 0  # the slow one left nothing behind
    program.becomes("zstd")
    assert [there.push(workflow, *pair).code for pair in (("c4", "c3"), ("c5", "c4"))] == [3, 0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["github-action.yml", "gitlab.yml"])  # the action's commands are those of github.yml
def test_the_commands_are_what_perf2x_takes(tmp_path: Path, name: str) -> None:
    """With perf2x itself: a push without a bundle to compare with, one with it, and one that the gate stops."""
    program, workflow = Program(tmp_path, REAL), CI / name
    (tmp_path / "runs").mkdir()
    there = SERVICES[name](tmp_path / "runs", program.env)
    program.becomes("calls")
    first, later = there.push(workflow, "c1", "c0"), there.push(workflow, "c2", "c1")
    assert (first.code, first.artifacts) == (0, {"profile": FILES}), first.said
    assert (later.code, later.artifacts) == (0, {"profile": ALL}), later.said
    assert "read_zero" in first.summary
    program.becomes("zstd")
    slow = there.push(workflow, "c3", "c2")
    assert (slow.code, slow.artifacts) == (3, {"profile": ALL}), slow.said
    assert "grew" in slow.said
    reports = [run.summary.partition("# What changed")[1] for run in (first, later, slow)]
    assert reports == (["", "# What changed", "# What changed"] if SERVICES[name] is GitHub else ["", "", ""])


def test_a_pull_request_is_compared_with_the_commit_it_is_based_on(tmp_path: Path) -> None:
    program = Program(tmp_path, QUICK)
    (tmp_path / "runs").mkdir()
    there = GitHub(tmp_path / "runs", program.env)
    for name, sha, before in (("calls", "c1", "c0"), ("zstd", "c2", "c1")):
        program.becomes(name)
        there.push(CI / "github.yml", sha, before)
    assert [there.pull_request(CI / "github.yml", "p1", base).code for base in ("c1", "c2", "lost")] == [3, 0, 0]


def test_a_recording_that_convert_refuses_is_not_remembered(tmp_path: Path) -> None:
    program = Program(tmp_path, '#!/bin/sh\n[ "$1" = convert ] && exit 3\nexit 0\n')
    program.becomes("calls")
    (tmp_path / "runs").mkdir()
    for name in ("github.yml", "github-action.yml"):
        there = GitHub(tmp_path / "runs", program.env)
        assert there.push(CI / name, "c1", "c0").code == 3
        assert there.caches == []


def test_expressions() -> None:
    contexts = {"github": {"ref": "refs/heads/main"}, "steps": {"a-b": {"outputs": {"key": ""}}}}
    states = {"cancelled": False, "success": True}
    for text, value in (
        ("github.ref == 'refs/heads/main' && !cancelled()", True),
        ("steps.a-b.outputs.key != ''", False),
        ("github.nothing.here || 'else'", "else"),
        ("success() && (github.ref != 'a')", True),
    ):
        assert evaluated(text, contexts, states) == value


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("github.yml", "github-workflows"),
        ("github-action.yml", "github-workflows"),
        ("../../action.yml", "github-actions"),
        ("gitlab.yml", "gitlab-ci"),
    ],
)
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
