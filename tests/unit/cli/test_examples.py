"""The CI examples: their services' schemas take them, and their steps run, push after push."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.recordings import ROOT
from tests.support.workflows import THEIRS, GitHub, GitLab, Program, Run, evaluated

CI = ROOT / "examples" / "ci"
FILES = {"report.md", "profile.html", "profile.pb.gz", "stats.json"}
ALL = FILES | {"diff.html", "diff.pb.gz"}
QUICK = """#!/bin/sh
# perf2x in short: a bundle is the recording, and two recordings that differ exceed the limits
command=$1; first=; second=; form=; written=; previous=
shift
for word in "$@"; do
    case $previous in
        -o|--stats) written="$written $word";;
        --before) second=$word;;
        --format) form=$word;;
        --per) echo "per $word" >&2;;
        --fail-*|--per-value|-n) ;;
        *) case $word in -*) ;; *) if [ -z "$first" ]; then first=$word; else second=$word; fi;; esac
    esac
    [ "$command$word" = diff--json ] && echo '{"before": 100, "after": 150}'
    previous=$word
done
for word in $written; do echo "$first" > "$word"; [ "$command" = bundle ] && cp "$first" "$word"; done
[ "$command" = report ] || exit 0
case $UNREADABLE in ?*) echo "perf2x: broken" >&2; exit 1;; esac
case $UNRELIABLE in ?*) echo "### perf2x: unreliable"; exit 3;; esac
[ -n "$second" ] || { echo "### perf2x: no baseline"; exit 0; }
cmp -s "$first" "$second" || { echo "### perf2x: failed"; exit 3; }
echo "### perf2x: passed"
"""
SERVICES = {"github.yml": GitHub, "github-action.yml": GitHub, "gitlab.yml": GitLab}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path, QUICK)
    made.becomes(b"calls")
    return made


def first_line(run: Run) -> str:
    return run.summary.partition("\n")[0].removeprefix("### perf2x: ")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "github.yml" else ()) for name in SERVICES]
)
def test_push_after_push(program: Program, name: str) -> None:
    """Pushes, pull requests, a slower commit: what one run leaves behind is what the next one finds."""
    there, workflow = SERVICES[name](program.runs, program.env), CI / name
    first = there.push(workflow, "c1", "c0")
    assert (first.code, first.artifacts, first_line(first)) == (0, {"profile": FILES}, "no baseline"), first.said
    for sha, before in (("c2", "c1"), ("c3", "c2"), ("c3", "c2")):
        later = there.push(workflow, sha, before)
        assert (later.code, later.artifacts, first_line(later)) == (0, {"profile": ALL}, "passed"), later.said
    assert there.pull_request(workflow, "p1", "c3").code == 0
    program.becomes(b"slow")
    slow = there.pull_request(workflow, "p2", "c3")
    assert (slow.code, slow.artifacts, first_line(slow)) == (3, {"profile": ALL}, "failed"), slow.said
    program.becomes(b"calls")
    assert there.pull_request(workflow, "p3", "c3").code == 0  # the slow one left nothing behind
    program.becomes(b"slow")
    assert [there.push(workflow, *pair).code for pair in (("c4", "c3"), ("c5", "c4"))] == [3, 0]


@pytest.mark.parametrize("name", SERVICES)
def test_a_recording_that_cannot_be_trusted_is_not_remembered(program: Program, name: str) -> None:
    there, workflow = SERVICES[name](program.runs, {**program.env, "UNRELIABLE": "yes"}), CI / name
    bad = there.push(workflow, "c1", "c0")
    assert (bad.code, first_line(bad), bad.artifacts) == (3, "unreliable", {"profile": FILES})
    there.env = program.env
    assert first_line(there.push(workflow, "c2", "c1")) == "no baseline"


def test_the_summary_says_why_a_recording_cannot_be_read(program: Program) -> None:
    there = GitHub(program.runs, {**program.env, "UNREADABLE": "yes"})
    run = there.push(CI / "github-action.yml", "c1", "c0")
    assert (run.code, run.summary) == (1, "### perf2x: error\n    perf2x: broken\n")
    assert run.outputs["verdict"] == "error" and there.baselines == []


def test_a_pull_request_is_compared_with_the_commit_it_is_based_on(program: Program) -> None:
    there = GitHub(program.runs, program.env)
    for text, sha, before in ((b"calls", "c1", "c0"), (b"slow", "c2", "c1")):
        program.becomes(text)
        there.push(CI / "github.yml", sha, before)
    assert [there.pull_request(CI / "github.yml", "p1", base).code for base in ("c1", "c2", "lost")] == [3, 0, 0]


@pytest.mark.parametrize("name", ["github.yml", "github-action.yml"])
def test_the_workspace_is_the_users(program: Program, name: str) -> None:
    """Nothing of theirs is removed, and nothing is added (the stand-in for perf writes perf.data)."""
    there = GitHub(program.runs, program.env)
    assert [there.push(CI / name, sha, before).left for sha, before in (("c1", "c0"), ("c2", "c1"))] == [THEIRS] * 2


def workflow_with(folder: Path, job: str = "profile", **inputs: str) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.yml"
    steps = [{"run": "perf record"}, {"uses": "./perf2x", "with": inputs}]
    path.write_text(yaml.safe_dump({"jobs": {job: {"steps": steps}}}))
    return path


def test_a_baseline_is_of_the_same_job_name_image_and_branch(program: Program, tmp_path: Path) -> None:
    there = GitHub(program.runs, program.env)
    plain = workflow_with(tmp_path, name="profile")
    assert first_line(there.push(workflow_with(tmp_path, name="profile-big"), "c1", "c0")) == "no baseline"
    assert first_line(there.push(plain, "c1", "c0")) == "no baseline"
    assert first_line(there.push(plain, "c2", "elsewhere")) == "passed"
    assert first_line(there.push(workflow_with(tmp_path, "other", name="profile"), "c2", "c1")) == "no baseline"
    assert first_line(there.push(plain, "r2", "c1", branch="release,1")) == "no baseline"
    assert first_line(there.pull_request(plain, "p1", "r2", branch="release,1")) == "passed"
    there.image = "2"
    assert first_line(there.push(plain, "c3", "c2")) == "no baseline"
    held = len(there.caches)
    assert first_line(there.pull_request(plain, "p2", "c3")) == "passed"
    assert len(there.caches) == held


def test_the_action_says_what_it_found(program: Program, tmp_path: Path) -> None:
    there, workflow = GitHub(program.runs, program.env), workflow_with(tmp_path, name="profile", work="1000")
    assert there.push(workflow, "c1", "c0").outputs["change"] == ""
    later = there.push(workflow_with(tmp_path, name="profile", work="1200"), "c2", "c1")
    assert (later.outputs["verdict"], later.outputs["change"]) == ("passed", "50.0")
    assert "per 1000,1200" in later.said
    assert [Path(later.outputs[name]).exists() for name in ("profile", "report")] == [True, True]
    assert Path(later.outputs["profile"]).is_relative_to(tmp_path / "temporary")
    uncounted = there.push(workflow_with(tmp_path, name="profile"), "c3", "c2")
    assert first_line(uncounted) == "no baseline"  # a whole is not compared with one per unit of work


def test_what_the_action_installs_is_cached_by_version(program: Program, tmp_path: Path) -> None:
    there = GitHub(program.runs, program.env)
    source, fixed, loose = (workflow_with(tmp_path, perf2x=wanted) for wanted in ("", "perf2x==1.0", "perf2x"))
    for workflow, what in ((source, str(ROOT)), (fixed, "perf2x==1.0")):
        installed = f"installed with install --quiet -- {what}\n"
        before = len(there.caches)
        assert installed in there.pull_request(workflow, "p1", "c0").said
        assert len(there.caches) == before, "a pull request leaves nothing to others"
        assert installed in there.push(workflow, "c1", "c0").said
        for later in (there.push(workflow, "c2", "c1"), there.pull_request(workflow, "p1", "c2")):
            assert (later.code, "installed with" in later.said) == (0, False)
    assert "installed with" in there.push(workflow_with(tmp_path, perf2x="perf2x==1.1"), "c3", "c2").said
    held = len(there.caches)
    for sha, before_it in (("c4", "c3"), ("c5", "c4")):
        assert "installed with install --quiet -- perf2x\n" in there.push(loose, sha, before_it).said
    assert len(there.caches) - held == 2, "baselines alone: the version is not known"


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
    ("schema", "names"),
    [
        ("github-workflows", ["github.yml", "github-action.yml"]),
        ("github-actions", ["../../action.yml"]),
        ("gitlab-ci", ["gitlab.yml"]),
    ],
)
def test_the_schema_takes_it(schema: str, names: list[str]) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("no check-jsonschema here: pip install 'perf2x[dev]'")
    files = [str(CI / name) for name in names]
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_schema_refuses_a_step_that_does_not_exist(tmp_path: Path) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("no check-jsonschema here: pip install 'perf2x[dev]'")
    broken = tmp_path / "github.yml"
    broken.write_text((CI / "github.yml").read_text().replace("        run: perf record", "        rum: perf record"))
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(broken)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1
